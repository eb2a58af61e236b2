//! What both resources have in common: attributes, and the way of a content
//! from the configuration to the disk.

use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use wardian_sdk::{Attribute, Context, Diagnostics, Explain as _, Result, validate};

use crate::checksums;
use crate::disk::{self, Modes};
use crate::permission;

/// Where a file's content comes from. The first that is set is taken.
#[derive(Debug, Default)]
pub(crate) struct Sources<'a> {
    pub(crate) sensitive: Option<&'a str>,
    pub(crate) base64: Option<&'a str>,
    pub(crate) file: Option<&'a str>,
    pub(crate) text: Option<&'a str>,
}

impl Sources<'_> {
    /// The content as bytes.
    pub(crate) fn content(&self) -> Result<Vec<u8>> {
        if let Some(text) = self.sensitive {
            return Ok(text.as_bytes().to_vec());
        }
        if let Some(encoded) = self.base64 {
            return decode(encoded).explain("Content is not base64");
        }
        if let Some(path) = self.file {
            let content = disk::read(Path::new(path)).explain("Source not read")?;
            return content
                .ok_or_else(|| Diagnostics::error("Source not read", format!("{path} does not exist")));
        }
        Ok(self.text.unwrap_or_default().as_bytes().to_vec())
    }
}

/// Base64 as people paste it: lines may be broken, and the last character's
/// unused bits may have any value.
fn decode(encoded: &str) -> Result<Vec<u8>, base64::DecodeError> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    LENIENT.decode(encoded.replace(['\r', '\n'], ""))
}

/// A content and the path that it goes to.
pub(crate) struct NewFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) content: &'a [u8],
    pub(crate) file_permission: Option<&'a str>,
    pub(crate) directory_permission: Option<&'a str>,
}

impl NewFile<'_> {
    /// Writes the file.
    pub(crate) fn write(&self) -> Result<()> {
        let mode = |text: Option<&str>| permission::parse(text.unwrap_or_default());
        let modes = Modes {
            file: mode(self.file_permission).explain("Invalid file_permission")?,
            directory: mode(self.directory_permission).explain("Invalid directory_permission")?,
        };
        disk::write(Path::new(self.path), self.content, modes).explain("File not written")
    }
}

/// Whether the file still has the content that its identifier was made of.
pub(crate) fn is_unchanged(path: &str, id: Option<&str>) -> Result<bool> {
    let content = disk::read(Path::new(path)).explain("File not read")?;
    Ok(content.is_some_and(|content| Some(checksums::sha1(&content).as_str()) == id))
}

/// Deletes the file. That it stays behind must not keep a resource alive, but
/// somebody should know.
pub(crate) fn delete(path: &str, context: &mut Context<'_>) {
    if let Err(error) = disk::remove(Path::new(path)) {
        context.warn("File not deleted", error.to_string());
    }
}

/// `filename` of a resource.
pub(crate) fn filename() -> Attribute {
    Attribute::string("filename").required().force_new().description(
        "The path of the file. Missing directories above it are created, and a file that is there is overwritten.",
    )
}

/// An attribute for one of the permissions.
pub(crate) fn permission(name: &str, of: &str, default: &str) -> Attribute {
    let text =
        format!("The permission of {of} in octal notation, less the umask; `\"{default}\"` unless set.");
    Attribute::string(name)
        .default(default)
        .force_new()
        .validate(validate::custom(|value| {
            value.as_str().map_or(Ok(()), |text| {
                permission::parse(text).map(|_| ()).map_err(|error| format!("must be a permission: {error}"))
            })
        }))
        .description(text)
}
