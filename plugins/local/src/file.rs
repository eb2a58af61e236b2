//! `local_file`: a file with a given content.

use wardian_sdk::{Attribute, Context, Resource, Result, Schema, validate};

use crate::checksum_attributes::{self, checksummed_state};
use crate::written_file::{self, NewFile, Sources};

/// The resource type.
pub(crate) struct LocalFile;

checksummed_state! {
    /// An object of it.
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

impl Resource for LocalFile {
    type State = State;

    fn schema(&self) -> Schema {
        let source = |name, text| Attribute::string(name).force_new().description(text);
        Schema::new()
            .description("A file with a given content on the machine that applies the plan.")
            .attribute(written_file::filename())
            .attribute(
                source("content", "The content as text. One of the four sources of content has to be set.")
                    .validate(validate::exactly_one_of(["sensitive_content", "content_base64", "source"])),
            )
            .attribute(source("content_base64", "The content in base64, for what is not text."))
            .attribute(source("source", "The path of a file with the content."))
            .attribute(
                source("sensitive_content", "The content as text that is not shown in plans.")
                    .sensitive()
                    .deprecated("Use the resource `local_sensitive_file` instead."),
            )
            .attribute(written_file::permission("file_permission", "the file", "0777"))
            .attribute(written_file::permission(
                "directory_permission",
                "directories that are created",
                "0777",
            ))
            .attributes(checksum_attributes::attributes())
    }

    fn create(&self, plan: State, _: &mut Context<'_>) -> Result<State> {
        let sources = Sources {
            sensitive: plan.sensitive_content.as_deref(),
            base64: plan.content_base64.as_deref(),
            file: plan.source.as_deref(),
            text: plan.content.as_deref(),
        };
        let content = sources.content()?;
        let file = NewFile {
            path: &plan.filename,
            content: &content,
            file_permission: plan.file_permission.as_deref(),
            directory_permission: plan.directory_permission.as_deref(),
        };
        file.write()?;
        Ok(plan.with_checksums_of(&content))
    }

    fn read(&self, state: State, _: &mut Context<'_>) -> Result<Option<State>> {
        let unchanged = written_file::is_unchanged(&state.filename, state.id.as_deref())?;
        Ok(unchanged.then_some(state))
    }

    fn delete(&self, state: State, context: &mut Context<'_>) -> Result<()> {
        written_file::delete(&state.filename, context);
        Ok(())
    }
}
