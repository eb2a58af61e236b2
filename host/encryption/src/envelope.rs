//! The JSON document that contains encrypted content.
//!
//! | member | content |
//! |---|---|
//! | `serial`, `lineage` | the identity of a state, unencrypted; not in other documents |
//! | `meta` | the metadata of each key provider, as JSON in Base64, by the name of the provider |
//! | `encrypted_data` | the encrypted content in Base64 |
//! | `encryption_version` | `v0`, the only version; it distinguishes the document from a state |

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use wardian_state::{EncryptionFailure, StateIdentity};

const VERSION: &str = "v0";

/// The metadata of key providers, by the name under which it is stored.
pub(crate) type Metadata = BTreeMap<String, Vec<u8>>;

/// An encrypted document.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Envelope {
    pub(crate) metadata: Metadata,
    pub(crate) data: Vec<u8>,
    pub(crate) serial: Option<u64>,
    pub(crate) lineage: String,
}

/// The member that distinguishes encrypted documents. Its type is checked later.
#[derive(Deserialize)]
struct Mark<'a> {
    #[serde(borrow)]
    encryption_version: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct StoredEnvelope<'a> {
    serial: Option<u64>,
    lineage: Option<String>,
    #[serde(borrow)]
    meta: Option<BTreeMap<String, Cow<'a, str>>>,
    #[serde(borrow)]
    encrypted_data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    encryption_version: Cow<'a, str>,
}

#[derive(Serialize)]
struct StateDocument<'a> {
    serial: u64,
    lineage: &'a str,
    #[serde(flatten)]
    document: Document<'a>,
}

#[derive(Serialize)]
struct Document<'a> {
    meta: BTreeMap<&'a str, String>,
    encrypted_data: String,
    encryption_version: &'static str,
}

/// Returns whether bytes are an encrypted document, whether or not it is valid.
pub fn is_encrypted(bytes: &[u8]) -> bool {
    let mark = serde_json::from_slice::<Mark<'_>>(bytes).ok().and_then(|mark| mark.encryption_version);
    mark.is_some_and(|version| !matches!(version.get(), "null" | "\"\""))
}

/// Returns whether an encrypted document has the identity of a state.
pub fn has_identity(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Identity<'a> {
        #[serde(borrow)]
        serial: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        lineage: Option<&'a serde_json::value::RawValue>,
    }
    let identity = serde_json::from_slice::<Identity<'_>>(bytes);
    identity.is_ok_and(|identity| identity.serial.is_some() || identity.lineage.is_some())
}

impl Envelope {
    /// Parses a document; [`None`] if it is not encrypted.
    ///
    /// # Errors
    /// Returns an error if the document is encrypted but not valid.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>, EncryptionFailure> {
        if !is_encrypted(bytes) {
            return Ok(None);
        }
        let stored: StoredEnvelope<'_> =
            serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))?;
        if stored.encryption_version != VERSION {
            let version = stored.encryption_version;
            let message = format!(
                "its encryption has the version \"{version}\", which is not supported; only \"{VERSION}\" is"
            );
            return Err(EncryptionFailure::new(message).with_advice("use the program that wrote it"));
        }
        let decode = |text: &str, name: &str| {
            STANDARD.decode(text).map_err(|error| damaged(&format!("\"{name}\" is not Base64: {error}")))
        };
        let mut metadata = Metadata::new();
        for (name, text) in stored.meta.unwrap_or_default() {
            let value = decode(&text, "meta")?;
            metadata.insert(name, value);
        }
        let data = stored.encrypted_data.ok_or_else(|| damaged("\"encrypted_data\" is missing"))?;
        Ok(Some(Self {
            metadata,
            data: decode(&data, "encrypted_data")?,
            serial: stored.serial,
            lineage: stored.lineage.unwrap_or_default(),
        }))
    }
}

/// Returns the text of a document.
///
/// # Errors
/// Returns an error if the document cannot be encoded.
pub(crate) fn encode(
    metadata: &Metadata,
    data: &[u8],
    identity: Option<StateIdentity<'_>>,
) -> Result<String, EncryptionFailure> {
    let meta = metadata.iter().map(|(name, value)| (name.as_str(), STANDARD.encode(value))).collect();
    let document = Document { meta, encrypted_data: STANDARD.encode(data), encryption_version: VERSION };
    let text = match identity {
        Some(StateIdentity { lineage, serial }) => {
            serde_json::to_string(&StateDocument { serial, lineage, document })
        }
        None => serde_json::to_string(&document),
    };
    text.map_err(|error| EncryptionFailure::new(format!("the document cannot be encoded: {error}")))
}

fn damaged(problem: &str) -> EncryptionFailure {
    EncryptionFailure::new(format!("the encrypted document is damaged: {problem}"))
        .with_advice("nothing was changed; restore it from a backup")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_have_the_order_and_form_of_opentofu() {
        let metadata = Metadata::from([
            ("key_provider.pbkdf2.b".to_owned(), b"{}".to_vec()),
            ("alias".to_owned(), b"{\"a\":1}".to_vec()),
        ]);
        let identity = StateIdentity { lineage: "l", serial: 3 };
        assert_eq!(
            encode(&metadata, b"data", Some(identity)).unwrap(),
            r#"{"serial":3,"lineage":"l","meta":{"alias":"eyJhIjoxfQ==","key_provider.pbkdf2.b":"e30="},"encrypted_data":"ZGF0YQ==","encryption_version":"v0"}"#
        );
        assert_eq!(
            encode(&Metadata::new(), b"", None).unwrap(),
            r#"{"meta":{},"encrypted_data":"","encryption_version":"v0"}"#
        );
    }

    #[test]
    fn only_documents_with_a_version_are_encrypted() {
        for plain in
            ["", "{", "[]", "null", "{}", r#"{"version":4}"#, r#"{"encryption_version":""}"#, "PK\x03\x04"]
        {
            assert_eq!(Envelope::parse(plain.as_bytes()).unwrap(), None, "{plain}");
        }
    }

    #[test]
    fn invalid_documents_are_errors() {
        for (text, problem) in [
            (r#"{"encryption_version":"v1","encrypted_data":""}"#, "version \"v1\""),
            (r#"{"encryption_version":1,"encrypted_data":""}"#, "damaged"),
            (r#"{"encryption_version":"v0"}"#, "\"encrypted_data\" is missing"),
            (r#"{"encryption_version":"v0","encrypted_data":"?"}"#, "\"encrypted_data\" is not Base64"),
            (r#"{"encryption_version":"v0","encrypted_data":"","meta":{"a":"?"}}"#, "\"meta\" is not Base64"),
            (r#"{"encryption_version":"v0","encrypted_data":"","meta":{"a":{}}}"#, "damaged"),
            (r#"{"encryption_version":"v0","encrypted_data":"","meta":[]}"#, "damaged"),
            (r#"{"encryption_version":"v0","encrypted_data":"","serial":"1"}"#, "damaged"),
            (r#"{"encryption_version":"v0","encrypted_data":"","encrypted_data":""}"#, "duplicate field"),
        ] {
            let failure = Envelope::parse(text.as_bytes()).unwrap_err();
            assert!(failure.message.contains(problem), "{text}: {failure}");
        }
    }

    proptest! {
        #[test]
        fn parsing_reverses_encoding(
            names in prop::collection::btree_map(".*", prop::collection::vec(any::<u8>(), 0..50), 0..4),
            data in prop::collection::vec(any::<u8>(), 0..200),
            serial in any::<u64>(),
            lineage in ".*",
        ) {
            let text = encode(&names, &data, Some(StateIdentity { lineage: &lineage, serial })).unwrap();
            let envelope = Envelope { metadata: names, data, serial: Some(serial), lineage };
            prop_assert_eq!(Envelope::parse(text.as_bytes()).unwrap(), Some(envelope));
        }

        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Envelope::parse(&bytes);
        }

        #[test]
        fn damaged_documents_are_parsed_without_panic(
            position in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            end in any::<prop::sample::Index>(),
        ) {
            let metadata = Metadata::from([("key_provider.pbkdf2.a".to_owned(), b"{}".to_vec())]);
            let identity = StateIdentity { lineage: "l", serial: 3 };
            let mut bytes = encode(&metadata, b"data", Some(identity)).unwrap().into_bytes();
            let position = position.index(bytes.len());
            bytes[position] = byte;
            bytes.truncate(end.index(bytes.len()) + 1);
            let _ = Envelope::parse(&bytes);
        }
    }
}
