//! Unary and binary operators.

use std::cmp::Ordering;

use wardian_value::{Bound, Number, NumberError, Refinement, Type, Value, View, convert};

use super::steps::marks_of;
use super::{Evaluated, Evaluation};
use crate::Diagnostics;
use crate::node::{Node, Operator};

impl Evaluation<'_> {
    pub(super) fn negate(&mut self, operand: &Node, node: &Node) -> Evaluated {
        let value = self.operand(operand, &Type::Number, "", "-", node)?;
        let marks = value.inside_marks();
        let result = match value.view() {
            View::Number(number) => Value::number(number.neg()),
            _ => unknown(Type::Number),
        };
        Ok(result.with_marks(marks))
    }

    pub(super) fn not(&mut self, operand: &Node, node: &Node) -> Evaluated {
        let value = self.operand(operand, &Type::Bool, "", "!", node)?;
        let marks = value.inside_marks();
        let result = match value.as_bool() {
            Some(truth) => Value::bool(!truth),
            None => unknown(Type::Bool),
        };
        Ok(result.with_marks(marks))
    }

    pub(super) fn binary(&mut self, operator: Operator, left: &Node, right: &Node, node: &Node) -> Evaluated {
        match operator {
            Operator::Equal | Operator::NotEqual => {
                let mut problems = Diagnostics::new();
                let left = self.node(left);
                let left = problems.collect(left);
                let right = self.node(right);
                let right = problems.collect(right);
                let (Some(left), Some(right)) = (left, right) else { return Err(problems) };
                let equal = left.equals(&right);
                Ok(match (operator, equal.as_bool()) {
                    (Operator::NotEqual, Some(equal_now)) => {
                        Value::bool(!equal_now).with_marks(equal.marks())
                    }
                    _ => equal,
                })
            }
            Operator::And | Operator::Or => {
                let (left, right) = self.operands(operator, left, right, &Type::Bool, node)?;
                let marks = marks_of(&left, &right);
                let result = match (left.as_bool(), right.as_bool()) {
                    (Some(left), Some(right)) if operator == Operator::And => Value::bool(left && right),
                    (Some(left), Some(right)) => Value::bool(left || right),
                    _ => unknown(Type::Bool),
                };
                Ok(result.with_marks(marks))
            }
            _ => {
                let (left, right) = self.operands(operator, left, right, &Type::Number, node)?;
                let marks = marks_of(&left, &right);
                let result = match (left.view(), right.view()) {
                    (View::Number(left), View::Number(right)) => {
                        numeric(operator, left, right).map_err(|error| {
                            let detail = format!("\"{}\": {error}.", operator.symbol());
                            self.problem("Operation failed", &detail, node)
                        })?
                    }
                    _ if is_comparison(operator) => match compare_bounds(&left, &right) {
                        Some(order) => compared(operator, order),
                        None => unknown(Type::Bool),
                    },
                    _ => unknown(Type::Number),
                };
                Ok(result.with_marks(marks))
            }
        }
    }

    /// Both operands, converted; errors of both are reported.
    fn operands(
        &mut self,
        operator: Operator,
        left: &Node,
        right: &Node,
        ty: &Type,
        node: &Node,
    ) -> Result<(Value, Value), Diagnostics> {
        let mut problems = Diagnostics::new();
        let symbol = operator.symbol();
        let left = self.operand(left, ty, "left ", symbol, node);
        let left = problems.collect(left);
        let right = self.operand(right, ty, "right ", symbol, node);
        let right = problems.collect(right);
        match (left, right) {
            (Some(left), Some(right)) => Ok((left, right)),
            _ => Err(problems),
        }
    }

    /// One operand, converted; messages call it the `side`operand of `symbol`.
    fn operand(&mut self, operand: &Node, ty: &Type, side: &str, symbol: &str, node: &Node) -> Evaluated {
        let value = self.node(operand)?;
        if value.ty() == ty && value.is_known() && !value.is_null() {
            return Ok(value);
        }
        let value = match convert::convert(&value, ty) {
            Ok(value) => value,
            Err(error) => {
                let detail = format!("This cannot be the {side}operand of \"{symbol}\": {error}.");
                let place = (operand.start, operand.end);
                return Err(self.problem_at("Invalid operand", &detail, place, node).into());
            }
        };
        if value.is_null() {
            let detail = format!("This is null, which cannot be the {side}operand of \"{symbol}\".");
            let place = (operand.start, operand.end);
            return Err(self.problem_at("Operation failed", &detail, place, node).into());
        }
        Ok(value)
    }
}

/// Never null, as operators refuse nulls.
fn unknown(ty: Type) -> Value {
    Value::unknown_with(ty, Refinement::not_null())
}

const fn is_comparison(operator: Operator) -> bool {
    matches!(operator, Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual)
}

fn numeric(operator: Operator, left: &Number, right: &Number) -> Result<Value, NumberError> {
    Ok(match operator {
        Operator::Add => Value::number(left.add(right)?),
        Operator::Subtract => Value::number(left.sub(right)?),
        Operator::Multiply => Value::number(left.mul(right)?),
        Operator::Divide => Value::number(left.div(right)?),
        Operator::Remainder => Value::number(left.rem(right)?),
        _ => compared(operator, left.cmp(right)),
    })
}

fn compared(operator: Operator, order: Ordering) -> Value {
    Value::bool(match operator {
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    })
}

/// How two numbers compare, where what is known of their bounds says so.
fn compare_bounds(left: &Value, right: &Value) -> Option<Ordering> {
    let ((left_low, left_high), (right_low, right_high)) = (bounds(left), bounds(right));
    let apart = |high: Option<Bound>, low: Option<Bound>| {
        high.zip(low).is_some_and(|(high, low)| high.value < low.value)
    };
    if apart(left_high, right_low) {
        Some(Ordering::Less)
    } else if apart(right_high, left_low) {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// The least and the greatest that a number can be.
pub(super) fn bounds(value: &Value) -> (Option<Bound>, Option<Bound>) {
    if let Some(number) = value.as_number() {
        let bound = Bound { value: number.clone(), inclusive: true };
        return (Some(bound.clone()), Some(bound));
    }
    value.refinement().map_or((None, None), |r| (r.lower.clone(), r.upper.clone()))
}
