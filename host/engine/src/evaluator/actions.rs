//! Evaluates actions: their instances, their configuration, and the references in `action_trigger`
//! blocks.

use std::cell::RefCell;
use std::sync::Arc;

use wardian_address::{ActionAddress, ActionInstanceAddress, InstanceKey, ModuleInstance};
use wardian_config::{ActionReference, ActionTrigger, decode_body};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Span, did_you_mean};
use wardian_lang::{Budget, Cause, ReferenceSubject, Resolved, Scope};
use wardian_plugin::Schema;
use wardian_value::convert::convert;
use wardian_value::{Type, Value};

use super::{Evaluator, ModuleScope};
use crate::values::{Repetition, RepetitionData, instance_key};

impl Evaluator {
    /// Determines the instances of an action in all instances of its module.
    pub fn expand_action(&mut self, address: &ActionAddress) -> Result<(), Diagnostics> {
        let configuration = Arc::clone(&self.configuration);
        let Some(action) = configuration.action(address) else { return Ok(()) };
        for module in self.values.module_instances(&address.module).to_vec() {
            let repetition = self
                .repetition(&module, action.count.as_ref(), action.for_each.as_ref())
                .map_err(|found| found.in_block(&action.context()))?;
            self.values.module_mut(&module).actions.insert(action.key(), repetition);
        }
        Ok(())
    }

    /// Returns all instances of an action.
    pub fn action_instances(&self, address: &ActionAddress) -> Vec<ActionInstanceAddress> {
        let key = (address.type_name.clone(), address.name.clone());
        let modules = self.values.module_instances(&address.module).iter();
        modules
            .flat_map(|module| {
                let repetition = self.values.module(module).and_then(|values| values.actions.get(&key));
                let keys = repetition.map(Repetition::keys).unwrap_or_default();
                keys.into_iter().map(|key| address.instance(module, key)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Returns the instances to which an item of `actions` refers: the instance with the key in the
    /// reference, or all instances.
    pub fn triggered_instances(
        &self,
        reference: &ActionReference,
        module: &ModuleInstance,
        repetition: &RepetitionData,
    ) -> Result<Vec<ActionInstanceAddress>, Diagnostics> {
        let address = crate::nodes::action_address(&module.path(), &reference.key.0, &reference.key.1);
        let expanded = self.values.module(module).and_then(|values| values.actions.get(&reference.key));
        let Some(expanded) = expanded else { return Ok(Vec::new()) };
        if !reference.has_key {
            return Ok(expanded.keys().into_iter().map(|key| address.instance(module, key)).collect());
        }
        let scope = KeyScope { inner: self.scope(module, repetition.clone()), key: RefCell::new(None) };
        reference.expression.evaluate(&scope)?;
        let problem = |detail: String| {
            Diagnostics::from(
                Diagnostic::error("Reference to undeclared action instance", detail)
                    .at(reference.expression.span().clone()),
            )
        };
        let Some(key) = scope.key.take() else {
            return Err(problem("The instance key must be a known number or string.".to_owned()));
        };
        if expanded.contains(&key) {
            return Ok(vec![address.instance(module, key)]);
        }
        let known: Vec<String> = expanded.keys().iter().map(ToString::to_string).collect();
        let advice = did_you_mean(&key.to_string(), known.iter().map(String::as_str));
        Err(problem(format!("{address} has no instance with the key {key}.{advice}")))
    }

    /// Evaluates the configuration of an action instance.
    pub fn action_config(&self, address: &ActionInstanceAddress, schema: &Schema) -> Diagnosed<Value> {
        let Some(action) = self.configuration.action(&address.config()) else {
            return Diagnosed::failed(Diagnostics::new());
        };
        let expanded =
            self.values.module(&address.module).and_then(|values| values.actions.get(&action.key()));
        let repetition = expanded.map(|expanded| expanded.data(&address.key)).unwrap_or_default();
        let scope = self.scope(&address.module, repetition);
        let (config, mut found) = decode_body(&action.config, &schema.block, &scope);
        found.extend(self.budget.spend_value(&config, &action.span).err());
        let located = crate::diagnostic_spans::in_action(action, found).for_address(&address.to_string());
        Diagnosed::unless_errors(config, located)
    }

    /// Returns whether the condition of a trigger holds for an object. A plan contains all
    /// invocations, so the result must be known.
    pub fn trigger_condition(
        &self,
        trigger: &ActionTrigger,
        module: &ModuleInstance,
        repetition: &RepetitionData,
    ) -> Result<bool, Diagnostics> {
        let Some(condition) = &trigger.condition else { return Ok(true) };
        let scope = self.scope(module, repetition.clone());
        let value = condition.evaluate(&scope)?;
        let problem = |detail: String, cause: Cause| {
            let mut found =
                Diagnostic::error("Invalid action_trigger condition", detail).at(condition.span().clone());
            found.values = condition.value_notes(&scope, cause);
            Diagnostics::from(found)
        };
        if value.inside_marks().is_ephemeral() {
            let detail = "The condition depends on an ephemeral value, but the plan stores its result.";
            return Err(problem(detail.to_owned(), Cause::Ephemeral));
        }
        let value = convert(&value.unmark_deep(), &Type::Bool).map_err(|error| {
            problem(format!("The condition must be true or false: {error}."), Cause::Value)
        })?;
        if !value.is_known() {
            let detail = "The condition depends on values that are known only after apply, but the plan must \
                          determine which actions are invoked. Use values that are known.";
            return Err(problem(detail.to_owned(), Cause::Unknown));
        }
        value.as_bool().ok_or_else(|| {
            problem("The condition must be true or false, but is null.".to_owned(), Cause::Value)
        })
    }
}

/// Records the instance key that is applied to an action.
struct KeyScope<'a> {
    inner: ModuleScope<'a>,
    key: RefCell<Option<InstanceKey>>,
}

impl Scope for KeyScope<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        if let ReferenceSubject::Action { .. } = subject {
            *self.key.borrow_mut() = index.and_then(instance_key);
            return Ok(Resolved::Element(Value::null(Type::Dynamic)));
        }
        self.inner.resolve(subject, index, span)
    }

    fn budget(&self) -> Option<&Budget> {
        self.inner.budget()
    }
}
