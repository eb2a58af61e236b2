//! `local_sensitive_file`: a file whose content is never shown, and that other users cannot read.

use wardian_sdk::{Attribute, Schema, validate};

use crate::checksum_attributes::{self, checksummed_state};
use crate::written_file::{self, FileArguments, FileState, Sources};

checksummed_state! {
    /// An object of the resource type.
    State {
        filename: String,
        content: Option<String>,
        content_base64: Option<String>,
        source: Option<String>,
        file_permission: Option<String>,
        directory_permission: Option<String>,
    }
}

impl FileState for State {
    fn schema() -> Schema {
        let source = |name, text| Attribute::string(name).force_new().description(text);
        Schema::new()
            .description("A file with the given sensitive content on the machine that applies the plan.")
            .attribute(written_file::filename())
            .attribute(
                source(
                    "content",
                    "The content as text. Exactly one of the three sources of content must be \
                    set.",
                )
                .sensitive()
                .validate(validate::exactly_one_of(["content_base64", "source"])),
            )
            .attribute(source("content_base64", "The content in base64, for binary data.").sensitive())
            .attribute(source("source", "The path of the file from which the content is copied."))
            .attribute(written_file::permission("file_permission", "the file", "0700"))
            .attribute(written_file::permission("directory_permission", "new directories", "0700"))
            .attributes(checksum_attributes::attributes())
    }

    fn file(&self) -> FileArguments<'_> {
        FileArguments {
            filename: &self.filename,
            file_permission: self.file_permission.as_deref(),
            directory_permission: self.directory_permission.as_deref(),
        }
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            sensitive: None,
            base64: self.content_base64.as_deref(),
            file: self.source.as_deref(),
            text: self.content.as_deref(),
        }
    }
}
