//! Packages in OCI registries: `oci://HOST/REPOSITORY[?tag=TAG|?digest=DIGEST]`.

use crate::error::PackageLocationError;

/// A package in an OCI registry. The registry client parses the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciLocation {
    /// The address, which begins with `oci://`.
    pub address: String,
}

impl OciLocation {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        match text.strip_prefix("oci://") {
            Some(rest) if !rest.is_empty() => Ok(Self { address: text.to_owned() }),
            _ => Err(PackageLocationError::OciAddress),
        }
    }
}
