//! Evaluates `condition ? a : b`.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::{Bound, Mapping, Marks, Refinement, Type, Value, convert};

use super::operators::bounds;
use super::{Evaluated, Evaluation};
use crate::node::{Arm, Node};

/// One side of a conditional.
struct Side {
    outcome: Evaluated,
    /// The value; after an error, an unknown value or one that contains unknown values.
    value: Value,
}

/// A side that is itself a conditional.
impl From<Evaluated> for Side {
    fn from(outcome: Evaluated) -> Self {
        let value = outcome.as_ref().map_or_else(|_| Value::unknown(Type::Dynamic), Clone::clone);
        Self { outcome, value }
    }
}

impl Evaluation<'_> {
    /// Evaluates `a ? b : c ? d : e` from the last arm to the first, because the expression after a
    /// colon has a separate value.
    ///
    /// Both sides of an arm are evaluated, because the result has the type to which both can be
    /// converted. However, only errors in the selected side are reported.
    pub(super) fn conditional(&mut self, arms: &[Arm], otherwise: &Node, node: &Node) -> Evaluated {
        let records = std::mem::replace(&mut self.records, false);
        let selected = if records { self.record_selected(arms, otherwise, node) } else { None };
        let outer = std::mem::replace(&mut self.tentative, true);
        // The outcome of the false side of each arm, starting with the last arm.
        let mut outcomes = Vec::with_capacity(arms.len() + 1);
        self.records = selected == Some(arms.len());
        let mut result = self.side(otherwise);
        for (position, arm) in arms.iter().enumerate().rev() {
            self.records = selected == Some(position);
            let if_true = self.side(&arm.if_true);
            self.records = false;
            let next = self.choose(arm, &if_true, &result, node).into();
            outcomes.push(std::mem::replace(&mut result, next));
        }
        let result = result.outcome;
        self.records = records;
        self.tentative = outer;
        if result.is_err() && !self.tentative {
            return self.explain(arms, otherwise, node, outcomes);
        }
        result
    }

    /// Records the side that determines the result, and returns the position of its arm; the number of
    /// arms for the last side. Returns `None` if no side does, because a condition is unknown or
    /// invalid.
    fn record_selected(&mut self, arms: &[Arm], otherwise: &Node, node: &Node) -> Option<usize> {
        self.records = true;
        let first = arms.iter().position(|arm| {
            let condition = self.condition(&arm.condition, node);
            !matches!(condition, Ok((Some(false), _)))
        });
        let holds = |evaluation: &mut Self, arm: &Arm| {
            evaluation.records = false;
            matches!(evaluation.condition(&arm.condition, node), Ok((Some(true), _)))
        };
        let (position, side) = match first {
            Some(position) if holds(self, &arms[position]) => (position, &*arms[position].if_true),
            Some(_) => return None,
            None => (arms.len(), otherwise),
        };
        self.scope.record_evaluated(&self.span((side.start, side.end)));
        Some(position)
    }

    /// Returns the error about a conditional, with the positions and values of both sides.
    fn explain(&mut self, arms: &[Arm], otherwise: &Node, node: &Node, mut outcomes: Vec<Side>) -> Evaluated {
        for arm in arms {
            let Some(if_false) = outcomes.pop() else { break };
            let if_true = self.side(&arm.if_true);
            self.common_type(arm, &if_true, &if_false, node)?;
            let (condition, _) = self.condition(&arm.condition, node)?;
            match condition {
                Some(true) if if_true.outcome.is_err() => return self.node(&arm.if_true),
                Some(false) if if_false.outcome.is_err() => {}
                _ => return self.choose(arm, &if_true, &if_false, node),
            }
        }
        self.node(otherwise)
    }

    fn side(&mut self, node: &Node) -> Side {
        let outcome = self.attempt(node);
        let value = self.value_or_partial(&outcome, node);
        Side { outcome, value }
    }

    fn common_type(
        &mut self,
        arm: &Arm,
        if_true: &Side,
        if_false: &Side,
        node: &Node,
    ) -> Result<Type, Diagnostic> {
        let (if_true, if_false) = (&if_true.value, &if_false.value);
        result_type(if_true, if_false).ok_or_else(|| {
            let detail = format!(
                "The two results must have a common type, but one is {} and the other is {}.",
                if_true.ty(),
                if_false.ty(),
            );
            let place = (arm.if_true.start, node.end);
            self.problem_at("Inconsistent conditional result types", &detail, place, node)
        })
    }

    fn choose(&mut self, arm: &Arm, if_true: &Side, if_false: &Side, node: &Node) -> Evaluated {
        let ty = self.common_type(arm, if_true, if_false, node)?;
        let (condition, marks) = self.condition(&arm.condition, node)?;
        let (true_value, false_value) = (&if_true.value, &if_false.value);
        // The result reveals information about both sides, regardless of the selected one.
        let marks = marks | true_value.marks() | false_value.marks();
        let Some(condition) = condition else {
            return Ok(undecided(true_value, false_value, ty).with_marks(marks));
        };
        let chosen = if condition { if_true } else { if_false }.outcome.clone()?;
        let chosen = if ty == Type::Dynamic || *chosen.ty() == ty {
            chosen
        } else {
            let converted = convert::convert(&chosen, &ty).map_err(|error| {
                let detail = format!("The chosen result cannot be converted to {ty}: {error}.");
                let place = (arm.if_true.start, node.end);
                self.problem_at("Inconsistent conditional result types", &detail, place, node)
            })?;
            self.spend_value(&converted, node)?;
            converted
        };
        Ok(chosen.with_marks(marks))
    }

    /// Returns the condition's value, or `None` if it is unknown, and its marks.
    pub(super) fn condition(
        &mut self,
        condition: &Node,
        node: &Node,
    ) -> Result<(Option<bool>, Marks), Diagnostics> {
        let value = self.node(condition)?;
        let place = (condition.start, condition.end);
        if value.is_null() {
            let detail = "The condition is null. It must be true or false.";
            return Err(self.problem_at("Null condition", detail, place, node).into());
        }
        let marks = value.inside_marks();
        if !value.is_known() {
            // The type of an unknown condition is checked once it is known.
            return Ok((None, marks));
        }
        match convert::convert(&value, &Type::Bool) {
            Ok(value) => Ok((value.as_bool(), marks)),
            Err(error) => {
                let detail = format!("The condition must be a bool: {error}.");
                Err(self.problem_at("Incorrect condition type", &detail, place, node).into())
            }
        }
    }
}

fn result_type(a: &Value, b: &Value) -> Option<Type> {
    let untyped_null = |value: &Value| value.is_null() && *value.ty() == Type::Dynamic;
    if untyped_null(a) {
        Some(b.ty().clone())
    } else if untyped_null(b) || a.ty() == b.ty() {
        Some(a.ty().clone())
    } else if *a.ty() == Type::Dynamic || *b.ty() == Type::Dynamic {
        Some(Type::Dynamic)
    } else {
        convert::unify(&[a.ty().clone(), b.ty().clone()])
    }
}

/// Returns the refinement of the result while the condition is unknown.
fn undecided(a: &Value, b: &Value, ty: Type) -> Value {
    if a.is_null() && b.is_null() {
        return Value::null(ty);
    }
    let mut refinement = Refinement {
        not_null: a.is_definitely_not_null() && b.is_definitely_not_null(),
        ..Refinement::default()
    };
    if ty == Type::Number && a.ty() == b.ty() {
        let ((a_low, a_high), (b_low, b_high)) = (bounds(a), bounds(b));
        refinement.lower = outer(a_low, b_low, |a, b| a < b);
        refinement.upper = outer(a_high, b_high, |a, b| a > b);
    }
    if ty.is_collection() && a.ty() == b.ty() {
        let ((a_min, a_max), (b_min, b_max)) = (lengths(a), lengths(b));
        refinement.min_length = Some(a_min.min(b_min)).filter(|length| *length > 0);
        refinement.max_length = a_max.zip(b_max).map(|(a, b)| a.max(b));
    }
    Value::unknown_with(ty, refinement)
}

/// Returns the less restrictive bound.
fn outer(
    a: Option<Bound>,
    b: Option<Bound>,
    wider: impl Fn(&wardian_value::Number, &wardian_value::Number) -> bool,
) -> Option<Bound> {
    let (a, b) = a.zip(b)?;
    if a.value == b.value {
        return Some(Bound { inclusive: a.inclusive || b.inclusive, value: a.value });
    }
    Some(if wider(&a.value, &b.value) { a } else { b })
}

fn lengths(value: &Value) -> (usize, Option<usize>) {
    if matches!(value.ty(), Type::Set(_)) && value.is_known() && !value.is_wholly_known() {
        // Elements of the set may turn out to be equal.
        return (0, None);
    }
    let known = value.as_elements().map(<[Value]>::len).or_else(|| value.as_mapping().map(Mapping::len));
    if let Some(length) = known {
        return (length, Some(length));
    }
    value.refinement().map_or((0, None), |r| (r.min_length.unwrap_or(0), r.max_length))
}
