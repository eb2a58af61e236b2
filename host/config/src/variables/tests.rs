use std::path::Path;

use super::*;
use crate::files::MemoryFiles;
use crate::load::load_root_from;

const DECLARED: &str = r#"
variable "text" {}
variable "number" {
  type    = number
  default = 1
}
variable "list" {
  type    = list(string)
  default = []
}
variable "strict" {
  default  = "d"
  nullable = false
}
"#;

fn check(inputs: &VariableInputs, expected: &str) {
    let files = MemoryFiles::new([("main.tf", DECLARED)]);
    let configuration = load_root_from(&files, Path::new("")).unwrap();
    let found = match root_variables(&configuration.root().module, inputs) {
        Ok((variables, warnings)) => {
            let values: Vec<String> =
                variables.values.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
            let warnings: Vec<String> = warnings.iter().map(|warning| warning.summary.clone()).collect();
            [values, warnings].concat().join("; ")
        }
        Err(problems) => problems.to_string(),
    };
    assert_eq!(found, expected);
}

fn argument(text: &str) -> VariableSource {
    VariableSource::Text(VariableText::parse(text).unwrap())
}

fn file(name: &str, text: &str) -> Arc<SourceFile> {
    SourceFile::new(name, text)
}

#[test]
fn later_sources_take_precedence() {
    let environment = vec![("text".to_owned(), "env".to_owned()), ("nobody".to_owned(), "x".to_owned())];
    let mut inputs = VariableInputs { environment, ..VariableInputs::default() };
    check(&inputs, "text=\"env\"");
    inputs.automatic_files.push(file("terraform.tfvars", "text = \"tfvars\"\nnumber = \"2\""));
    check(&inputs, "number=2; text=\"tfvars\"");
    inputs.automatic_files.push(file("a.auto.tfvars.json", "{\"text\": \"json ${x}\", \"list\": [1, true]}"));
    check(&inputs, "list=[\"1\", \"true\"]; number=2; text=\"json ${x}\"");
    inputs.arguments.push(argument("text=argument"));
    inputs.arguments.push(VariableSource::File(file("x.tfvars", "text = \"file\"\nlist = null")));
    check(&inputs, "list=null(list(string)); number=2; text=\"file\"");
    inputs.arguments.push(argument("list=[\"a\", \"b=c\"]"));
    inputs.arguments.push(argument("text=[\"a\"]"));
    inputs.arguments.push(VariableSource::File(file("y.tfvars", "strict = null")));
    check(&inputs, "list=[\"a\", \"b=c\"]; number=2; text=\"[\\\"a\\\"]\"");
}

#[test]
fn reports_invalid_and_missing_values() {
    check(
        &VariableInputs::default(),
        "main.tf:2,1-16: No value for required variable; The variable \"text\" has no default and no value was given. Set it with -var=\"text=...\", in a file terraform.tfvars or one given with -var-file, or with the environment variable TF_VAR_text.",
    );
    let arguments = vec![argument("text=x"), argument("txt=1"), argument("list=[")];
    let inputs = VariableInputs { arguments, ..VariableInputs::default() };
    let files = MemoryFiles::new([("main.tf", DECLARED)]);
    let configuration = load_root_from(&files, Path::new("")).unwrap();
    let problems = root_variables(&configuration.root().module, &inputs).unwrap_err();
    let lines: Vec<String> = problems.iter().skip(1).map(|problem| problem.to_string()).collect();
    assert_eq!(
        lines,
        [
            "Value for undeclared variable; The root module declares no variable \"txt\", but the command line sets it. Did you mean \"text\"? To use it, add a variable block.",
        ]
    );
    assert!(problems.iter().next().unwrap().to_string().starts_with("<value for var.list>:1,"));
    assert!(VariableText::parse("novalue").is_err() && VariableText::parse("=x").is_err());
}

#[test]
fn invalid_values_are_returned_unconverted() {
    let files = MemoryFiles::new([("main.tf", DECLARED)]);
    let configuration = load_root_from(&files, Path::new("")).unwrap();
    let arguments = vec![argument("text=1"), argument("number=many"), argument("list=[true]")];
    let automatic_files = vec![file("terraform.tfvars", "list = 1\nstrict = []\n")];
    let inputs = VariableInputs { automatic_files, arguments, ..VariableInputs::default() };
    let (variables, warnings) = root_variables(&configuration.root().module, &inputs).unwrap();
    assert!(warnings.is_empty());
    let shown = |values: &BTreeMap<Str, Value>| {
        values.iter().map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(shown(&variables.values), "list=[\"true\"]; strict=[]; text=\"1\"");
    assert_eq!(shown(&variables.given), "list=[true]; number=\"many\"; strict=[]; text=\"1\"");
    assert_eq!(
        variables.accepted().unwrap_err().to_string(),
        "main.tf:3,1-18: Invalid value for input variable; The value from the option -var=\"number=...\" is not valid for var.number, declared at main.tf:3,1-18: a number is required."
    );
}

#[test]
fn rejects_values_that_are_not_constant() {
    let files = MemoryFiles::new([("main.tf", DECLARED)]);
    let configuration = load_root_from(&files, Path::new("")).unwrap();
    let automatic_files = vec![file("terraform.tfvars", "text = upper(\"x\")\n")];
    let arguments = vec![argument("list=tolist([1])")];
    let inputs = VariableInputs { automatic_files, arguments, ..VariableInputs::default() };
    let problems = root_variables(&configuration.root().module, &inputs).unwrap_err();
    let found: Vec<&str> = problems.iter().map(|problem| &*problem.summary).collect();
    assert_eq!(found, ["Function calls not allowed", "Function calls not allowed"]);
}

#[test]
fn reports_invalid_content_in_values_files() {
    let automatic_files = vec![
        file("terraform.tfvars", "text = \"x\"\na = 1\nb = 2\nc = 3\nd = 4\n"),
        file("b.auto.tfvars", ""),
    ];
    let mut inputs = VariableInputs { automatic_files, ..VariableInputs::default() };
    check(
        &inputs,
        "text=\"x\"; Value for undeclared variable; Value for undeclared variable; Values for undeclared variables",
    );
    inputs.automatic_files = vec![
        file("terraform.tfvars", "text = var.number\nvariable \"text\" {\n}\nother {}\n"),
        file("terraform.tfvars.json", "[1]"),
        file("x.auto.tfvars.json", "{"),
    ];
    let files = MemoryFiles::new([("main.tf", DECLARED)]);
    let configuration = load_root_from(&files, Path::new("")).unwrap();
    let problems = root_variables(&configuration.root().module, &inputs).unwrap_err();
    let summaries: Vec<&str> = problems.iter().map(|problem| &*problem.summary).collect();
    assert_eq!(
        summaries,
        [
            "Variable declaration in .tfvars file",
            "Unexpected block",
            "Variables not allowed",
            "Incorrect JSON value type",
            "Missing value",
            "Invalid object property name",
            "Root value must be object",
        ]
    );
}

#[test]
fn saved_plan_accepts_only_ephemeral_values() {
    let declared = "variable \"kept\" {}\nvariable \"key\" {\n  ephemeral = true\n}\n";
    let files = MemoryFiles::new([("main.tf", declared)]);
    let configuration = load_root_from(&files, Path::new("")).unwrap();
    let planned = BTreeMap::from([(Str::new("kept"), Value::string("k"))]);
    let check = |inputs: VariableInputs, expected: &str| {
        let module = &configuration.root().module;
        let found = match variables_for_saved_plan(module, &inputs, &planned) {
            Ok((values, warnings)) => {
                let warnings: Vec<_> = warnings.iter().map(|warning| warning.summary.clone()).collect();
                format!("{values:?} {}", warnings.join(","))
            }
            Err(problems) => problems.iter().map(|p| p.summary.clone()).collect::<Vec<_>>().join(","),
        };
        assert_eq!(found.trim(), expected);
    };
    let argument = |name: &str, text: &str| {
        VariableSource::Text(VariableText { name: name.to_owned(), text: text.to_owned() })
    };
    let environment = |text: &str| vec![("kept".to_owned(), text.to_owned())];
    let file = || SourceFile::new("terraform.tfvars", "kept = \"other\"\n");
    let inputs = |arguments: Vec<VariableSource>| VariableInputs { arguments, ..VariableInputs::default() };
    check(inputs(vec![argument("key", "x"), argument("kept", "k")]), r#"{"key": "x"}"#);
    check(inputs(vec![argument("kept", "x")]), "Can't change variable when applying a saved plan");
    check(inputs(vec![VariableSource::File(file())]), "Can't change variable when applying a saved plan");
    check(
        VariableInputs { environment: environment("x"), ..VariableInputs::default() },
        "{} Ignoring variable when applying a saved plan",
    );
    check(VariableInputs { automatic_files: vec![file()], ..VariableInputs::default() }, "{}");
    check(inputs(vec![argument("kye", "x")]), "Value for undeclared variable");
}

#[test]
fn automatic_values_files_are_sorted() {
    let names =
        ["z.auto.tfvars", "terraform.tfvars.json", "a.auto.tfvars.json", "x.tfvars", "terraform.tfvars"];
    assert_eq!(
        automatic_files(names),
        ["terraform.tfvars", "terraform.tfvars.json", "a.auto.tfvars.json", "z.auto.tfvars"]
    );
}
