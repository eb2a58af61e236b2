//! The data sources `local_file` and `local_sensitive_file`: the content of an existing file.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_sdk::{Attribute, Context, DataSource, Diagnostics, Explain as _, Result, Schema};

use crate::checksum_attributes::{Checksummed as _, checksummed_state};
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
    /// The content of a file.
    State {
        /// The path of an existing file.
        filename: String,
        /// The content as text. Bytes that are not UTF-8 are replaced with the replacement character:
        /// use `content_base64` for binary data.
        #[attr(computed)]
        content: Option<String>,
        /// The content in base64.
        #[attr(computed)]
        content_base64: Option<String>,
    }
}

impl DataSource for FileSource {
    type State = State;

    fn schema(&self) -> Schema {
        let schema = Schema::for_type::<State>();
        match self {
            Self::Plain => schema,
            Self::Sensitive => schema
                .description("The sensitive content of a file.")
                .change_attribute("content", Attribute::sensitive)
                .change_attribute("content_base64", Attribute::sensitive),
        }
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
