//! Reads the imports, the exports and the declaration from a component's bytes.

use std::path::Path;

use wardian_component::{CheckError, ComponentLimits};
use wasmparser::{Parser, Payload};

use crate::declaration::{Declaration, DeclarationError};

/// Name of the custom sections that contain declarations.
pub const SECTION_NAME: &str = "wardian:capabilities";

/// Maximum size of all declarations of a component, in bytes.
pub const MAX_DECLARATION_SIZE: usize = 64 << 10;

/// Maximum number of imports, and also of exports.
const MAX_INTERFACES: usize = 10_000;

/// The imports, exports and declaration of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// Names of the imports, with unusual characters escaped.
    pub imports: Vec<Box<str>>,
    /// Names of the exports, with unusual characters escaped.
    pub exports: Vec<Box<str>>,
    pub declaration: Declaration,
}

/// The reason why a component cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The bytes are not a component.
    #[error("it is not a WebAssembly component")]
    NotAComponent,
    /// The component cannot be parsed.
    #[error("it is not a valid WebAssembly component: {0}")]
    Invalid(String),
    /// The expanded component exceeds a limit.
    #[error("it exceeds the limits of components: {0}")]
    Limit(CheckError),
    /// There are too many imports or exports.
    #[error("it has more than {MAX_INTERFACES} imports or exports")]
    TooManyInterfaces,
    /// The declaration is too large.
    #[error("its declaration is larger than {MAX_DECLARATION_SIZE} bytes")]
    TooLarge,
    #[error("its declaration is invalid: {0}")]
    Declaration(#[from] DeclarationError),
}

/// Reads the imports, exports and declaration of a component. Relative directories in the
/// declaration are relative to `root_module`, which must be absolute.
///
/// # Errors
/// Returns an error if the bytes are not a component, or the declaration is invalid.
pub fn inspect(bytes: &[u8], root_module: &Path) -> Result<Inspected, InspectError> {
    if !Parser::is_component(bytes) {
        return Err(InspectError::NotAComponent);
    }
    let invalid = |error: wasmparser::BinaryReaderError| InspectError::Invalid(error.message().to_owned());
    wardian_component::check_structure(bytes, &ComponentLimits::default()).map_err(|error| match error {
        CheckError::Invalid(reason) => InspectError::Invalid(reason),
        limit => InspectError::Limit(limit),
    })?;
    let mut found = Inspected::default();
    let mut declared = Vec::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                depth += 1;
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if section.name() == SECTION_NAME => {
                let data = section.data();
                if declared.len() + data.len() >= MAX_DECLARATION_SIZE {
                    return Err(InspectError::TooLarge);
                }
                declared.extend_from_slice(data);
                // The last line of a section need not end with a line break.
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
    /// Maximum length of a displayed name.
    const MAX_DISPLAYED_LENGTH: usize = 200;
    if names.len() >= MAX_INTERFACES {
        return Err(InspectError::TooManyInterfaces);
    }
    let mut shown = String::new();
    for character in name.chars().take(MAX_DISPLAYED_LENGTH) {
        if character.is_ascii_graphic() {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    if name.chars().nth(MAX_DISPLAYED_LENGTH).is_some() {
        shown.push_str("...");
    }
    names.push(shown.into());
    Ok(())
}
