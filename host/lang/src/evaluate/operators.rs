//! Evaluates unary and binary operators.

use std::cmp::Ordering;

use wardian_diagnostic::Diagnostics;
use wardian_value::{Bound, Marks, Number, NumberError, Refinement, Type, Value, View, convert};

use super::steps::marks_of;
use super::{Evaluated, Evaluation};
use crate::node::{Link, Node, Operator};

impl Evaluation<'_> {
    pub(super) fn negate(&mut self, operand: &Node) -> Evaluated {
        let value = self.operand(operand, &Type::Number, "-")?;
        let marks = value.inside_marks();
        let result = match value.view() {
            View::Number(number) => Value::number(number.neg()),
            _ => unknown(Type::Number),
        };
        Ok(result.with_marks(marks))
    }

    pub(super) fn not(&mut self, operand: &Node) -> Evaluated {
        let value = self.operand(operand, &Type::Bool, "!")?;
        let marks = value.inside_marks();
        let result = match value.as_bool() {
            Some(truth) => Value::bool(!truth),
            None => unknown(Type::Bool),
        };
        Ok(result.with_marks(marks))
    }

    /// Evaluates operators of one precedence, from left to right.
    pub(super) fn chain(&mut self, first: &Node, rest: &[Link], node: &Node) -> Evaluated {
        let mut left = self.node(first);
        let mut left_end = first.end;
        for link in rest {
            let operation = Operation {
                operator: link.operator,
                left: (first.start, left_end),
                right: (link.right.start, link.right.end),
                node,
                right_node: &link.right,
            };
            left = if matches!(link.operator, Operator::And | Operator::Or) {
                self.logical(&operation, left)
            } else {
                let right = self.node(&link.right);
                self.binary(&operation, left, right)
            };
            left_end = link.right.end;
        }
        left
    }

    /// Evaluates `&&` and `||`. If one side determines the result, the other side may be unknown or
    /// an error, unless its type is wrong. If the left side is unknown, its final value may make an
    /// error in the right side irrelevant, so the error is not reported yet.
    fn logical(&mut self, operation: &Operation<'_>, left: Evaluated) -> Evaluated {
        let decisive = operation.operator == Operator::Or;
        let right = self.attempt(operation.right_node);
        let symbol = operation.operator.symbol();
        let left_side = Side { name: "left ", symbol, place: operation.left, node: operation.node };
        let right_side = Side { name: "right ", symbol, place: operation.right, node: operation.right_node };
        let bool_of = |value: &Value| convert::convert(value, &Type::Bool);
        let left_bool = left.as_ref().ok().map(bool_of);
        let right_bool = right.as_ref().ok().map(bool_of);
        let mistyped = matches!(left_bool, Some(Err(_))) || matches!(right_bool, Some(Err(_)));
        let marks = [&left, &right]
            .into_iter()
            .flatten()
            .fold(Marks::NONE, |marks, value| marks | value.inside_marks());
        let truth = |converted: Option<Result<Value, _>>| converted.and_then(Result::ok)?.as_bool();
        let left_is_null = left.as_ref().is_ok_and(Value::is_null);
        let (left_truth, right_truth) = (truth(left_bool), truth(right_bool));
        let result = match (left_truth, right_truth) {
            _ if mistyped => None,
            (Some(left), _) if left == decisive => Some(Value::bool(decisive)),
            (_, Some(right)) if right == decisive && !left_is_null => Some(Value::bool(decisive)),
            (Some(_), Some(_)) => Some(Value::bool(!decisive)),
            // The result is unknown, but the operation is not an error.
            (None, None) if left.is_ok() && !left_is_null => Some(unknown(Type::Bool)),
            _ => None,
        };
        if let Some(result) = result {
            return Ok(result.with_marks(marks));
        }
        let mut problems = Diagnostics::new();
        let left = left.and_then(|value| self.converted(value, &Type::Bool, &left_side));
        problems.collect(left);
        let right = if right.is_err() && !self.tentative { self.node(operation.right_node) } else { right };
        let right = right.and_then(|value| self.converted(value, &Type::Bool, &right_side));
        problems.collect(right);
        problems.into_result(unknown(Type::Bool).with_marks(marks))
    }

    /// Evaluates a binary operator, and reports the errors of both operands.
    fn binary(&mut self, operation: &Operation<'_>, left: Evaluated, right: Evaluated) -> Evaluated {
        let operator = operation.operator;
        match operator {
            Operator::Equal | Operator::NotEqual => {
                let mut problems = Diagnostics::new();
                let left = problems.collect(left);
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
            _ => {
                let (left, right) = self.operands(operation, left, right, &Type::Number)?;
                let marks = marks_of(&left, &right);
                let result = match (left.view(), right.view()) {
                    (View::Number(left), View::Number(right)) => {
                        numeric(operator, left, right).map_err(|error| {
                            let detail = format!("\"{}\": {error}.", operator.symbol());
                            let place = (operation.left.0, operation.right.1);
                            self.problem_at("Operation failed", &detail, place, operation.node)
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

    /// Evaluates and converts both operands, and reports the errors in both.
    fn operands(
        &mut self,
        operation: &Operation<'_>,
        left: Evaluated,
        right: Evaluated,
        ty: &Type,
    ) -> Result<(Value, Value), Diagnostics> {
        let mut problems = Diagnostics::new();
        let symbol = operation.operator.symbol();
        let side = Side { name: "left ", symbol, place: operation.left, node: operation.node };
        let left = left.and_then(|value| self.converted(value, ty, &side));
        let left = problems.collect(left);
        let side = Side { name: "right ", symbol, place: operation.right, node: operation.right_node };
        let right = right.and_then(|value| self.converted(value, ty, &side));
        let right = problems.collect(right);
        match (left, right) {
            (Some(left), Some(right)) => Ok((left, right)),
            _ => Err(problems),
        }
    }

    /// Evaluates and converts the operand of a unary operator.
    fn operand(&mut self, operand: &Node, ty: &Type, symbol: &str) -> Evaluated {
        let value = self.node(operand)?;
        let place = (operand.start, operand.end);
        self.converted(value, ty, &Side { name: "", symbol, place, node: operand })
    }

    fn converted(&mut self, value: Value, ty: &Type, side: &Side<'_>) -> Evaluated {
        if value.ty() == ty && value.is_known() && !value.is_null() {
            return Ok(value);
        }
        let Side { name, symbol, place, node } = side;
        let value = match convert::convert(&value, ty) {
            Ok(value) => value,
            Err(error) => {
                let detail =
                    format!("This value cannot be used as the {name}operand of \"{symbol}\": {error}.");
                return Err(self.problem_at("Invalid operand", &detail, *place, node).into());
            }
        };
        if value.is_null() {
            let detail = format!("The {name}operand of \"{symbol}\" must not be null.");
            return Err(self.problem_at("Operation failed", &detail, *place, node).into());
        }
        Ok(value)
    }
}

/// A binary operator with the spans of its operands.
struct Operation<'a> {
    operator: Operator,
    left: (usize, usize),
    right: (usize, usize),
    /// The chain of operators that contains the operation. Messages show the values in the chain.
    node: &'a Node,
    right_node: &'a Node,
}

/// The operand's position, for messages.
struct Side<'a> {
    /// `left `, `right ` or empty.
    name: &'static str,
    symbol: &'a str,
    place: (usize, usize),
    node: &'a Node,
}

/// Returns an unknown value that is not null, because operators reject nulls.
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

/// Compares two numbers, if their known bounds determine the order.
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

/// Returns the minimum and the maximum of a number.
pub(super) fn bounds(value: &Value) -> (Option<Bound>, Option<Bound>) {
    if let Some(number) = value.as_number() {
        let bound = Bound { value: number.clone(), inclusive: true };
        return (Some(bound.clone()), Some(bound));
    }
    value.refinement().map_or((None, None), |r| (r.lower.clone(), r.upper.clone()))
}
