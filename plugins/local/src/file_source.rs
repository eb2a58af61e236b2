//! The data sources `local_file` and `local_sensitive_file`: the content of an existing file.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_sdk::{Attribute, Context, DataSource, Diagnostics, Explain as _, Result, Schema};

use crate::checksum_attributes::{self, Checksummed as _, checksummed_state};
use crate::disk;

/// One of the two data source types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSource {
    /// `local_file`
    Plain,
    /// `local_sensitive_file`
    Sensitive,
}

checksummed_state! {
    /// The configuration and the result.
    State {
        filename: String,
        content: Option<String>,
        content_base64: Option<String>,
    }
}

impl DataSource for FileSource {
    type State = State;

    fn schema(&self) -> Schema {
        let (description, hide): (_, fn(Attribute) -> Attribute) = match self {
            Self::Plain => ("The content of a file.", |attribute| attribute),
            Self::Sensitive => ("The sensitive content of a file.", Attribute::sensitive),
        };
        Schema::new()
            .description(description)
            .attribute(Attribute::string("filename").required().description("The path of an existing file."))
            .attribute(hide(Attribute::string("content").computed().description(
                "The content as text. Bytes that are not UTF-8 are replaced with the replacement character: \
                 use `content_base64` for binary data.",
            )))
            .attribute(hide(
                Attribute::string("content_base64").computed().description("The content in base64."),
            ))
            .attributes(checksum_attributes::attributes())
    }

    fn read(&self, config: State, _: &mut Context<'_>) -> Result<State> {
        let path = &config.filename;
        let content = disk::read(Path::new(path)).explain("File not read")?;
        let content =
            content.ok_or_else(|| Diagnostics::error("File not read", format!("{path} does not exist")))?;
        let state = State {
            content: Some(String::from_utf8_lossy(&content).into_owned()),
            content_base64: Some(STANDARD.encode(&content)),
            ..config
        };
        Ok(state.with_checksums_of(&content))
    }
}
