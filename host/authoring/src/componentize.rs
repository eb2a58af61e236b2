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
use wit_parser::{PackageId, Resolve, SourceMap, WorldId};

/// The interface definitions of plugins.
const DEFINITIONS: [(&str, &str); 6] = [
    ("host.wit", include_str!("../../../wit/host.wit")),
    ("provider.wit", include_str!("../../../wit/provider.wit")),
    ("provisioner.wit", include_str!("../../../wit/provisioner.wit")),
    ("state-store.wit", include_str!("../../../wit/state-store.wit")),
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("worlds.wit", include_str!("../../../wit/worlds.wit")),
];

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
    #[error(
        "no world has all interfaces that it exports: {exported}; the interfaces of plugins are: {known}"
    )]
    NoWorld { exported: String, known: String },
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
        let (mut definitions, package) = definitions()?;
        let chosen = choose_world(&definitions, package, &facts, world)?;
        definitions.worlds[chosen].name.clone_into(&mut world_name);
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

/// Parses the interface definitions.
fn definitions() -> Result<(Resolve, PackageId), ComponentizeError> {
    let mut sources = SourceMap::new();
    for (name, text) in DEFINITIONS {
        sources.push_str(name, text);
    }
    let group = sources.parse().map_err(|(_, error)| ComponentizeError::Definitions(error.to_string()))?;
    let mut resolve = Resolve::default();
    let package =
        resolve.push_group(group).map_err(|error| ComponentizeError::Definitions(error.to_string()))?;
    Ok((resolve, package))
}

/// Returns the names of the interfaces that a world exports.
fn exported(resolve: &Resolve, world: WorldId) -> BTreeSet<String> {
    resolve.worlds[world].exports.keys().map(|key| resolve.name_world_key(key)).collect()
}

/// Returns the world with this name, or else the smallest world with all interfaces of the module.
fn choose_world(
    resolve: &Resolve,
    package: PackageId,
    facts: &ModuleFacts,
    name: Option<&str>,
) -> Result<WorldId, ComponentizeError> {
    let worlds = &resolve.packages[package].worlds;
    if let Some(name) = name {
        return worlds.get(name).copied().ok_or_else(|| ComponentizeError::UnknownWorld {
            world: name.to_owned(),
            known: worlds.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        });
    }
    if facts.interfaces.is_empty() {
        return Err(ComponentizeError::NoInterface);
    }
    let candidates = worlds.values().filter(|world| facts.interfaces.is_subset(&exported(resolve, **world)));
    // Worlds that have only exports are parts of other worlds.
    let candidates = candidates.filter(|world| !resolve.worlds[**world].imports.is_empty());
    candidates.min_by_key(|world| exported(resolve, **world).len()).copied().ok_or_else(|| {
        let known: BTreeSet<String> = worlds.values().flat_map(|world| exported(resolve, *world)).collect();
        ComponentizeError::NoWorld {
            exported: facts.interfaces.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            known: known.into_iter().collect::<Vec<_>>().join(", "),
        }
    })
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
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let mut files: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".wit"))
            .collect();
        files.sort();
        assert_eq!(files, DEFINITIONS.map(|(name, _)| name));
        definitions().unwrap();
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
            (&["wardian:plugin/magic@0.1.0#cast"], None, "no world has all interfaces"),
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
    fn module_without_exports_of_a_named_world_is_adapted() {
        // A world without its exports needs no functions; the adapter satisfies the import.
        let exit = module(&["cabi_realloc"], &[]);
        let component = componentize(&exit, Some("provider-plugin")).unwrap();
        assert!(Parser::is_component(&component));
    }
}
