//! `wardian state mv`: moves objects within a state or to another state.
//!
//! | source | destination | moves |
//! |---|---|---|
//! | an instance, or a resource that has an instance without a key in the state | an instance | that instance |
//! | a resource with keys | a resource | all its instances |
//! | a module instance | a module instance | all resources in it and in its child modules |
//!
//! The destination must not exist in the state, and the resource type must be the same. If objects
//! are moved to another file (`-state-out`), the destination is written first. After a failure
//! between the two writes, an object is therefore in both files, and never missing from both.

use std::path::Path;

use async_trait::async_trait;
use wardian_address::{ModuleInstance, ResourceInstanceAddress, ResourceMode};
use wardian_app::state_access::{LockPurpose, StateLocation};
use wardian_app::state_change::{self, ChangeRequest, DefaultBackup, backup_rule};
use wardian_engine::{StopSignal, TargetAddress};
use wardian_printable::printable;
use wardian_state::{ResourceState, State};

use crate::arguments::StateMvArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::ViewOptions;

/// An address in the command's arguments. Without an instance key, it refers to the instance that
/// has no key.
enum Item {
    Module(ModuleInstance),
    Instance(ResourceInstanceAddress),
}

#[async_trait(?Send)]
impl CommandSpec for StateMvArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &StateMvArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let stop = interrupt::listen(&context.shell)?;
    let (lock, out) = (&arguments.lock.options(), &arguments.state_out.options());
    let mut request =
        ChangeRequest::new(&context.app, &configuration, lock, out, DefaultBackup::Timed, LockPurpose::Move)
            .await?;
    state_change::require(&context.app, &request.location).await?;
    let written = request.written.take();
    if let Some(path) = request.location.file() {
        request.backup = backup_rule(out.backup.as_deref(), DefaultBackup::Timed, path);
    }
    let source = request.open(&context.app, &stop).await?;
    let mut from = (*source.state).clone();
    let moving = Move::new(arguments);
    match written {
        None => {
            let taken = moving.take(&mut from)?;
            let moved = moving.moved(&taken);
            moving.put(taken, &mut from)?;
            if arguments.dry_run {
                return Ok(report(context, "Would move", &moved));
            }
            source.save(&from).await?;
            report(context, "Move", &moved);
        }
        Some(path) => {
            let destination = other(context, arguments, path, &stop).await?;
            let mut to = (*destination.state).clone();
            let taken = moving.take(&mut from)?;
            let moved = moving.moved(&taken);
            moving.put(taken, &mut to)?;
            if arguments.dry_run {
                return Ok(report(context, "Would move", &moved));
            }
            destination.save(&to).await?;
            source.save(&from).await?;
            report(context, "Move", &moved);
        }
    }
    context.shell.say("The object is now stored under its new address.");
    Ok(Status::Success)
}

/// Opens the state in `-state-out`.
async fn other(
    context: &CommandContext,
    arguments: &StateMvArguments,
    path: &Path,
    stop: &StopSignal,
) -> Outcome<state_change::StateChange> {
    let request = ChangeRequest {
        lock: arguments.lock.lock,
        lock_timeout: arguments.lock.lock_timeout,
        location: StateLocation::File(path.to_owned()),
        written: None,
        backup: backup_rule(arguments.backup_out.as_deref(), DefaultBackup::Timed, path),
        purpose: LockPurpose::Move,
    };
    Ok(request.open(&context.app, stop).await?)
}

fn report(context: &CommandContext, what: &str, moved: &[(String, String)]) -> Status {
    for (from, to) in moved {
        context.shell.say(printable!("{what} {from:?} to {to:?}"));
    }
    Status::Success
}

struct Move<'a> {
    source: Item,
    destination: Item,
    arguments: &'a StateMvArguments,
}

/// Objects that were removed from the source state.
enum Taken {
    /// The resources, each with its new address.
    Resources(Vec<(wardian_address::AbsoluteResourceAddress, ResourceState)>),
    Instance(Box<(wardian_address::ProviderConfigAddress, wardian_state::Instance)>),
}

impl<'a> Move<'a> {
    fn new(arguments: &'a StateMvArguments) -> Self {
        Self { source: item(&arguments.source), destination: item(&arguments.destination), arguments }
    }

    /// Returns the old and new addresses. Moving a module is listed as a single move.
    fn moved(&self, taken: &Taken) -> Vec<(String, String)> {
        let StateMvArguments { source, destination, .. } = self.arguments;
        let (Taken::Resources(resources), Item::Module(from), Item::Module(to)) =
            (taken, &self.source, &self.destination)
        else {
            return vec![(source.to_string(), destination.to_string())];
        };
        let mut moved: Vec<(String, String)> = Vec::new();
        for (address, _) in resources {
            let below = address.module.steps().get(to.steps().len()..).unwrap_or_default();
            let before: ModuleInstance = from.steps().iter().chain(below).cloned().collect();
            let pair = (before.to_string(), address.module.to_string());
            if moved.last() != Some(&pair) {
                moved.push(pair);
            }
        }
        moved
    }

    fn wrong(&self, summary: &str, why: &str) -> Failure {
        let StateMvArguments { source, destination, .. } = self.arguments;
        Failure::error(
            summary,
            format!("{source} cannot be moved to {destination}: {why}. Nothing was changed."),
        )
    }

    fn missing(&self) -> Failure {
        self.wrong(
            "Invalid source address",
            "the source does not exist in the state; `wardian state list` lists the instances",
        )
    }

    /// Removes the source objects from the state.
    fn take(&self, state: &mut State) -> Outcome<Taken> {
        match (&self.source, &self.destination) {
            (Item::Module(source), Item::Module(destination)) => self.take_module(state, source, destination),
            (Item::Module(_), Item::Instance(_)) => {
                Err(self.wrong("Invalid target address", "a module can only be moved to a module"))
            }
            (Item::Instance(_), Item::Module(_)) => {
                Err(self.wrong("Invalid target address", "a resource can only be moved to a resource"))
            }
            (Item::Instance(source), Item::Instance(destination)) => {
                self.check_types(source, destination)?;
                self.take_instances(state, source, destination)
            }
        }
    }

    fn check_types(
        &self,
        source: &ResourceInstanceAddress,
        destination: &ResourceInstanceAddress,
    ) -> Outcome<()> {
        if source.mode() != destination.mode() {
            let why = if source.mode() == ResourceMode::Managed {
                "a managed resource can only be moved to a managed resource"
            } else {
                "a data resource can only be moved to a data resource"
            };
            return Err(self.wrong("Invalid state move request", why));
        }
        if source.type_name() != destination.type_name() {
            return Err(self.wrong("Invalid state move request", "the types of the resources differ"));
        }
        Ok(())
    }

    fn take_module(
        &self,
        state: &mut State,
        source: &ModuleInstance,
        destination: &ModuleInstance,
    ) -> Outcome<Taken> {
        let inside: Vec<_> = state
            .resources()
            .filter(|(address, _)| address.module.is_within(source))
            .map(|(address, _)| address.clone())
            .collect();
        if inside.is_empty() || source.is_root() {
            return Err(self.missing());
        }
        let mut taken = Vec::new();
        for mut address in inside {
            let Some(resource) = state.remove_resource(&address) else { continue };
            let below = address.module.steps().get(source.steps().len()..).unwrap_or_default();
            address.module = destination.steps().iter().chain(below).cloned().collect();
            taken.push((address, (*resource).clone()));
        }
        Ok(Taken::Resources(taken))
    }

    fn take_instances(
        &self,
        state: &mut State,
        source: &ResourceInstanceAddress,
        destination: &ResourceInstanceAddress,
    ) -> Outcome<Taken> {
        let resource = state.resource(&source.resource).ok_or_else(|| self.missing())?;
        if source.key.is_none() && !resource.instances.contains_key(&source.key) {
            if !destination.key.is_none() {
                let why = "the source is a resource with all its instances, which can only be moved to a \
                    resource";
                return Err(self.wrong("Invalid target address", why));
            }
            let resource = resource.clone();
            state.remove_resource(&source.resource);
            return Ok(Taken::Resources(vec![(destination.resource.clone(), resource)]));
        }
        if source == destination && self.is_within_one_state() {
            return Err(self.occupied());
        }
        let provider = resource.provider.clone();
        let instance = state.remove_instance(source).ok_or_else(|| self.missing())?;
        Ok(Taken::Instance(Box::new((provider, instance))))
    }

    fn is_within_one_state(&self) -> bool {
        self.arguments.state_out.state_out.is_none()
    }

    fn occupied(&self) -> Failure {
        self.wrong("Invalid target address", "the destination already exists in the state")
    }

    /// Inserts the removed objects at the destination.
    fn put(&self, taken: Taken, state: &mut State) -> Outcome<()> {
        match (taken, &self.destination) {
            (Taken::Resources(resources), destination) => {
                let occupied = match destination {
                    Item::Module(module) => {
                        state.resources().any(|(address, _)| address.module.is_within(module))
                    }
                    Item::Instance(address) => state.resource(&address.resource).is_some(),
                };
                if occupied {
                    return Err(self.occupied());
                }
                for (address, resource) in resources {
                    state.set_resource(address, resource);
                }
            }
            (Taken::Instance(taken), Item::Instance(destination)) => {
                let (provider, instance) = *taken;
                if state.instance(destination).is_some() {
                    return Err(self.occupied());
                }
                // All instances of a resource have the same provider.
                let provider =
                    state.resource(&destination.resource).map_or(provider, |there| there.provider.clone());
                state.set_instance(destination, &provider, instance);
            }
            (Taken::Instance(_), Item::Module(_)) => return Err(self.occupied()),
        }
        Ok(())
    }
}

fn item(target: &TargetAddress) -> Item {
    match target {
        TargetAddress::Module(module) => Item::Module(module.clone()),
        TargetAddress::Instance(instance) => Item::Instance(instance.clone()),
        TargetAddress::Resource(resource) => Item::Instance(
            resource
                .in_module(&resource.module.unkeyed_instance())
                .instance(wardian_address::InstanceKey::None),
        ),
    }
}
