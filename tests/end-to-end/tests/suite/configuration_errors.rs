//! Diagnostics of invalid configurations, with their positions.

use wardian_end_to_end::{Project, assert_seen};

/// Checks the error that a command reports, and that the command creates no files.
#[track_caller]
fn check(name: &str, configuration: &str, command: &str) {
    let project = Project::new(&[("main.tf", configuration)]);
    let seen = project.run(command).ended_with(1);
    assert_seen!(name, seen);
    assert!(!project.has("terraform.tfstate"));
    assert!(!project.has(".terraform.tfstate.lock.info"));
}

#[test]
fn syntax_error_is_reported() {
    check("syntax_error", "resource \"null_resource\" \"a\" {\n  triggers = {\n}\n", "plan");
    check("syntax_error_init", "variable \"a\" {\n  default = \n}\n", "init");
}

#[test]
fn unknown_reference_is_reported() {
    let text = "variable \"owner\" {\n  default = \"me\"\n}\n\noutput \"a\" {\n  value = var.ownr\n}\n";
    check("unknown_reference", text, "plan");
    check("unknown_local", "output \"a\" {\n  value = \"${local.none}!\"\n}\n", "validate");
}

#[test]
fn wrong_type_is_reported() {
    check("wrong_type", "variable \"count_of\" {\n  type    = number\n  default = \"many\"\n}\n", "plan");
    check("wrong_operand", "output \"a\" {\n  value = 1 + \"x\"\n}\n", "plan");
}

#[test]
fn missing_variable_is_reported() {
    let text = "variable \"owner\" {\n  type = string\n}\n";
    check("missing_variable", text, "plan");
    check("missing_variable_no_input", text, "apply -auto-approve -input=false");
}

#[test]
fn invalid_variable_values_are_reported() {
    let text = "variable \"size\" {\n  type    = number\n  default = 1\n}\n";
    check("variable_wrong_type", text, "plan -var size=big");
    check("variable_undeclared", text, "plan -var sise=1");
    check("variable_without_value", text, "plan -var size");
    check("variable_file_missing", text, "plan -var-file=none.tfvars");
}

#[test]
fn missing_configuration_is_reported() {
    let project = Project::new(&[]);
    assert_seen!("no_configuration_plan", project.run("plan").ended_with(1));
    assert_seen!("no_configuration_init", project.run("init").success());
    assert_seen!("no_configuration_output", project.run("output").success());
    assert_seen!("no_configuration_show", project.run("show").success());
    assert_seen!("no_configuration_state_list", project.run("state list").ended_with(1));
}

#[test]
fn unmet_version_constraint_is_reported() {
    check(
        "version_constraint",
        "terraform {\n  required_providers {\n    random = {\n      source  = \"hashicorp/random\"\n      version = \
         \"~> 99.0\"\n    }\n  }\n}\n\nresource \"random_id\" \"a\" {\n  byte_length = 1\n}\n",
        "init",
    );
}

#[test]
fn unavailable_provider_is_reported() {
    check("unknown_provider", "resource \"acme_thing\" \"a\" {}\n", "init");
}

#[test]
fn required_version_is_checked() {
    check("required_version", "terraform {\n  required_version = \">= 99.0\"\n}\n", "plan");
}

#[test]
fn uninitialized_directory_is_reported() {
    check("not_initialized", "resource \"random_id\" \"a\" {\n  byte_length = 1\n}\n", "plan");
}

#[test]
fn schema_violations_are_reported() {
    let project = Project::new(&[("main.tf", "resource \"random_id\" \"a\" {\n  byte_lenght = 1\n}\n")]);
    project.run("init").success();
    assert_seen!("schema_unknown_argument", project.run("validate").ended_with(1));
    project.write("main.tf", "resource \"random_idd\" \"a\" {}\n");
    assert_seen!("schema_unknown_type", project.run("validate").ended_with(1));
    let json = project.run("validate -json").ended_with(1);
    assert_seen!("validate_json", json);
}
