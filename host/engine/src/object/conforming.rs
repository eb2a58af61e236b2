//! Checks that a response has the type of the schema. Only types are compared, since a value always
//! matches its own type.

use std::sync::Arc;

use wardian_value::{Path, Type};

use super::plan_valid::Violation;

/// Returns the first path whose type does not match; `None` if all match. Cost: O(size of the
/// type), and O(1) for the identical type.
pub fn type_mismatch(actual: &Type, wanted: &Type) -> Option<Violation> {
    if is_conforming(actual, wanted) { None } else { find(actual, wanted, &Path::root()) }
}

/// Returns whether a type matches. Creates no paths, because almost all responses match.
fn is_conforming(actual: &Type, wanted: &Type) -> bool {
    match (actual, wanted) {
        (_, Type::Dynamic) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            Arc::ptr_eq(a, b) || is_conforming(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            Arc::ptr_eq(a, b)
                || a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_conforming(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            Arc::ptr_eq(a, b)
                || a.len() == b.len()
                    && a.iter()
                        .zip(b.iter())
                        .all(|((name, a), (wanted, b))| name == wanted && is_conforming(a, b))
        }
        (a, b) => a == b,
    }
}

fn find(actual: &Type, wanted: &Type, path: &Path) -> Option<Violation> {
    if actual == wanted || *wanted == Type::Dynamic {
        return None;
    }
    match (actual, wanted) {
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            find(a, b, path)
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            (0u64..).zip(a.iter().zip(b.iter())).find_map(|(i, (a, b))| find(a, b, &path.index(i)))
        }
        (Type::Object(a), Type::Object(b)) => {
            let wrong = b.iter().find_map(|(name, wanted)| {
                let path = path.attribute(name.clone());
                match a.attribute(name) {
                    Some(actual) => find(actual, wanted, &path),
                    None => Some((path, "the attribute is missing".to_owned())),
                }
            });
            wrong.or_else(|| {
                let (name, _) = a.iter().find(|(name, _)| b.attribute(name).is_none())?;
                Some((path.attribute(name.clone()), "the schema has no such attribute".to_owned()))
            })
        }
        _ => {
            let text = format!("it is of type {}, not {}", actual.friendly_name(), wanted.friendly_name());
            Some((path.clone(), text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_mismatch_names_first_path() {
        let wanted = Type::object([
            ("any", Type::Dynamic),
            ("tags", Type::map(Type::String)),
            ("rules", Type::list(Type::object([("port", Type::Number)]))),
        ]);
        let with = |any: Type, tags: Type, port: Type| {
            Type::object([
                ("any", any),
                ("tags", tags),
                ("rules", Type::list(Type::object([("port", port)]))),
            ])
        };
        assert_eq!(type_mismatch(&wanted, &wanted), None);
        assert_eq!(type_mismatch(&with(Type::Bool, Type::map(Type::String), Type::Number), &wanted), None);
        let found =
            |actual: Type| type_mismatch(&actual, &wanted).map(|(path, text)| format!("{path}: {text}"));
        assert_eq!(
            found(with(Type::Bool, Type::map(Type::Bool), Type::Number)).as_deref(),
            Some(".tags: it is of type bool, not string")
        );
        assert_eq!(
            found(with(Type::Bool, Type::map(Type::String), Type::String)).as_deref(),
            Some(".rules.port: it is of type string, not number")
        );
        assert_eq!(
            found(Type::object([("any", Type::Bool)])).as_deref(),
            Some(".rules: the attribute is missing")
        );
        assert_eq!(found(Type::Dynamic).as_deref(), Some(": it is of type dynamic, not object"));
    }
}
