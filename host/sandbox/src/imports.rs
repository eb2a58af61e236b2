//! Checks a component's imports and exports against its world, before anything is linked.
//!
//! All imports that are not allowed are reported together. Names are compared as in the linker: by
//! package, interface and semver track (`0.2.x` is one track, `1.x` another). Therefore, a plugin
//! that was built for an older minor version can be linked with this host's newer version.

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::capability;
use crate::error::{LoadError, SurplusImport};
use crate::interface_name::InterfaceName;
use crate::output::printable;

/// The interface that makes a component a provider.
pub(crate) const PROVIDER: InterfaceName<'static> =
    InterfaceName { path: "wardian:plugin/provider", major: 0, minor: 1 };

/// The interface that makes a component a provisioner.
pub(crate) const PROVISIONER: InterfaceName<'static> =
    InterfaceName { path: "wardian:plugin/provisioner", major: 0, minor: 1 };

/// The interface of a provider's state stores, which is optional.
const STATE_STORE: InterfaceName<'static> =
    InterfaceName { path: "wardian:plugin/state-store", major: 0, minor: 1 };

/// The interface that makes a component a provider whose parts are exported separately.
pub(crate) const PROVIDER_BASE: InterfaceName<'static> =
    InterfaceName { path: "wardian:plugin/provider-base", major: 0, minor: 1 };

/// The interfaces that contain only types and need no implementation.
const TYPES: [InterfaceName<'static>; 2] = [
    InterfaceName { path: "wardian:plugin/types", major: 0, minor: 1 },
    InterfaceName { path: "wardian:plugin/provider-types", major: 0, minor: 1 },
];

/// The intended world of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    Provider,
    Provisioner,
}

impl World {
    fn export(self) -> InterfaceName<'static> {
        match self {
            Self::Provider => PROVIDER,
            Self::Provisioner => PROVISIONER,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Provisioner => "provisioner",
        }
    }

    fn offers(self, wanted: &InterfaceName<'_>) -> bool {
        TYPES.iter().any(|types| types.serves(wanted))
            || capability::offers(wanted)
            || self == Self::Provisioner && capability::offers_provisioners(wanted)
    }
}

/// Checks a component against a world.
pub(crate) fn check(
    plugin: &str,
    world: World,
    engine: &Engine,
    component: &Component,
) -> Result<(), LoadError> {
    let shape = component.component_type();
    let exports: Vec<String> = shape.exports(engine).map(|(name, _)| name.to_owned()).collect();
    check_exports(plugin, world, exports)?;
    let imports: Vec<SurplusImport> =
        shape.imports(engine).filter_map(|(name, _)| surplus(world, name)).collect();
    if imports.is_empty() {
        return Ok(());
    }
    Err(LoadError::Imports { plugin: plugin.to_owned(), imports })
}

/// Returns whether a component has state stores.
pub(crate) fn exports_state_stores(engine: &Engine, component: &Component) -> bool {
    let shape = component.component_type();
    shape
        .exports(engine)
        .any(|(name, _)| InterfaceName::parse(name).is_some_and(|name| STATE_STORE.serves(&name)))
}

fn check_exports(plugin: &str, world: World, exports: Vec<String>) -> Result<(), LoadError> {
    let wanted = world.export();
    let is_wanted = |name: &String| {
        InterfaceName::parse(name).is_some_and(|name| {
            wanted.serves(&name) || world == World::Provider && PROVIDER_BASE.serves(&name)
        })
    };
    if exports.iter().any(is_wanted) {
        return Ok(());
    }
    let found = exports.iter().map(|name| printable(name)).collect();
    let (plugin, missing) = (plugin.to_owned(), wanted.to_string());
    Err(LoadError::Exports { plugin, noun: world.noun(), missing, found })
}

fn surplus(world: World, import: &str) -> Option<SurplusImport> {
    let name = InterfaceName::parse(import);
    if name.is_some_and(|name| world.offers(&name)) {
        return None;
    }
    let remedy = match name {
        Some(name) => remedy(&name),
        None => "this version of Wardian does not provide this interface".to_owned(),
    };
    Some(SurplusImport { name: printable(import), remedy })
}

/// Returns whether this host has the interface that a component of any world imports under this
/// name. Access through the interface is granted separately.
pub fn offers_import(import: &str) -> bool {
    [World::Provider, World::Provisioner].into_iter().any(|world| surplus(world, import).is_none())
}

fn remedy(wanted: &InterfaceName<'_>) -> String {
    if wanted.path.starts_with("wasi:") && (wanted.major, wanted.minor) == (0, 3) {
        return "it belongs to WASI 0.3; this version of Wardian provides WASI 0.2. Build the plugin for WASI \
                0.2 (for Rust: for the target wasm32-wasip2)"
            .to_owned();
    }
    if let Some(offered) = capability::interfaces().find(|offered| offered.path == wanted.path) {
        return format!(
            "this version of Wardian provides {offered}; the plugin requires a different version"
        );
    }
    match capability::not_for_providers(wanted.path) {
        Some(what) => format!("{what}; this version of Wardian cannot grant it to a provider"),
        None => "this version of Wardian does not provide this interface".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy_of(import: &str) -> Option<String> {
        surplus(World::Provider, import).map(|surplus| surplus.remedy)
    }

    #[test]
    fn standard_library_imports_are_allowed_in_any_minor_version() {
        for import in [
            "wasi:cli/environment@0.2.0",
            "wasi:io/streams@0.2.6",
            "wasi:filesystem/types@0.2.99",
            "wasi:random/insecure-seed@0.2.4",
            "wardian:plugin/log@0.1.0",
            "wardian:plugin/log@0.1.7",
            "wardian:plugin/file-mode@0.1.0",
            "wardian:plugin/types@0.1.0",
        ] {
            assert_eq!(remedy_of(import), None, "{import}");
        }
    }

    #[test]
    fn surplus_import_is_reported_with_remedy() {
        for (import, part) in [
            ("wardian:plugin/process@0.1.0", "programs"),
            ("wardian:plugin/log@0.2.0", "provides wardian:plugin/log@0.1"),
            ("wasi:cli/environment@0.3.0", "Build the plugin for WASI 0.2"),
            ("acme:keys/vault@1.0.0", "this version of Wardian does not provide this interface"),
            ("run", "this version of Wardian does not provide this interface"),
            (
                "wasi:cli/environment@0.2.0-rc-2023-11-10",
                "this version of Wardian does not provide this interface",
            ),
        ] {
            let remedy = remedy_of(import).unwrap_or_default();
            assert!(remedy.contains(part), "{import}: {remedy}");
        }
    }

    #[test]
    fn provisioner_imports_are_rejected_in_providers() {
        for import in
            ["wardian:plugin/process@0.1.0", "wardian:plugin/ui@0.1.0", "wardian:plugin/communicator@0.1.0"]
        {
            assert!(surplus(World::Provider, import).is_some(), "{import}");
            assert!(surplus(World::Provisioner, import).is_none(), "{import}");
        }
        let error = check_exports("acme/x", World::Provisioner, vec!["wardian:plugin/provider@0.1.0".into()]);
        assert!(error.unwrap_err().to_string().starts_with("acme/x is not a provisioner"));
    }

    #[test]
    fn component_for_another_world_reports_missing_export() {
        let error = check_exports("acme/x", World::Provider, vec!["wasi:cli/run@0.2.6".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "acme/x is not a provider: it does not export wardian:plugin/provider@0.1 \
             (it exports wasi:cli/run@0.2.6). Build it for the world \"provider-plugin\" of wardian:plugin, for \
             example with `wardian_sdk::export_provider!`"
        );
        let error = check_exports("acme/x", World::Provider, Vec::new()).unwrap_err();
        assert!(error.to_string().contains("@0.1, and exports nothing else. Build it"), "{error}");
        assert!(
            check_exports("acme/x", World::Provider, vec!["wardian:plugin/provider@0.1.4".into()]).is_ok()
        );
    }

    #[test]
    fn names_from_components_are_shown_without_control_characters() {
        let name = "acme:\u{1b}[2J/\u{202e}x";
        let shown = "acme:\\u{1b}[2J/\\u{202e}x";
        assert_eq!(surplus(World::Provider, name).map(|surplus| surplus.name).as_deref(), Some(shown));
        let error = check_exports("acme/x", World::Provider, vec![name.into()]).unwrap_err();
        assert!(error.to_string().contains(shown), "{error}");
        assert_eq!(crate::error_chain::chain(&wasmtime::Error::msg(name)), shown);
    }
}
