//! Image manifests and indexes: parsing and writing.
//!
//! Unknown fields are ignored, as the specification requires. A document that could be read both as
//! an image manifest and as an index is rejected, because readers could disagree on its meaning.
//! The bytes that are written depend only on the values: fields have a fixed order, and annotations
//! are sorted.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use wardian_digest::Sha256Digest;

use crate::digest::ContentDigest;
use crate::media_type::{EMPTY_CONFIG, IMAGE_INDEX, IMAGE_MANIFEST};
use crate::platform::OciPlatform;

/// Maximum size of a manifest.
pub const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// The content of an empty config.
pub const EMPTY_CONFIG_CONTENT: &[u8] = b"{}";

/// Refers to content by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: ContentDigest,
    /// The size in bytes.
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<OciPlatform>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "map_or_null")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    pub fn new(media_type: &str, digest: Sha256Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: digest.into(),
            size,
            artifact_type: None,
            platform: None,
            annotations: BTreeMap::new(),
        }
    }

    /// Returns the descriptor of the given bytes.
    pub fn for_bytes(media_type: &str, bytes: &[u8]) -> Self {
        Self::new(media_type, Sha256Digest::hash(bytes), bytes.len() as u64)
    }

    /// Returns the descriptor of an empty config.
    pub fn for_empty_config() -> Self {
        Self::for_bytes(EMPTY_CONFIG, EMPTY_CONFIG_CONTENT)
    }

    pub fn with_artifact_type(mut self, artifact_type: &str) -> Self {
        self.artifact_type = Some(artifact_type.to_owned());
        self
    }

    pub fn with_platform(mut self, platform: OciPlatform) -> Self {
        self.platform = Some(platform);
        self
    }

    pub fn with_annotation(mut self, name: &str, value: &str) -> Self {
        self.annotations.insert(name.to_owned(), value.to_owned());
        self
    }
}

fn map_or_null<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn list_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Descriptor>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A manifest with a config and layers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    #[serde(default)]
    pub artifact_type: Option<String>,
    pub config: Descriptor,
    #[serde(default, deserialize_with = "list_or_null")]
    pub layers: Vec<Descriptor>,
    /// The manifest to which this manifest refers, for example the manifest that it signs.
    #[serde(default)]
    pub subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "map_or_null")]
    pub annotations: BTreeMap<String, String>,
}

/// A list of manifests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageIndex {
    #[serde(default)]
    pub artifact_type: Option<String>,
    #[serde(default, deserialize_with = "list_or_null")]
    pub manifests: Vec<Descriptor>,
    #[serde(default)]
    pub subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "map_or_null")]
    pub annotations: BTreeMap<String, String>,
}

impl ImageManifest {
    pub fn to_bytes(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            schema_version: u8,
            media_type: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            artifact_type: Option<&'a str>,
            config: &'a Descriptor,
            layers: &'a [Descriptor],
            #[serde(skip_serializing_if = "Option::is_none")]
            subject: Option<&'a Descriptor>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            annotations: &'a BTreeMap<String, String>,
        }
        to_json(&Document {
            schema_version: 2,
            media_type: IMAGE_MANIFEST,
            artifact_type: self.artifact_type.as_deref(),
            config: &self.config,
            layers: &self.layers,
            subject: self.subject.as_ref(),
            annotations: &self.annotations,
        })
    }

    /// Returns the artifact type: the type in the manifest, or else the type of its config.
    pub fn effective_artifact_type(&self) -> &str {
        self.artifact_type.as_deref().filter(|own| !own.is_empty()).unwrap_or(&self.config.media_type)
    }
}

impl ImageIndex {
    pub fn to_bytes(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            schema_version: u8,
            media_type: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            artifact_type: Option<&'a str>,
            manifests: &'a [Descriptor],
            #[serde(skip_serializing_if = "Option::is_none")]
            subject: Option<&'a Descriptor>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            annotations: &'a BTreeMap<String, String>,
        }
        to_json(&Document {
            schema_version: 2,
            media_type: IMAGE_INDEX,
            artifact_type: self.artifact_type.as_deref(),
            manifests: &self.manifests,
            subject: self.subject.as_ref(),
            annotations: &self.annotations,
        })
    }
}

/// Serializes values that have only string keys, so it cannot fail.
fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// An image manifest or an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manifest {
    Image(ImageManifest),
    Index(ImageIndex),
}

impl Manifest {
    /// Parses a manifest. `content_type` is the media type that the registry returned, if any.
    ///
    /// # Errors
    /// Returns an error if the document is neither an image manifest nor an index, or if its media
    /// type is ambiguous.
    pub fn parse(bytes: &[u8], content_type: Option<&str>) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            #[serde(default)]
            schema_version: Option<u64>,
            #[serde(default)]
            media_type: Option<String>,
            #[serde(default)]
            config: Option<IgnoredAny>,
            #[serde(default)]
            layers: Option<IgnoredAny>,
            #[serde(default)]
            manifests: Option<IgnoredAny>,
        }

        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLarge);
        }
        // The JSON library also reads a list as the fields of a struct.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(ManifestError::NoObject);
        }
        let head: Head = serde_json::from_slice(bytes)?;
        let stated = content_type.map(essence).filter(|stated| !is_generic(stated));
        let own = head.media_type.as_deref().filter(|own| !own.is_empty());
        let media_type = match (own, stated) {
            (Some(own), Some(stated)) if !own.eq_ignore_ascii_case(stated) => {
                return Err(ManifestError::Contradiction { own: shorten(own), stated: shorten(stated) });
            }
            (Some(media_type), _) | (None, Some(media_type)) => media_type,
            (None, None) => return Err(ManifestError::NoMediaType),
        };
        let has_image = head.config.is_some() || head.layers.is_some();
        if has_image && head.manifests.is_some() {
            return Err(ManifestError::Ambiguous);
        }
        let is_index = media_type.eq_ignore_ascii_case(IMAGE_INDEX);
        if !is_index && !media_type.eq_ignore_ascii_case(IMAGE_MANIFEST) {
            return Err(ManifestError::MediaType { found: shorten(media_type) });
        }
        if head.schema_version != Some(2) {
            return Err(ManifestError::SchemaVersion);
        }
        if is_index && has_image || !is_index && head.manifests.is_some() {
            return Err(ManifestError::Ambiguous);
        }
        Ok(if is_index {
            Self::Index(serde_json::from_slice(bytes)?)
        } else {
            Self::Image(serde_json::from_slice(bytes)?)
        })
    }

    /// Returns the artifact type in the manifest, or an empty string.
    pub fn artifact_type(&self) -> &str {
        match self {
            Self::Image(image) => image.artifact_type.as_deref(),
            Self::Index(index) => index.artifact_type.as_deref(),
        }
        .unwrap_or_default()
    }
}

/// Returns a media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Returns whether a media type does not determine the kind of manifest.
fn is_generic(media_type: &str) -> bool {
    matches!(media_type, "" | "application/json" | "application/octet-stream" | "text/plain")
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Bytes that are not a usable manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    #[error("it is larger than {} MiB", MAX_MANIFEST_BYTES >> 20)]
    TooLarge,
    #[error("it is not a valid manifest: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it is not a JSON object")]
    NoObject,
    #[error("neither the manifest nor the registry states its media type")]
    NoMediaType,
    #[error("the manifest has the media type {own:?}, but the registry states {stated:?}")]
    Contradiction { own: String, stated: String },
    #[error("it has the properties of both an image manifest and an index, so its meaning is ambiguous")]
    Ambiguous,
    #[error("its media type is {found:?}; an OCI image manifest or an OCI image index is needed")]
    MediaType { found: String },
    #[error("its schemaVersion is not 2")]
    SchemaVersion,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn image() -> ImageManifest {
        ImageManifest {
            artifact_type: Some("application/vnd.example".to_owned()),
            config: Descriptor::for_empty_config(),
            layers: vec![
                Descriptor::for_bytes("archive/zip", b"zip")
                    .with_annotation("b", "2")
                    .with_annotation("a", "1"),
            ],
            subject: None,
            annotations: BTreeMap::new(),
        }
    }

    #[test]
    fn written_manifests_are_parsed_again() {
        let bytes = image().to_bytes();
        assert_eq!(Manifest::parse(&bytes, Some(IMAGE_MANIFEST)).unwrap(), Manifest::Image(image()));
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with(r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"#), "{text}");
        assert!(text.contains(r#""annotations":{"a":"1","b":"2"}"#), "{text}");
        let index = ImageIndex {
            artifact_type: None,
            manifests: vec![
                Descriptor::for_bytes(IMAGE_MANIFEST, b"x").with_platform(OciPlatform::new("linux", "amd64")),
            ],
            subject: Some(Descriptor::for_bytes(IMAGE_MANIFEST, b"y")),
            annotations: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        };
        assert_eq!(Manifest::parse(&index.to_bytes(), None).unwrap(), Manifest::Index(index));
    }

    #[test]
    fn media_type_must_be_present_and_consistent() {
        let bytes = image().to_bytes();
        for generic in [None, Some(""), Some("application/json; charset=utf-8")] {
            assert!(Manifest::parse(&bytes, generic).is_ok());
        }
        let error = Manifest::parse(&bytes, Some(IMAGE_INDEX)).unwrap_err();
        assert!(matches!(error, ManifestError::Contradiction { .. }), "{error}");
        let bare = br#"{"schemaVersion":2,"manifests":null}"#;
        assert!(matches!(Manifest::parse(bare, None), Err(ManifestError::NoMediaType)));
        assert_eq!(Manifest::parse(bare, Some(IMAGE_INDEX)).unwrap(), Manifest::Index(ImageIndex::default()));
    }

    #[test]
    fn ambiguous_and_unsupported_documents_are_rejected() {
        let cases: [(&str, &str); 8] = [
            (r#"{"schemaVersion":2,"mediaType":"M","config":{},"layers":[],"manifests":[]}"#, "ambiguous"),
            (r#"{"schemaVersion":2,"mediaType":"M","manifests":[]}"#, "ambiguous"),
            (r#"{"schemaVersion":2,"mediaType":"I","layers":[]}"#, "ambiguous"),
            (r#"{"schemaVersion":1,"mediaType":"M","config":{}}"#, "schemaVersion"),
            (
                r#"{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json"}"#,
                "docker",
            ),
            (r#"{"schemaVersion":2,"mediaType":"M","mediaType":"I"}"#, "duplicate"),
            (
                r#"{"schemaVersion":2,"mediaType":"M","config":{"mediaType":"x","digest":"y","size":-1}}"#,
                "invalid",
            ),
            ("[]", "not a JSON object"),
        ];
        for (text, expected) in cases {
            let text = text
                .replace("\"M\"", &format!("{IMAGE_MANIFEST:?}"))
                .replace("\"I\"", &format!("{IMAGE_INDEX:?}"));
            let error = Manifest::parse(text.as_bytes(), None).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn descriptor_with_unsupported_digest_algorithm_does_not_invalidate_manifest() {
        let text = format!(
            r#"{{"schemaVersion":2,"mediaType":"{IMAGE_INDEX}","manifests":[{{"mediaType":"x","digest":"sha512:00","size":1,"annotations":null,"urls":["https://example.com"]}}]}}"#
        );
        let Manifest::Index(index) = Manifest::parse(text.as_bytes(), None).unwrap() else { panic!() };
        assert!(index.manifests[0].digest.sha256().is_err());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Manifest::parse(&bytes, Some(IMAGE_MANIFEST));
        }
    }
}
