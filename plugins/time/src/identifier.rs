//! Import identifiers: values separated by commas.

use wardian_sdk::{Diagnostics, Import, Result};

use crate::moment::Moment;

/// The parts of an identifier.
pub(crate) fn split(import: &Import) -> Result<Vec<String>> {
    Ok(import.id()?.split(',').map(str::to_owned).collect())
}

/// A timestamp in an identifier.
pub(crate) fn moment(text: &str) -> Result<Moment> {
    Moment::parse(text).ok_or_else(|| {
        Diagnostics::error(
            "Unexpected Import Identifier",
            format!("This part of the identifier is not a timestamp of RFC 3339: {text:?}"),
        )
    })
}

/// A number in an identifier; nothing where the part is empty.
pub(crate) fn number(text: &str) -> Result<Option<i64>> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        Diagnostics::error(
            "Unexpected Import Identifier",
            format!("This part of the identifier is not a whole number: {text:?}"),
        )
    })
}
