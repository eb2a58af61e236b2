//! References to repositories and to the artifacts in them.
//!
//! ```text
//! reference  = repository [ ":" tag ] [ "@" digest ]
//! repository = host [ ":" port ] "/" path
//! ```
//!
//! A host is always required: no registry is implied. If a reference has both a tag and a digest,
//! the digest determines the artifact. `docker.io` refers to the registry of Docker Hub, whose
//! server has a different name.
//!
//! Invariant: the components of a [`Repository`] and a [`Tag`] can be used in URLs without escapes.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use wardian_digest::Sha256Digest;

use crate::digest::{DigestError, parse_digest};

const MAX_HOST_BYTES: usize = 253;
const MAX_PATH_BYTES: usize = 255;
const MAX_TAG_BYTES: usize = 128;

/// The host to which requests for `docker.io` are sent.
const DOCKER_HUB_SERVER: &str = "registry-1.docker.io";

/// A registry: a host, and a port unless it is the scheme's default port. Clones are cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryHost(Arc<str>);

impl RegistryHost {
    /// Parses `HOST[:PORT]`. A host is a name, an IPv4 address, or an IPv6 address in brackets.
    ///
    /// # Errors
    /// Returns an error if the text has a different form.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let invalid = || ReferenceError::Registry { text: text.to_owned() };
        let (host, port) = split_port(text).ok_or_else(invalid)?;
        let is_address = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
        let is_port = port.is_none_or(|port| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !(is_address || is_host_name(host)) || !is_port {
            return Err(invalid());
        }
        let canonical = text.to_ascii_lowercase();
        Ok(Self(match canonical.as_str() {
            "index.docker.io" | DOCKER_HUB_SERVER => "docker.io".into(),
            _ => canonical.into(),
        }))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_docker_hub(&self) -> bool {
        &*self.0 == "docker.io"
    }

    /// Returns whether the host is this machine, regardless of name resolution.
    pub fn is_loopback(&self) -> bool {
        let host = split_port(&self.0).map_or(&*self.0, |(host, _)| host);
        let address = host.trim_matches(['[', ']']);
        host == "localhost"
            || address.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
            || address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
    }

    /// Returns the `HOST[:PORT]` to which requests are sent.
    pub(crate) fn server(&self) -> &str {
        if self.is_docker_hub() { DOCKER_HUB_SERVER } else { &self.0 }
    }
}

impl fmt::Display for RegistryHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for RegistryHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RegistryHost({self})")
    }
}

/// Splits `HOST[:PORT]`; `None` if the brackets around an address do not match.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if text.starts_with('[') {
        let end = text.find(']')? + 1;
        let (host, rest) = text.split_at_checked(end)?;
        return match rest {
            "" => Some((host, None)),
            _ => Some((host, Some(rest.strip_prefix(':')?))),
        };
    }
    Some(match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    })
}

/// Returns whether the text is a host name or an IPv4 address.
fn is_host_name(host: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        bytes.len() <= 63
            && bytes.iter().all(is_inner)
            && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
    };
    // URL parsers read names whose last label is a number as addresses.
    let ends_with_number = host.rsplit('.').next().is_some_and(|last| {
        last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") || last.starts_with("0X")
    });
    host.len() <= MAX_HOST_BYTES
        && host.split('.').all(is_label)
        && (!ends_with_number || host.parse::<Ipv4Addr>().is_ok())
}

/// A repository in a registry. Clones are cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    registry: RegistryHost,
    path: Arc<str>,
}

impl Repository {
    /// Parses `HOST[:PORT]/PATH`, without tag and digest.
    ///
    /// # Errors
    /// Returns an error if the text has a different form.
    ///
    /// # Examples
    /// ```
    /// let repository = wardian_oci::Repository::parse("ghcr.io/acme/terraform-provider-dns")?;
    /// assert_eq!(repository.registry().as_str(), "ghcr.io");
    /// assert_eq!(repository.path(), "acme/terraform-provider-dns");
    /// # Ok::<(), wardian_oci::ReferenceError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let (registry, path) =
            text.split_once('/').ok_or_else(|| ReferenceError::Shape { text: text.to_owned() })?;
        Self::new(RegistryHost::parse(registry)?, path)
    }

    /// Creates the repository with this path in a registry.
    ///
    /// # Errors
    /// Returns an error if the path is not valid.
    pub fn new(registry: RegistryHost, path: &str) -> Result<Self, ReferenceError> {
        if !is_repository_path(path) {
            return Err(ReferenceError::Path { path: path.to_owned() });
        }
        Ok(Self { registry, path: path.into() })
    }

    pub fn registry(&self) -> &RegistryHost {
        &self.registry
    }

    /// Returns the path in the registry, without a leading slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn with_tag(&self, tag: Tag) -> ArtifactReference {
        ArtifactReference { repository: self.clone(), selector: ArtifactSelector::Tag(tag) }
    }

    pub fn with_digest(&self, digest: Sha256Digest) -> ArtifactReference {
        ArtifactReference { repository: self.clone(), selector: ArtifactSelector::Digest(digest) }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.registry, self.path)
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Repository({self})")
    }
}

/// Returns whether the text is a repository path, or a prefix of a repository path that ends before
/// a slash.
pub(crate) fn is_repository_path(path: &str) -> bool {
    path.len() <= MAX_PATH_BYTES && path.split('/').all(is_path_segment)
}

/// Returns whether a segment consists of lower-case letters and digits, separated by one dot, one
/// or two underscores, or any number of dashes.
fn is_path_segment(segment: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separators = segment.split(|character: char| u8::try_from(character).is_ok_and(is_word));
    // Both ends of the segment must be words, so nothing is before the first word or after the
    // last one.
    let ends = |bytes: &[u8]| {
        bytes.first().is_some_and(|byte| is_word(*byte)) && bytes.last().is_some_and(|byte| is_word(*byte))
    };
    ends(segment.as_bytes())
        && separators.all(|separator| {
            matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-')
        })
}

/// A tag of an artifact. Clones are cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(Arc<str>);

impl Tag {
    /// Parses a tag: at most 128 letters, digits, underscores, dots and dashes; the first character
    /// is a letter, a digit or an underscore.
    ///
    /// # Errors
    /// Returns an error if the text is not a tag.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_valid = text.len() <= MAX_TAG_BYTES
            && text.bytes().next().is_some_and(is_first)
            && text.bytes().all(|byte| is_first(byte) || byte == b'.' || byte == b'-');
        if is_valid { Ok(Self(text.into())) } else { Err(ReferenceError::Tag { tag: text.to_owned() }) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tag({self})")
    }
}

/// Selects one artifact of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArtifactSelector {
    Tag(Tag),
    Digest(Sha256Digest),
}

impl fmt::Display for ArtifactSelector {
    /// Writes the selector in the form that it has in a manifest URL.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => tag.fmt(formatter),
            Self::Digest(digest) => write!(formatter, "sha256:{digest}"),
        }
    }
}

/// A reference to an artifact in a repository.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactReference {
    pub repository: Repository,
    pub selector: ArtifactSelector,
}

impl ArtifactReference {
    /// Parses `HOST[:PORT]/PATH[:TAG][@DIGEST]`. If both tag and digest are missing, the tag is `latest`.
    ///
    /// # Errors
    /// Returns an error if a part is not valid.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(parse_digest(digest)?)),
            None => (text, None),
        };
        let (registry, rest) =
            name.split_once('/').ok_or_else(|| ReferenceError::Shape { text: text.to_owned() })?;
        let (path, tag) = match rest.split_once(':') {
            Some((path, tag)) => (path, Some(Tag::parse(tag)?)),
            None => (rest, None),
        };
        let repository = Repository::new(RegistryHost::parse(registry)?, path)?;
        let selector = match (digest, tag) {
            (Some(digest), _) => ArtifactSelector::Digest(digest),
            (None, Some(tag)) => ArtifactSelector::Tag(tag),
            (None, None) => ArtifactSelector::Tag(Tag::parse("latest")?),
        };
        Ok(Self { repository, selector })
    }
}

impl fmt::Display for ArtifactReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.selector {
            ArtifactSelector::Tag(tag) => write!(formatter, "{}:{tag}", self.repository),
            ArtifactSelector::Digest(digest) => write!(formatter, "{}@sha256:{digest}", self.repository),
        }
    }
}

impl fmt::Debug for ArtifactReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ArtifactReference({self})")
    }
}

/// Text that is not a reference to an artifact or a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    #[error("{text:?} is not an address in an OCI registry; it must have the form HOST/REPOSITORY")]
    Shape { text: String },
    #[error("{text:?} is not a registry; it must be a host name or an address, with an optional port")]
    Registry { text: String },
    #[error(
        "{path:?} is not a repository; it must consist of lower-case letters, digits, single separators \
         (\".\", \"_\", \"-\") and \"/\", and have at most 255 characters"
    )]
    Path { path: String },
    #[error(
        "{tag:?} is not a tag; it must consist of letters, digits, \"_\", \".\" and \"-\", and have at most \
         128 characters"
    )]
    Tag { tag: String },
    #[error(transparent)]
    Digest(#[from] DigestError),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reference_has_host_path_and_selector() {
        let digest = format!("sha256:{}", Sha256Digest::hash(b"x"));
        for (text, shown) in [
            ("ghcr.io/acme/dns", "ghcr.io/acme/dns:latest".to_owned()),
            ("GHCR.io/acme/dns:1.0.0_b.1", "ghcr.io/acme/dns:1.0.0_b.1".to_owned()),
            ("localhost:5000/a", "localhost:5000/a:latest".to_owned()),
            ("[::1]:5000/a/b--c/d__e/f.g:x", "[::1]:5000/a/b--c/d__e/f.g:x".to_owned()),
            ("index.docker.io/acme/dns:v1", "docker.io/acme/dns:v1".to_owned()),
            (&format!("h/p:tag@{digest}"), format!("h/p@{digest}")),
        ] {
            let reference = ArtifactReference::parse(text).unwrap();
            assert_eq!(reference.to_string(), shown);
            assert_eq!(ArtifactReference::parse(&shown).unwrap(), reference);
        }
    }

    #[test]
    fn reference_rejects_invalid_components() {
        for text in [
            "",
            "a",
            "/a",
            "host/",
            "host//a",
            "host/a/",
            "host/A",
            "host/a..b",
            "host/a._b",
            "host/a___b",
            "host/-a",
            "host/a-",
            "host/a:",
            "host/a:.x",
            "host/a:x:y",
            "host/a@",
            "host/a@sha256:12",
            "ho st/a",
            "host:/a",
            "host:0/a",
            "host:65536/a",
            "host:+1/a",
            "user@host/a",
            "ho_st/a",
            "-h/a",
            "[::1/a",
            "[::1]5/a",
            "[::g]/a",
            "1.2.3/a",
            "0x7f.1/a",
            "a.0x10/a",
            "host/ä",
            "höst/a",
            "host/a%2f",
            "https://host/a",
        ] {
            assert!(ArtifactReference::parse(text).is_err(), "{text:?}");
        }
        assert!(ArtifactReference::parse(&format!("host/{}", "a".repeat(256))).is_err());
        assert!(ArtifactReference::parse(&format!("host/a:{}", "a".repeat(129))).is_err());
        assert!(Repository::parse("host/a:tag").is_err());
    }

    #[test]
    fn loopback_hosts_are_recognized_by_their_address() {
        for host in ["localhost", "localhost:5000", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:80"] {
            assert!(RegistryHost::parse(host).unwrap().is_loopback(), "{host}");
        }
        for host in ["localhost.example", "127.0.0.1.example", "10.0.0.1", "[::2]", "example.com:5000"] {
            assert!(!RegistryHost::parse(host).unwrap().is_loopback(), "{host}");
        }
        assert_eq!(RegistryHost::parse("docker.io").unwrap().server(), "registry-1.docker.io");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,40}") {
            let _ = ArtifactReference::parse(&text);
        }

        #[test]
        fn parsed_references_are_displayed_and_parsed_again(text in "[a-z0-9.\\[\\]:-]{1,8}/[a-z0-9._/-]{1,12}(:[a-zA-Z0-9._-]{1,5})?") {
            if let Ok(reference) = ArtifactReference::parse(&text) {
                prop_assert_eq!(ArtifactReference::parse(&reference.to_string()).unwrap(), reference);
            }
        }
    }
}
