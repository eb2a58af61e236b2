//! Checks that loading returns a result for any file content.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use wardian_config::{InstalledModules, MemoryFiles, load_root_from, load_tests, references, span_of};
use wardian_diagnostic::Diagnostics;
use wardian_value::{Path as ValuePath, PathStep};

const WORDS: &[&str] = &[
    "resource",
    "variable",
    "module",
    "data",
    "provider",
    "terraform",
    "locals",
    "output",
    "check",
    "moved",
    "required_providers",
    "dynamic",
    "content",
    "lifecycle",
    "\"a\"",
    "\"b_c\"",
    "\"\"",
    "{",
    "}",
    "\n",
    "=",
    "a",
    "count",
    "for_each",
    "source",
    "\"./m\"",
    "\"../\"",
    "[",
    "]",
    "type",
    "default",
    "var.a",
    "each.value",
    "1",
    "providers",
    "alias",
    "version",
    "\"~> 1\"",
    "depends_on",
    "ignore_changes",
    "all",
    "_",
    "provisioner",
    "${",
    "<<E\n",
    "from",
    "to",
    "import",
    "id",
    "validation",
    "condition",
    ",",
    "null",
    "string",
    "object({",
    "})",
];

const JSON_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "=",
    "null",
    "true",
    "tru",
    "1e5",
    "-",
    "01",
    "\"a\"",
    "\"\"",
    "\"//\"",
    "\"resource\":",
    "\"a_b\":",
    "\"variable\":{\"a\":",
    "\"default\":",
    "\"type\":",
    "\"list(string)\"",
    "\"locals\":",
    "\"dynamic\":{\"x\":",
    "\"content\":",
    "\"for_each\":",
    "\"iterator\":",
    "\"lifecycle\":",
    "\"ignore_changes\":",
    "\"module\":",
    "\"source\":\"./m\"",
    "\"provider\":",
    "\"alias\":",
    "\"terraform\":",
    "\"required_providers\":",
    "\"moved\":",
    "\"from\":",
    "\"${var.a}\"",
    "\"\\u00e9 ${\\\"x\\\"} %{ if true }\"",
    "\"\\ud800\"",
    "\"\\",
    "\"${",
    "'",
    "\n",
];

fn load(text: &[u8]) {
    for names in [
        ["main.tf", "m/main.tf"],
        ["main.tf.json", "m/main.tf.json"],
        ["main.tf", "override.tf"],
        ["main.tf.json", "override.tf.json"],
        ["main.tf.json", "a_override.tf.json"],
    ] {
        load_as(text, names);
    }
}

/// Words of test files and mock data files.
const TEST_WORDS: &[&str] = &[
    "run \"a\"",
    "run",
    "variables",
    "variable \"v\"",
    "test",
    "mock_provider \"a\"",
    "mock_resource \"a_b\"",
    "mock_data",
    "override_resource",
    "override_data",
    "override_module",
    "provider \"a\"",
    "module",
    "assert",
    "plan_options",
    "backend \"local\"",
    "{",
    "}",
    "\n",
    "=",
    "source",
    "\"./m\"",
    "\"a/b/c\"",
    "command",
    "plan",
    "mode",
    "target",
    "replace",
    "providers",
    "expect_failures",
    "values",
    "outputs",
    "defaults",
    "override_during",
    "state_key",
    "parallel",
    "condition",
    "[",
    "]",
    "module.m[0]",
    "module",
    ".",
    "data",
    "a_b.c[\"k\"]",
    "output.x",
    "var.x",
    "upper(1)",
    "[\"é\"]",
    "1",
    "null",
    "\"a.b\"",
    "alias",
    ",",
];

fn load_test_file(text: &[u8]) {
    for [first, second] in [
        ["tests/a.tftest.hcl", "m/a.tfmock.hcl"],
        ["a.tftest.json", "m/a.tfmock.json"],
        ["a.tofutest.hcl", "m/main.tf"],
    ] {
        let main = br#"resource "a_b" "c" {}"#.to_vec();
        let test = br#"mock_provider "z" {
  source = "./m"
}
"#
        .to_vec();
        let files = MemoryFiles::new([
            ("main.tf", main),
            ("tests/z.tftest.hcl", test),
            (first, text.to_vec()),
            (second, text.to_vec()),
        ]);
        let mut problems = Diagnostics::new();
        let root = Arc::new(load_root_from(&files, Path::new("")).unwrap());
        let tests = load_tests(&files, Path::new(""), Path::new("tests"), &mut problems);
        let installed = InstalledModules::default();
        let modules = tests.load_modules(&files, Path::new(""), &installed, &mut problems);
        let _ = (tests.check_providers(&root), tests.check(&root, &modules));
        for file in tests.files.values() {
            for run in &file.runs {
                let _ = run.options.addresses();
                if let Some(configuration) = modules.configuration(&root, file, run) {
                    let _ = configuration.for_run(file, run);
                }
            }
        }
    }
}

fn load_as(text: &[u8], names: [&str; 2]) {
    let files = MemoryFiles::new(names.map(|name| (name, text.to_vec())));
    if let Ok(configuration) = load_root_from(&files, Path::new("")) {
        let _ = configuration.check_references();
        let _ = configuration.check_expressions();
        let _ = configuration.provider_requirements();
        for (_, resource, _) in configuration.resources() {
            let _ = references(&resource.body, None);
            let path = ValuePath::from(vec![PathStep::Attribute("a".into()), PathStep::Index(1)]);
            let _ = span_of(&resource.body, &path);
        }
    }
}

#[test]
fn deep_and_long_json_does_not_panic() {
    let deep = |depth: usize| {
        format!("{{\"locals\":{{\"a\":{}1{}}}}}", "[".repeat(depth), "]".repeat(depth)).into_bytes()
    };
    load(&deep(100_000));
    load(&deep(250));
    for unit in ["{\"a\":", "[", "\"", "{", "\"${", "1,", "\\"] {
        load(unit.repeat(100_000).as_bytes());
    }
    let many: Vec<String> = (0..20_000).map(|index| format!("\"a{index}\":\"${{1}}\"")).collect();
    load(format!("{{\"locals\":{{{}}}}}", many.join(",")).as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_return_a_result(bytes in any::<Vec<u8>>()) {
        load(&bytes);
    }

    #[test]
    fn arbitrary_words_return_a_result(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        load(words.join(" ").as_bytes());
    }

    #[test]
    fn arbitrary_json_words_return_a_result(words in prop::collection::vec(prop::sample::select(JSON_WORDS), 0..40)) {
        load(words.join(" ").as_bytes());
    }

    #[test]
    fn arbitrary_test_files_return_a_result(bytes in any::<Vec<u8>>()) {
        load_test_file(&bytes);
    }

    #[test]
    fn arbitrary_words_of_test_files_return_a_result(
        words in prop::collection::vec(prop::sample::select(TEST_WORDS), 0..40),
    ) {
        load_test_file(words.join(" ").as_bytes());
    }

    #[test]
    fn truncated_test_file_returns_a_result(cut in 0usize..900) {
        let text = r#"
test {
  parallel = true
}
variables {
  a = 1
}
mock_provider "a" {
  alias  = "b"
  source = "./m"
  mock_resource "a_b" {
    defaults = { c = [1] }
  }
  override_data {
    target = module.m["é"].data.a.b[0]
    values = { c = upper("d") }
  }
}
run "a" {
  command         = plan
  providers       = { a = a.b }
  expect_failures = [var.a, output.b, check.c, a_b.c[0]]
  plan_options {
    target  = [module.m, a_b.c]
    replace = [a_b.c["é"]]
  }
  module {
    source = "./m"
  }
  assert {
    condition     = run.b.c == "${output.b}"
    error_message = "d"
  }
}
"#;
        load_test_file(text.get(..cut).unwrap_or(text).as_bytes());
    }

    #[test]
    fn truncated_json_returns_a_result(cut in 0usize..600, other in 0usize..600) {
        let text = r#"{"terraform": {"required_providers": {"a": {"source": "a/b"}}},
  "module": {"m": {"source": "./m", "providers": {"a": "a.b"}, "x": "${1}\n${\"q\"}"}},
  "resource": {"a_b": {"c": [{"count": 2, "lifecycle": {"ignore_changes": ["x[0].y"]},
    "dynamic": {"d": {"for_each": "${var.q}", "content": {"e": "${d.value}"}}},
    "provisioner": [{"local-exec": {"command": "\u0041 ${self.id}"}}]}]}},
  "variable": {"q": {"type": "list(string)", "default": ["a", "${b}"]}}}"#;
        let (start, end) = if cut <= other { (0, cut) } else { (other, cut) };
        load(text.get(start..end.min(text.len())).unwrap_or(text).as_bytes());
    }

    #[test]
    fn truncated_block_returns_a_result(cut in 0usize..400) {
        let text = r#"
terraform {
  required_providers { a = { source = "a/b", configuration_aliases = [a.x] } }
}
module "m" {
  source    = "./m"
  providers = { a = a.b }
}
resource "a_b" "c" {
  count = 2
  lifecycle { ignore_changes = [x[0].y] }
  dynamic "d" {
    for_each = var.q
    content { e = d.value }
  }
}
"#;
        load(text.get(..cut).unwrap_or(text).as_bytes());
    }
}
