//! Defines the checksum attributes of the resources and data sources.

use wardian_sdk::Attribute;

/// Returns `id` and the checksum attributes.
pub(crate) fn attributes() -> impl Iterator<Item = Attribute> {
    [
        ("id", "The SHA-1 checksum of the content in hexadecimal."),
        ("content_md5", "The MD5 checksum of the content in hexadecimal."),
        ("content_sha1", "The SHA-1 checksum of the content in hexadecimal."),
        ("content_sha256", "The SHA-256 checksum of the content in hexadecimal."),
        ("content_base64sha256", "The SHA-256 checksum of the content in base64."),
        ("content_sha512", "The SHA-512 checksum of the content in hexadecimal."),
        ("content_base64sha512", "The SHA-512 checksum of the content in base64."),
    ]
    .into_iter()
    .map(|(name, text)| Attribute::string(name).computed().description(text))
}

/// A state with the checksum attributes.
pub(crate) trait Checksummed: Sized {
    /// Returns the identifier: the SHA-1 checksum of the content.
    fn id(&self) -> Option<&str>;

    /// Sets the identifier and the checksums to the values for the content.
    fn with_checksums_of(self, content: &[u8]) -> Self;
}

/// Declares a state with the given fields and the checksum attributes.
macro_rules! checksummed_state {
    ($(#[$attribute:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$attribute])*
        #[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
        pub(crate) struct $name {
            $($field: $type,)*
            id: Option<String>,
            content_md5: Option<String>,
            content_sha1: Option<String>,
            content_sha256: Option<String>,
            content_base64sha256: Option<String>,
            content_sha512: Option<String>,
            content_base64sha512: Option<String>,
        }

        impl crate::checksum_attributes::Checksummed for $name {
            fn id(&self) -> Option<&str> {
                self.id.as_deref()
            }

            fn with_checksums_of(self, content: &[u8]) -> Self {
                let checksums = crate::checksums::Checksums::from_content(content);
                Self {
                    id: Some(checksums.sha1.clone()),
                    content_md5: Some(checksums.md5),
                    content_sha1: Some(checksums.sha1),
                    content_sha256: Some(checksums.sha256),
                    content_base64sha256: Some(checksums.base64sha256),
                    content_sha512: Some(checksums.sha512),
                    content_base64sha512: Some(checksums.base64sha512),
                    ..self
                }
            }
        }
    };
}
pub(crate) use checksummed_state;
