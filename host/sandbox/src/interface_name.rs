//! The names of component interfaces, compared as in the linker.

use std::fmt;

/// An interface on one semver track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceName<'a> {
    pub(crate) path: &'a str,
    pub(crate) major: u64,
    /// The minor version, which distinguishes semver tracks if `major` is 0.
    pub(crate) minor: u64,
}

impl<'a> InterfaceName<'a> {
    /// Returns an interface of WASI 0.2.
    pub(crate) const fn wasi(path: &'a str) -> Self {
        Self { path, major: 0, minor: 2 }
    }

    /// Parses `namespace:package/interface@version`; `None` if the name has a different form.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (path, version) = name.split_once('@')?;
        path.split_once('/')?;
        let version = semver::Version::parse(version).ok()?;
        // A pre-release version has no semver track.
        version.pre.is_empty().then_some(Self { path, major: version.major, minor: version.minor })
    }

    /// Whether both interfaces are on the same semver track.
    fn same_track(&self, other: &InterfaceName<'_>) -> bool {
        self.major == other.major && (self.major > 0 || self.minor == other.minor)
    }

    /// Whether a host with this interface can link a component that imports `wanted`.
    pub(crate) fn serves(&self, wanted: &InterfaceName<'_>) -> bool {
        self.path == wanted.path && self.same_track(wanted)
    }
}

impl fmt::Display for InterfaceName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.major > 0 {
            write!(f, "{}@{}", self.path, self.major)
        } else {
            write!(f, "{}@{}.{}", self.path, self.major, self.minor)
        }
    }
}
