//! Checks move statements when the declared instances are known.

use std::collections::{HashMap, HashSet};

use wardian_address::{AbsoluteResourceAddress, InstanceKey, ModuleInstance, ModulePath};
use wardian_config::{ModuleCall, Resource};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_value::Str;

use super::Moves;
use super::address::Moveable;
use super::order;
use super::statement::{Origin, Statement};
use crate::evaluator::Evaluator;
use crate::plan::Mode;

/// For each end of a move, the other end, and the source position of the first statement that
/// contains the move.
type Said<'a> = HashMap<Moveable, (Moveable, &'a Span)>;

impl Moves {
    /// Returns the errors of the statements. If there are any, no plan is returned.
    pub fn check(&self, evaluator: &Evaluator, mode: Mode) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let mut declared = Declared { evaluator, mode, instances: HashMap::new() };
        let mut left: Said<'_> = HashMap::new();
        let mut arrived: Said<'_> = HashMap::new();
        for statement in &self.statements {
            let Origin::Written { block, .. } = &statement.origin else { continue };
            for declaring in evaluator.values.module_instances(&statement.module) {
                let from = Moveable::from_endpoint(&statement.from, declaring);
                let to = Moveable::from_endpoint(&statement.to, declaring);
                let found = declared.check(&from, &to).err().into_iter();
                let found = found.chain(ambiguous(&mut left, &mut arrived, from, to, block));
                problems.extend(found.map(|problem| problem.at(block.clone())));
            }
        }
        // The other errors usually explain a cycle better.
        if !problems.has_errors()
            && let Err(cycles) = order::order(&self.statements)
        {
            problems.extend(
                cycles
                    .iter()
                    .map(|cycle| cycle_error(cycle.iter().filter_map(|number| self.statements.get(*number)))),
            );
        }
        problems
    }

    /// Returns a warning for objects that could not be moved.
    pub fn blocked(&self) -> Option<Diagnostic> {
        if self.blocked.is_empty() {
            return None;
        }
        let each = self.blocked.iter().map(|(from, to)| format!("\n  - {from} could not move to {to}"));
        let detail = format!(
            "The configuration moves some objects to addresses that other objects already have:{}\n\nEach \
             object stays at its old address and is destroyed unless the configuration still declares that \
             address. To change that, rearrange the addresses with the \"state\" commands, and plan again.",
            each.collect::<String>()
        );
        Some(Diagnostic::warning("Unresolved resource instance address changes", detail))
    }
}

/// Checks that each object moves to only one address, and that only one object moves to each
/// address.
fn ambiguous<'a>(
    left: &mut Said<'a>,
    arrived: &mut Said<'a>,
    from: Moveable,
    to: Moveable,
    block: &'a Span,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let problem = |detail| Diagnostic::error("Ambiguous move statements", detail);
    match left.get(&from) {
        Some((other, place)) if *other != to => found.push(problem(format!(
            "Here {from} moves to {to}, but the block at {place} moves it to {other}. A {} can move to only \
             one address.",
            from.noun()
        ))),
        Some(_) => {}
        None => {
            left.insert(from.clone(), (to.clone(), block));
        }
    }
    match arrived.get(&to) {
        Some((other, place)) if *other != from => found.push(problem(format!(
            "Here {from} moves to {to}, but the block at {place} moves {other} there. Only one {} can move \
             to an address.",
            from.noun()
        ))),
        Some(_) => {}
        None => {
            arrived.insert(to, (from, block));
        }
    }
    found
}

fn cycle_error<'a>(cycle: impl Iterator<Item = &'a Statement>) -> Diagnostic {
    let mut each: Vec<String> = cycle
        .map(|statement| {
            let declaring = match &statement.origin {
                Origin::Written { .. } => statement.module.unkeyed_instance(),
                // The addresses in an implied statement are relative to the root module.
                Origin::Implied => ModuleInstance::root(),
            };
            let (from, to) = (
                Moveable::from_endpoint(&statement.from, &declaring),
                Moveable::from_endpoint(&statement.to, &declaring),
            );
            match &statement.origin {
                Origin::Written { block, .. } => format!("\n  - {block}: {from} to {to}"),
                Origin::Implied => format!("\n  - implied by count: {from} to {to}"),
            }
        })
        .collect();
    each.sort_unstable();
    Diagnostic::error(
        "Cyclic dependency in move statements",
        format!(
            "Each of these moves must precede another one, so they cannot be ordered:{}\n\nRemove obsolete \
             moves: a chain of moves must end at an address in the configuration.",
            each.concat()
        ),
    )
}

/// The instances that the configuration declares.
struct Declared<'a> {
    evaluator: &'a Evaluator,
    mode: Mode,
    instances: HashMap<ModulePath, HashSet<&'a ModuleInstance>>,
}

impl<'a> Declared<'a> {
    /// Checks that the old address is no longer declared.
    fn check(&mut self, from: &Moveable, to: &Moveable) -> Result<(), Diagnostic> {
        if from == to {
            let detail =
                format!("The addresses are the same: {from} is not moved. The block can be removed.");
            return Err(Diagnostic::error("Redundant move statement", detail));
        }
        let Some(place) = self.place(from) else { return Ok(()) };
        let detail = format!(
            "The block moves {from} to {to}, but the {} {from} is still declared, at {place}. Change the \
             declaration to {to}, or remove the block.",
            from.noun()
        );
        Err(Diagnostic::error("Moved object still exists", detail))
    }

    /// Returns the source position at which an object is declared; `None` if it is not declared.
    fn place(&mut self, what: &Moveable) -> Option<&'a Span> {
        match what {
            Moveable::Call(caller, name) => {
                let call = self.call(caller, name)?;
                self.is_module(caller).then_some(&call.span)
            }
            Moveable::Module(module) => {
                let (caller, step) = module.parent()?;
                let call = self.call(&caller, &step.name)?;
                let repeated = keyed_place(&step.key, call.count.as_ref(), call.for_each.as_ref());
                self.is_module(module).then_some(repeated.unwrap_or(&call.span))
            }
            Moveable::Resource(address) => {
                let resource = self.resource(address)?;
                let is_there = self.mode == Mode::Destroy || self.expanded(address).is_some();
                (self.is_module(&address.module) && is_there).then_some(&resource.span)
            }
            Moveable::Instance(address) => {
                let resource = self.resource(&address.resource)?;
                if !self.is_module(address.module()) {
                    return None;
                }
                let (count, for_each) = (resource.count.as_ref(), resource.for_each.as_ref());
                let is_there = if self.mode == Mode::Destroy {
                    // In a destroy plan, the walk knows only the instances in the state.
                    let repetition = self.evaluator.repetition(address.module(), count, for_each);
                    repetition.is_ok_and(|repetition| repetition.contains(&address.key))
                } else {
                    self.expanded(&address.resource)
                        .is_some_and(|values| values.repetition().contains(&address.key))
                };
                let place = keyed_place(&address.key, count, for_each).unwrap_or(&resource.span);
                is_there.then_some(place)
            }
        }
    }

    fn call(&self, caller: &ModuleInstance, name: &Str) -> Option<&'a ModuleCall> {
        self.evaluator.configuration.module(&caller.path())?.module.module_calls.get(name)
    }

    fn resource(&self, address: &AbsoluteResourceAddress) -> Option<&'a Resource> {
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        self.evaluator.configuration.module(&address.module.path())?.module.resources.get(&key)
    }

    fn expanded(&self, address: &AbsoluteResourceAddress) -> Option<&'a crate::values::ResourceValues> {
        self.evaluator.values.module(&address.module)?.resource(
            address.mode,
            &address.type_name,
            &address.name,
        )
    }

    fn is_module(&mut self, instance: &ModuleInstance) -> bool {
        let path = instance.path();
        let values = &self.evaluator.values;
        let instances = self
            .instances
            .entry(path)
            .or_insert_with_key(|path| values.module_instances(path).iter().collect());
        instances.contains(instance)
    }
}

/// Returns the source position of `count` or `for_each`.
fn keyed_place<'a>(
    key: &InstanceKey,
    count: Option<&'a wardian_lang::Expression>,
    for_each: Option<&'a wardian_lang::Expression>,
) -> Option<&'a Span> {
    match key {
        InstanceKey::None => None,
        InstanceKey::Int(_) => count,
        InstanceKey::String(_) => for_each,
    }
    .map(wardian_lang::Expression::span)
}
