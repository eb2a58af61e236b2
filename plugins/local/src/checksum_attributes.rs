//! Defines the checksum attributes of the resources and data sources.

/// A state with the checksum attributes.
pub(crate) trait Checksummed: Sized {
    /// Returns the identifier: the SHA-1 checksum of the content.
    fn id(&self) -> Option<&str>;

    /// Sets the identifier and the checksums to the values for the content.
    fn with_checksums_of(self, content: &[u8]) -> Self;
}

/// Declares a state with the given fields and the checksum attributes.
macro_rules! checksummed_state {
    ($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Debug, Default, serde::Serialize, serde::Deserialize, wardian_sdk::Schema)]
        $(#[$attribute])*
        pub(crate) struct $name {
            $($(#[$field_attribute])* $field: $type,)*
            /// The SHA-1 checksum of the content in hexadecimal.
            #[attr(computed)]
            id: Option<String>,
            /// The MD5 checksum of the content in hexadecimal.
            #[attr(computed)]
            content_md5: Option<String>,
            /// The SHA-1 checksum of the content in hexadecimal.
            #[attr(computed)]
            content_sha1: Option<String>,
            /// The SHA-256 checksum of the content in hexadecimal.
            #[attr(computed)]
            content_sha256: Option<String>,
            /// The SHA-256 checksum of the content in base64.
            #[attr(computed)]
            content_base64sha256: Option<String>,
            /// The SHA-512 checksum of the content in hexadecimal.
            #[attr(computed)]
            content_sha512: Option<String>,
            /// The SHA-512 checksum of the content in base64.
            #[attr(computed)]
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
