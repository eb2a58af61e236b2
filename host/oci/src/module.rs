//! Module packages in registries, and their source addresses: `oci://HOST/REPO[?tag=T|?digest=D]`.

use url::{Url, form_urlencoded};

use crate::client::OciClient;
use crate::digest::{DigestError, parse_digest};
use crate::error::OciError;
use crate::layout::LayoutProblem;
use crate::manifest::Manifest;
use crate::media_type::MODULE_PACKAGE;
use crate::provider::{PackageBlob, zip_blob};
use crate::reference::{ArtifactReference, ReferenceError, RegistryHost, Repository, Tag};

/// Maximum size of a module package.
pub const MAX_MODULE_PACKAGE_BYTES: u64 = 512 << 20;

/// The reason why a module source is not an address in a registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleAddressError {
    #[error("the module source {text:?} is not an OCI address; it must have the form oci://HOST/REPOSITORY")]
    Shape { text: String },
    #[error(
        "the module source {text:?} contains user information; configure credentials in the CLI configuration"
    )]
    UserInformation {
        /// The address without user information.
        text: String,
    },
    #[error(
        "the module source has the argument {name:?}, which OCI addresses do not support; use \"tag\" or \"digest\""
    )]
    Argument { name: String },
    #[error("the module source has the argument {name:?} twice")]
    Repeated { name: String },
    #[error("the argument {name:?} of the module source must not be empty")]
    Empty { name: String },
    #[error("the module source must not have both a \"tag\" and a \"digest\" argument")]
    TagAndDigest,
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Digest(#[from] DigestError),
}

impl ArtifactReference {
    /// Parses the source address of a module package, without a subdirectory. Without arguments,
    /// the tag is `latest`.
    ///
    /// # Errors
    /// Returns an error if the text is not such an address.
    ///
    /// # Examples
    /// ```
    /// let reference = wardian_oci::ArtifactReference::from_module_source("oci://ghcr.io/acme/vpc?tag=1.0.0")?;
    /// assert_eq!(reference.to_string(), "ghcr.io/acme/vpc:1.0.0");
    /// # Ok::<(), wardian_oci::ModuleAddressError>(())
    /// ```
    pub fn from_module_source(source: &str) -> Result<Self, ModuleAddressError> {
        let shape = || ModuleAddressError::Shape { text: source.to_owned() };
        let rest = source.strip_prefix("oci://").ok_or_else(shape)?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (registry, path) = address.split_once('/').ok_or_else(shape)?;
        if registry.contains('@') {
            // The user information may contain a password.
            let text = Url::parse(source).map_err(|_| shape_without_text())?;
            return Err(ModuleAddressError::UserInformation { text: wardian_download::printable_url(&text) });
        }
        let repository = Repository::new(RegistryHost::parse(registry)?, path)?;
        let (mut tag, mut digest) = (None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let argument = match &*name {
                "tag" => &mut tag,
                "digest" => &mut digest,
                _ => return Err(ModuleAddressError::Argument { name: name.into_owned() }),
            };
            if value.is_empty() {
                return Err(ModuleAddressError::Empty { name: name.into_owned() });
            }
            if argument.replace(value.into_owned()).is_some() {
                return Err(ModuleAddressError::Repeated { name: name.into_owned() });
            }
        }
        match (tag, digest) {
            (Some(_), Some(_)) => Err(ModuleAddressError::TagAndDigest),
            (None, Some(digest)) => Ok(repository.with_digest(parse_digest(&digest)?)),
            (tag, None) => Ok(repository.with_tag(Tag::parse(tag.as_deref().unwrap_or("latest"))?)),
        }
    }
}

fn shape_without_text() -> ModuleAddressError {
    ModuleAddressError::Shape { text: "oci://...".to_owned() }
}

impl OciClient {
    /// Returns a module package. Sends one request. The root of the zip file is the root of the package.
    ///
    /// # Errors
    /// Returns an error if the manifest cannot be fetched, or is not the manifest of a module package.
    pub async fn module_package(&self, reference: &ArtifactReference) -> Result<PackageBlob, OciError> {
        let fetched = self.manifest(reference).await?;
        let layout = |problem| OciError::Layout { reference: reference.clone(), problem };
        let found = fetched.manifest.artifact_type().to_owned();
        let Manifest::Image(image) = &fetched.manifest else {
            return Err(layout(LayoutProblem::IndexNotExpected {
                expected: "the manifest of a module package",
            }));
        };
        if found != MODULE_PACKAGE {
            return Err(layout(LayoutProblem::NotAModule { found }));
        }
        zip_blob(reference, fetched.digest, image, MODULE_PACKAGE, MAX_MODULE_PACKAGE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wardian_digest::Sha256Digest;

    use super::*;

    #[test]
    fn module_source_has_at_most_one_argument() {
        let digest = format!("sha256:{}", Sha256Digest::hash(b"x"));
        let parse =
            |text: &str| ArtifactReference::from_module_source(text).map(|reference| reference.to_string());
        assert_eq!(parse("oci://h:5000/a/b").unwrap(), "h:5000/a/b:latest");
        assert_eq!(parse("oci://h/a?tag=1.0.0_b").unwrap(), "h/a:1.0.0_b");
        assert_eq!(parse(&format!("oci://h/a?digest={digest}")).unwrap(), format!("h/a@{digest}"));
        assert_eq!(
            parse(&format!("oci://h/a?digest={}", digest.replace(':', "%3A"))).unwrap(),
            format!("h/a@{digest}")
        );
        for (bad, expected) in [
            ("h/a".to_owned(), "must have the form"),
            ("oci://h".to_owned(), "must have the form"),
            ("oci://h/".to_owned(), "is not a repository"),
            ("oci://h/a//b".to_owned(), "is not a repository"),
            ("oci://h/a:tag".to_owned(), "is not a repository"),
            ("oci://h/a?tag=".to_owned(), "must not be empty"),
            ("oci://h/a?tag=a&tag=b".to_owned(), "twice"),
            ("oci://h/a?archive=zip".to_owned(), "does not support"),
            ("oci://h/a?tag=a b".to_owned(), "is not a tag"),
            ("oci://h/a?digest=md5:00".to_owned(), "not supported"),
            (format!("oci://h/a?tag=x&digest={digest}"), "both"),
        ] {
            let error = parse(&bad).unwrap_err().to_string();
            assert!(
                error.contains(expected)
                    || expected == "does not support" && error.contains("do not support"),
                "{bad}: {error}"
            );
        }
        let error = parse("oci://me:s3cret@h/a").unwrap_err().to_string();
        assert!(error.contains("user information") && !error.contains("s3cret"), "{error}");
        assert!(!parse("oci://me:s3cret@[/a").unwrap_err().to_string().contains("s3cret"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "oci://\\PC{0,40}") {
            let _ = ArtifactReference::from_module_source(&text);
        }
    }
}
