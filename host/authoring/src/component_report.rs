//! Describes a component for its author: the parts of its size, and features that hosts do not support.
//!
//! The bytes are only read. Cost: linear in the size of the component.

use std::collections::BTreeMap;

use wasmparser::{
    BinaryReaderError, CanonicalFunction, CanonicalOption, KnownCustom, Name, Parser, Payload, TypeRef,
};

/// The size from which a component is unusually large, in bytes.
pub const LARGE_COMPONENT_BYTES: usize = 5_000_000;

/// Maximum number of groups of functions that are reported.
const MAX_GROUPS: usize = 12;

/// Maximum number of functions of a component that are attributed to a group.
const MAX_FUNCTIONS: usize = 1 << 20;

/// Maximum length of a function's name that is read.
const MAX_NAME_LENGTH: usize = 4096;

/// The parts of a component's size, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentSize {
    pub total: usize,
    /// The bodies of functions.
    pub code: usize,
    /// Constant data.
    pub data: usize,
    /// Debug information.
    pub debug: usize,
    /// Names of functions.
    pub names: usize,
    /// The code of the largest groups of functions, such as crates of Rust. Empty if functions have no
    /// names.
    pub groups: Vec<(String, usize)>,
}

/// A feature of the component model that hosts of WASI 0.2 do not support.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnsupportedFeature {
    /// Functions with the asynchronous ABI, with the name of the first built-in function.
    Async(&'static str),
    /// An import of an interface of WASI 0.3.
    Wasi3(String),
}

impl UnsupportedFeature {
    /// Returns the problem and its remedy.
    pub fn text(&self) -> String {
        match self {
            Self::Async(function) => format!(
                "it uses asynchronous functions of the component model ({function}), which plugins cannot use; \
                 build it for synchronous functions, for example with the option --sync of componentize-qjs"
            ),
            Self::Wasi3(import) => format!(
                "it imports {import} of WASI 0.3, but plugins use WASI 0.2; build it for the target \
                 wasm32-wasip2, or with a tool that supports WASI 0.2"
            ),
        }
    }
}

/// Returns the features of a component that hosts do not support.
///
/// # Errors
/// Returns an error if the bytes are not a valid component.
pub fn unsupported_features(component: &[u8]) -> Result<Vec<UnsupportedFeature>, BinaryReaderError> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    if let Some(name) = asynchronous(&function?)
                        && !found.iter().any(|one| matches!(one, UnsupportedFeature::Async(_)))
                    {
                        found.push(UnsupportedFeature::Async(name));
                    }
                }
            }
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let name = import?.name.name;
                    if name.starts_with("wasi:") && name.contains("@0.3.") {
                        found.push(UnsupportedFeature::Wasi3(name.escape_debug().to_string()));
                    }
                }
            }
            _ => {}
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the name of a function of the asynchronous ABI.
fn asynchronous(function: &CanonicalFunction) -> Option<&'static str> {
    let is_async = |options: &[CanonicalOption]| options.contains(&CanonicalOption::Async);
    match function {
        CanonicalFunction::Lift { options, .. } => is_async(options).then_some("an asynchronous export"),
        CanonicalFunction::Lower { options, .. } => is_async(options).then_some("an asynchronous import"),
        CanonicalFunction::ResourceNew { .. }
        | CanonicalFunction::ResourceDrop { .. }
        | CanonicalFunction::ResourceRep { .. } => None,
        CanonicalFunction::TaskReturn { .. } => Some("task.return"),
        CanonicalFunction::TaskCancel => Some("task.cancel"),
        _ => Some("a built-in function for tasks, threads or streams"),
    }
}

/// Returns the parts of a component's size.
///
/// # Errors
/// Returns an error if the bytes are not a valid component.
pub fn component_size(component: &[u8]) -> Result<ComponentSize, BinaryReaderError> {
    let mut size = ComponentSize { total: component.len(), ..ComponentSize::default() };
    let mut groups = BTreeMap::new();
    let mut functions = ModuleFunctions::default();
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } => functions = ModuleFunctions::default(),
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    functions.imported += usize::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionStart { size: bytes, .. } => size.code += usize::try_from(bytes).unwrap_or(0),
            Payload::CodeSectionEntry(body) if functions.bodies.len() < MAX_FUNCTIONS => {
                functions.bodies.push(body.range().len());
            }
            Payload::DataSection(section) => size.data += section.range().len(),
            Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
                size.debug += section.data().len();
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(names) = section.as_known() {
                    size.names += section.data().len();
                    for name in names {
                        if let Name::Function(map) = name? {
                            functions.add_to(&mut groups, map)?;
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let mut groups: Vec<(String, usize)> = groups.into_iter().collect();
    groups.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    groups.truncate(MAX_GROUPS);
    size.groups = groups;
    Ok(size)
}

/// The functions of the module that is read.
#[derive(Default)]
struct ModuleFunctions {
    imported: usize,
    /// The size of each body.
    bodies: Vec<usize>,
}

impl ModuleFunctions {
    /// Adds the sizes of functions to their groups.
    fn add_to(
        &self,
        groups: &mut BTreeMap<String, usize>,
        names: wasmparser::NameMap<'_>,
    ) -> Result<(), BinaryReaderError> {
        for naming in names {
            let naming = naming?;
            let index = usize::try_from(naming.index).unwrap_or(usize::MAX);
            let body = index.checked_sub(self.imported).and_then(|index| self.bodies.get(index));
            if let Some(body) = body
                && naming.name.len() <= MAX_NAME_LENGTH
            {
                *groups.entry(group(naming.name)).or_default() += body;
            }
        }
        Ok(())
    }
}

/// Returns the group of a function: the crate of a Rust function, or the text before the first separator
/// of another name.
fn group(name: &str) -> String {
    let readable = match rustc_demangle::try_demangle(name) {
        Ok(demangled) => format!("{demangled:#}"),
        Err(_) => name.to_owned(),
    };
    // The path of `<a::B as c::D>::e` begins with the type.
    let path = readable.trim_start_matches(['<', '&', '(', '[', '*', '_']);
    let path = path.trim_start_matches("mut ").trim_start_matches("dyn ").trim_start_matches("const ");
    let end = path.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let crate_name = end.map_or(path, |end| &path[..end]);
    match crate_name {
        "" => "other".to_owned(),
        "core" | "alloc" | "std" => format!("{crate_name} (standard library)"),
        crate_name => crate_name.chars().take(60).collect(),
    }
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        CanonicalFunctionSection, CodeSection, Component, ComponentImportSection, ComponentTypeRef,
        CustomSection, Function, FunctionSection, Module, ModuleSection, NameMap, NameSection, TypeSection,
    };

    use super::*;

    fn component() -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([], []);
        module.section(&types);
        let mut functions = FunctionSection::new();
        functions.function(0).function(0);
        module.section(&functions);
        let mut code = CodeSection::new();
        for _ in 0..2 {
            let mut function = Function::new([]);
            function.instructions().end();
            code.function(&function);
        }
        module.section(&code);
        let mut map = NameMap::new();
        map.append(0, "_ZN4core3fmt5write17h01234567890abcdeE");
        map.append(1, "runtime.mallocgc");
        let mut names = NameSection::new();
        names.functions(&map);
        module.section(&names);
        module.section(&CustomSection { name: ".debug_info".into(), data: [1, 2, 3][..].into() });
        let mut component = Component::new();
        component.section(&ModuleSection(&module));
        component.finish()
    }

    #[test]
    fn size_is_divided_into_parts_and_groups() {
        let bytes = component();
        let size = component_size(&bytes).unwrap();
        assert_eq!(size.total, bytes.len());
        assert_eq!(size.debug, 3);
        assert!(size.code > 0 && size.names > 0);
        let groups: Vec<&str> = size.groups.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(groups, ["core (standard library)", "runtime"]);
    }

    #[test]
    fn groups_are_crates() {
        for (name, expected) in [
            ("_ZN9hashbrown3map4make17h01234567890abcdeE", "hashbrown"),
            (
                "_ZN61_$LT$serde_json..value..Value$u20$as$u20$core..fmt..Debug$GT$3fmt17h01234567890abcdeE",
                "serde_json",
            ),
            ("main.main", "main"),
            ("cabi_realloc", "cabi_realloc"),
            ("", "other"),
        ] {
            assert_eq!(group(name), expected, "{name}");
        }
    }

    #[test]
    fn asynchronous_functions_and_wasi_3_are_found() {
        let mut component = Component::new();
        let mut functions = CanonicalFunctionSection::new();
        functions.task_cancel();
        component.section(&functions);
        let mut imports = ComponentImportSection::new();
        imports.import("wasi:clocks/types@0.3.0", ComponentTypeRef::Instance(0));
        component.section(&imports);
        let found = unsupported_features(&component.finish()).unwrap();
        assert_eq!(found[0], UnsupportedFeature::Async("task.cancel"));
        assert!(found[1].text().contains("wasi:clocks/types@0.3.0 of WASI 0.3"), "{}", found[1].text());
        assert_eq!(unsupported_features(&self::component()).unwrap(), []);
    }

    #[test]
    fn damaged_components_are_errors() {
        let bytes = component();
        for end in 0..bytes.len() {
            let _ = component_size(&bytes[..end]);
            let _ = unsupported_features(&bytes[..end]);
        }
        assert!(component_size(b"junk").is_err());
    }
}
