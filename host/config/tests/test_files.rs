//! Compares the diagnostics for test files with those that Terraform 1.11 reports for
//! `terraform validate`, which are recorded in `data/test_files`.
//!
//! A case begins with `### NAME`, and each of its files with `--- PATH`. The diagnostics follow `=>`:
//! one per line, with position, severity and summary. A line with the prefix `T ` is a diagnostic that
//! only Terraform reports, and one with `W ` a diagnostic that only Wardian reports.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use wardian_address::ResourceMode;
use wardian_config::{
    Configuration, InstalledModule, InstalledModules, LoadedRoot, LoadedTests, MemoryFiles, OverrideDuring,
    Target, TestFile, TestPlanMode, TestProvider, load_root_with, load_tests,
};
use wardian_diagnostic::Diagnostics;

/// The files of a case that does not contain them.
const MAIN: &str = r#"variable "x" {
  type = string
  default = "1"
  validation {
    condition = var.x != "bad"
    error_message = "bad"
  }
}
resource "terraform_data" "a" { input = var.x }
output "o" { value = terraform_data.a.output }
check "c" {
  assert {
    condition = var.x != "warn"
    error_message = "w"
  }
}
module "m" { source = "./m" }
"#;
const MODULE: &str = r#"variable "v" { default = "1" }
resource "terraform_data" "b" { input = var.v }
output "mo" { value = 1 }
"#;

#[derive(Default)]
struct Case {
    name: String,
    files: Vec<(String, String)>,
    /// The diagnostics that Wardian must report.
    expected: BTreeSet<String>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_results = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            cases.push(Case { name: name.to_owned(), ..Case::default() });
            in_results = false;
            continue;
        }
        let case = cases.last_mut().expect("a file starts with a case");
        if let Some(path) = line.strip_prefix("--- ") {
            case.files.push((path.to_owned(), String::new()));
        } else if line == "=>" {
            in_results = true;
        } else if in_results {
            if !line.starts_with("T ") {
                case.expected.insert(line.strip_prefix("W ").unwrap_or(line).to_owned());
            }
        } else {
            let (_, text) = case.files.last_mut().expect("text belongs to a file");
            text.push_str(line);
            text.push('\n');
        }
    }
    cases
}

/// Returns the diagnostics as `validate` determines them.
fn validate(files: &[(String, String)]) -> Diagnostics {
    let mut all = vec![("main.tf", MAIN), ("m/main.tf", MODULE)];
    all.retain(|(path, _)| files.iter().all(|(other, _)| other != path));
    all.extend(files.iter().map(|(path, text)| (&**path, &**text)));
    let files = MemoryFiles::new(all);
    let directory = Path::new(".");
    let installed = InstalledModules::default();
    let mut problems = Diagnostics::new();
    let root = match load_root_with(&files, directory, &installed) {
        LoadedRoot::Complete(configuration) => {
            problems.extend(configuration.warnings.clone());
            Some(Arc::new(configuration))
        }
        other => {
            problems.extend(other.into_result().unwrap_err());
            None
        }
    };
    let tests = load_tests(&files, directory, Path::new("tests"), &mut problems);
    let modules = tests.load_modules(&files, directory, &installed, &mut problems);
    let Some(root) = root else { return problems };
    problems.extend(tests.check_providers(&root));
    for missing in &modules.missing {
        problems.push(missing.diagnostic());
    }
    if problems.has_errors() {
        return problems;
    }
    problems.extend(root.check_references());
    for (_, _, _, configuration) in modules.iter(&tests) {
        problems.extend(configuration.check_references());
    }
    problems.extend(tests.check(&root, &modules));
    problems
}

fn lines(problems: &Diagnostics) -> BTreeSet<String> {
    problems
        .iter()
        .map(|problem| {
            let place = problem.subject.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            let severity = if problem.is_error() { "error" } else { "warning" };
            format!("{place} {severity}: {}", problem.summary)
        })
        .collect()
}

fn compare(text: &str) {
    let mut differences = String::new();
    for case in cases(text) {
        let found = lines(&validate(&case.files));
        if found != case.expected {
            writeln!(differences, "### {}", case.name).unwrap();
            for line in case.expected.difference(&found) {
                writeln!(differences, "T {line}").unwrap();
            }
            for line in found.difference(&case.expected) {
                writeln!(differences, "W {line}").unwrap();
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn runs() {
    compare(include_str!("data/test_files/runs.txt"));
}

#[test]
fn references_and_modules_of_runs() {
    compare(include_str!("data/test_files/run_references.txt"));
}

#[test]
fn variables_and_mock_providers() {
    compare(include_str!("data/test_files/variables_and_mocks.txt"));
}

#[test]
fn overrides() {
    compare(include_str!("data/test_files/overrides.txt"));
}

#[test]
fn kinds_of_files() {
    compare(include_str!("data/test_files/files.txt"));
}

#[test]
fn content_of_run_modules() {
    compare(include_str!("data/test_files/run_modules.txt"));
}

#[test]
fn provider_configurations() {
    compare(include_str!("data/test_files/provider_configurations.txt"));
}

#[test]
fn addresses_and_lists() {
    compare(include_str!("data/test_files/addresses.txt"));
}

fn load(files: &[(&str, &str)]) -> (LoadedTests, Arc<Configuration>, Diagnostics) {
    let files = MemoryFiles::new(files.iter().map(|(path, text)| (*path, *text)));
    let root = match load_root_with(&files, Path::new("."), &InstalledModules::default()) {
        LoadedRoot::Complete(configuration) => Arc::new(configuration),
        other => panic!("{}", other.into_result().unwrap_err()),
    };
    let mut problems = Diagnostics::new();
    let tests = load_tests(&files, Path::new("."), Path::new("tests"), &mut problems);
    (tests, root, problems)
}

fn file(text: &str) -> (TestFile, Diagnostics) {
    let (mut tests, _, problems) = load(&[("tests/t.tftest.hcl", text)]);
    (tests.files.pop_first().unwrap().1, problems)
}

#[test]
fn settings_of_later_versions_are_read() {
    let (file, problems) = file(
        r#"
test {
  parallel     = true
  skip_cleanup = true
}
variable "region" {
  type = string
}
run "a" {
  state_key = "k"
  backend "local" {
    path = "a.tfstate"
  }
}
run "b" {
  parallel     = false
  skip_cleanup = false
  override_resource {
    target          = terraform_data.a
    values          = { id = upper("a") }
    override_during = plan
  }
}
"#,
    );
    assert!(problems.is_empty(), "{problems}");
    assert!(file.parallel && file.skip_cleanup);
    assert!(file.declared_variables.contains_key("region"));
    let [a, b] = file.runs.as_slice() else { panic!("two runs") };
    assert!(a.parallel && a.skip_cleanup && !b.parallel && !b.skip_cleanup);
    assert_eq!(a.state_key.as_ref().map(|(key, _)| &**key), Some("k"));
    assert_eq!(a.backend.as_ref().map(|backend| &*backend.type_name), Some("local"));
    assert_eq!(b.overrides[0].during, OverrideDuring::Plan);
    assert!(b.overrides[0].values.is_some());
}

#[test]
fn errors_of_later_versions_are_reported() {
    let (_, problems) = file(
        r#"
test {
  parallel = 1
}
test {}
variable "x" {}
variable "x" {}
run "a" {}
run "b" {
  backend "local" {}
}
run "c" {
  state_key = "k"
  backend "local" {}
  backend "local" {}
}
run "d" {
  state_key = "k"
  backend "local" {}
}
"#,
    );
    let found: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {}", problem.subject.as_ref().unwrap(), problem.summary))
        .collect();
    assert_eq!(
        found,
        [
            "tests/t.tftest.hcl:3,14-15 Unsuitable value type",
            "tests/t.tftest.hcl:5,1-5 Multiple \"test\" blocks",
            "tests/t.tftest.hcl:7,1-13 Duplicate variable declaration",
            "tests/t.tftest.hcl:10,3-18 Invalid backend block",
            "tests/t.tftest.hcl:15,3-18 Multiple \"backend\" blocks",
            "tests/t.tftest.hcl:19,3-18 Duplicate backend blocks",
        ]
    );
}

#[test]
fn opentofu_files_replace_terraform_files() {
    let mock = r#"mock_provider "a" {
  source = "mocks"
}"#;
    let (tests, _, problems) = load(&[
        ("a.tftest.hcl", "garbage"),
        ("a.tofutest.hcl", "run \"a\" {}"),
        ("a.tftest.json", r#"{"run": {"b": {}}}"#),
        ("tests/b.tofutest.json", r#"{"run": {"c": {}}}"#),
        ("tests/c.tftest.hcl", mock),
        ("mocks/m.tfmock.hcl", "garbage"),
        ("mocks/m.tofumock.hcl", "mock_data \"d\" {}"),
        ("mocks/n.tfmock.json", r#"{"mock_resource": {"e": {"override_during": "plan"}}}"#),
    ]);
    assert!(problems.is_empty(), "{problems}");
    let paths: Vec<&str> = tests.files.keys().map(|path| &**path).collect();
    assert_eq!(paths, ["a.tftest.json", "a.tofutest.hcl", "tests/b.tofutest.json", "tests/c.tftest.hcl"]);
    assert_eq!(tests.sources.len(), 6);
    let provider = tests.files["tests/c.tftest.hcl"].providers.values().next();
    let Some(TestProvider::Mock(mock)) = provider else { panic!("a mock provider") };
    let defaults: Vec<_> =
        mock.defaults.iter().map(|((mode, kind), defaults)| (*mode, &**kind, defaults.during)).collect();
    assert_eq!(
        defaults,
        [
            (ResourceMode::Data, "d", OverrideDuring::Apply),
            (ResourceMode::Managed, "e", OverrideDuring::Plan)
        ]
    );
}

#[test]
fn own_mocks_precede_mock_data_files() {
    let (tests, _, problems) = load(&[
        (
            "tests/c.tftest.hcl",
            r#"mock_provider "a" {
  source          = "./tests/mocks"
  override_during = plan
  mock_resource "x" {
    defaults = { id = "own" }
  }
  override_data {
    target = data.x.y
  }
}"#,
        ),
        (
            "tests/mocks/m.tfmock.hcl",
            r#"mock_resource "x" {
  defaults = { id = "shared" }
}
override_data {
  target = data.x.y
  values = { id = "shared" }
}
override_resource {
  target = x.y
}"#,
        ),
    ]);
    assert!(problems.is_empty(), "{problems}");
    let provider = tests.files["tests/c.tftest.hcl"].providers.values().next();
    let Some(TestProvider::Mock(mock)) = provider else { panic!("a mock provider") };
    let defaults = mock.defaults.values().next().unwrap().defaults.as_ref().unwrap();
    assert!(format!("{:?}", defaults.as_constant().unwrap()).contains("own"));
    let overrides: Vec<_> =
        mock.overrides.iter().map(|one| (one.target.to_string(), one.values.is_some(), one.during)).collect();
    assert_eq!(
        overrides,
        [
            ("data.x.y".to_owned(), false, OverrideDuring::Plan),
            ("x.y".to_owned(), false, OverrideDuring::Plan)
        ]
    );
}

#[test]
fn plan_options_are_parsed_when_the_run_is_executed() {
    let (file, problems) = file(
        r#"
run "a" {
  plan_options {
    mode    = refresh-only
    target  = [module.m[0], a.b["x"], data.c.d]
    replace = [module.m.a.b[0]]
  }
}
run "b" {
  plan_options {
    refresh = false
    target  = [var.x, a, a.b.c]
    replace = [module.m, data.a.b]
  }
}
"#,
    );
    assert!(problems.is_empty(), "{problems}");
    let addresses = file.runs[0].options.addresses().unwrap();
    let text = |targets: &[Target]| targets.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(text(&addresses.targets), ["module.m[0]", "a.b[\"x\"]", "data.c.d"]);
    assert_eq!(text(&addresses.replace), ["module.m.a.b[0]"]);
    assert_eq!(file.runs[0].options.mode, TestPlanMode::RefreshOnly);
    assert!(!file.runs[1].options.refresh);
    let problems = file.runs[1].options.addresses().unwrap_err();
    let found: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {}", problem.subject.as_ref().unwrap(), problem.summary))
        .collect();
    assert_eq!(
        found,
        [
            "tests/t.tftest.hcl:12,16-21 Invalid address",
            "tests/t.tftest.hcl:12,23-24 Invalid address",
            "tests/t.tftest.hcl:12,29-31 Invalid address",
            "tests/t.tftest.hcl:13,16-24 Invalid address",
            "tests/t.tftest.hcl:13,26-34 Can only target managed resources for forced replacements.",
        ]
    );
}

#[test]
fn expected_failures_are_objects() {
    let (file, problems) = file(
        r#"
run "a" {
  expect_failures = [var.a.b, output.c, check.d, e.f[0].g, data.h.i, resource.j.k]
}
"#,
    );
    assert!(problems.is_empty(), "{problems}");
    let objects: Vec<String> =
        file.runs[0].expect_failures.iter().map(|expected| expected.object.to_string()).collect();
    assert_eq!(objects, ["var.a", "output.c", "check.d", "e.f[0]", "data.h.i", "j.k"]);
    assert_eq!(file.runs[0].expect_failures[3].span.text(), "e.f[0]");
}

/// Returns the provider configurations that the root module of a run uses, with the spans of their
/// blocks, and the mocked ones.
fn providers_of(text: &str, main: &str) -> Result<Vec<String>, String> {
    let called = r#"resource "a_b" "c" {}"#;
    let (tests, root, problems) =
        load(&[("main.tf", main), ("q/main.tf", called), ("tests/t.tftest.hcl", text)]);
    assert!(problems.is_empty(), "{problems}");
    let file = &tests.files["tests/t.tftest.hcl"];
    let configured = root.for_run(file, &file.runs[0]).map_err(|problems| problems.to_string())?;
    for (path, node) in configured.configuration.modules().map(|node| (&node.path, node)) {
        if !path.is_root() {
            assert!(Arc::ptr_eq(&node.module, &root.module(path).unwrap().module));
        }
    }
    let problems = configured.configuration.check_references();
    if problems.has_errors() {
        return Err(problems.to_string());
    }
    let mut found = Vec::new();
    for (node, resource, address) in configured.configuration.resources() {
        let from = match configured.providers.get(&address) {
            None => "configuration".to_owned(),
            Some(name) => match &file.providers[name] {
                TestProvider::Real(_) => format!("provider {name:?}"),
                TestProvider::Mock(_) => format!("mock_provider {name:?}"),
            },
        };
        let path = if node.path.is_root() { String::new() } else { format!("{}.", node.path) };
        found.push(format!("{path}{}.{}: {from}", resource.type_name, resource.name));
    }
    Ok(found)
}

#[test]
fn provider_configurations_of_runs_replace_those_of_the_root_module() {
    let main = r#"
provider "a" {
  x = 1
}
provider "a" {
  alias = "z"
}
resource "a_b" "c" {}
resource "a_b" "d" {
  provider = a.z
}
module "q" {
  source = "./q"
}
"#;
    let run = |block: &str| providers_of(block, main).unwrap();
    assert_eq!(
        run("mock_provider \"a\" {}\nrun \"r\" {}"),
        [
            "a_b.c: mock_provider (\"a\", None)",
            "a_b.d: configuration",
            "module.q.a_b.c: mock_provider (\"a\", None)"
        ]
    );
    assert_eq!(
        run("provider \"a\" {\n alias = \"y\"\n}\nrun \"r\" {\n  providers = { a.z = a.y }\n}"),
        ["a_b.c: configuration", "a_b.d: provider (\"a\", Some(\"y\"))", "module.q.a_b.c: configuration"]
    );
    assert_eq!(run("run \"r\" {}").iter().filter(|line| line.ends_with("configuration")).count(), 3);
}

#[test]
fn provider_configurations_that_the_root_module_does_not_use_are_not_added() {
    let found =
        providers_of("mock_provider \"a\" {}\nrun \"r\" {}", "module \"q\" {\n  source = \"./q\"\n}\n");
    assert_eq!(found.unwrap(), ["module.q.a_b.c: configuration"]);
    let passed = "mock_provider \"a\" {}\nrun \"r\" {\n  providers = { a = a }\n}";
    let found = providers_of(passed, "module \"q\" {\n  source = \"./q\"\n}\n");
    assert_eq!(found.unwrap(), ["module.q.a_b.c: mock_provider (\"a\", None)"]);
}

#[test]
fn passed_provider_configurations_must_exist() {
    let text = "run \"r\" {\n  providers = { a = a.x }\n}";
    let problem = providers_of(text, "resource \"a_b\" \"c\" {}").unwrap_err();
    assert!(problem.contains("Missing provider definition for a.x"), "{problem}");
    let main = "resource \"a_b\" \"c\" {\n  provider = a.x\n}";
    let problem = providers_of("run \"r\" {}", main).unwrap_err();
    assert!(problem.contains("Provider configuration not present"), "{problem}");
    let text = "provider \"a\" {\n  alias = \"x\"\n}\nrun \"r\" {}";
    assert_eq!(providers_of(text, main).unwrap(), ["a_b.c: provider (\"a\", Some(\"x\"))"]);
}

#[test]
fn modules_of_runs_have_the_keys_of_terraform() {
    let files = MemoryFiles::new([
        ("a.tftest.hcl", "run \"r\" {\n  module {\n    source = \"x/y/z\"\n  }\n}"),
        ("tests/b.c.tftest.json", r#"{"run": {"s": {"module": {"source": "./m"}}}}"#),
        ("m/main.tf", "module \"n\" {\n  source = \"x/y/z\"\n}"),
    ]);
    let mut problems = Diagnostics::new();
    let tests = load_tests(&files, Path::new(""), Path::new("./tests/"), &mut problems);
    let modules = tests.load_modules(&files, Path::new(""), &InstalledModules::default(), &mut problems);
    assert!(problems.is_empty(), "{problems}");
    let missing: Vec<(String, String)> =
        modules.missing.iter().map(|module| (module.key(), module.context())).collect();
    let expected = [("test.a.r", "run \"r\""), ("test.tests.b.c.tftest.json.s.n", "module \"n\"")]
        .map(|(key, context)| (key.to_owned(), context.to_owned()));
    assert_eq!(missing, expected);
}

#[test]
fn installed_modules_of_runs_are_read() {
    let files = MemoryFiles::new([
        ("tests/a.tftest.hcl", "run \"r\" {\n  module {\n    source = \"x/y/z\"\n  }\n}"),
        (".terraform/modules/test.tests.a.r/main.tf", "module \"n\" {\n  source = \"./n\"\n}"),
        (".terraform/modules/test.tests.a.r/n/main.tf", "resource \"a_b\" \"c\" {}"),
    ]);
    let module = InstalledModule {
        source: "registry.terraform.io/x/y/z".to_owned(),
        version: None,
        directory: ".terraform/modules/test.tests.a.r".into(),
    };
    let installed = InstalledModules::from_iter([("test.tests.a.r".to_owned(), module)]);
    let mut problems = Diagnostics::new();
    let tests = load_tests(&files, Path::new(""), Path::new("tests"), &mut problems);
    let modules = tests.load_modules(&files, Path::new(""), &installed, &mut problems);
    assert!(problems.is_empty() && modules.missing.is_empty(), "{problems}");
    let (key, _, _, configuration) = modules.iter(&tests).next().unwrap();
    assert_eq!(key, "test.tests.a.r");
    assert_eq!(configuration.modules().count(), 2);
}
