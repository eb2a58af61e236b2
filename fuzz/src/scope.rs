//! Scopes for evaluation, with unknown or predictable values.

use wardian_diagnostic::{Diagnostics, Span};
use wardian_lang::{ReferenceSubject, Resolved, Scope};
use wardian_value::{Marks, Refinement, Str, Type, Value};

/// A scope in which every name has an unknown value.
pub struct Nothing;

impl Scope for Nothing {
    fn resolve(&self, _: &ReferenceSubject, _: Option<&Value>, _: &Span) -> Result<Resolved, Diagnostics> {
        Ok(Resolved::Whole(Value::unknown(Type::Dynamic)))
    }
}

/// A scope in which the first letter of a name determines its value. Every file exists, and
/// contains its own path.
pub struct Named;

impl Scope for Named {
    fn resolve(&self, subject: &ReferenceSubject, _: Option<&Value>, _: &Span) -> Result<Resolved, Diagnostics> {
        let name = match subject {
            ReferenceSubject::Variable(name)
            | ReferenceSubject::Local(name)
            | ReferenceSubject::Module(name)
            | ReferenceSubject::Name(name) => {
                name
            }
            ReferenceSubject::Resource { name, .. } => name,
            _ => "s",
        };
        Ok(Resolved::Whole(named(name)))
    }

    fn read_file(&self, path: &str) -> std::io::Result<Vec<u8>> {
        Ok(path.trim_start_matches("/srv/").as_bytes().to_vec())
    }

    fn file_exists(&self, path: &str) -> Result<bool, String> {
        Ok(path.len().is_multiple_of(2))
    }

    fn list_files(&self, _: &str) -> Result<Option<Vec<String>>, String> {
        Ok(Some(["a", "b/c.tf", "b/d/e.tf", "é{x}", "[a]"].map(str::to_owned).to_vec()))
    }

    fn working_directory(&self) -> Option<String> {
        Some("/srv".to_owned())
    }

    fn home_directory(&self) -> Option<String> {
        Some("/srv/home".to_owned())
    }

    fn timestamp(&self) -> Option<String> {
        Some("2026-02-28T23:59:59Z".to_owned())
    }

    fn plan_timestamp(&self) -> Option<String> {
        self.timestamp()
    }
}

fn named(name: &str) -> Value {
    let text = |text: &str| Value::string(text);
    match name.bytes().next() {
        Some(b'a') => Value::list(Type::String, [text("x"), text("y")]),
        Some(b'b') => Value::bool(true),
        Some(b'c') => {
            Value::map(Type::Number, [(Str::new("a"), Value::from(1)), (Str::new("b"), Value::from(2))])
        }
        Some(b'd') => Value::object([
            ("a", text("x")),
            ("b", Value::tuple([Value::from(1), Value::null(Type::Dynamic)])),
            ("c", Value::unknown(Type::String)),
        ]),
        Some(b'e') => Value::set(Type::String, [text("x"), Value::unknown(Type::String)]),
        Some(b'm') => text("secret").with_marks(Marks::SENSITIVE),
        Some(b'n') => Value::from(3),
        Some(b'p') => Value::unknown_with(
            Type::String,
            Refinement { not_null: true, prefix: Some(Str::new("arn:")), ..Refinement::default() },
        ),
        Some(b't') => Value::list(Type::String, [text("x").with_marks(Marks::EPHEMERAL)]),
        Some(b'u') => Value::unknown(Type::Dynamic),
        Some(b'v') => Value::unknown(Type::list(Type::Number)),
        Some(b'z') => Value::null(Type::Dynamic),
        _ => text("é1"),
    }
}
