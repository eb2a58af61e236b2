//! The attributes of an object that its schema declares sensitive.

use wardian_plugin::{Attribute, AttributeType, Block, ObjectNesting};
use wardian_value::{Marks, Path, PathMarks, PathStep, Value, View};

/// Returns the paths of sensitive attributes in an object. Paths into sets end at the set.
/// Blocks without sensitive attributes are not visited.
pub fn sensitive_paths(block: &Block, value: &Value) -> PathMarks {
    let mut found = Vec::new();
    if block.has_sensitive() {
        visit_block(block, value, &Path::root(), &mut found);
    }
    found
}

/// Returns the object with the marks of its schema.
pub fn mark_by_schema(block: &Block, value: &Value) -> Value {
    let paths = sensitive_paths(block, value);
    if paths.is_empty() { value.clone() } else { value.mark_at(&paths) }
}

fn visit_block(block: &Block, value: &Value, path: &Path, found: &mut PathMarks) {
    let Some(attributes) = value.as_mapping() else { return };
    for (name, attribute) in &block.attributes {
        if let Some(part) = attributes.get(name) {
            visit_attribute(attribute, part, &path.attribute(name.clone()), found);
        }
    }
    for (name, nested) in &block.block_types {
        if !nested.block.has_sensitive() {
            continue;
        }
        let Some(part) = attributes.get(name) else { continue };
        let path = path.attribute(name.clone());
        each_object(part, &path, &mut |element, element_path| match element_path {
            Some(element_path) => visit_block(&nested.block, element, element_path, found),
            None => push(&path, found),
        });
    }
}

fn visit_attribute(attribute: &Attribute, value: &Value, path: &Path, found: &mut PathMarks) {
    if attribute.sensitive {
        push(path, found);
        return;
    }
    let AttributeType::Nested(object) = &attribute.ty else { return };
    if !attribute.has_sensitive() {
        return;
    }
    if object.nesting == ObjectNesting::Set {
        if value.as_elements().is_some_and(|e| !e.is_empty()) {
            push(path, found);
        }
        return;
    }
    each_object(value, path, &mut |element, element_path| {
        let (Some(element_path), Some(parts)) = (element_path, element.as_mapping()) else { return };
        for (name, attribute) in &object.attributes {
            if let Some(part) = parts.get(name) {
                visit_attribute(attribute, part, &element_path.attribute(name.clone()), found);
            }
        }
    });
}

/// Calls `visit` with each object of a collection and its path. The path is `None` for elements of
/// a set, which have no path.
fn each_object(value: &Value, path: &Path, visit: &mut dyn FnMut(&Value, Option<&Path>)) {
    match value.view() {
        View::Object(_) => visit(value, Some(path)),
        View::List(elements) | View::Tuple(elements) => {
            for (index, element) in (0u64..).zip(elements) {
                visit(element, Some(&path.index(index)));
            }
        }
        View::Map(elements) => {
            for (key, element) in elements {
                visit(element, Some(&path.child(PathStep::Key(key.clone()))));
            }
        }
        View::Set(elements) => {
            if let Some(first) = elements.first() {
                visit(first, None);
            }
        }
        _ => {}
    }
}

fn push(path: &Path, found: &mut PathMarks) {
    found.push((path.clone(), Marks::SENSITIVE));
}
