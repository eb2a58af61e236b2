//! Versions of the plugin protocol that a native package serves.

use std::fmt;

use wardian_address::Version;

use super::listing::ProviderListing;
use crate::bounded_json::BoundedList;

/// The supported major versions.
const SUPPORTED: [u64; 2] = [5, 6];

/// Maximum number of protocols of one release.
const MAX_PROTOCOLS: usize = 64;
/// Maximum length of a protocol in bytes. Longer strings are not versions.
const MAX_PROTOCOL_BYTES: usize = 32;

/// The protocols of a release, as the registry returns them.
pub(super) type ProtocolList = BoundedList<String, MAX_PROTOCOLS>;

/// Returns the protocols that are valid versions, or a placeholder if there are only other strings.
pub(super) fn protocols(list: ProtocolList) -> Vec<String> {
    let is_empty = list.0.is_empty();
    let mut protocols: Vec<String> = list.0;
    protocols.retain(|protocol| protocol.len() <= MAX_PROTOCOL_BYTES);
    if protocols.is_empty() && !is_empty {
        protocols.push("unknown".to_owned());
    }
    protocols
}

/// A native package whose protocols are not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolMismatch {
    /// The protocols of the package.
    pub protocols: Vec<String>,
    /// The newest release with a supported protocol, according to the list of versions.
    pub closest: Option<Version>,
}

impl fmt::Display for ProtocolMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "its plugin protocols ({}) are not supported; only 5.x and 6.x are supported.",
            self.protocols.join(", ")
        )?;
        match &self.closest {
            Some(version) => write!(
                formatter,
                " Provider version {version} is the latest compatible version. Select it with the following \
                 version constraint:\n\tversion = \"{version}\""
            ),
            None => formatter
                .write_str(" No version of this provider is compatible; ask the publisher for one that is."),
        }
    }
}

/// Returns whether a package can be used. A package without protocols is used, as in Terraform.
pub(super) fn is_supported(protocols: &[String]) -> bool {
    protocols.is_empty()
        || protocols.iter().any(|protocol| major(protocol).is_some_and(|major| SUPPORTED.contains(&major)))
}

/// Returns the newest release in a list, other than `rejected`, with a supported protocol.
pub(super) fn closest(listing: &ProviderListing, rejected: &Version) -> Option<Version> {
    let candidates = listing.versions.iter().rev().filter(|(version, listed)| {
        *version != rejected && version.pre.is_empty() && is_supported(&listed.protocols)
    });
    candidates.map(|(version, _)| version.clone()).next()
}

fn major(protocol: &str) -> Option<u64> {
    protocol.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_five_and_six_are_supported() {
        let supported = |protocols: &[&str]| {
            is_supported(&protocols.iter().map(|protocol| (*protocol).to_owned()).collect::<Vec<_>>())
        };
        for good in [&[][..], &["5.0"], &["6.10"], &["5"], &["4.0", "5.1"], &["7.0", "6.0"]] {
            assert!(supported(good), "{good:?}");
        }
        for bad in [&["4.0"][..], &["7.0"], &["x"], &[""], &["50.0"], &["-5.0"]] {
            assert!(!supported(bad), "{bad:?}");
        }
    }
}
