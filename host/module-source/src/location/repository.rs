//! Git and Mercurial repositories.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::{ArchiveOptions, Query, parse_url};
use crate::address_syntax::decode_percent;
use crate::error::PackageLocationError;
use crate::redaction::printable_address;

const MAX_SSH_KEY_BYTES: usize = 64 << 10;

/// A package in a Git repository.
#[derive(Clone, PartialEq, Eq)]
pub struct GitLocation {
    /// The URL of the repository, which may contain a password.
    pub url: Url,
    /// A branch, tag or commit; `None` selects the default branch.
    pub reference: Option<String>,
    /// The number of commits that are fetched; `None` selects the complete history.
    pub depth: Option<u32>,
    pub ssh_key: Option<SshKey>,
}

impl GitLocation {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];
        let mut url = parse_url(text, "git", &SCHEMES, "https, http, ssh, git, file")?;
        let mut query = Query::new(&url);
        let reference = query.take("ref").filter(|reference| !reference.is_empty());
        check_revision(reference.as_deref(), "ref")?;
        // Terraform ignores a depth that is not a positive number.
        let depth = query.take("depth").and_then(|depth| depth.parse().ok()).filter(|depth| *depth > 0);
        let ssh_key = query.take("sshkey").filter(|key| !key.is_empty());
        let ssh_key = ssh_key.map(|key| SshKey::parse(&key)).transpose()?;
        ArchiveOptions::reject(&mut query, "git")?;
        query.apply_to(&mut url);
        check_repository_url(&url)?;
        Ok(Self { url, reference, depth, ssh_key })
    }
}

impl fmt::Debug for GitLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GitLocation")
            .field("url", &printable_address(self.url.as_str()))
            .field("reference", &self.reference)
            .field("depth", &self.depth)
            .field("ssh_key", &self.ssh_key)
            .finish()
    }
}

/// A package in a Mercurial repository.
#[derive(Clone, PartialEq, Eq)]
pub struct MercurialLocation {
    /// The URL of the repository, which may contain a password.
    pub url: Url,
    /// A branch, tag or revision; `None` selects the default branch.
    pub revision: Option<String>,
}

impl MercurialLocation {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        const SCHEMES: [&str; 4] = ["https", "http", "ssh", "file"];
        let mut url = parse_url(text, "hg", &SCHEMES, "https, http, ssh, file")?;
        let mut query = Query::new(&url);
        let revision = query.take("rev").filter(|revision| !revision.is_empty());
        check_revision(revision.as_deref(), "rev")?;
        ArchiveOptions::reject(&mut query, "hg")?;
        query.apply_to(&mut url);
        check_repository_url(&url)?;
        Ok(Self { url, revision })
    }
}

impl fmt::Debug for MercurialLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MercurialLocation")
            .field("url", &printable_address(self.url.as_str()))
            .field("revision", &self.revision)
            .finish()
    }
}

/// Rejects a URL that a program could interpret as something else: ssh would interpret a host or
/// user that begins with a dash as an option, and a line break would end a line in the credential
/// helper protocol.
fn check_repository_url(url: &Url) -> Result<(), PackageLocationError> {
    let invalid = |reason: &str| PackageLocationError::InvalidUrl {
        address: printable_address(url.as_str()),
        reason: reason.to_owned(),
    };
    if decode_percent(url.as_str()).iter().any(|byte| byte.is_ascii_control()) {
        return Err(invalid("it contains an encoded control character"));
    }
    let looks_like_option = |text: &str| decode_percent(text).starts_with(b"-");
    if url.host_str().is_some_and(looks_like_option) || looks_like_option(url.username()) {
        return Err(invalid("a host or user name must not begin with a dash"));
    }
    if url.fragment().is_some() {
        return Err(invalid("a repository URL must not have a fragment; remove # and the text after it"));
    }
    Ok(())
}

fn check_revision(revision: Option<&str>, argument: &'static str) -> Result<(), PackageLocationError> {
    let is_unsafe = |revision: &str| revision.starts_with('-') || revision.chars().any(char::is_control);
    if revision.is_some_and(is_unsafe) {
        return Err(PackageLocationError::ArgumentLikeOption { argument });
    }
    Ok(())
}

/// The private key in the `sshkey` argument. `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct SshKey(Vec<u8>);

impl SshKey {
    fn parse(text: &str) -> Result<Self, PackageLocationError> {
        // An unescaped plus sign in a query represents a space.
        let text = text.replace(' ', "+");
        if text.len() > MAX_SSH_KEY_BYTES {
            return Err(PackageLocationError::InvalidSshKey);
        }
        STANDARD.decode(text.as_bytes()).map(Self).map_err(|_| PackageLocationError::InvalidSshKey)
    }

    /// Returns the content of the key file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SshKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SshKey(redacted)")
    }
}
