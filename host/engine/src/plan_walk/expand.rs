//! Determines the operations for a resource after its instances are known.

use std::collections::HashMap;
use std::sync::Arc;

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress,
    ResourceMode,
};
use wardian_state::Object;

use super::{Pending, PlanWalk, Purpose};
use crate::checks::Checkable;
use crate::import::blocks::PlannedImport;
use crate::plan::{ActionReason, Mode};
use crate::providers::unknown_type;
use crate::scheduler::VisitResult;
use crate::state_values::set_from_state;
use crate::values::Repetition;

impl PlanWalk<'_> {
    pub(super) fn visit_resource(&mut self, address: &ResourceAddress) -> VisitResult<Pending> {
        let context = self.context;
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let Some(resource) =
            context.configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
        else {
            return VisitResult::Done;
        };
        let provider = context.configuration.provider_for(&address.module, resource);
        if self.evaluator.schemas.resource(&provider.provider, resource.mode, &resource.type_name).is_none() {
            self.diagnostics.push(unknown_type(&self.evaluator.schemas, resource, &provider));
            return VisitResult::Failed;
        }
        if address.mode == ResourceMode::Ephemeral {
            if self.options.mode == Mode::Destroy && !self.for_providers.contains(address) {
                return VisitResult::Done;
            }
        } else if self.options.mode == Mode::Destroy {
            return VisitResult::Operations(self.visit_for_destroy(address, &provider));
        }
        let Some(mut imports) = self.planned_imports(address, &provider) else { return VisitResult::Failed };
        let mut pending = Vec::new();
        let modules = self.evaluator.values.module_instances(&address.module).to_vec();
        self.evaluator.checks.expand(&Checkable::Resource(address.clone()), []);
        for module in &modules {
            let count = resource.count.as_ref();
            let repetition = match self.evaluator.repetition(module, count, resource.for_each.as_ref()) {
                Ok(repetition) => repetition,
                Err(found) => {
                    let context = resource.context();
                    self.diagnostics.extend(found.in_block(&context));
                    return VisitResult::Failed;
                }
            };
            if !repetition.is_empty() {
                let found = resource.check_own_arguments();
                if found.has_errors() {
                    self.diagnostics.extend(found);
                    return VisitResult::Failed;
                }
            }
            let absolute = address.in_module(module);
            pending.extend(match self.purpose {
                Purpose::Plan => self.expand(&absolute, repetition, &provider, &mut imports),
                Purpose::Import(order) => self.expand_for_import(&absolute, repetition, &provider, order),
            });
        }
        if !self.all_found(&imports) {
            return VisitResult::Failed;
        }
        if let Purpose::Import(_) = self.purpose {
            return VisitResult::Operations(pending);
        }
        for stored in self.by_config.get(address).cloned().unwrap_or_default() {
            if !modules.contains(&stored.module) {
                pending.extend(
                    self.destroy_all(&stored, &provider, |_| Some(ActionReason::DeleteBecauseNoModule)),
                );
            }
        }
        VisitResult::Operations(pending)
    }

    /// Returns the operations for a resource in one module instance.
    fn expand(
        &mut self,
        address: &AbsoluteResourceAddress,
        repetition: Repetition,
        provider: &ProviderConfigAddress,
        imports: &mut HashMap<ResourceInstanceAddress, PlannedImport>,
    ) -> Vec<Pending> {
        let mut pending = Vec::new();
        if let Some(stored) = self.state.resource(address).cloned() {
            for (key, instance) in stored.instances {
                let instance_address = address.instance(key.clone());
                for (deposed, object) in instance.deposed {
                    if self.options.mode == Mode::Normal && self.included.instance(&instance_address) {
                        pending.push(Pending::Destroy {
                            address: instance_address.clone(),
                            deposed: Some(deposed),
                            object,
                            provider: provider.clone(),
                            reason: None,
                        });
                    }
                }
                if !repetition.contains(&key)
                    && let Some(object) = instance.current
                    && self.included.instance(&instance_address)
                {
                    if address.mode != ResourceMode::Managed {
                        self.state.remove_instance(&instance_address);
                        continue;
                    }
                    pending.push(self.orphaned_instance(instance_address, object, &repetition, provider));
                }
            }
        }
        let keys = repetition.keys();
        if address.mode == ResourceMode::Managed {
            pending.reserve(keys.len());
            // Moving many changes to larger memory repeatedly takes longer than planning them.
            self.changes.reserve(keys.len());
        }
        for key in keys {
            let instance = address.instance(key.clone());
            let import = imports.remove(&instance).map(|import| import.target);
            if !self.included.instance(&instance) {
                continue;
            }
            let data = repetition.data(&key);
            pending.push(match (address.mode, self.options.mode) {
                (ResourceMode::Ephemeral, _) => Pending::Open { address: instance, repetition: data },
                (ResourceMode::Data, _) => Pending::Data { address: instance, repetition: data },
                (_, Mode::RefreshOnly) => match self.state.current(&instance) {
                    Some(object) => Pending::Refresh {
                        object: Arc::clone(object),
                        address: instance,
                        provider: provider.clone(),
                    },
                    None => continue,
                },
                _ => Pending::Managed { address: instance, repetition: data, import },
            });
        }
        self.evaluator.checks.expand_resource(address, repetition.keys());
        let values = self.evaluator.values.module_mut(&address.module);
        values.expand_resource(address.mode, &address.type_name, &address.name, repetition);
        pending
    }

    fn orphaned_instance(
        &self,
        address: ResourceInstanceAddress,
        object: Arc<Object>,
        repetition: &Repetition,
        provider: &ProviderConfigAddress,
    ) -> Pending {
        if self.options.mode == Mode::RefreshOnly {
            return Pending::Refresh { address, object, provider: provider.clone() };
        }
        let reason = match (repetition, &address.key) {
            (Repetition::Count(_), InstanceKey::Int(_)) => ActionReason::DeleteBecauseCountIndex,
            (Repetition::ForEach(_), InstanceKey::String(_)) => ActionReason::DeleteBecauseEachKey,
            _ => ActionReason::DeleteBecauseWrongRepetition,
        };
        Pending::Destroy { address, deposed: None, object, provider: provider.clone(), reason: Some(reason) }
    }

    /// Returns the operations that destroy all objects of a resource in the state.
    pub(super) fn destroy_all(
        &mut self,
        address: &AbsoluteResourceAddress,
        provider: &ProviderConfigAddress,
        reason: impl Fn(&ResourceInstanceAddress) -> Option<ActionReason>,
    ) -> Vec<Pending> {
        let Some(resource) = self.state.resource(address).cloned() else { return Vec::new() };
        if address.mode != ResourceMode::Managed {
            self.state.remove_resource(address);
            return Vec::new();
        }
        let mut pending = Vec::new();
        for (key, instance) in resource.instances {
            let address = address.instance(key);
            let reason = reason(&address);
            if !self.included.instance(&address) {
                continue;
            }
            let provider = provider.clone();
            let deposed = instance.deposed.into_iter().filter(|_| self.options.mode != Mode::RefreshOnly);
            for (deposed, object) in deposed {
                pending.push(Pending::Destroy {
                    address: address.clone(),
                    deposed: Some(deposed),
                    object,
                    provider: provider.clone(),
                    reason: None,
                });
            }
            if let Some(object) = instance.current {
                pending.push(if self.options.mode == Mode::RefreshOnly {
                    Pending::Refresh { address, object, provider }
                } else {
                    Pending::Destroy { address, deposed: None, object, provider, reason }
                });
            }
        }
        pending
    }

    /// Returns the operations for the objects in the state of a resource that is not in the
    /// configuration.
    pub(super) fn end_orphan(
        &mut self,
        address: &AbsoluteResourceAddress,
        provider: &ProviderConfigAddress,
    ) -> Vec<Pending> {
        let moved = std::mem::take(&mut self.moved);
        let mode = self.options.mode;
        let reason = |instance: &ResourceInstanceAddress| match moved.get(instance) {
            _ if mode == Mode::Destroy => None,
            Some(_) => Some(ActionReason::DeleteBecauseNoMoveTarget),
            None => Some(ActionReason::DeleteBecauseNoResourceConfig),
        };
        let pending = self.destroy_all(address, provider, reason);
        self.moved = moved;
        if !self.forgotten.includes(address) {
            return pending;
        }
        let forget = |pending| match pending {
            Pending::Destroy { address, deposed, object, provider, reason } => {
                Pending::Forget { address, deposed, object, provider, reason }
            }
            other => other,
        };
        pending.into_iter().map(forget).collect()
    }

    /// Visits a resource in a destroy plan: all values come from the state.
    fn visit_for_destroy(
        &mut self,
        address: &ResourceAddress,
        provider: &ProviderConfigAddress,
    ) -> Vec<Pending> {
        let mut pending = Vec::new();
        for stored in self.by_config.get(address).cloned().unwrap_or_default() {
            set_from_state(&mut self.evaluator, &self.state, &stored);
            if stored.mode == ResourceMode::Managed {
                pending.extend(self.destroy_all(&stored, provider, |_| None));
            }
        }
        pending
    }
}
