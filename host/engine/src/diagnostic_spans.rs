//! Adds source spans to plugin diagnostics.

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::{ActionBlock, Configuration, ListBlock, Provisioner, Resource, span_of};
use wardian_diagnostic::Diagnostics;
use wardian_lang::Body;

use crate::nodes::provider_block;

/// Returns the resource block of an instance.
pub fn resource_of<'a>(
    configuration: &'a Configuration,
    address: &ResourceInstanceAddress,
) -> Option<&'a Resource> {
    let key = (address.mode(), address.type_name().clone(), address.name().clone());
    configuration.module(&address.module().path())?.module.resources.get(&key)
}

/// Adds source spans to diagnostics about an instance: the span of the argument to which a
/// diagnostic refers, or else the span of the resource's header.
pub fn in_resource(
    configuration: &Configuration,
    address: &ResourceInstanceAddress,
    diagnostics: Diagnostics,
) -> Diagnostics {
    if diagnostics.is_empty() {
        return diagnostics;
    }
    match resource_of(configuration, address) {
        Some(resource) => {
            let context = check_around(configuration, address).unwrap_or_else(|| resource.context());
            in_body(&resource.body, diagnostics).in_block(&context)
        }
        None => diagnostics,
    }
}

/// Returns the header of the check that contains a data source.
fn check_around(configuration: &Configuration, address: &ResourceInstanceAddress) -> Option<String> {
    let is_it = |data: &Resource| data.type_name == *address.type_name() && data.name == *address.name();
    let checks = configuration.module(&address.module().path())?.module.checks.values();
    let mut around = checks.filter(|check| check.data.as_ref().is_some_and(is_it));
    around
        .next()
        .filter(|_| address.mode() == ResourceMode::Data)
        .map(|check| format!("check \"{}\"", check.name))
}

/// Adds the source span of a provider configuration to diagnostics.
pub fn in_provider(
    configuration: &Configuration,
    address: &ProviderConfigAddress,
    diagnostics: Diagnostics,
) -> Diagnostics {
    match provider_block(configuration, address) {
        Some(config) => {
            in_body(&config.body, diagnostics).in_block(&format!("provider \"{}\"", config.local_name))
        }
        None => diagnostics,
    }
}

/// Adds the source span of an action's configuration to diagnostics.
pub fn in_action(action: &ActionBlock, diagnostics: Diagnostics) -> Diagnostics {
    in_body(&action.config, diagnostics).in_block(&action.context())
}

/// Adds the source span of a list's configuration to diagnostics.
pub fn in_list(list: &ListBlock, diagnostics: Diagnostics) -> Diagnostics {
    in_body(&list.config, diagnostics).in_block(&list.context())
}

/// Adds the source span of a provisioner block to diagnostics.
pub fn in_provisioner(block: &Provisioner, diagnostics: Diagnostics) -> Diagnostics {
    in_body(&block.body, diagnostics)
}

fn in_body(body: &Body, mut diagnostics: Diagnostics) -> Diagnostics {
    for diagnostic in &mut diagnostics {
        if diagnostic.subject.is_none() {
            let place = diagnostic.attribute.as_ref().and_then(|path| span_of(body, path));
            diagnostic.subject = Some(place.unwrap_or_else(|| body.missing_item_span()));
        }
    }
    diagnostics
}
