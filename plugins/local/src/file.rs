//! `local_file`: a file with configured content.

use crate::checksum_attributes::checksummed_state;
use crate::permission;
use crate::written_file::{FileArguments, FileState, Sources};

checksummed_state! {
    /// A file with the given content on the machine that applies the plan.
    State {
        /// The path of the file. Missing parent directories are created, and an existing file is
        /// overwritten.
        #[attr(force_new)]
        filename: String,
        /// The content as text. Exactly one of the four sources of content must be set.
        #[attr(force_new, validate(exactly_one_of("sensitive_content", "content_base64", "source")))]
        content: Option<String>,
        /// The content in base64, for binary data.
        #[attr(force_new)]
        content_base64: Option<String>,
        /// The path of the file from which the content is copied.
        #[attr(force_new)]
        source: Option<String>,
        /// The content as text, hidden in plans.
        #[attr(force_new, sensitive, deprecated = "Use the resource `local_sensitive_file` instead.")]
        sensitive_content: Option<String>,
        /// The permissions of the file in octal, minus the umask. Default: `"0777"`.
        #[attr(default = "0777", force_new, validate(permission::is_permission()))]
        file_permission: Option<String>,
        /// The permissions of new directories in octal, minus the umask. Default: `"0777"`.
        #[attr(default = "0777", force_new, validate(permission::is_permission()))]
        directory_permission: Option<String>,
    }
}

impl FileState for State {
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
