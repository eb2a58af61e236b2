//! Move statements: the statements in `moved` blocks, and implied statements for changes of `count`.

use std::collections::HashMap;

use wardian_address::{InstanceKey, ModulePath, ResourceAddress, ResourceMode};
use wardian_config::Configuration;
use wardian_diagnostic::Span;
use wardian_state::State;

use super::endpoint::{Endpoint, endpoints};

/// A statement that objects have moved.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The module that contains the statement. The statement applies to each of its instances.
    pub module: ModulePath,
    pub from: Endpoint,
    pub to: Endpoint,
    pub origin: Origin,
}

/// The source of a statement.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A `moved` block.
    Written {
        /// The header of the block.
        block: Span,
        /// The new address in the block.
        to: Span,
    },
    /// A `count` that was added or removed.
    Implied,
}

impl Statement {
    /// Returns the depth of the module that contains the statement.
    pub fn depth(&self) -> usize {
        match self.origin {
            Origin::Written { .. } => self.module.names().len(),
            // The addresses in an implied statement are relative to the root module.
            Origin::Implied => 0,
        }
    }

    /// Whether `from` and `to` are the same module call with different instance keys.
    pub fn changes_module_keys_only(&self) -> bool {
        self.from.resource.is_none()
            && self.from.modules.iter().map(|step| &step.name).eq(self
                .to
                .modules
                .iter()
                .map(|step| &step.name))
    }
}

/// Returns the statements of the `moved` blocks of a configuration.
pub fn explicit(configuration: &Configuration) -> Vec<Statement> {
    let mut statements = Vec::new();
    for node in configuration.modules() {
        for block in &node.module.moved {
            // The loader reports a move between addresses of different kinds.
            if let Some((from, to)) = endpoints(&node.path, &block.from, &block.to) {
                let origin = Origin::Written { block: block.span.clone(), to: block.to_span.clone() };
                statements.push(Statement { module: node.path.clone(), from, to, origin });
            }
        }
    }
    statements
}

/// Returns the implied statements: if `count` is added or removed, the object without a key and the
/// object with index 0 are the same, unless a block moves the resource.
pub fn implied(configuration: &Configuration, state: &State, written: &[Statement]) -> Vec<Statement> {
    let mut told: HashMap<ResourceAddress, Vec<&Endpoint>> = HashMap::new();
    for endpoint in written.iter().flat_map(|statement| [&statement.from, &statement.to]) {
        if let Some(((mode, type_name, name), _)) = &endpoint.resource {
            let module = endpoint.modules.iter().map(|step| step.name.clone()).collect();
            let address = ResourceAddress::new(module, *mode, type_name.clone(), name.clone());
            told.entry(address).or_default().push(endpoint);
        }
    }
    let mut statements = Vec::new();
    for (address, stored) in state.resources() {
        let has = |key: &InstanceKey| stored.instances.contains_key(key);
        let (only, first) = (has(&InstanceKey::None), has(&InstanceKey::Int(0)));
        if address.mode != ResourceMode::Managed || !(only || first) {
            continue;
        }
        let config = address.config();
        let key = (config.mode, config.type_name.clone(), config.name.clone());
        let declared = configuration.module(&config.module).and_then(|node| node.module.resources.get(&key));
        let (from, to) = match declared {
            Some(resource) if resource.count.is_some() && only => (InstanceKey::None, InstanceKey::Int(0)),
            Some(resource) if resource.count.is_none() && resource.for_each.is_none() && first => {
                (InstanceKey::Int(0), InstanceKey::None)
            }
            _ => continue,
        };
        if told.get(&config).is_some_and(|told| told.iter().any(|endpoint| endpoint.selects(address))) {
            continue;
        }
        statements.push(Statement {
            from: Endpoint::from_instance(&address.instance(from)),
            to: Endpoint::from_instance(&address.instance(to)),
            module: config.module,
            origin: Origin::Implied,
        });
    }
    statements
}
