//! Implements the resource behaviour that both resource types share: attributes, and writing,
//! reading and deleting the file.

use std::marker::PhantomData;
use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use wardian_sdk::{Context, Diagnostics, Explain as _, HasSchema, Model, Resource, Result, Schema};

use crate::checksum_attributes::Checksummed;
use crate::checksums;
use crate::disk::{self, Modes};
use crate::permission;

/// The arguments that specify a file's content, in order of precedence.
#[derive(Debug, Default)]
pub(crate) struct Sources<'a> {
    pub(crate) sensitive: Option<&'a str>,
    pub(crate) base64: Option<&'a str>,
    pub(crate) file: Option<&'a str>,
    pub(crate) text: Option<&'a str>,
}

impl Sources<'_> {
    /// Returns the content as bytes.
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

/// Decodes base64. Ignores line breaks, and accepts any value in the unused bits of the last
/// character.
fn decode(encoded: &str) -> Result<Vec<u8>, base64::DecodeError> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    LENIENT.decode(encoded.replace(['\r', '\n'], ""))
}

/// The resource types `local_file` and `local_sensitive_file`, which differ only in their
/// arguments.
pub(crate) struct FileResource<S>(PhantomData<fn() -> S>);

impl<S> FileResource<S> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

/// The state of a [`FileResource`].
pub(crate) trait FileState: Model + HasSchema + Checksummed + 'static {
    fn file(&self) -> FileArguments<'_>;

    fn sources(&self) -> Sources<'_>;
}

/// The arguments that both resource types have, except for the content.
pub(crate) struct FileArguments<'a> {
    pub(crate) filename: &'a str,
    pub(crate) file_permission: Option<&'a str>,
    pub(crate) directory_permission: Option<&'a str>,
}

impl FileArguments<'_> {
    fn path(&self) -> &Path {
        Path::new(self.filename)
    }

    fn modes(&self) -> Result<Modes> {
        let mode = |text: Option<&str>| permission::parse(text.unwrap_or_default());
        Ok(Modes {
            file: mode(self.file_permission).explain("Invalid file_permission")?,
            directory: mode(self.directory_permission).explain("Invalid directory_permission")?,
        })
    }
}

impl<S: FileState> Resource for FileResource<S> {
    type State = S;

    fn schema(&self) -> Schema {
        Schema::for_type::<S>()
    }

    fn create(&self, plan: S, _: &mut Context<'_>) -> Result<S> {
        let content = plan.sources().content()?;
        let file = plan.file();
        disk::write(file.path(), &content, file.modes()?).explain("File not written")?;
        Ok(plan.with_checksums_of(&content))
    }

    /// Returns the state if the file still has the content from which its identifier was computed.
    fn read(&self, state: S, _: &mut Context<'_>) -> Result<Option<S>> {
        let content = disk::read(state.file().path()).explain("File not read")?;
        let is_unchanged =
            content.is_some_and(|content| Some(checksums::sha1(&content).as_str()) == state.id());
        Ok(is_unchanged.then_some(state))
    }

    /// Deletes the file. If the deletion fails, only a warning is reported, and the resource is
    /// still removed from the state.
    fn delete(&self, state: S, context: &mut Context<'_>) -> Result<()> {
        if let Err(error) = disk::remove(state.file().path()) {
            context.warn("File not deleted", error.to_string());
        }
        Ok(())
    }
}
