//! Checks that an object after an apply (or a final plan) conforms to the planned object: known
//! values must be unchanged, and values that were unknown must match the planned types and
//! refinements.

use std::collections::HashSet;

use wardian_plugin::{Attribute, AttributeType, Block, BlockNesting};
use wardian_value::{Mapping, Path, PathStep, Refinement, Type, Value, View, msgpack};

use super::plan_valid::Violation;

/// Returns all violations. The values have no marks.
pub fn completion_violations(block: &Block, planned: &Value, actual: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    check_block(block, planned, actual, &Path::root(), &mut found);
    found
}

fn check_block(block: &Block, planned: &Value, actual: &Value, path: &Path, found: &mut Vec<Violation>) {
    if !planned.is_known() {
        return;
    }
    match (planned.is_null(), actual.is_null()) {
        (true, false) => {
            found.push((path.clone(), "was absent, but now present".into()));
            return;
        }
        (false, true) => {
            found.push((path.clone(), "was present, but now absent".into()));
            return;
        }
        (true, true) => return,
        (false, false) => {}
    }
    for (name, attribute) in &block.attributes {
        if let (Some(planned), Some(actual)) = (planned.get(name), actual.get(name)) {
            if planned == actual {
                continue;
            }
            let path = path.attribute(name.clone());
            let before = found.len();
            check_value(planned, actual, &path, found);
            if found.len() > before && is_sensitive(attribute) {
                found.truncate(before);
                found.push((path, "a sensitive value differs from the planned one".into()));
            }
        }
    }
    for (name, nested) in &block.block_types {
        let (Some(planned), Some(actual)) = (planned.get(name), actual.get(name)) else { continue };
        let path = path.attribute(name.clone());
        if !planned.is_known() {
            continue;
        }
        match nested.nesting {
            BlockNesting::Single | BlockNesting::Group => {
                check_block(&nested.block, planned, actual, &path, found);
            }
            BlockNesting::List => {
                let (planned, actual) =
                    (planned.as_elements().unwrap_or_default(), actual.as_elements().unwrap_or_default());
                if planned.len() != actual.len() {
                    let text =
                        format!("the number of blocks changed from {} to {}", planned.len(), actual.len());
                    found.push((path, text));
                    continue;
                }
                for (index, (planned, actual)) in (0u64..).zip(planned.iter().zip(actual)) {
                    check_block(&nested.block, planned, actual, &path.index(index), found);
                }
            }
            BlockNesting::Map => {
                let (Some(planned), Some(actual)) = (planned.as_mapping(), actual.as_mapping()) else {
                    continue;
                };
                for (key, planned) in planned {
                    match actual.get(key) {
                        Some(actual) => {
                            check_block(&nested.block, planned, actual, &path.key(key.clone()), found);
                        }
                        None => found.push((path.clone(), format!("block key {key:?} has vanished"))),
                    }
                }
                for key in actual.keys().filter(|key| !planned.contains_key(key)) {
                    found.push((path.clone(), format!("new block key {key:?} has appeared")));
                }
            }
            BlockNesting::Set => {
                let (planned_set, actual_set) =
                    (planned.as_elements().unwrap_or_default(), actual.as_elements().unwrap_or_default());
                check_set(planned_set, actual_set, &path, found);
                // Equal blocks in a set are a single element.
                if actual_set.len() > planned_set.len() {
                    let text = format!(
                        "the number of blocks changed from {} to {}",
                        planned_set.len(),
                        actual_set.len()
                    );
                    found.push((path, text));
                }
            }
        }
    }
}

fn is_sensitive(attribute: &Attribute) -> bool {
    attribute.sensitive
        || matches!(&attribute.ty, AttributeType::Nested(object)
            if object.attributes.values().any(is_sensitive))
}

fn check_value(planned: &Value, actual: &Value, path: &Path, found: &mut Vec<Violation>) {
    if planned == actual {
        return;
    }
    match (planned.view(), actual.view()) {
        (View::Unknown, View::Unknown) => {}
        (View::Unknown, _) => {
            if let Some(problem) = type_mismatch(planned.ty(), planned.refinement(), actual) {
                found.push((path.clone(), problem));
            }
        }
        (View::Null, _) => found.push((path.clone(), format!("was null, but now {actual:?}"))),
        (_, View::Null) => found.push((path.clone(), format!("was {planned:?}, but now null"))),
        (_, View::Unknown) => found.push((path.clone(), "was known, but now unknown".into())),
        (View::List(a), View::List(b)) | (View::Tuple(a), View::Tuple(b)) => {
            for (index, planned) in (0u64..).zip(a) {
                match usize::try_from(index).ok().and_then(|i| b.get(i)) {
                    Some(actual) => check_value(planned, actual, &path.index(index), found),
                    None => found.push((path.clone(), format!("element {index} has vanished"))),
                }
            }
            for index in a.len()..b.len() {
                found.push((path.clone(), format!("new element {index} has appeared")));
            }
        }
        (View::Map(a), View::Map(b)) | (View::Object(a), View::Object(b)) => {
            let is_map = matches!(planned.ty(), Type::Map(_));
            for (key, planned) in a {
                let step = if is_map { PathStep::Key(key.clone()) } else { PathStep::Attribute(key.clone()) };
                match b.get(key) {
                    Some(actual) => check_value(planned, actual, &path.child(step), found),
                    None => found.push((path.clone(), format!("element {key:?} has vanished"))),
                }
            }
            for key in b.keys().filter(|key| !a.contains_key(key)) {
                found.push((path.clone(), format!("new element {key:?} has appeared")));
            }
        }
        (View::Set(a), View::Set(b)) => {
            check_set(a, b, path, found);
            if b.len() > a.len() {
                found.push((
                    path.clone(),
                    format!("the number of elements changed from {} to {}", a.len(), b.len()),
                ));
            }
        }
        _ => found.push((path.clone(), format!("was {planned:?}, but now {actual:?}"))),
    }
}

/// Checks that every planned element corresponds to an actual element, and vice versa.
fn check_set(planned: &[Value], actual: &[Value], path: &Path, found: &mut Vec<Violation>) {
    // Only elements without an equal counterpart need the full comparison of all pairs.
    let (of_plan, of_answer) = (known_elements(planned), known_elements(actual));
    let lacks = |set: &HashSet<Vec<u8>>, element: &Value| encoded(element).is_none_or(|e| !set.contains(&e));
    let became = |planned: &Value, actual: &Value| {
        let mut problems = Vec::new();
        check_value(planned, actual, &Path::root(), &mut problems);
        problems.is_empty()
    };
    for element in planned.iter().filter(|element| lacks(&of_answer, element)) {
        if !actual.iter().any(|candidate| became(element, candidate)) {
            let text = format!("the planned element {element:?} corresponds to no actual element");
            found.push((path.clone(), text));
        }
    }
    for element in actual.iter().filter(|element| lacks(&of_plan, element)) {
        if !planned.iter().any(|candidate| became(candidate, element)) {
            found.push((path.clone(), format!("the element {element:?} corresponds to no planned element")));
        }
    }
}

/// Returns the elements that are wholly known, in an encoding that is unique for each value.
fn known_elements(set: &[Value]) -> HashSet<Vec<u8>> {
    set.iter().filter_map(encoded).collect()
}

fn encoded(element: &Value) -> Option<Vec<u8>> {
    element.is_wholly_known().then(|| msgpack::encode(element, &Type::Dynamic).ok()).flatten()
}

/// Returns the reason why a value cannot replace an unknown value.
fn type_mismatch(ty: &Type, refinement: Option<&Refinement>, actual: &Value) -> Option<String> {
    if *ty != Type::Dynamic && !ty.has_dynamic() && actual.ty() != ty {
        return Some("it has a different type than planned".into());
    }
    let conforms = refinement.is_none_or(|r| {
        let not_null = !(r.not_null && actual.is_null());
        let prefix = match (&r.prefix, actual.as_str()) {
            (Some(prefix), Some(text)) => text.starts_with(prefix.as_str()),
            _ => true,
        };
        let number = actual.as_number().is_none_or(|number| {
            r.lower.as_ref().is_none_or(|b| *number > b.value || b.inclusive && *number == b.value)
                && r.upper.as_ref().is_none_or(|b| *number < b.value || b.inclusive && *number == b.value)
        });
        let length = actual
            .as_elements()
            .map(<[Value]>::len)
            .or_else(|| actual.as_mapping().map(Mapping::len))
            .is_none_or(|n| {
                r.min_length.is_none_or(|least| n >= least) && r.max_length.is_none_or(|most| n <= most)
            });
        not_null && prefix && number && length
    });
    (!conforms).then(|| format!("{actual:?} does not match the refinement of the planned unknown value"))
}
