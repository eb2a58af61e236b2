//! Write-only attributes: providers receive their values but do not return them, so plans and
//! states do not contain them.

use std::collections::BTreeMap;

use wardian_plugin::{Attribute, AttributeType, Block};
use wardian_value::{Mapping, Path, Str, Value, View};

/// Returns the paths of write-only attributes that have a value. Values have no marks. Cost:
/// O(size of the value and of its schema).
pub fn set_write_only_paths(block: &Block, value: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    in_block(block, value, &Path::root(), &mut found);
    found
}

fn in_block(block: &Block, value: &Value, path: &Path, found: &mut Vec<Path>) {
    let Some(parts) = value.as_mapping() else { return };
    in_attributes(&block.attributes, parts, path, found);
    for (name, nested) in &block.block_types {
        if let Some(part) = parts.get(name) {
            let visit = &mut |element: &Value, path: &Path| in_block(&nested.block, element, path, found);
            each_object(part, &path.attribute(name.clone()), visit);
        }
    }
}

fn in_attributes(
    attributes: &BTreeMap<Str, Attribute>,
    parts: Mapping<'_>,
    path: &Path,
    found: &mut Vec<Path>,
) {
    for (name, attribute) in attributes {
        let Some(part) = parts.get(name).filter(|part| !part.is_null()) else { continue };
        let path = path.attribute(name.clone());
        if attribute.write_only {
            found.push(path);
        } else if let AttributeType::Nested(object) = &attribute.ty {
            each_object(part, &path, &mut |element, path| {
                if let Some(parts) = element.as_mapping() {
                    in_attributes(&object.attributes, parts, path, found);
                }
            });
        }
    }
}

/// Calls `visit` for the objects of a nested block or attribute. Elements of sets are never
/// write-only.
fn each_object(value: &Value, path: &Path, visit: &mut dyn FnMut(&Value, &Path)) {
    match value.view() {
        View::Object(_) => visit(value, path),
        View::Map(elements) => {
            for (key, element) in elements {
                visit(element, &path.key(key.clone()));
            }
        }
        View::List(elements) | View::Tuple(elements) => {
            for (index, element) in (0u64..).zip(elements) {
                visit(element, &path.index(index));
            }
        }
        _ => {}
    }
}
