//! Certificates, keys and tokens in files that arguments and environment variables name.

use std::path::Path;

use wardian_files::read_regular;
use wardian_network::{TlsRoots, TlsSettings, Verification};

use crate::backend::BackendError;
use crate::host::BackendHost;

/// Maximum size of a file with certificates or tokens.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The files with certificates and keys in PEM format, each with its argument.
pub(crate) struct TlsFiles {
    pub(crate) authorities: (&'static str, Option<String>),
    pub(crate) certificate: (&'static str, Option<String>),
    pub(crate) key: (&'static str, Option<String>),
    pub(crate) verification: Verification,
}

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// Returns an error if a file cannot be used, or if only one of the certificate and its key is set.
    pub(crate) fn roots(self, host: &BackendHost) -> Result<TlsRoots, BackendError> {
        let read = |argument, path: &Option<String>| {
            path.as_ref().map(|path| read_argument_file(host, argument, path)).transpose()
        };
        let authorities = read(self.authorities.0, &self.authorities.1)?;
        let certificate = read(self.certificate.0, &self.certificate.1)?;
        let key = read(self.key.0, &self.key.1)?;
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err(incomplete(self.certificate.0, self.key.0)),
            (None, Some(_)) => return Err(incomplete(self.key.0, self.certificate.0)),
        };
        tls_roots(TlsSettings { authorities, identity, verification: self.verification })
    }
}

/// Returns the trusted certificates and the client's certificate.
///
/// # Errors
/// Returns an error if the settings cannot be used.
pub(crate) fn tls_roots(settings: TlsSettings) -> Result<TlsRoots, BackendError> {
    if settings.authorities.is_none()
        && settings.identity.is_none()
        && settings.verification == Verification::Full
    {
        return Ok(TlsRoots::from_system());
    }
    TlsRoots::from_settings(&settings).map_err(|error| {
        BackendError::new("Invalid TLS settings", format!("The TLS settings cannot be used: {error}."))
    })
}

fn incomplete(given: &'static str, missing: &str) -> BackendError {
    BackendError::for_argument(
        given,
        "Incomplete client certificate",
        format!("\"{given}\" is set, so \"{missing}\" must be set, too."),
    )
}

/// Reads a file that an argument names. Relative paths are relative to the configuration's directory.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(crate) fn read_argument_file(
    host: &BackendHost,
    argument: &'static str,
    path: &str,
) -> Result<Vec<u8>, BackendError> {
    let expanded = match (path.strip_prefix("~/"), &host.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => host.directory.join(Path::new(path)),
    };
    read_regular(&expanded, MAX_FILE_BYTES).map_err(|error| {
        BackendError::for_argument(
            argument,
            "File cannot be read",
            format!("The file {path} of the argument \"{argument}\" cannot be read: {error}."),
        )
    })
}
