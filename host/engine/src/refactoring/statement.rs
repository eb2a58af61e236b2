//! Statements of what has moved: those that are written, and those that need not be.

use std::collections::HashMap;

use wardian_address::{InstanceKey, ModulePath, ResourceAddress, ResourceMode};
use wardian_config::Configuration;
use wardian_diagnostic::Span;
use wardian_state::State;

use super::endpoint::{Endpoint, endpoints};

/// What has moved where.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The module that it stands in: it holds for each of its instances.
    pub module: ModulePath,
    /// The old addresses.
    pub from: Endpoint,
    /// The new addresses.
    pub to: Endpoint,
    /// Where it stands.
    pub origin: Origin,
}

/// Where a statement comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A `moved` block.
    Written {
        /// Its header.
        block: Span,
        /// Its new address.
        to: Span,
    },
    /// A `count` that came or went.
    Implied,
}

impl Statement {
    /// How deep in the tree of modules it stands.
    pub fn depth(&self) -> usize {
        match self.origin {
            Origin::Written { .. } => self.module.names().len(),
            // Its addresses are whole ones.
            Origin::Implied => 0,
        }
    }

    /// Whether only the keys of a module change.
    pub fn changes_module_keys_only(&self) -> bool {
        self.from.resource.is_none()
            && self.from.modules.iter().map(|step| &step.name).eq(self
                .to
                .modules
                .iter()
                .map(|step| &step.name))
    }
}

/// What the `moved` blocks of a configuration say.
pub fn written(configuration: &Configuration) -> Vec<Statement> {
    let mut statements = Vec::new();
    for node in configuration.modules() {
        for block in &node.module.moved {
            // The loader has told of addresses that do not go together.
            if let Some((from, to)) = endpoints(&node.path, &block.from, &block.to) {
                let origin = Origin::Written { block: block.span.clone(), to: block.to_span.clone() };
                statements.push(Statement { module: node.path.clone(), from, to, origin });
            }
        }
    }
    statements
}

/// When `count` comes or goes, the only object and the first one are the same, unless a
/// block says something else of the resource.
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
            from: Endpoint::of_instance(&address.instance(from)),
            to: Endpoint::of_instance(&address.instance(to)),
            module: config.module,
            origin: Origin::Implied,
        });
    }
    statements
}
