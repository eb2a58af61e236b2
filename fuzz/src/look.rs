//! Calls every function that inspects parsed input.

use wardian_diagnostic::{Diagnostics, NoStyle};
use wardian_lang::{Body, Expression, Scope, TypeConstraint};

/// Renders diagnostics in every format; if there are many, only the first few.
pub fn look_at_diagnostics(problems: &Diagnostics) {
    for problem in problems.iter().take(20) {
        let _ = problem.to_text(40, &NoStyle);
        let _ = problem.to_json();
    }
}

/// Analyses the expression and evaluates it in each of the scopes.
///
/// # Panics
///
/// Panics if an evaluation fails without an error.
pub fn look_at_expression(expression: &Expression, scopes: &[&dyn Scope]) {
    let _ = expression.references();
    let _ = expression.as_traversal();
    let _ = expression.as_address();
    let _ = expression.as_keyword();
    let _ = expression.as_quoted();
    let _ = expression.as_call();
    let _ = expression.as_tuple_items();
    let _ = expression.as_object_items();
    look_at_diagnostics(&expression.check());
    if let Err(problems) = TypeConstraint::parse(expression) {
        look_at_diagnostics(&problems);
    }
    for scope in scopes {
        if let Err(problems) = expression.evaluate(*scope) {
            assert!(problems.has_errors(), "a failure without an error");
            look_at_diagnostics(&problems);
        }
    }
}

/// Inspects every expression below the body.
pub fn look_at_body(body: &Body, scopes: &[&dyn Scope]) {
    let mut bodies = vec![body.clone()];
    while let Some(body) = bodies.pop() {
        let body = body.guessed().into_owned();
        let _ = body.unread();
        let _ = body.missing_item_span();
        for attribute in &body.attributes {
            look_at_expression(&attribute.expression, scopes);
        }
        bodies.extend(body.blocks.into_iter().map(|block| block.body));
    }
}
