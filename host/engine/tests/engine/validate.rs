//! Errors that validation finds by evaluating with unknown values. Terraform 1.11.4 reports the
//! same positions and summaries for the same configurations with a similar resource.

use crate::fixture::Fixture;
use wardian_diagnostic::Diagnostics;

/// Returns `line,column-column summary` of each problem, sorted.
fn problems(found: &Diagnostics) -> Vec<String> {
    let mut lines: Vec<String> = found
        .iter()
        .map(|problem| match &problem.subject {
            Some(span) => {
                let (start, end) = (span.start_position(), span.end_position());
                format!("{},{}-{} {}", start.line, start.column, end.column, problem.summary)
            }
            None => problem.summary.clone(),
        })
        .collect();
    lines.sort();
    lines
}

fn assert_problems(configuration: &str, expected: &[&str]) {
    assert_eq!(problems(&Fixture::new().validate(configuration)), expected, "in {configuration}");
}

fn assert_problems_with(configuration: &str, module: &str, expected: &[&str]) {
    let found = Fixture::new().validate_with(configuration, &[("m", module)]);
    assert_eq!(problems(&found), expected, "in {configuration}");
}

#[test]
fn attributes_must_be_in_schema() {
    let rows = [
        ("nope", "2,37-42 Unsupported attribute"),
        ("name.x", "2,42-44 Unsupported attribute"),
        ("id.x.y", "2,40-42 Unsupported attribute"),
    ];
    for (attribute, expected) in rows {
        let text = format!(
            "resource \"memory_thing\" \"a\" {{ name = \"a\" }}\noutput \"x\" {{ value = [memory_thing.a.{attribute}] }}"
        );
        assert_problems(&text, &[expected]);
    }
    let found = Fixture::new().validate(
        "resource \"memory_thing\" \"a\" { name = \"a\" }\noutput \"x\" { value = memory_thing.a.nmae }",
    );
    assert!(found.to_string().contains("Did you mean \"name\"?"), "{found}");
}

#[test]
fn undeclared_names_are_reported_without_evaluation() {
    assert_problems(
        "resource \"memory_thing\" \"a\" { name = \"a\" }\noutput \"x\" { value = try(memory_thing.a.nope, 1) }",
        &["2,40-45 Unsupported attribute"],
    );
}

#[test]
fn references_to_repeated_resources_need_keys() {
    let rows = [
        ("count = 2", "a.id", Some("5,22-36 Missing resource instance key")),
        ("for_each = toset([\"k\"])", "a.id", Some("5,22-36 Missing resource instance key")),
        ("", "a[0].id", Some("5,22-39 Unexpected resource instance key")),
        ("", "a[\"k\"].id", Some("5,22-41 Unexpected resource instance key")),
        ("count = 2", "a[0].nope", Some("5,39-44 Unsupported attribute")),
        ("count = 2", "a[0].id", None),
        ("count = 2", "a[*].id", None),
        ("count = 2", "a", None),
        ("for_each = {}", "a[\"k\"].id", None),
    ];
    for (argument, reference, expected) in rows {
        let text = format!(
            "resource \"memory_thing\" \"a\" {{\n  name = \"a\"\n  {argument}\n}}\noutput \"x\" {{ value = memory_thing.{reference} }}"
        );
        assert_problems(&text, expected.as_slice());
    }
}

#[test]
fn count_must_be_whole_and_not_negative() {
    let rows = [
        ("-1", Some("3,11-13 Invalid count argument")),
        ("1.5", Some("3,11-14 Invalid count argument")),
        ("null", Some("3,11-15 Invalid count argument")),
        ("\"two\"", Some("3,11-16 Incorrect value type")),
        ("[]", Some("3,11-13 Incorrect value type")),
        ("true", Some("3,11-15 Incorrect value type")),
        ("\"2\"", None),
        ("var.ephemeral", Some("3,11-24 Invalid count argument")),
        // A sensitive count is allowed, because the number of instances does not reveal the value.
        ("var.sensitive", None),
        ("var.text", None),
        ("var.list", Some("3,11-19 Incorrect value type")),
    ];
    for (count, expected) in rows {
        let text = format!(
            "resource \"memory_thing\" \"a\" {{\n  name  = \"a\"\n  count = {count}\n}}\n{VARIABLES}"
        );
        assert_problems(&text, expected.as_slice());
    }
}

const VARIABLES: &str = r#"
variable "ephemeral" { ephemeral = true }
variable "sensitive" { sensitive = true }
variable "sensitive_map" {
  type      = map(string)
  sensitive = true
}
variable "text" { type = string }
variable "list" { type = list(string) }
variable "numbers" { type = set(number) }
variable "map" { type = map(object({ a = string })) }
"#;

#[test]
fn for_each_must_be_map_or_set_of_strings() {
    let rows = [
        ("[\"a\"]", Some("3,14-19 Invalid for_each argument")),
        ("\"a\"", Some("3,14-17 Invalid for_each argument")),
        ("null", Some("3,14-18 Invalid for_each argument")),
        ("var.list", Some("3,14-22 Invalid for_each argument")),
        ("toset([null])", Some("3,14-27 Invalid for_each set argument")),
        ("toset([1, 2])", Some("3,14-27 Invalid for_each set argument")),
        ("var.sensitive_map", Some("3,14-31 Invalid for_each argument")),
        ("var.sensitive", Some("3,14-27 Invalid for_each argument")),
        ("toset([var.sensitive])", Some("3,14-36 Invalid for_each argument")),
        ("var.ephemeral", Some("3,14-27 Invalid for_each argument")),
        ("{ a = var.sensitive }", None),
        ("toset([uuid()])", None),
        ("var.numbers", None),
        ("var.map", None),
    ];
    for (for_each, expected) in rows {
        let text = format!(
            "resource \"memory_thing\" \"a\" {{\n  name     = \"a\"\n  for_each = {for_each}\n}}\n{VARIABLES}"
        );
        assert_problems(&text, expected.as_slice());
    }
}

#[test]
fn each_count_and_self_are_rejected_outside_of_their_blocks() {
    assert_problems(
        "output \"a\" { value = each.value }\noutput \"b\" { value = count.index }\noutput \"c\" { value = self.id }\nlocals { x = each.key }",
        &[
            "1,22-32 each.value cannot be used in this context",
            "2,22-33 Reference to \"count\" in non-counted context",
            "3,22-26 Invalid \"self\" reference",
            "4,14-22 Reference to \"each\" in context without for_each",
        ],
    );
}

#[test]
fn local_value_must_not_depend_on_itself() {
    assert_problems("locals {\n  a = local.a\n}", &["2,7-14 Self-referencing local value"]);
    assert_problems(
        "locals {\n  a = local.b\n  b = local.a\n}",
        &["Cycle: local.b (expand), local.a (expand)"],
    );
}

#[test]
fn repeated_modules_are_lists_and_maps() {
    let module = "output \"x\" { value = { a = 1 } }";
    assert_problems_with(
        "module \"m\" {\n  source = \"./m\"\n  count  = 2\n}\noutput \"a\" { value = module.m.x }\noutput \"b\" { value = module.m[0].nope }\noutput \"c\" { value = module.m[*].x }\noutput \"d\" { value = module.m[\"k\"].x }",
        module,
        &["5,30-32 Unsupported attribute", "6,33-38 Unsupported attribute", "8,30-35 Invalid index"],
    );
    assert_problems_with(
        "module \"m\" {\n  source   = \"./m\"\n  for_each = toset([\"a\"])\n}\noutput \"a\" { value = module.m[\"a\"].x.nope }\noutput \"b\" { value = [for k, v in module.m : v.nope] }",
        module,
        &[],
    );
    assert_problems_with(
        "module \"m\" { source = \"./m\" }\noutput \"a\" { value = module.m.nope }",
        module,
        &["2,30-35 Unsupported attribute"],
    );
}

#[test]
fn module_arguments_must_match_variables() {
    let module = r#"
variable "n" {
  type    = number
  default = 1
}
variable "v" {
  default = "a"
  validation {
    condition     = var.v != "b"
    error_message = "Not b."
  }
}
output "x" { value = var.n + 1 }
output "y" { value = var.v + 1 }
"#;
    assert_problems_with(
        "module \"m\" {\n  source = \"./m\"\n  n      = [\"a\"]\n  v      = \"b\"\n}",
        module,
        &["3,12-17 Invalid value for input variable", "4,12-15 Invalid value for variable"],
    );
    assert_problems_with(
        "module \"m\" {\n  source = \"./m\"\n  n      = var.e\n  v      = 1\n}\nvariable \"e\" { ephemeral = true }",
        module,
        &["3,12-17 Ephemeral value not allowed"],
    );
}

#[test]
fn ephemeral_values_are_not_stored() {
    assert_problems(
        "variable \"e\" { ephemeral = true }\nlocals { z = var.e }\nresource \"memory_thing\" \"a\" {\n  name = local.z\n}\noutput \"o\" { value = var.e }",
        &["4,10-17 Invalid use of ephemeral value", "6,22-27 Ephemeral value not allowed"],
    );
}

#[test]
fn sensitive_values_are_not_shown() {
    assert_problems(
        "variable \"s\" { sensitive = true }\noutput \"a\" { value = { x = [var.s] } }\noutput \"b\" { value = nonsensitive(var.s) }",
        &["2,1-11 Output refers to sensitive values"],
    );
}

#[test]
fn errors_in_conditions_are_reported() {
    assert_problems(
        r#"locals { no = false }
resource "memory_thing" "a" {
  name = "a"
  lifecycle {
    precondition {
      condition     = tobool(local.no ? "x" : "y")
      error_message = "m"
    }
    postcondition {
      condition     = self.nope
      error_message = self.nmae
    }
  }
}
output "x" {
  value = 1
  precondition {
    condition     = local.no
    error_message = "m"
  }
  precondition {
    condition     = [local.no]
    error_message = "m"
  }
}
check "c" {
  assert {
    condition     = memory_thing.a.id == ""
    error_message = []
  }
}"#,
        &[
            "10,27-32 Unsupported attribute",
            "11,27-32 Unsupported attribute",
            "18,21-29 Module output value precondition failed",
            "22,21-31 Invalid condition result",
            "29,21-23 Invalid error message",
            "6,30-38 Invalid function argument",
        ],
    );
}

#[test]
fn nested_data_source_belongs_to_its_check() {
    assert_problems(
        r#"check "c" {
  data "memory_lookup" "l" { name = "a" }
  assert {
    condition     = data.memory_lookup.l.found != data.memory_lookup.l.nope
    error_message = "m"
  }
}
output "x" { value = data.memory_lookup.l.found }"#,
        &["4,71-76 Unsupported attribute", "8,22-42 Reference to scoped resource"],
    );
}

#[test]
fn provisioner_arguments_are_validated() {
    assert_problems(
        r#"resource "memory_thing" "a" {
  name = "a"
  provisioner "local-exec" {
    command = self.nope
  }
  provisioner "local-exec" {
    command = ["x"]
  }
  provisioner "local-exek" {}
  provisioner "local-exec" {
    command = "never"
  }
  connection {
    host = self.id
  }
}"#,
        &[
            "4,19-24 Unsupported attribute",
            "7,15-20 Incorrect attribute value type",
            "9,3-27 Missing required provisioner plugin",
        ],
    );
    assert_problems(
        "resource \"memory_thing\" \"a\" {\n  name = \"a\"\n  provisioner \"local-exec\" {\n    command = \"never\"\n  }\n}",
        &["4,15-22 Invalid command"],
    );
    assert_problems(
        "removed {\n  from = memory_thing.a\n  provisioner \"local\" {\n    when = destroy\n  }\n}",
        &["3,3-22 Missing required provisioner plugin"],
    );
}

#[test]
fn merged_connections_are_validated_per_provisioner() {
    let configuration = |around: &str, own: &str| {
        format!(
            "resource \"memory_thing\" \"a\" {{\n  name = \"a\"\n{around}  provisioner \"local-exec\" {{\n    \
             command = \"x\"\n{own}  }}\n}}"
        )
    };
    assert_problems(
        &configuration("  connection {\n    user = []\n  }\n", ""),
        &["3,14-15 Missing required argument", "4,12-14 Incorrect attribute value type"],
    );
    let host = "    connection {\n      host = \"x\"\n      port = \"many\"\n    }\n";
    assert_problems(
        &configuration("  connection {\n    user = \"u\"\n    port = []\n  }\n", host),
        &["11,14-20 Incorrect attribute value type"],
    );
    assert_problems(&configuration("  connection {\n    host = \"x\"\n  }\n", ""), &[]);
    // A connection that no provisioner uses is not validated.
    assert_problems(
        "resource \"memory_thing\" \"a\" {\n  name = \"a\"\n  connection {\n    nope = 1\n  }\n}",
        &[],
    );
}

#[test]
fn ignore_changes_must_name_settable_attributes() {
    assert_problems(
        "resource \"memory_thing\" \"a\" {\n  name = \"a\"\n  lifecycle {\n    ignore_changes = [size, id, nope]\n  }\n}",
        &["1,10-24 Redundant ignore_changes element", "4,33-37 Unsupported attribute"],
    );
    // After an error, redundant items are not reported.
    assert_problems(
        "resource \"memory_thing\" \"a\" {\n  name = \"a\"\n  lifecycle {\n    ignore_changes = [size, nope, id]\n  }\n}",
        &["4,29-33 Unsupported attribute"],
    );
}

#[test]
fn import_must_identify_object() {
    let rows = [
        ("[\"x\"]", Some("3,8-13 Incorrect value type")),
        ("null", Some("3,8-12 Invalid import id argument")),
        ("\"\"", Some("3,8-10 Invalid import id argument")),
        ("memory_thing.a.id", Some("3,8-25 Invalid import id argument")),
        ("var.y", Some("3,8-13 Reference to undeclared input variable")),
        ("\"x\"", None),
    ];
    for (id, expected) in rows {
        let text = format!(
            "import {{\n  to = memory_thing.a\n  id = {id}\n}}\nresource \"memory_thing\" \"a\" {{ name = \"a\" }}"
        );
        assert_problems(&text, expected.as_slice());
    }
}

#[test]
fn diagnostics_contain_no_sensitive_values() {
    let secrets = [
        "output \"x\" { value = nonsensitive(upper(var.s)) + 1 }",
        "output \"x\" { value = var.s + 1 }",
        "output \"x\" { value = { a = 1 }[local.wrapped.part] }",
        "output \"x\" { value = parseint(var.s, 10) }",
        "output \"x\" { value = [1][local.wrapped.part] }",
        "output \"x\" { value = module.m.shown + 1 }",
        "output \"x\" {\n value = 1\n precondition {\n condition = var.s == \"\"\n error_message = \"it is ${var.s}\"\n }\n}",
        "resource \"memory_thing\" \"a\" {\n name = \"a\"\n size = local.wrapped.part\n}",
        "resource \"memory_thing\" \"a\" {\n name = \"a\"\n for_each = toset([var.s])\n}",
        "resource \"memory_thing\" \"a\" {\n name = \"a\"\n count = var.s\n}",
    ];
    let shared = r#"
variable "s" {
  default   = "hunter2"
  sensitive = true
}
locals { wrapped = { part = var.s } }
module "m" {
  source = "./m"
  given  = var.s
}
"#;
    let module = "variable \"given\" {}\noutput \"shown\" {\n value = var.given\n sensitive = true\n}";
    for text in secrets {
        let configuration = format!("{shared}{text}");
        let options = wardian_engine::PlanOptions::default();
        let (_, planned) = Fixture::new().plan_with(&configuration, &[("m", module)], &options);
        assert!(planned.has_errors(), "nothing is wrong with {text}");
        for problem in &planned {
            let shown = format!(
                "{problem} {} {}",
                problem.to_text(80, &wardian_diagnostic::NoStyle).as_str(),
                problem.to_json()
            );
            let is_nonsensitive = text.contains("nonsensitive");
            assert!(is_nonsensitive || !shown.to_lowercase().contains("hunter2"), "{text}: {shown}");
        }
    }
}

#[test]
fn validation_may_refer_to_later_variables() {
    let found = Fixture::new().plan_errors(
        r#"
        variable "first" {
          default = "a"
          validation {
            condition     = length(var.first) == var.second
            error_message = "as many characters as second says"
          }
        }
        variable "second" { default = 2 }
        "#,
    );
    assert!(found.contains("Invalid value for variable"), "{found}");
}
