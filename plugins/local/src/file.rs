//! `local_file`: a file with configured content.

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
        sensitive_content: Option<String>,
        file_permission: Option<String>,
        directory_permission: Option<String>,
    }
}

impl FileState for State {
    fn schema() -> Schema {
        let source = |name, text| Attribute::string(name).force_new().description(text);
        Schema::new()
            .description("A file with the given content on the machine that applies the plan.")
            .attribute(written_file::filename())
            .attribute(
                source(
                    "content",
                    "The content as text. Exactly one of the four sources of content must be \
                    set.",
                )
                .validate(validate::exactly_one_of([
                    "sensitive_content",
                    "content_base64",
                    "source",
                ])),
            )
            .attribute(source("content_base64", "The content in base64, for binary data."))
            .attribute(source("source", "The path of the file from which the content is copied."))
            .attribute(
                source("sensitive_content", "The content as text, hidden in plans.")
                    .sensitive()
                    .deprecated("Use the resource `local_sensitive_file` instead."),
            )
            .attribute(written_file::permission("file_permission", "the file", "0777"))
            .attribute(written_file::permission("directory_permission", "new directories", "0777"))
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
            sensitive: self.sensitive_content.as_deref(),
            base64: self.content_base64.as_deref(),
            file: self.source.as_deref(),
            text: self.content.as_deref(),
        }
    }
}
