//! Corrects responses of legacy SDKs that do not match the schema: nested blocks that are null
//! instead of empty.

use wardian_plugin::{Block, BlockNesting, NestedBlock};
use wardian_value::{Type, Value};

/// Returns the object with empty collections instead of null blocks.
pub fn without_null_blocks(block: &Block, object: &Value) -> Value {
    if object.as_mapping().is_none() {
        return object.clone();
    }
    block.block_types.iter().fold(object.clone(), |object, (name, nested)| match object.get(name) {
        Some(part) => {
            let whole = without_nulls(nested, part);
            if whole == *part { object } else { object.with_attribute(name, whole) }
        }
        None => object,
    })
}

fn without_nulls(nested: &NestedBlock, part: &Value) -> Value {
    if part.is_null() {
        return if nested.nesting == BlockNesting::Single { part.clone() } else { nested.empty_value() };
    }
    let inside = |element: &Value| without_null_blocks(&nested.block, element);
    match nested.nesting {
        BlockNesting::Single | BlockNesting::Group => inside(part),
        BlockNesting::List | BlockNesting::Set | BlockNesting::Map => each(part, &inside),
    }
}

/// Applies a function to each element of a collection.
pub(super) fn each(collection: &Value, change: &dyn Fn(&Value) -> Value) -> Value {
    if let Some(elements) = collection.as_mapping() {
        let changed = elements.iter().map(|(key, element)| (key.clone(), change(element)));
        return match collection.ty() {
            Type::Map(element) => Value::map((**element).clone(), changed),
            _ => Value::object(changed),
        };
    }
    let Some(elements) = collection.as_elements() else { return collection.clone() };
    let changed = elements.iter().map(change);
    match collection.ty() {
        Type::List(element) => Value::list((**element).clone(), changed),
        Type::Set(element) => Value::set((**element).clone(), changed),
        _ => Value::tuple(changed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_blocks_become_empty_at_every_depth() {
        let nested = |nesting, block| NestedBlock { block, nesting, min_items: 0, max_items: 0 };
        let inner = Block {
            block_types: [("inner".into(), nested(BlockNesting::List, Block::default()))].into(),
            ..Block::default()
        };
        let block = Block {
            block_types: [
                ("one".into(), nested(BlockNesting::Single, inner.clone())),
                ("many".into(), nested(BlockNesting::Set, inner.clone())),
                ("few".into(), nested(BlockNesting::List, inner.clone())),
            ]
            .into(),
            ..Block::default()
        };
        let empty = Type::object::<&str>([]);
        let element = inner.implied_type();
        let with = |inside: Value, many: Value| {
            Value::object([
                ("few", Value::list(element.clone(), [Value::object([("inner", inside)])])),
                ("many", many),
                ("one", Value::null(element.clone())),
            ])
        };
        let before = with(Value::null(Type::list(empty.clone())), Value::null(Type::set(element.clone())));
        let after = with(Value::list(empty, []), Value::set(element.clone(), []));
        assert_eq!(without_null_blocks(&block, &before), after);
        assert_eq!(without_null_blocks(&block, &after), after);
    }
}
