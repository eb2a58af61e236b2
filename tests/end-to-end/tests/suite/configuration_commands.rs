//! Commands that use only the configuration: errors, and differences from Terraform.

use serde_json::Value;
use wardian_end_to_end::{Project, assert_seen};

const MODULES: [(&str, &str); 2] = [
    (
        "main.tf",
        "resource \"null_resource\" \"a\" {}\nmodule \"m\" {\n  source = \"./m\"\n  i      = null_resource.a.id\n}\n",
    ),
    ("m/main.tf", "variable \"i\" {}\nresource \"null_resource\" \"b\" {\n  triggers = { i = var.i }\n}\n"),
];

#[test]
fn fmt_reports_errors() {
    let project = Project::new(&[("bad.tf", "a = {\n"), ("x.tf", "a=1\n"), ("x.txt", "")]);
    project.write("bytes.tf", b"a = 1\nb = \"\xff\"\n");
    let seen = project.run("fmt").ended_with(2);
    assert_eq!(seen.out, "x.tf\n");
    assert!(seen.errors.contains("on bad.tf line "), "{}", seen.text());
    assert!(seen.errors.contains("on bytes.tf line 2"), "{}", seen.text());
    assert_eq!(project.read("x.tf"), "a = 1\n");
    assert_seen!("fmt_other_file", project.run("fmt x.txt").ended_with(2));
    assert_seen!("fmt_missing_file", project.run("fmt none.tf").ended_with(2));
    assert_seen!("help_fmt", project.run("fmt -help").success());
}

#[test]
fn fmt_needs_no_workspace() {
    let project = Project::new(&[("x.tf", "a = 1\n")]);
    project.run_with("fmt -check", "", &[("TF_WORKSPACE", "prod")]).success();
}

#[test]
fn graph_prints_mermaid() {
    let project = Project::new(&MODULES);
    assert_seen!("graph_mermaid", project.run("graph -format=mermaid").success());
    assert_seen!("graph_mermaid_whole", project.run("graph -type=plan -format=mermaid").success());
    assert_seen!("graph_whole", project.run("graph -type=plan").success());
}

#[test]
fn graph_of_a_saved_plan_shows_destroys() {
    let main = "variable \"v\" {\n  default = 1\n}\nresource \"terraform_data\" \"a\" {\n  triggers_replace = var.v\n}\nresource \"terraform_data\" \"b\" {\n  count = 2\n  input = terraform_data.a.id\n}\n";
    let project = Project::new(&[("main.tf", main)]);
    project.run("init").success();
    project.run("apply -auto-approve").success();
    project.write("main.tf", main.replace("count = 2", "count = 1"));
    project.run("plan -var v=2 -out=p").success();
    let seen = project.run("graph -plan=p").success();
    let mut names: Vec<&str> =
        seen.out.lines().filter_map(|line| Some(line.split_once(" [label")?.0)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:#?}");
    assert_seen!("graph_plan_file", seen);
    let whole = project.run("graph -type=plan").success().out;
    assert_eq!(project.run("graph -plan=p -type=plan").success().out, whole);
    assert_seen!("graph_plan_file_missing", project.run("graph -plan=none").ended_with(1));
}

#[test]
fn fmt_preserves_comments_that_are_not_utf8() {
    let project = Project::new(&[]);
    project.write("x.tf", b"# caf\xe9\nlocals {\n  a=1 # \xff\n}\n");
    project.run("validate").success();
    project.run("fmt").success();
    let formatted = std::fs::read(project.path("x.tf")).unwrap();
    assert_eq!(formatted, b"# caf\xe9\nlocals {\n  a = 1 # \xff\n}\n");
}

#[test]
fn graph_draws_cycles() {
    let project = Project::new(&[("main.tf", "locals {\n  a = local.b\n  b = local.a\n  c = 1\n}\n")]);
    assert_seen!("graph_cycle", project.run("graph").ended_with(1));
    assert_seen!("graph_cycle_drawn", project.run("graph -type=plan -draw-cycles").success());
}

#[test]
fn init_writes_the_module_manifest() {
    let project = Project::new(&MODULES);
    let seen = project.run("init").success();
    assert!(seen.out.contains("- m in m\n"), "{}", seen.text());
    let manifest: Value = serde_json::from_str(&project.read(".terraform/modules/modules.json")).unwrap();
    assert_eq!(manifest["Modules"][1]["Dir"], "m");
    let again = project.run("init").success();
    assert!(!again.out.contains("- m in m\n"), "{}", again.text());
    assert_eq!(project.run("get").success().out, "");
}

#[test]
fn providers_schema_prints_json() {
    let project = Project::new(&MODULES);
    assert_seen!("schema_without_json", project.run("providers schema").ended_with(1));
    project.run("init").success();
    let seen = project.run("providers schema -json").success();
    let printed: Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(printed["format_version"], "1.0");
    let null = &printed["provider_schemas"]["registry.terraform.io/hashicorp/null"];
    assert_eq!(null["provider"]["version"], 0);
    let triggers = &null["resource_schemas"]["null_resource"]["block"]["attributes"]["triggers"];
    assert_eq!(triggers["type"], serde_json::json!(["map", "string"]));
    assert_eq!(triggers["optional"], true);
    assert!(triggers.get("required").is_none());
    assert!(null["data_source_schemas"]["null_data_source"]["block"]["attributes"].is_object());
}

#[test]
fn metadata_functions_prints_json() {
    let project = Project::new(&[]);
    assert_seen!("functions_without_json", project.run("metadata functions").ended_with(1));
    let seen = project.run("metadata functions -json").success();
    let printed: Value = serde_json::from_str(&seen.out).unwrap();
    let functions = &printed["function_signatures"];
    assert_eq!(functions["join"], functions["core::join"]);
    assert_eq!(functions["join"]["return_type"], "string");
    assert_eq!(functions["join"]["parameters"][0]["name"], "separator");
    assert_eq!(functions["join"]["variadic_parameter"]["type"], serde_json::json!(["list", "string"]));
    assert_eq!(functions["tostring"]["parameters"][0]["is_nullable"], true);
}

#[test]
fn console_evaluates_against_a_plan() {
    let project = Project::new(&[(
        "main.tf",
        "resource \"null_resource\" \"a\" {\n  triggers = { x = \"planned\" }\n}\nlocals {\n  x = null_resource.a.triggers.x\n}\n",
    )]);
    project.run("init").success();
    assert_eq!(project.run_with("console -plan", "local.x\n", &[]).success().out, "\"planned\"\n");
    assert!(!project.has("terraform.tfstate"));
}

#[test]
fn validate_json_includes_warnings() {
    let project = Project::new(&[("main.tf", "provider \"null\" {\n  version = \"~> 3.0\"\n}\n")]);
    project.run("init");
    let seen = project.run("validate -json");
    let report: Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(seen.errors, "", "{}", seen.text());
    assert_eq!(report["warning_count"], 1, "{}", seen.text());
}

/// A configuration whose test executes a module with another provider.
fn project_with_tests() -> Project {
    Project::new(&[
        ("main.tf", "variable \"x\" {\n  default = 1\n}\nresource \"null_resource\" \"a\" {}\n"),
        (
            "setup/main.tf",
            "resource \"random_id\" \"b\" {\n  byte_length = 2\n}\nmodule \"n\" {\n  source = \"./n\"\n}\n",
        ),
        ("setup/n/main.tf", ""),
        (
            "tests/t.tftest.hcl",
            "run \"setup\" {\n  module {\n    source = \"./setup\"\n  }\n}\nrun \"plain\" {}\n",
        ),
    ])
}

#[test]
fn init_installs_what_tests_need() {
    let project = project_with_tests();
    let seen = project.run("init").success();
    assert!(seen.out.contains("Initializing modules..."), "{}", seen.text());
    assert!(seen.out.contains("- test.tests.t.setup in setup\n"), "{}", seen.text());
    assert!(seen.out.contains("- test.tests.t.setup.n in setup/n\n"), "{}", seen.text());
    assert_eq!(
        project.read(".terraform/modules/modules.json"),
        "{\"Modules\":[{\"Key\":\"\",\"Source\":\"\",\"Dir\":\".\"},{\"Key\":\"test.tests.t.setup\",\"Source\":\"./setup\",\"Dir\":\"setup\"},{\"Key\":\"test.tests.t.setup.n\",\"Source\":\"./n\",\"Dir\":\"setup/n\"}]}"
    );
    let lock = project.read(".terraform.lock.hcl");
    assert!(lock.contains("hashicorp/null") && lock.contains("hashicorp/random"), "{lock}");
    project.run("validate").success();
    let seen = project.run("providers").success();
    assert_eq!(
        seen.out,
        "\nProviders required by configuration:\n.\n├── provider[registry.terraform.io/hashicorp/null]\n└── \
         test.tests.t\n    └── run.setup\n        ├── provider[registry.terraform.io/hashicorp/random]\n        \
         └── module.n\n\n"
    );
}

#[test]
fn init_without_get_requires_the_providers_of_tests() {
    let project = project_with_tests();
    project.run("init -get=false").success();
    assert!(project.read(".terraform.lock.hcl").contains("hashicorp/random"));
    let other = project_with_tests();
    other.run("init -test-directory=none").success();
    assert!(!other.read(".terraform.lock.hcl").contains("hashicorp/random"));
    let seen = other.run("validate").ended_with(1);
    assert!(seen.errors.contains("random"), "{}", seen.text());
    other.run("validate -no-tests").success();
}

#[test]
fn validate_checks_test_files() {
    let project = project_with_tests();
    project.run("init").success();
    project.write("tests/bad.tftest.hcl", "run \"a\" {\n  command = destroy\n}\n");
    let seen = project.run("validate").ended_with(1);
    assert!(seen.errors.contains("on tests/bad.tftest.hcl line 2, in run \"a\":"), "{}", seen.text());
    project.run("validate -no-tests").success();
    let seen = project.run("init").ended_with(1);
    assert!(seen.errors.contains("Invalid \"command\" keyword"), "{}", seen.text());
    project.write(
        "tests/bad.tftest.hcl",
        "override_resource {\n  target = null_resource.z\n}\nrun \"a\" {\n  expect_failures = [local.x]\n}\n",
    );
    let seen = project.run("validate -json").ended_with(1);
    let report: Value = serde_json::from_str(&seen.out).unwrap();
    let found: Vec<(&str, u64)> = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let line = one["range"]["start"]["line"].as_u64().unwrap();
            (one["summary"].as_str().unwrap(), line)
        })
        .collect();
    assert_eq!(found, [("Invalid override target", 2), ("Invalid `expect_failures` reference", 5)]);
    // The errors of a module are reported once, even if several runs execute it.
    let run = |name: &str| format!("run \"{name}\" {{\n  module {{\n    source = \"./setup\"\n  }}\n}}\n");
    project.write("tests/bad.tftest.hcl", run("a") + &run("b"));
    project.write("setup/n/main.tf", "output \"o\" {\n  value = var.none\n}\n");
    let seen = project.run("validate -json").ended_with(1);
    let report: Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(report["error_count"], 1, "{}", seen.text());
    assert_eq!(report["diagnostics"][0]["summary"], "Reference to undeclared input variable");
}

#[test]
fn validate_warns_of_a_missing_test_directory() {
    let project = Project::new(&[("main.tf", "output \"a\" {\n  value = 1\n}\n")]);
    project.run("init").success();
    assert_eq!(project.run("validate").success().errors, "");
    let seen = project.run("validate -json -test-directory=checks").success();
    let report: Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(report["warning_count"], 1, "{}", seen.text());
    assert_eq!(report["diagnostics"][0]["summary"], "Test directory does not exist");
}
