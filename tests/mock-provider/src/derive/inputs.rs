//! Values for the required variables of the root module, derived from their type constraints.

use hcl::Expression;
use hcl::expr::FuncCall;
use serde_json::{Map, Value, json};

use super::inference::key_name;
use super::modules::{Modules, attribute, label};

/// Returns a value for each variable of the root module that has no default and, if `is_filling`,
/// also for each variable whose default is null or an empty string.
pub(crate) fn values(modules: &Modules, is_filling: bool) -> Map<String, Value> {
    let root = modules.all.first().map_or(&[][..], |module| module.blocks.as_slice());
    let required = root.iter().filter(|block| {
        block.identifier() == "variable"
            && match attribute(block, "default") {
                None => true,
                Some(Expression::Null) => is_filling,
                Some(Expression::String(text)) => is_filling && text.is_empty(),
                Some(_) => false,
            }
    });
    required
        .filter_map(|block| {
            let name = label(block, 0)?;
            Some((name.to_owned(), value(name, attribute(block, "type"))))
        })
        .collect()
}

/// Returns a value that a type constraint accepts.
fn value(name: &str, constraint: Option<&Expression>) -> Value {
    let text = || json!(format!("example-{}", name.replace('_', "-")));
    match constraint {
        Some(Expression::Variable(simple)) => match simple.as_str() {
            "number" => json!(1),
            "bool" => json!(true),
            "list" => json!([text()]),
            "map" => json!({ "key": text() }),
            _ => text(),
        },
        Some(Expression::String(simple)) => match simple.as_str() {
            "list" => json!([text()]),
            "map" => json!({ "key": text() }),
            _ => text(),
        },
        Some(Expression::Parenthesis(inner)) => value(name, Some(inner)),
        Some(Expression::FuncCall(call)) => of_call(name, call),
        _ => text(),
    }
}

fn of_call(name: &str, call: &FuncCall) -> Value {
    match (call.name.name.as_str(), call.args.first()) {
        ("list" | "set", element) => json!([value(name, element)]),
        ("map", element) => json!({ "key": value(name, element) }),
        ("tuple", Some(Expression::Array(elements))) => {
            elements.iter().map(|element| value(name, Some(element))).collect()
        }
        ("object", Some(Expression::Object(members))) => {
            let required = members.iter().filter(|(_, constraint)| !is_optional(constraint));
            required
                .filter_map(|(key, member)| {
                    let key = key_name(key)?;
                    let value = value(&key, Some(member));
                    Some((key, value))
                })
                .collect::<Map<String, Value>>()
                .into()
        }
        (_, inner) => value(name, inner),
    }
}

fn is_optional(constraint: &Expression) -> bool {
    matches!(constraint, Expression::FuncCall(call) if call.name.name.as_str() == "optional")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_variables_receive_values_of_their_type() {
        let directory = tempfile::tempdir().unwrap();
        let configuration = r#"
            variable "a_b" {}
            variable "b" { type = set(number) }
            variable "c" {
              type = map(object({ name = string, size = optional(number), pair = tuple([bool, any]) }))
            }
            variable "d" { default = 1 }
            variable "e" {
              type    = number
              default = null
            }
        "#;
        std::fs::write(directory.path().join("main.tf"), configuration).unwrap();
        let modules = Modules::load(directory.path()).unwrap();
        assert_eq!(values(&modules, true)["e"], 1);
        assert_eq!(
            Value::Object(values(&modules, false)),
            json!({
                "a_b": "example-a-b",
                "b": [1],
                "c": { "key": { "name": "example-name", "pair": [true, "example-pair"] } },
            })
        );
    }
}
