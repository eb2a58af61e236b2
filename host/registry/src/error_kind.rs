//! The classes of errors to which callers can respond differently.

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryErrorKind {
    /// The server does not have the provider, the module or the version, or the host has no such
    /// service.
    NotFound,
    /// The release has no package for this platform, or none with a supported protocol.
    Incompatible,
    /// There was no response: requests are disabled, or the server cannot be reached.
    Unreachable,
    /// The response is wrong, was rejected, or reports an error.
    Rejected,
}
