//! Applies moves to a state.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wardian_address::{AbsoluteResourceAddress, InstanceKey, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_diagnostic::Diagnostics;
use wardian_state::{Instance, State};

use super::across_types::{TypeConversion, check_withheld};
use super::endpoint::{Keys, ResourceName};
use super::state_tree::StateTree;
use super::statement::Statement;
use crate::evaluator::Evaluator;

/// The result of the moves.
#[derive(Debug, Default)]
pub struct CarriedOut {
    /// The original address of each moved object, by its current address.
    pub moved: HashMap<ResourceInstanceAddress, ResourceInstanceAddress>,
    /// The addresses to which objects could not move, by the objects' current addresses.
    pub blocked: BTreeMap<String, String>,
}

/// Applies statements in the given order.
///
/// # Errors
/// Returns an error if a provider cannot convert an object.
pub async fn carry_out(
    evaluator: &Evaluator,
    state: &mut State,
    statements: &[Statement],
    order: &[usize],
) -> Result<CarriedOut, Diagnostics> {
    let mut mover =
        Mover { evaluator, tree: StateTree::from_state(state), state, result: CarriedOut::default() };
    for statement in order.iter().filter_map(|number| statements.get(*number)) {
        match (&statement.from.resource, &statement.to.resource) {
            (None, None) => mover.move_modules(statement),
            (Some((from, keys)), Some((to, _))) => mover.move_resources(statement, from, keys, to).await?,
            _ => {}
        }
    }
    Ok(mover.result)
}

struct Mover<'a> {
    evaluator: &'a Evaluator,
    tree: StateTree,
    state: &'a mut State,
    result: CarriedOut,
}

impl Mover<'_> {
    fn move_modules(&mut self, statement: &Statement) {
        let steps = statement.from.modules.len();
        let named = self.tree.matching(&statement.from.modules);
        let with_inner: Vec<_> = named.into_iter().flat_map(|number| self.tree.within(number)).collect();
        for number in with_inner {
            let Some((from, resources)) = self.tree.resources(number) else { continue };
            let (from, resources) = (from.clone(), resources.clone());
            let to = statement.to.module_at_this_end(&from, statement.depth(), steps);
            if from == to {
                continue;
            }
            if self.tree.is_module(&to) {
                self.result.blocked.insert(from.to_string(), to.to_string());
                continue;
            }
            for (mode, type_name, name) in resources {
                let old = from.resource(mode, type_name.clone(), name.clone());
                let new = to.resource(mode, type_name, name);
                self.move_resource(&old, new);
            }
        }
    }

    /// Moves a resource to an address at which there is no resource.
    fn move_resource(&mut self, from: &AbsoluteResourceAddress, to: AbsoluteResourceAddress) {
        let Some(resource) = self.state.remove_resource(from) else { return };
        for key in resource.instances.keys() {
            self.moved(from.instance(key.clone()), to.instance(key.clone()));
        }
        self.tree.remove(from);
        self.tree.insert(&to);
        self.state.set_resource(to, resource);
    }

    async fn move_resources(
        &mut self,
        statement: &Statement,
        (mode, type_name, name): &ResourceName,
        keys: &Keys,
        (to_mode, to_type, to_name): &ResourceName,
    ) -> Result<(), Diagnostics> {
        let steps = statement.from.modules.len();
        for number in self.tree.matching(&statement.from.modules) {
            let Some((module, _)) = self.tree.resources(number) else { continue };
            let from = module.resource(*mode, type_name.clone(), name.clone());
            let to_module = statement.to.module_at_this_end(module, statement.depth(), steps);
            let to = to_module.resource(*to_mode, to_type.clone(), to_name.clone());
            check_withheld(self.evaluator, self.state, statement, &from, &to)?;
            let Some(resource) = self.state.resource(&from) else { continue };
            let conversion =
                TypeConversion::for_move(self.evaluator, statement, &resource.provider, &from, &to)?;
            match keys {
                Keys::Any => self.move_whole(from, to, conversion).await?,
                Keys::One(key) => {
                    let to = to.instance(statement.to.key_at_this_end(key));
                    self.move_instance(&from.instance(key.clone()), &to, conversion).await?;
                }
            }
        }
        Ok(())
    }

    async fn move_whole(
        &mut self,
        from: AbsoluteResourceAddress,
        to: AbsoluteResourceAddress,
        conversion: Option<TypeConversion>,
    ) -> Result<(), Diagnostics> {
        if from == to {
            return Ok(());
        }
        if self.state.resource(&to).is_some() {
            self.result.blocked.insert(from.to_string(), to.to_string());
            return Ok(());
        }
        let Some(conversion) = conversion else {
            self.move_resource(&from, to);
            return Ok(());
        };
        let keys: Vec<InstanceKey> =
            self.state.resource(&from).map(|r| r.instances.keys().cloned().collect()).unwrap_or_default();
        for key in keys {
            self.convert(&from.instance(key.clone()), &to.instance(key), &conversion).await?;
        }
        Ok(())
    }

    async fn move_instance(
        &mut self,
        from: &ResourceInstanceAddress,
        to: &ResourceInstanceAddress,
        conversion: Option<TypeConversion>,
    ) -> Result<(), Diagnostics> {
        if from == to || self.state.instance(from).is_none() {
            return Ok(());
        }
        if self.state.instance(to).is_some() {
            self.result.blocked.insert(from.to_string(), to.to_string());
            return Ok(());
        }
        if let Some(conversion) = conversion {
            return self.convert(from, to, &conversion).await;
        }
        let provider = self.state.resource(&from.resource).map(|resource| resource.provider.clone());
        if let (Some(provider), Some(instance)) = (provider, self.state.remove_instance(from)) {
            self.place(from, to, &provider, instance);
        }
        Ok(())
    }

    async fn convert(
        &mut self,
        from: &ResourceInstanceAddress,
        to: &ResourceInstanceAddress,
        conversion: &TypeConversion,
    ) -> Result<(), Diagnostics> {
        let Some(instance) = self.state.instance(from).cloned() else { return Ok(()) };
        let mut new = Instance::default();
        if let Some(object) = instance.current {
            new.current = Some(Arc::new(conversion.convert(from, to, &object).await?));
        }
        for (key, object) in instance.deposed {
            new.deposed.insert(key, Arc::new(conversion.convert(from, to, &object).await?));
        }
        self.state.remove_instance(from);
        self.place(from, to, conversion.provider(), new);
        Ok(())
    }

    fn place(
        &mut self,
        from: &ResourceInstanceAddress,
        to: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Instance,
    ) {
        if self.state.resource(&from.resource).is_none() {
            self.tree.remove(&from.resource);
        }
        self.tree.insert(&to.resource);
        self.state.set_instance(to, provider, instance);
        self.moved(from.clone(), to.clone());
    }

    /// Records a move. If an object moves again, its original address remains unchanged.
    fn moved(&mut self, from: ResourceInstanceAddress, to: ResourceInstanceAddress) {
        let first = self.result.moved.remove(&from).unwrap_or(from);
        self.result.moved.insert(to, first);
    }
}
