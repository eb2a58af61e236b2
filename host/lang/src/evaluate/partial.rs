//! Determines the types of expressions that could not be evaluated.
//!
//! The result of a conditional has the type to which both sides can be converted, even if the side
//! that is not selected has an error. For example, `true ? [] : [for n in var.names : n.id]` is a
//! list, not a tuple.

use wardian_value::{Type, Value};

use super::{Evaluated, Evaluation};
use crate::budget::ELEMENT;
use crate::node::{For, Item, Key, Kind, Node, Operator};

impl Evaluation<'_> {
    /// Returns the value of a side of a conditional. If the side could not be evaluated, returns an
    /// unknown value with the type of the expression, as far as the type can be determined.
    pub(super) fn value_or_partial(&mut self, result: &Evaluated, node: &Node) -> Value {
        match result {
            Ok(value) => value.clone(),
            // Each subexpression is evaluated again at most once, however deeply conditionals are
            // nested.
            Err(_) if self.is_partial => Value::unknown(Type::Dynamic),
            Err(_) => {
                self.is_partial = true;
                let value = self.partial(node);
                self.is_partial = false;
                value
            }
        }
    }

    fn partial(&mut self, node: &Node) -> Value {
        let value = match &node.kind {
            Kind::Parenthesis(inner) | Kind::Interpolation(inner) => self.partial(inner),
            Kind::Tuple(items) => {
                let items: Vec<Value> = items.iter().map(|item| self.partial_part(item)).collect();
                Value::tuple(items)
            }
            Kind::Object(items) => self.partial_object(items),
            Kind::For(each) if each.key.is_none() => self.partial_list(each, node),
            Kind::Template(_) => Value::unknown(Type::String),
            Kind::Negate(_) => Value::unknown(Type::Number),
            Kind::Not(_) => Value::unknown(Type::Bool),
            Kind::Chain { rest, .. } => {
                let ty = rest.last().map_or(Type::Dynamic, |link| result_type(link.operator));
                Value::unknown(ty)
            }
            _ => Value::unknown(Type::Dynamic),
        };
        // If the type is too large, the value's type is unknown.
        self.checked(value, node).unwrap_or_else(|_| Value::unknown(Type::Dynamic))
    }

    /// Returns the value of a part or, if it could not be evaluated, an unknown value with the type
    /// as far as it can be determined.
    fn partial_part(&mut self, node: &Node) -> Value {
        match self.attempt(node) {
            Ok(value) => value,
            Err(_) => self.partial(node),
        }
    }

    fn partial_object(&mut self, items: &[Item]) -> Value {
        let mut attributes = Vec::with_capacity(items.len());
        for item in items {
            let name = match &item.key {
                Key::Name { name, .. } => Some(name.clone()),
                Key::Expression(key) => self.attempt(key).ok().and_then(|key| key.as_str().map(Into::into)),
                Key::Ambiguous(_) => None,
            };
            let Some(name) = name else { return Value::unknown(Type::Dynamic) };
            attributes.push((name, self.partial_part(&item.value)));
        }
        Value::object(attributes)
    }

    fn partial_list(&mut self, each: &For, node: &Node) -> Value {
        let unknown = Value::unknown(Type::Dynamic);
        let Ok(collection) = self.attempt(&each.collection) else { return unknown };
        let Ok(Some(pairs)) = self.pairs(&collection, &each.collection, node) else { return unknown };
        let length = pairs.size_hint().0;
        if self.spend(length, ELEMENT, node).is_err() {
            return unknown;
        }
        let mut elements = Vec::with_capacity(length);
        for pair in pairs {
            self.set_pair(each.slot, each.has_key, pair);
            match self.includes(each, node) {
                Ok((Some(true), _)) => elements.push(self.partial_part(&each.value)),
                Ok((Some(false), _)) => {}
                Ok((None, _)) | Err(_) => {
                    self.clear_slots(each.slot);
                    return unknown;
                }
            }
        }
        self.clear_slots(each.slot);
        Value::tuple(elements)
    }
}

fn result_type(operator: Operator) -> Type {
    match operator {
        Operator::Or
        | Operator::And
        | Operator::Equal
        | Operator::NotEqual
        | Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual => Type::Bool,
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            Type::Number
        }
    }
}
