//! Packages on HTTP servers.

use std::fmt;

use url::Url;

use super::{ArchiveOptions, Query, parse_url};
use crate::address_syntax::decode_percent;
use crate::error::PackageLocationError;
use crate::redaction::printable_address;

/// A package on an HTTP server: an archive, or a page that contains the address of the package.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpLocation {
    /// The URL without credentials and without the arguments of the getter.
    pub url: Url,
    pub credentials: Option<UrlCredentials>,
    pub archive: ArchiveOptions,
}

impl HttpLocation {
    pub(super) fn parse(text: &str) -> Result<Self, PackageLocationError> {
        let mut url = parse_url(text, "http", &["http", "https"], "http, https")?;
        let mut query = Query::new(&url);
        let archive = ArchiveOptions::take(&mut query, url.path())?;
        query.apply_to(&mut url);
        url.set_fragment(None);
        let credentials = UrlCredentials::take(&mut url);
        Ok(Self { url, credentials, archive })
    }
}

impl fmt::Debug for HttpLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpLocation")
            .field("url", &printable_address(self.url.as_str()))
            .field("credentials", &self.credentials)
            .field("archive", &self.archive)
            .finish()
    }
}

/// The user name and the password of a URL. `Debug` output does not contain them.
#[derive(Clone, PartialEq, Eq)]
pub struct UrlCredentials {
    pub user: String,
    pub password: String,
}

impl UrlCredentials {
    /// Removes the credentials from a URL.
    fn take(url: &mut Url) -> Option<Self> {
        let decode = |text: &str| String::from_utf8_lossy(&decode_percent(text)).into_owned();
        let user = decode(url.username());
        let password = url.password().map(decode);
        // These calls fail only for URLs without a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        (!user.is_empty() || password.is_some())
            .then(|| Self { user, password: password.unwrap_or_default() })
    }
}

impl fmt::Debug for UrlCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("UrlCredentials(redacted)")
    }
}
