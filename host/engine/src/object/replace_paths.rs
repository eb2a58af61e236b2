//! Filters the paths in a provider's `requires_replace` to those whose values change: these force a
//! replacement.

use wardian_plugin::{Attribute, AttributeType, Block};
use wardian_value::{Path, PathStep, Value, View};

/// The value at a path.
#[derive(Clone, Copy, PartialEq)]
enum Found<'a> {
    Value(&'a Value),
    /// A step of the path is unknown.
    Unknown,
    /// A step of the path is null, or is a collection that does not have the element.
    Absent,
    /// The object's type has no such attribute.
    Nowhere,
}

/// Returns the paths whose value changes, sorted.
///
/// # Errors
/// Returns a path that exists in neither the prior nor the planned object.
pub fn changing_paths(
    block: &Block,
    paths: &[Path],
    prior: &Value,
    planned: &Value,
) -> Result<Vec<Path>, Path> {
    if prior.is_null() {
        return Ok(Vec::new());
    }
    let mut kept = Vec::new();
    for path in paths {
        let changes = match (find(path, prior), find(path, planned)) {
            (Found::Nowhere, Found::Nowhere) => return Err(path.clone()),
            // The state does not contain the value, so only the provider can know whether it
            // changes.
            _ if is_write_only(block, path) => true,
            (Found::Value(before), Found::Value(after)) => before != after || !after.is_wholly_known(),
            (Found::Value(one), Found::Absent | Found::Nowhere)
            | (Found::Absent | Found::Nowhere, Found::Value(one)) => !one.is_null(),
            (_, Found::Unknown) | (Found::Unknown, _) => true,
            (Found::Absent | Found::Nowhere, Found::Absent | Found::Nowhere) => false,
        };
        if changes {
            kept.push(path.clone());
        }
    }
    kept.sort();
    kept.dedup();
    Ok(kept)
}

fn find<'a>(path: &Path, value: &'a Value) -> Found<'a> {
    let mut value = value;
    for step in path.steps() {
        let next = match (value.view(), step) {
            (View::Unknown, _) => return Found::Unknown,
            (View::Null, _) => return Found::Absent,
            (View::Object(parts), PathStep::Attribute(name) | PathStep::Key(name)) => match parts.get(name) {
                Some(part) => Some(part),
                None => return Found::Nowhere,
            },
            (View::Map(elements), PathStep::Attribute(key) | PathStep::Key(key)) => elements.get(key),
            (View::List(elements) | View::Tuple(elements), PathStep::Index(index)) => {
                usize::try_from(*index).ok().and_then(|index| elements.get(index))
            }
            _ => return Found::Nowhere,
        };
        match next {
            Some(next) => value = next,
            None => return Found::Absent,
        }
    }
    Found::Value(value)
}

/// Whether a path ends at or inside a write-only attribute.
pub fn is_write_only(block: &Block, path: &Path) -> bool {
    let mut names = path.steps().iter().filter_map(|step| match step {
        PathStep::Attribute(name) => Some(name),
        _ => None,
    });
    let mut block = block;
    while let Some(name) = names.next() {
        if let Some(nested) = block.block_types.get(name) {
            block = &nested.block;
            continue;
        }
        let mut attribute: Option<&Attribute> = block.attributes.get(name);
        while let Some(found) = attribute {
            if found.write_only {
                return true;
            }
            attribute = match (&found.ty, names.next()) {
                (AttributeType::Nested(object), Some(name)) => object.attributes.get(name),
                _ => None,
            };
        }
        return false;
    }
    false
}

#[cfg(test)]
mod tests {
    use wardian_plugin::{Deprecation, Description, Setting};
    use wardian_value::Type;

    use super::*;

    fn object(name: Value, rule: Option<&str>) -> Value {
        let rules = rule.map(|port| Value::object([("port", Value::string(port))]));
        Value::object([
            ("name", name),
            ("rule", Value::list(Type::object([("port", Type::String)]), rules)),
            ("secret", Value::null(Type::String)),
        ])
    }

    #[test]
    fn only_changed_paths_force_replacement() {
        let secret = Attribute {
            ty: AttributeType::Value(Type::String),
            description: Description::default(),
            setting: Setting::Optional,
            sensitive: false,
            write_only: true,
            deprecation: Deprecation::None,
        };
        let block = Block { attributes: [("secret".into(), secret)].into(), ..Block::default() };
        let root = Path::root;
        let (name, port) = (root().attribute("name"), root().attribute("rule").index(0).attribute("port"));
        let (secret, ghost) = (root().attribute("secret"), root().attribute("ghost"));
        let a = || Value::string("a");
        let kept = |prior: &Value, planned: &Value, paths: &[&Path]| {
            let paths: Vec<Path> = paths.iter().map(|path| (*path).clone()).collect();
            changing_paths(&block, &paths, prior, planned)
        };
        let prior = object(a(), Some("1"));
        // A path forces replacement if its values differ or the planned value is unknown.
        assert_eq!(kept(&prior, &prior, &[&name, &port]), Ok(vec![]));
        assert_eq!(kept(&prior, &object(a(), Some("2")), &[&port, &name]), Ok(vec![port.clone()]));
        assert_eq!(
            kept(&prior, &object(Value::unknown(Type::String), Some("1")), &[&name]),
            Ok(vec![name.clone()])
        );
        // A path also forces replacement if only one of the objects has the element.
        assert_eq!(kept(&prior, &object(a(), None), &[&port]), Ok(vec![port.clone()]));
        assert_eq!(kept(&object(a(), None), &object(a(), None), &[&port]), Ok(vec![]));
        // Write-only paths are retained, and nonexistent paths are rejected.
        assert_eq!(kept(&prior, &prior, &[&secret]), Ok(vec![secret.clone()]));
        assert_eq!(kept(&prior, &prior, &[&name, &ghost]), Err(ghost.clone()));
        // Without an object, nothing is replaced.
        let none = Value::null(prior.ty().clone());
        assert_eq!(kept(&none, &prior, &[&name, &ghost]), Ok(vec![]));
    }
}
