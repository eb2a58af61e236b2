//! Platforms of packages.

use std::fmt;

/// The operating system of components.
const COMPONENT_OS: &str = "wasip2";
/// The architecture of components.
const COMPONENT_ARCHITECTURE: &str = "wasm";

const MAX_WORD_BYTES: usize = 32;

/// A platform with the names that Go uses, such as `linux` and `amd64`. `Display` shows `OS_ARCH`.
///
/// Both names consist of lower-case letters and digits, so they can be part of a URL or a file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePlatform {
    os: Box<str>,
    architecture: Box<str>,
}

impl PackagePlatform {
    /// Creates a platform; `None` if a name is invalid.
    pub fn new(os: &str, architecture: &str) -> Option<Self> {
        let is_word = |word: &str| {
            !word.is_empty()
                && word.len() <= MAX_WORD_BYTES
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        (is_word(os) && is_word(architecture))
            .then(|| Self { os: os.into(), architecture: architecture.into() })
    }

    /// Parses `OS_ARCH`.
    pub fn parse(text: &str) -> Option<Self> {
        let (os, architecture) = text.split_once('_')?;
        Self::new(os, architecture)
    }

    /// Returns the platform of components, `wasip2_wasm`.
    pub fn for_components() -> Self {
        Self { os: COMPONENT_OS.into(), architecture: COMPONENT_ARCHITECTURE.into() }
    }

    pub fn is_for_components(&self) -> bool {
        &*self.os == COMPONENT_OS && &*self.architecture == COMPONENT_ARCHITECTURE
    }

    pub fn os(&self) -> &str {
        &self.os
    }

    pub fn architecture(&self) -> &str {
        &self.architecture
    }
}

impl fmt::Display for PackagePlatform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}_{}", self.os, self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platform_is_os_and_architecture() {
        let platform = PackagePlatform::parse("linux_amd64").unwrap();
        assert_eq!((platform.os(), platform.architecture()), ("linux", "amd64"));
        assert_eq!(platform.to_string(), "linux_amd64");
        assert!(PackagePlatform::parse("wasip2_wasm").unwrap().is_for_components());
        assert_eq!(PackagePlatform::for_components().to_string(), "wasip2_wasm");
        for bad in ["", "linux", "linux_", "_amd64", "linux_amd64_v2", "Linux_amd64", "../x_y", "a/b_c"] {
            assert_eq!(PackagePlatform::parse(bad), None, "{bad}");
        }
    }
}
