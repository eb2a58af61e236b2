//! Unary and binary operators.

use wardian_value::{Number, NumberError, Refinement, Type, Value, View, convert};

use super::steps::marks_of;
use super::{Evaluated, Evaluation};
use crate::Diagnostics;
use crate::node::{Node, Operator};

impl Evaluation<'_> {
    pub(super) fn negate(&mut self, operand: &Node, node: &Node) -> Evaluated {
        let value = self.operand(operand, &Type::Number, "the operand of \"-\"", node)?;
        let marks = value.inside_marks();
        let result = match value.view() {
            View::Number(number) => Value::number(number.neg()),
            _ => unknown(Type::Number),
        };
        Ok(result.with_marks(marks))
    }

    pub(super) fn not(&mut self, operand: &Node, node: &Node) -> Evaluated {
        let value = self.operand(operand, &Type::Bool, "the operand of \"!\"", node)?;
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
                    _ if is_comparison(operator) => unknown(Type::Bool),
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
        let left = self.operand(left, ty, &format!("the left operand of \"{symbol}\""), node);
        let left = problems.collect(left);
        let right = self.operand(right, ty, &format!("the right operand of \"{symbol}\""), node);
        let right = problems.collect(right);
        match (left, right) {
            (Some(left), Some(right)) => Ok((left, right)),
            _ => Err(problems),
        }
    }

    fn operand(&mut self, operand: &Node, ty: &Type, which: &str, node: &Node) -> Evaluated {
        let value = self.node(operand)?;
        if value.ty() == ty && value.is_known() && !value.is_null() {
            return Ok(value);
        }
        let value = match convert::convert(&value, ty) {
            Ok(value) => value,
            Err(error) => {
                let detail = format!("This cannot be {which}: {error}.");
                let place = (operand.start, operand.end);
                return Err(self.problem_at("Invalid operand", &detail, place, node).into());
            }
        };
        if value.is_null() {
            let detail = format!("This is null, which cannot be {which}.");
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
        Operator::Less => Value::bool(left < right),
        Operator::LessOrEqual => Value::bool(left <= right),
        Operator::Greater => Value::bool(left > right),
        _ => Value::bool(left >= right),
    })
}
