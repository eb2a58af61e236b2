//! Counts the types of components.
//!
//! The parser reads nested types recursively and collects the declarations of each type, so nested
//! types of 60 KB can overflow the stack. Therefore, this module counts types one declaration at a
//! time, and passes only types without nested types to the parser.

use wasmparser::{
    BinaryReader, ComponentAlias, ComponentExternName, ComponentImport, ComponentType, ComponentTypeRef,
    CoreType,
};

use crate::limits::{self, CheckError, ComponentCounts, ComponentLimits, add, within};

/// The kind of elements in the list that is being read.
#[derive(Clone, Copy)]
enum Kind {
    Types,
    /// Declarations of a component type.
    Component,
    /// Declarations of an instance type.
    Instance,
}

struct List {
    remaining: u32,
    kind: Kind,
}

/// Counts the types in a component type section, including nested types.
pub(crate) fn count(
    section: &[u8],
    counts: &mut ComponentCounts,
    limits: &ComponentLimits,
) -> Result<(), CheckError> {
    let mut reader = BinaryReader::new(section, 0);
    let mut lists = vec![List { remaining: reader.read_var_u32()?, kind: Kind::Types }];
    while let Some(list) = lists.last_mut() {
        let Some(remaining) = list.remaining.checked_sub(1) else {
            lists.pop();
            continue;
        };
        list.remaining = remaining;
        add("types", &mut counts.types, 1, limits.types)?;
        let nested = match list.kind {
            Kind::Types => ty(&mut reader)?,
            kind => declaration(&mut reader, kind)?,
        };
        if let Some(nested) = nested {
            lists.push(nested);
            within("nested types", limits::count(lists.len()), limits.nesting)?;
        }
    }
    Ok(())
}

/// Reads a type. If the type contains other types, reads only its beginning.
fn ty(reader: &mut BinaryReader<'_>) -> Result<Option<List>, CheckError> {
    let kind = match reader.clone().read_u8()? {
        0x41 => Kind::Component,
        0x42 => Kind::Instance,
        _ => {
            reader.read::<ComponentType<'_>>()?;
            return Ok(None);
        }
    };
    reader.read_u8()?;
    Ok(Some(List { remaining: reader.read_var_u32()?, kind }))
}

fn declaration(reader: &mut BinaryReader<'_>, kind: Kind) -> Result<Option<List>, CheckError> {
    match (reader.read_u8()?, kind) {
        (0x00, _) => {
            reader.read::<CoreType<'_>>()?;
        }
        (0x01, _) => return ty(reader),
        (0x02, _) => {
            reader.read::<ComponentAlias<'_>>()?;
        }
        (0x03, Kind::Component) => {
            reader.read::<ComponentImport<'_>>()?;
        }
        (0x04, _) => {
            reader.read::<ComponentExternName<'_>>()?;
            reader.read::<ComponentTypeRef>()?;
        }
        (byte, _) => {
            return Err(CheckError::Invalid(format!(
                "invalid leading byte 0x{byte:x} of a type declaration"
            )));
        }
    }
    Ok(None)
}
