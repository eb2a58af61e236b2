//! Evaluation.
use crate::node::{Call, Node};
use crate::{Diagnostic, Diagnostics, Expression, Scope, SourceFile};
use std::sync::Arc;
use wardian_value::Value;

pub(crate) fn evaluate(_expression: &Expression, _scope: &dyn Scope) -> Result<Value, Diagnostics> {
    Ok(Value::bool(true))
}
pub(crate) fn check_call(_file: &Arc<SourceFile>, _node: &Node, _call: &Call) -> Option<Diagnostic> {
    None
}
