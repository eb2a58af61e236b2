//! `removed` blocks: objects that are forgotten instead of destroyed.

use std::collections::{HashMap, HashSet};

use wardian_address::{AbsoluteResourceAddress, ModulePath, ResourceAddress};
use wardian_config::{Configuration, ModuleNode, Removed as RemovedBlock};
use wardian_diagnostic::{Diagnostic, Diagnostics};

use crate::plan::{Action, ResourceChange};

/// The addresses whose objects are forgotten because a `removed` block has replaced the resource or
/// module block.
#[derive(Debug, Default)]
pub struct Forgotten {
    resources: HashSet<ResourceAddress>,
    modules: HashSet<ModulePath>,
}

/// The address of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Removed {
    Module(ModulePath),
    Resource(ResourceAddress),
}

impl Removed {
    fn from_block(node: &ModuleNode, block: &RemovedBlock) -> Self {
        let inner = block.from.modules.iter().map(|(name, _)| name.clone());
        let module: ModulePath = node.path.names().iter().cloned().chain(inner).collect();
        match &block.from.resource {
            Some(resource) => Self::Resource(ResourceAddress::new(
                module,
                resource.mode,
                resource.type_name.clone(),
                resource.name.clone(),
            )),
            None => Self::Module(module),
        }
    }
}

/// Returns the blocks with destroy-time provisioners. If two blocks have the same address, only the
/// first one applies.
pub fn with_provisioners(configuration: &Configuration) -> HashMap<ResourceAddress, &RemovedBlock> {
    let mut found = HashMap::new();
    for node in configuration.modules() {
        for block in &node.module.removed {
            if let Removed::Resource(address) = Removed::from_block(node, block) {
                found.entry(address).or_insert(block);
            }
        }
    }
    found.retain(|_, block| !block.provisioners.is_empty());
    found
}

impl Forgotten {
    /// Collects the `removed` blocks of a configuration. If two blocks have the same address, only
    /// the first one applies.
    ///
    /// # Errors
    /// Returns an error if an address is still declared.
    pub fn from_configuration(configuration: &Configuration) -> Result<Self, Diagnostics> {
        let mut said = HashSet::new();
        let mut forgotten = Self::default();
        let mut problems = Diagnostics::new();
        for node in configuration.modules() {
            for block in &node.module.removed {
                let removed = Removed::from_block(node, block);
                if !said.insert(removed.clone()) {
                    continue;
                }
                problems.extend(still_declared(configuration, &removed, &block.span));
                match removed {
                    _ if block.destroy => {}
                    Removed::Module(module) => _ = forgotten.modules.insert(module),
                    Removed::Resource(resource) => _ = forgotten.resources.insert(resource),
                }
            }
        }
        problems.into_result(forgotten)
    }

    /// Whether the objects of a removed resource are forgotten.
    pub fn includes(&self, address: &AbsoluteResourceAddress) -> bool {
        if self.resources.is_empty() && self.modules.is_empty() {
            return false;
        }
        let mut module = address.module.path();
        if self.resources.contains(&address.config()) {
            return true;
        }
        loop {
            if self.modules.contains(&module) {
                return true;
            }
            match module.parent() {
                Some((parent, _)) => module = parent,
                None => return false,
            }
        }
    }
}

fn still_declared(
    configuration: &Configuration,
    removed: &Removed,
    block: &wardian_diagnostic::Span,
) -> Option<Diagnostic> {
    let (what, name, place) = match removed {
        Removed::Module(path) => {
            let (caller, name) = path.parent()?;
            let call = configuration.module(&caller)?.module.module_calls.get(name)?;
            ("module", path.to_string(), &call.span)
        }
        Removed::Resource(address) => {
            let key = (address.mode, address.type_name.clone(), address.name.clone());
            let resource = configuration.module(&address.module)?.module.resources.get(&key)?;
            ("resource", address.to_string(), &resource.span)
        }
    };
    let detail = format!(
        "The \"removed\" block at {block} states that {name} is removed, but it is declared here. Remove \
         either the block or the declaration."
    );
    Some(Diagnostic::error(format!("Removed {what} still exists"), detail).at(place.clone()))
}

/// Returns a warning for the objects that a plan forgets.
pub fn warning(changes: &[ResourceChange]) -> Option<Diagnostic> {
    let forgotten: Vec<String> = changes
        .iter()
        .filter(|change| change.action == Action::Forget)
        .map(|change| match &change.deposed {
            Some(key) => format!("\n - {} (deposed object {key})", change.address),
            None => format!("\n - {}", change.address),
        })
        .collect();
    if forgotten.is_empty() {
        return None;
    }
    let detail = format!(
        "Applying this plan removes these objects from the state without destroying them:{}\n\nTo manage \
         one of them again, import it.",
        forgotten.concat()
    );
    Some(Diagnostic::warning("Some objects will no longer be managed", detail))
}
