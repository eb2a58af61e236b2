//! Reads the component of a release.

use std::path::Path;

use wardian_address::{ProviderAddress, provisioner_name};
use wardian_declaration::inspect;
use wardian_digest::Sha256Digest;
use wardian_files::read_regular;
use wardian_oci::ComponentSummary;
use wardian_oci::provider::MAX_COMPONENT_BYTES;

use crate::error::PublishError;

#[derive(Debug, Clone)]
pub(crate) struct ReleaseComponent {
    pub(crate) digest: Sha256Digest,
    pub(crate) size: u64,
    pub(crate) summary: ComponentSummary,
}

/// Reads a component, and checks that hosts will accept it: its declaration must be valid, and it
/// must export the plugin's interface.
pub(crate) fn read_component(
    path: &Path,
    address: &ProviderAddress,
) -> Result<ReleaseComponent, PublishError> {
    // If the file is too large, the error states this.
    let bytes = read_regular(path, MAX_COMPONENT_BYTES)
        .map_err(|source| PublishError::Read { path: path.to_owned(), source })?;
    // Relative directories in the declaration are not resolved here, so any root module can be
    // used.
    let root_module = if cfg!(windows) { Path::new("C:\\") } else { Path::new("/") };
    let inspected = inspect(&bytes, root_module)
        .map_err(|source| PublishError::Component { path: path.to_owned(), source })?;
    let (kind, interface) = match provisioner_name(address) {
        Some(_) => ("provisioner", "wardian:plugin/provisioner"),
        None => ("provider", "wardian:plugin/provider"),
    };
    let is_interface = |export: &str| {
        // A provider may export its parts separately.
        let path = export.split('@').next().unwrap_or_default();
        path == interface || kind == "provider" && path == "wardian:plugin/provider-base"
    };
    if !inspected.exports.iter().any(|export| is_interface(export)) {
        return Err(PublishError::NotAPlugin { path: path.to_owned(), kind, interface });
    }
    let names = |names: Vec<Box<str>>| names.into_iter().map(String::from).collect::<Vec<String>>();
    let (exports, imports) = (names(inspected.exports), names(inspected.imports));
    // `inspect` shortens long names.
    if let Some(name) = exports.iter().chain(&imports).find(|name| name.ends_with("...")) {
        return Err(PublishError::LongName { path: path.to_owned(), name: name.clone() });
    }
    Ok(ReleaseComponent {
        digest: Sha256Digest::hash(&bytes),
        size: bytes.len() as u64,
        summary: ComponentSummary { exports, imports, target: None },
    })
}
