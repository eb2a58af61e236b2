//! A component's bytes, as far as they tell what it is linked with and what it declares.

use std::path::Path;

use wasmparser::{Parser, Payload};

use crate::declaration::{Declaration, DeclarationError};

/// The name of the custom sections that hold declarations.
pub const SECTION_NAME: &str = "wardian:capabilities";

/// The most bytes that all declarations of a component may have.
pub const MOST_DECLARED: usize = 64 << 10;

/// How deep components may lie in components.
const DEEPEST: usize = 64;

/// The most imports, and the most exports.
const MOST_INTERFACES: usize = 10_000;

/// What a component says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// The names of what it imports. What no name has is escaped.
    pub imports: Vec<Box<str>>,
    /// The names of what it exports, likewise.
    pub exports: Vec<Box<str>>,
    /// What it declares.
    pub declaration: Declaration,
}

/// Why a component cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// It is something else.
    #[error("it is not a WebAssembly component")]
    NotAComponent,
    /// It cannot be taken apart.
    #[error("it is not a valid WebAssembly component: {0}")]
    Invalid(String),
    /// It is made so that reading it has no end.
    #[error("it has components within components, more than {DEEPEST} deep")]
    TooDeep,
    /// It is made so that nobody could read what it is linked with.
    #[error("it has more than {MOST_INTERFACES} imports or exports")]
    TooManyInterfaces,
    /// It declares more than anybody reads.
    #[error("what it declares is larger than {MOST_DECLARED} bytes")]
    TooLarge,
    /// What it declares cannot be understood.
    #[error("what it declares cannot be understood: {0}")]
    Declaration(#[from] DeclarationError),
}

/// Reads what a component imports, exports and declares. Relative directories of the
/// declaration begin at `root_module`, which is absolute.
///
/// # Errors
/// Where the bytes are no component, or what it declares cannot be understood.
pub fn inspect(bytes: &[u8], root_module: &Path) -> Result<Inspected, InspectError> {
    if !Parser::is_component(bytes) {
        return Err(InspectError::NotAComponent);
    }
    let invalid = |error: wasmparser::BinaryReaderError| InspectError::Invalid(error.message().to_owned());
    let mut found = Inspected::default();
    let mut declared = Vec::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(InspectError::TooDeep);
                }
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if section.name() == SECTION_NAME => {
                let data = section.data();
                if declared.len() + data.len() >= MOST_DECLARED {
                    return Err(InspectError::TooLarge);
                }
                declared.extend_from_slice(data);
                // The last line of a section need not be ended.
                declared.push(b'\n');
            }
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    push(&mut found.imports, import.map_err(invalid)?.name.name)?;
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    push(&mut found.exports, export.map_err(invalid)?.name.name)?;
                }
            }
            _ => {}
        }
    }
    found.declaration = Declaration::parse(&declared, root_module)?;
    Ok(found)
}

fn push(names: &mut Vec<Box<str>>, name: &str) -> Result<(), InspectError> {
    /// The longest name that is shown whole.
    const MOST_SHOWN: usize = 200;
    if names.len() >= MOST_INTERFACES {
        return Err(InspectError::TooManyInterfaces);
    }
    let mut shown = String::new();
    for character in name.chars().take(MOST_SHOWN) {
        if character.is_ascii_graphic() {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    if name.chars().nth(MOST_SHOWN).is_some() {
        shown.push_str("...");
    }
    names.push(shown.into());
    Ok(())
}
