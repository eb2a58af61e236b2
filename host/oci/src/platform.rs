//! Platforms in OCI image indexes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A platform with the names that Go uses, such as `linux` and `amd64`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OciPlatform {
    #[serde(default)]
    pub architecture: String,
    #[serde(default)]
    pub os: String,
    /// A version of the operating system that the content requires.
    #[serde(rename = "os.version", default, skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
}

impl OciPlatform {
    pub fn new(os: &str, architecture: &str) -> Self {
        Self { architecture: architecture.to_owned(), os: os.to_owned(), os_version: None }
    }

    /// Returns the platform of components.
    pub fn for_components() -> Self {
        Self::new("wasip2", "wasm")
    }

    /// Parses `OS_ARCH`, as in package file names: two words of lower-case letters and digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_word = |word: &str| {
            !word.is_empty()
                && word.len() <= 32
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let (os, architecture) = text.split_once('_')?;
        (is_word(os) && is_word(architecture)).then(|| Self::new(os, architecture))
    }

    /// Returns whether this is the platform of components.
    pub fn is_component(&self) -> bool {
        self.os == "wasip2" && self.architecture == "wasm"
    }

    /// Returns whether content for this platform is usable on `machine`. Content for a specific
    /// version of an operating system is not usable, because the machine's version is unknown.
    pub(crate) fn matches(&self, machine: &Self) -> bool {
        self.os == machine.os
            && self.architecture == machine.architecture
            && self.os_version.as_deref().unwrap_or_default().is_empty()
    }
}

impl fmt::Display for OciPlatform {
    /// Writes `OS_ARCH`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}_{}", self.os, self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platform_is_os_and_architecture() {
        assert_eq!(OciPlatform::parse("linux_amd64"), Some(OciPlatform::new("linux", "amd64")));
        assert!(OciPlatform::parse("wasip2_wasm").unwrap().is_component());
        for bad in ["", "linux", "linux_", "_amd64", "linux_amd64_v2", "Linux_amd64", "linux-x_1"] {
            assert_eq!(OciPlatform::parse(bad), None, "{bad}");
        }
    }
}
