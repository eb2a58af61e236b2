//! Converts a core module to a component of a plugin's world.
//!
//! A module that was built for WASI 0.1 (`wasi_snapshot_preview1`), such as one of Go's standard
//! toolchain, is combined with an adapter for WASI 0.2. The module exports functions under the names of
//! the canonical ABI, such as `wardian:plugin/provider@0.1.0#get-metadata`. The component exports the
//! interfaces of which the module exports functions.
//!
//! Cost: linear in the size of the module and of its types.

use std::collections::BTreeSet;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{Encoding, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{CloneMaps, PackageId, Resolve, SourceMap, WorldId};

/// The interface definitions of plugins.
const DEFINITIONS: [(&str, &str); 10] = [
    ("host.wit", include_str!("../../../wit/host.wit")),
    ("http.wit", include_str!("../../../wit/http.wit")),
    ("provider-parts.wit", include_str!("../../../wit/provider-parts.wit")),
    ("provider-types.wit", include_str!("../../../wit/provider-types.wit")),
    ("provider.wit", include_str!("../../../wit/provider.wit")),
    ("provisioner.wit", include_str!("../../../wit/provisioner.wit")),
    ("run.wit", include_str!("../../../wit/run.wit")),
    ("state-store.wit", include_str!("../../../wit/state-store.wit")),
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("worlds.wit", include_str!("../../../wit/worlds.wit")),
];

/// The definitions of `wasi:io` that they use.
const IO_DEFINITIONS: (&str, &str) = ("deps/io/poll.wit", include_str!("../../../wit/deps/io/poll.wit"));

/// The worlds of plugins, each with the interface that makes a component a plugin of this kind.
const PLUGIN_WORLDS: [(&str, &str); 3] = [
    ("provider", "provider-plugin"),
    ("provider-base", "provider-base-plugin"),
    ("provisioner", "provisioner-plugin"),
];

/// The suffix of the names of worlds with the exports of an optional part.
const PART_SUFFIX: &str = "-exports";

/// The prefix of custom sections with the types of a component, which binding generators write.
const TYPE_SECTION_PREFIX: &str = "component-type";

/// The prefix of the names of plugin interfaces.
const INTERFACE_PREFIX: &str = "wardian:plugin/";

/// Maximum number of exports of a module that are read.
const MAX_EXPORTS: usize = 100_000;

/// The reason why a module cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentizeError {
    #[error("it is already a component; use it as it is, or add capabilities with `wardian plugin declare`")]
    AlreadyComponent,
    #[error("it is not a WebAssembly module")]
    NotAModule,
    #[error("it is not a valid WebAssembly module: {0}")]
    Invalid(String),
    #[error("it has more than {MAX_EXPORTS} exports")]
    TooManyExports,
    #[error(
        "it is a program with the entry point _start, but a plugin is a library; build it as a library, for \
         example with GOOS=wasip1 go build -buildmode=c-shared"
    )]
    Program,
    #[error(
        "it exports no interface of {INTERFACE_PREFIX}*, so it is not a plugin; generate its bindings from the \
         interface definitions of wardian:plugin"
    )]
    NoInterface,
    #[error("the world \"{world}\" does not exist; the worlds are: {known}")]
    UnknownWorld { world: String, known: String },
    #[error("it exports {exported}, but the interfaces of plugins are: {known}")]
    UnknownInterface { exported: String, known: String },
    #[error(
        "it exports the versions {first} and {second} of {INTERFACE_PREFIX}*; generate its bindings again"
    )]
    SeveralVersions { first: String, second: String },
    #[error(
        "its bindings are for version {version} of the interface definitions, but this program has version \
         {current}; generate them again"
    )]
    Version { version: String, current: String },
    #[error("the interface definitions of this program are not valid: {0}")]
    Definitions(String),
    #[error("its functions do not have the types of the world \"{world}\": {reason}")]
    Mismatch { world: String, reason: String },
}

/// The facts about a core module that determine its conversion.
#[derive(Debug, Default)]
struct ModuleFacts {
    /// Exported interfaces of plugins, such as `wardian:plugin/provider@0.1.0`.
    interfaces: BTreeSet<String>,
    /// Whether the module contains its types already.
    has_types: bool,
    imports_preview1: bool,
    is_program: bool,
}

/// Converts a module. `world` is the name of a world; without it, the exports determine the world.
///
/// # Errors
/// Returns an error if the bytes are not a module of a plugin's world.
pub fn componentize(module: &[u8], world: Option<&str>) -> Result<Vec<u8>, ComponentizeError> {
    let facts = ModuleFacts::read(module)?;
    if facts.is_program {
        return Err(ComponentizeError::Program);
    }
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true);
    let mut bytes = module.to_vec();
    let mut world_name = world.unwrap_or("its own").to_owned();
    if !facts.has_types || world.is_some() {
        let (mut definitions, package) = definitions(facts.version()?)?;
        let chosen = choose_world(&definitions, package, &facts, world)?;
        definitions.worlds[chosen].name.clone_into(&mut world_name);
        add_parts(&mut definitions, package, chosen, &facts)?;
        retain_exports(&mut definitions, chosen, &facts);
        embed_component_metadata(&mut bytes, &definitions, chosen, StringEncoding::UTF8)
            .map_err(|error| ComponentizeError::Definitions(format!("{error:#}")))?;
    }
    let mismatch = |error: &dyn std::fmt::Display| ComponentizeError::Mismatch {
        world: world_name.clone(),
        reason: error.to_string(),
    };
    encoder.module(&bytes).map_err(|error| mismatch(&format!("{error:#}")))?;
    if facts.imports_preview1 {
        encoder
            .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)
            .map_err(|error| mismatch(&format!("{error:#}")))?;
    }
    encoder.encode().map_err(|error| mismatch(&format!("{error:#}")))
}

impl ModuleFacts {
    fn read(module: &[u8]) -> Result<Self, ComponentizeError> {
        if Parser::is_component(module) {
            return Err(ComponentizeError::AlreadyComponent);
        }
        if !Parser::is_core_wasm(module) {
            return Err(ComponentizeError::NotAModule);
        }
        let invalid =
            |error: wasmparser::BinaryReaderError| ComponentizeError::Invalid(error.message().to_owned());
        let mut facts = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload.map_err(invalid)? {
                Payload::Version { encoding: Encoding::Component, .. } => {
                    return Err(ComponentizeError::AlreadyComponent);
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        facts.imports_preview1 |=
                            import.map_err(invalid)?.module == WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;
                    }
                }
                Payload::ExportSection(section) => {
                    if usize::try_from(section.count()).unwrap_or(usize::MAX) > MAX_EXPORTS {
                        return Err(ComponentizeError::TooManyExports);
                    }
                    for export in section {
                        let name = export.map_err(invalid)?.name;
                        facts.is_program |= name == "_start";
                        if let Some((interface, _)) = name.split_once('#')
                            && interface.starts_with(INTERFACE_PREFIX)
                        {
                            facts.interfaces.insert(interface.to_owned());
                        }
                    }
                }
                Payload::CustomSection(section) => {
                    facts.has_types |= section.name().starts_with(TYPE_SECTION_PREFIX);
                }
                _ => {}
            }
        }
        // A library has no entry point of a program, or in addition to it the interface.
        facts.is_program &= facts.interfaces.is_empty();
        Ok(facts)
    }
}

impl ModuleFacts {
    /// Returns the version of the interface definitions of which the module exports interfaces.
    fn version(&self) -> Result<Option<&str>, ComponentizeError> {
        let mut versions = self.interfaces.iter().filter_map(|interface| interface.split_once('@'));
        let Some((_, first)) = versions.next() else { return Ok(None) };
        if let Some((_, second)) = versions.find(|(_, version)| *version != first) {
            return Err(ComponentizeError::SeveralVersions {
                first: first.to_owned(),
                second: second.to_owned(),
            });
        }
        let current = current_version();
        let track = |version: &str| {
            let mut parts = version.split('.').map(|part| part.parse::<u64>().ok());
            Some((parts.next()??, parts.next()??, parts.next()??))
        };
        match (track(first), track(current)) {
            (Some(one), Some(own)) if one.0 == own.0 && one.1 == own.1 && one.2 <= own.2 => Ok(Some(first)),
            _ => {
                let (version, current) = (first.to_owned(), current.to_owned());
                Err(ComponentizeError::Version { version, current })
            }
        }
    }
}

/// Parses the interface definitions. The package is extended compatibly, so the definitions of an earlier
/// version are those of the current one under the earlier version's name.
fn definitions(version: Option<&str>) -> Result<(Resolve, PackageId), ComponentizeError> {
    let wrong = |error: &dyn std::fmt::Display| ComponentizeError::Definitions(error.to_string());
    let current = current_version();
    let mut sources = SourceMap::new();
    for (name, text) in DEFINITIONS {
        let text = match version {
            Some(version) => text.replacen(
                &format!("package wardian:plugin@{current};"),
                &format!("package wardian:plugin@{version};"),
                1,
            ),
            None => text.to_owned(),
        };
        sources.push_str(name, text);
    }
    let mut io = SourceMap::new();
    io.push_str(IO_DEFINITIONS.0, IO_DEFINITIONS.1);
    let plugin = sources.parse().map_err(|(_, error)| wrong(&error))?;
    let io = io.parse().map_err(|(_, error)| wrong(&error))?;
    let mut resolve = Resolve::default();
    let package = resolve.push_groups(plugin, vec![io]).map_err(|error| wrong(&error))?;
    Ok((resolve, package))
}

/// Returns the version of the interface definitions.
fn current_version() -> &'static str {
    let package = DEFINITIONS[0].1.split_once("package wardian:plugin@");
    package.and_then(|(_, rest)| rest.split(';').next()).unwrap_or_default()
}

/// Returns the names of the interfaces that a world exports.
fn exported(resolve: &Resolve, world: WorldId) -> BTreeSet<String> {
    resolve.worlds[world].exports.keys().map(|key| resolve.name_world_key(key)).collect()
}

/// Returns the world with this name, or else the world of the interface that makes the module a plugin.
fn choose_world(
    resolve: &Resolve,
    package: PackageId,
    facts: &ModuleFacts,
    name: Option<&str>,
) -> Result<WorldId, ComponentizeError> {
    let worlds = &resolve.packages[package].worlds;
    let find = |name: &str| {
        worlds.get(name).copied().ok_or_else(|| ComponentizeError::UnknownWorld {
            world: name.to_owned(),
            known: worlds.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    };
    if let Some(name) = name {
        return find(name);
    }
    let mut kinds = facts.interfaces.iter().filter_map(|interface| {
        let kind = interface.strip_prefix(INTERFACE_PREFIX)?.split('@').next()?;
        PLUGIN_WORLDS.iter().find(|(known, _)| *known == kind).map(|(_, world)| *world)
    });
    match kinds.next() {
        Some(world) => find(world),
        None if facts.interfaces.is_empty() => Err(ComponentizeError::NoInterface),
        None => Err(unknown_interface(resolve, package, facts.interfaces.iter())),
    }
}

fn unknown_interface<'a>(
    resolve: &Resolve,
    package: PackageId,
    interfaces: impl Iterator<Item = &'a String>,
) -> ComponentizeError {
    let worlds = resolve.packages[package].worlds.values();
    let known: BTreeSet<String> = worlds.flat_map(|world| exported(resolve, *world)).collect();
    ComponentizeError::UnknownInterface {
        exported: interfaces.map(String::as_str).collect::<Vec<_>>().join(", "),
        known: known.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// Adds the exports of optional parts to a world, if the module exports them.
fn add_parts(
    resolve: &mut Resolve,
    package: PackageId,
    world: WorldId,
    facts: &ModuleFacts,
) -> Result<(), ComponentizeError> {
    let parts: Vec<WorldId> = resolve.packages[package]
        .worlds
        .iter()
        .filter(|(name, part)| {
            name.ends_with(PART_SUFFIX) && !exported(resolve, **part).is_disjoint(&facts.interfaces)
        })
        .map(|(_, part)| *part)
        .collect();
    for part in parts {
        resolve
            .merge_worlds(part, world, &mut CloneMaps::default())
            .map_err(|error| ComponentizeError::Definitions(format!("{error:#}")))?;
    }
    let known = exported(resolve, world);
    let mut unknown = facts.interfaces.difference(&known).peekable();
    if unknown.peek().is_some() {
        return Err(unknown_interface(resolve, package, unknown));
    }
    Ok(())
}

/// Removes the interfaces from a world that the module does not export. The interfaces are optional.
fn retain_exports(resolve: &mut Resolve, world: WorldId, facts: &ModuleFacts) {
    let missing: Vec<_> = resolve.worlds[world]
        .exports
        .keys()
        .filter(|key| !facts.interfaces.contains(&resolve.name_world_key(key)))
        .cloned()
        .collect();
    for key in missing {
        resolve.worlds[world].exports.shift_remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wasm_encoder::{
        CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, Module,
        TypeSection,
    };

    use super::*;

    /// Returns a module that exports functions without parameters and results under these names.
    fn module(exports: &[&str], imports: &[(&str, &str)]) -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([], []);
        module.section(&types);
        let mut imported = ImportSection::new();
        for (from, name) in imports {
            imported.import(from, name, EntityType::Function(0));
        }
        module.section(&imported);
        let mut functions = FunctionSection::new();
        functions.function(0);
        module.section(&functions);
        let mut exported = ExportSection::new();
        let own = u32::try_from(imports.len()).unwrap();
        for name in exports {
            exported.export(name, ExportKind::Func, own);
        }
        module.section(&exported);
        let mut code = CodeSection::new();
        let mut function = Function::new([]);
        function.instructions().end();
        code.function(&function);
        module.section(&code);
        module.finish()
    }

    #[test]
    fn definitions_include_each_file() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let mut files: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "wit"))
            .collect();
        files.sort();
        assert_eq!(files, DEFINITIONS.map(|(name, _)| name));
        definitions(None).unwrap();
        definitions(Some("0.1.0")).unwrap();
    }

    #[test]
    fn files_that_are_no_modules_are_rejected() {
        for (bytes, part) in [
            (&b""[..], "not a WebAssembly module"),
            (b"\x7fELF", "not a WebAssembly module"),
            (b"\0asm\x0d\0\x01\0", "already a component"),
            (b"\0asm\x01\0\0\0\x01\xff", "not a valid WebAssembly module"),
        ] {
            let error = componentize(bytes, None).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let whole = module(&["wardian:plugin/provider@0.1.0#get-metadata"], &[]);
        for end in 0..whole.len() {
            assert!(componentize(&whole[..end], None).is_err());
        }
    }

    #[test]
    fn modules_of_other_worlds_are_rejected_with_the_reason() {
        for (exports, world, part) in [
            (&["run"][..], None, "exports no interface of wardian:plugin/*"),
            (&["_start"], None, "entry point _start"),
            (&["wardian:plugin/magic@0.1.0#cast"], None, "it exports wardian:plugin/magic@0.1.0, but"),
            (&["wardian:plugin/provider@0.2.0#x"], None, "for version 0.2.0"),
            (
                &["wardian:plugin/provider@0.1.0#x", "wardian:plugin/log@0.1.1#y"],
                None,
                "it exports the versions",
            ),
            (&["wardian:plugin/provider@0.1.0#get-metadata"], Some("magic"), "the worlds are: "),
            (
                &["wardian:plugin/provider@0.1.0#get-metadata"],
                None,
                "do not have the types of the world \"provider-plugin\"",
            ),
        ] {
            let error = componentize(&module(exports, &[]), world).unwrap_err().to_string();
            assert!(error.contains(part), "{exports:?}: {error}");
        }
    }

    #[test]
    fn module_without_exports_of_a_named_world_is_converted() {
        let component = componentize(&module(&[], &[]), Some("provider-plugin")).unwrap();
        assert!(Parser::is_component(&component));
    }
}
