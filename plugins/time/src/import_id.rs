//! Parses import identifiers: values separated by commas.

use wardian_sdk::{Diagnostics, Import, Result};

use crate::timestamp::Timestamp;

/// Splits an identifier at its commas.
pub(crate) fn split(import: &Import) -> Result<Vec<String>> {
    Ok(import.id()?.split(',').map(str::to_owned).collect())
}

/// Parses a timestamp in an identifier.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp> {
    Timestamp::parse(text).ok_or_else(|| {
        Diagnostics::error(
            "Unexpected Import Identifier",
            format!("This part of the identifier is not an RFC 3339 timestamp: {text:?}"),
        )
    })
}

/// Parses a number in an identifier; `None` if the text is empty.
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
