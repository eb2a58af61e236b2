//! Root variable values: files in both syntaxes, options and the environment.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use wardian_config::{
    Configuration, MemoryFiles, VariableInputs, VariableSource, VariableText, given_variables,
    load_root_from, missing_variables, root_variables,
};
use wardian_fuzz::{file, look_at_diagnostics};

const DECLARED: &str = r#"
variable "a" {}
variable "b" { type = string }
variable "c" { type = number }
variable "d" {
  type     = bool
  nullable = false
}
variable "e" { type = list(number) }
variable "f" { type = map(any) }
variable "g" {
  type    = object({ a = string, b = optional(number, 5), c = optional(list(object({ d = any }))) })
  default = null
}
variable "h" { type = tuple([string, set(bool)]) }
variable "i" {
  type      = any
  sensitive = true
}
"#;

static MODULE: LazyLock<Configuration> =
    LazyLock::new(|| match load_root_from(&MemoryFiles::new([("main.tf", DECLARED)]), Path::new("")) {
        Ok(configuration) => configuration,
        Err(problems) => unreachable!("{problems}"),
    });

fuzz_target!(|data: &[u8]| {
    let Some((kind, data)) = data.split_first() else { return };
    let mut inputs = VariableInputs::default();
    match kind % 4 {
        0 => inputs.automatic_files.extend(file("terraform.tfvars", data)),
        1 => inputs.arguments.extend(file("x.tfvars.json", data).map(VariableSource::File)),
        2 => {
            let Ok(text) = std::str::from_utf8(data) else { return };
            let texts = text.split('\0').filter_map(|argument| VariableText::parse(argument).ok());
            inputs.arguments.extend(texts.map(VariableSource::Text));
        }
        _ => {
            let Ok(text) = std::str::from_utf8(data) else { return };
            inputs.environment = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
                .map(|name| (name.to_owned(), text.to_owned()))
                .to_vec();
        }
    }
    let module = &MODULE.root().module;
    let _ = missing_variables(module, &inputs);
    for answer in [root_variables(module, &inputs), given_variables(module, &inputs)] {
        match answer {
            Ok((variables, warnings)) => {
                look_at_diagnostics(&warnings);
                for problems in variables.refused.values() {
                    assert!(problems.has_errors(), "a value is refused without an error");
                    look_at_diagnostics(problems);
                }
                for (name, value) in variables.values {
                    let variable = &module.variables[&name];
                    assert!(variable.nullable || !value.is_null(), "null for {name}");
                }
            }
            Err(problems) => {
                assert!(problems.has_errors(), "a failure without an error");
                look_at_diagnostics(&problems);
            }
        }
    }
});
