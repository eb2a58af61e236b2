//! Asserts that results with unknown values are consistent with the final results.

use wardian_value::{Type, Value, View};

/// Compares the early result with the final one: known values are unchanged, and the types and
/// refinements of unknown values are correct.
///
/// # Panics
///
/// Panics if the results contradict each other.
pub fn assert_agrees(early: &Value, later: &Value, what: &dyn Fn() -> String) {
    let (early, later) = (early.unmark_deep(), later.unmark_deep());
    assert!(
        agrees(&early, &later),
        "{}: early {early:?} of {}, later {later:?} of {}",
        what(),
        early.ty(),
        later.ty()
    );
}

/// Compares the marks of the early result and the final result: a value that is marked in the final
/// result must already be marked in the early one.
///
/// # Panics
///
/// Panics if a mark occurs only in the final result.
pub fn assert_keeps_marks(early: &Value, later: &Value, what: &dyn Fn() -> String) {
    assert!(
        early.inside_marks().contains(later.inside_marks()),
        "{}: marks {:?} early, {:?} later",
        what(),
        early.inside_marks(),
        later.inside_marks()
    );
}

fn agrees(early: &Value, later: &Value) -> bool {
    if !type_agrees(early.ty(), later.ty()) {
        return false;
    }
    if !later.is_known() {
        return !early.is_known();
    }
    if !early.is_known() {
        return !early.refinement().is_some_and(|facts| facts.excludes(later));
    }
    match (early.view(), later.view()) {
        (View::Null, View::Null) => true,
        (View::Set(a), View::Set(b)) => {
            if early.is_wholly_known() && later.is_wholly_known() {
                a == b
            } else {
                // Unknown elements may turn out to be equal to other elements.
                a.is_empty() == b.is_empty()
            }
        }
        (View::List(a), View::List(b)) | (View::Tuple(a), View::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agrees(a, b))
        }
        (View::Map(a), View::Map(b)) | (View::Object(a), View::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((x, a), (y, b))| x == y && agrees(a, b))
        }
        _ => early == later,
    }
}

fn type_agrees(early: &Type, later: &Type) -> bool {
    match (early, later) {
        (Type::Dynamic, _) | (_, Type::Dynamic) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            type_agrees(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| type_agrees(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((x, a), (y, b))| x == y && type_agrees(a, b))
        }
        _ => early == later,
    }
}
