//! Conditions that people state: validations of variables, pre- and
//! postconditions.

use wardian_config::{Condition, Resource};
use wardian_lang::{Diagnostic, Diagnostics, Scope};
use wardian_plugin::ResourceInstanceAddress;
use wardian_value::{Type, Value, convert::convert};

use crate::evaluator::Evaluator;

/// Checks conditions. Those that are not known yet are left for later.
pub fn check(
    conditions: &[Condition],
    scope: &dyn Scope,
    summary: &str,
    value: Option<(&str, &Value)>,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for condition in conditions {
        let Some(holds) = diagnostics.collect(condition.condition.evaluate(scope)) else { continue };
        let holds = match convert(&holds, &Type::Bool) {
            Ok(holds) => holds,
            Err(error) => {
                diagnostics.push(
                    Diagnostic::error(
                        "Invalid condition result",
                        format!("The condition must be true or false: {error}."),
                    )
                    .at(condition.condition.span().clone()),
                );
                continue;
            }
        };
        if !holds.is_known() || holds.as_bool() == Some(true) {
            continue;
        }
        let message = match condition.error_message.evaluate(scope) {
            Ok(message) if message.has_sensitive() => {
                "Its message holds a sensitive value and is not shown.".to_owned()
            }
            Ok(message) => message
                .as_str()
                .map_or_else(|| "The condition does not hold.".to_owned(), |text| text.trim().to_owned()),
            Err(found) => {
                diagnostics.extend(found);
                continue;
            }
        };
        let mut diagnostic = Diagnostic::error(
            summary,
            format!("{message}\n\nThis was checked by the rule at {}.", condition.span),
        )
        .at(condition.condition.span().clone());
        if let Some((name, value)) = value {
            let shown =
                if value.has_sensitive() { "(sensitive value)".to_owned() } else { format!("{value:?}") };
            diagnostic = diagnostic.with_value(name, format!("is {shown}"));
        }
        diagnostics.push(diagnostic);
    }
    diagnostics
}

/// Checks what must hold for an instance once its value is known.
pub fn check_postconditions(
    diagnostics: &mut Diagnostics,
    evaluator: &Evaluator,
    resource: &Resource,
    address: &ResourceInstanceAddress,
    value: Value,
) -> bool {
    if resource.lifecycle.postconditions.is_empty() {
        return true;
    }
    let repetition = evaluator.values.repetition_data(address);
    let scope = evaluator.scope(address.module(), repetition).with_self(value);
    let found = check(&resource.lifecycle.postconditions, &scope, "Resource postcondition failed", None);
    let failed = found.has_errors();
    diagnostics.extend(found.in_block(&resource.context()).for_address(&address.to_string()));
    !failed
}
