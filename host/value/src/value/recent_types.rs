//! The object types that a thread created most recently. Equal objects, such as the instances of a
//! resource, then share one type: it is allocated once, and comparing it with itself is O(1).

use std::cell::RefCell;
use std::sync::Arc;

use super::Value;
use crate::{ObjectType, Str, Type};

/// Number of types that are kept for each thread.
const MAX_RECENT: usize = 8;
/// Maximum number of attributes of a type that is kept.
const MAX_ATTRIBUTES: usize = 64;

struct RecentTypes {
    types: [Option<Arc<ObjectType>>; MAX_RECENT],
    /// The position of the oldest type.
    oldest: usize,
}

thread_local! {
    static RECENT: RefCell<RecentTypes> =
        const { RefCell::new(RecentTypes { types: [const { None }; MAX_RECENT], oldest: 0 }) };
}

/// Returns the type of an object with these attributes.
pub(super) fn object_type(attributes: &[(Str, Value)]) -> Arc<ObjectType> {
    let create =
        || Arc::new(ObjectType::new(attributes.iter().map(|(name, value)| (name.clone(), value.ty.clone()))));
    if attributes.len() > MAX_ATTRIBUTES {
        return create();
    }
    RECENT.with_borrow_mut(|recent| {
        if let Some(known) = recent.types.iter().flatten().find(|known| is_type_of(known, attributes)) {
            return Arc::clone(known);
        }
        let created = create();
        let oldest = recent.oldest;
        recent.types[oldest] = Some(Arc::clone(&created));
        recent.oldest = (oldest + 1) % MAX_RECENT;
        created
    })
}

/// Returns whether a type has exactly these attributes. Nested types are not traversed: they are
/// equal only if they are shared. Cost: O(number of attributes).
fn is_type_of(known: &ObjectType, attributes: &[(Str, Value)]) -> bool {
    known.len() == attributes.len()
        && known
            .iter()
            .zip(attributes)
            .all(|((known_name, known), (name, value))| is_same(known, &value.ty) && known_name == name)
}

fn is_same(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dynamic, Type::Dynamic)
        | (Type::Bool, Type::Bool)
        | (Type::Number, Type::Number)
        | (Type::String, Type::String) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            Arc::ptr_eq(a, b)
        }
        (Type::Object(a), Type::Object(b)) => Arc::ptr_eq(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared_type(a: &Value, b: &Value) -> bool {
        match (a.ty(), b.ty()) {
            (Type::Object(a), Type::Object(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    #[test]
    fn objects_with_equal_attributes_share_type() {
        let object = |id: &str| {
            let inner = Value::object([("n", Value::number(1_i64))]);
            Value::object([("id", Value::string(id)), ("inner", inner)])
        };
        let (first, second) = (object("a"), object("b"));
        assert!(shared_type(&first, &second));
        let other =
            Value::object([("id", Value::bool(true)), ("inner", first.get("inner").unwrap().clone())]);
        assert!(!shared_type(&first, &other));
        assert_eq!(other.ty().to_string(), "object({id=bool,inner=object({n=number})})");
        for index in 0..=MAX_RECENT {
            let _ = Value::object([(format!("a{index}"), Value::bool(true))]);
        }
        let third = object("c");
        assert!(!shared_type(&first, &third), "the older type is no longer kept");
        assert_eq!(first.ty(), third.ty());
    }
}
