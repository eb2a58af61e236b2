//! Code that the getters for buckets share: the objects of a package become the files of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use futures::{StreamExt as _, TryStreamExt as _};
use wardian_download::{Downloader, Fetch, Target};

use crate::cache::ModuleCacheError;
use crate::package_error::PackageError;
use crate::tree::{MAX_PACKAGE_BYTES, MAX_PATH_BYTES};

/// Maximum number of objects of a package.
pub(crate) const MAX_OBJECTS: usize = 100_000;
/// Maximum size of one page of an object listing.
pub(crate) const MAX_LIST_BYTES: u64 = 16 << 20;
/// The number of objects that are downloaded at the same time.
const CONCURRENT_DOWNLOADS: usize = 8;

/// A bucket that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    #[error("failed to list the objects in {location}: the server responded with {status}{}", advice(*is_anonymous, *status))]
    List { location: String, status: http::StatusCode, is_anonymous: bool },
    #[error("the list of the objects in {location} is invalid: {reason}")]
    InvalidList { location: String, reason: String },
    #[error("{location} contains no objects; check the address")]
    Empty { location: String },
    #[error("the object {name:?} cannot be used as a file of a module, because its name is unsafe")]
    UnsafeName { name: String },
    #[error("{location} contains more than {limit} objects")]
    TooManyObjects { location: String, limit: usize },
    #[error("the objects in {location} are larger than {limit} bytes in total")]
    TooLarge { location: String, limit: u64 },
    #[error("the URL of the object {name:?} cannot be created")]
    Url { name: String },
    /// The credentials cannot be read or used. The text contains no secrets.
    #[error("the credentials for {service} cannot be used: {reason}")]
    Credentials { service: &'static str, reason: String },
}

fn advice(is_anonymous: bool, status: http::StatusCode) -> &'static str {
    if is_anonymous && matches!(status.as_u16(), 401 | 403) {
        "; no credentials were found"
    } else if status.as_u16() == 403 {
        "; the credentials do not allow it, or they have expired"
    } else {
        ""
    }
}

pub(crate) struct PackageObject {
    /// The path of the file.
    pub path: PathBuf,
    pub size: u64,
    pub request: Fetch,
}

/// The objects of a package that have been listed so far.
#[derive(Default)]
pub(crate) struct ObjectList {
    pub objects: Vec<PackageObject>,
    bytes: u64,
}

impl ObjectList {
    pub(crate) fn add(&mut self, location: &str, object: PackageObject) -> Result<(), BucketError> {
        self.bytes = self.bytes.saturating_add(object.size);
        if self.bytes > MAX_PACKAGE_BYTES {
            return Err(BucketError::TooLarge { location: location.to_owned(), limit: MAX_PACKAGE_BYTES });
        }
        if self.objects.len() >= MAX_OBJECTS {
            return Err(BucketError::TooManyObjects { location: location.to_owned(), limit: MAX_OBJECTS });
        }
        self.objects.push(object);
        Ok(())
    }

    /// Downloads the objects to a new directory.
    pub(crate) async fn download(
        self,
        downloader: &Downloader,
        location: &str,
        tree: &Path,
        label: &str,
    ) -> Result<(), PackageError> {
        if self.objects.is_empty() {
            return Err(BucketError::Empty { location: location.to_owned() }.into());
        }
        let create =
            |path: &Path| fs::create_dir_all(path).map_err(|error| ModuleCacheError::new(path, error));
        create(tree)?;
        let downloads = futures::stream::iter(self.objects).map(|object| async move {
            let path = tree.join(&object.path);
            create(path.parent().unwrap_or(tree))?;
            let target = Target {
                path: &path,
                expected: None,
                max_bytes: object.size,
                size: Some(object.size),
                label,
            };
            downloader.download(object.request.redirects(0), target).await?;
            Ok(())
        });
        downloads.buffer_unordered(CONCURRENT_DOWNLOADS).try_collect().await
    }
}

/// Returns the path of the file for an object below a prefix, or `None` for an object that
/// represents a directory.
pub(crate) fn file_path(name: &str, prefix: &str) -> Result<Option<PathBuf>, BucketError> {
    let unsafe_name = || BucketError::UnsafeName { name: name.chars().take(200).collect() };
    let relative = name.strip_prefix(prefix).ok_or_else(unsafe_name)?;
    if relative.is_empty() || relative.ends_with('/') {
        return Ok(None);
    }
    let is_unsafe = relative.len() > MAX_PATH_BYTES
        || relative.contains('\\')
        || relative.chars().any(char::is_control)
        || relative.split('/').any(|part| matches!(part, "" | "." | ".."));
    if is_unsafe { Err(unsafe_name()) } else { Ok(Some(relative.into())) }
}

/// Returns the prefix of the objects in a directory.
pub(crate) fn directory_prefix(name: &str) -> String {
    format!("{}/", name.trim_end_matches('/'))
}

/// Encodes the name of an object for a URL. Slashes are not encoded.
pub(crate) fn encode_name(name: &str) -> String {
    encode(name, true)
}

/// Encodes the value of a query parameter.
pub(crate) fn encode_value(value: &str) -> String {
    encode(value, false)
}

fn encode(text: &str, keeps_slashes: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keeps_slashes && byte == b'/') {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push_str(&hex::encode_upper([byte]));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_names_become_paths_below_the_prefix() {
        let path = |name: &str| file_path(name, "modules/vpc/").ok();
        assert_eq!(path("modules/vpc/main.tf"), Some(Some("main.tf".into())));
        assert_eq!(path("modules/vpc/sub/a b.tf"), Some(Some("sub/a b.tf".into())));
        assert_eq!(path("modules/vpc/"), Some(None));
        assert_eq!(path("modules/vpc/sub/"), Some(None));
        for bad in [
            "modules/vpc2/main.tf",
            "modules/vpc/../x",
            "modules/vpc//x",
            "modules/vpc/./x",
            "modules/vpc/a\\..\\b",
            "modules/vpc/a\nb",
            "/etc/passwd",
        ] {
            assert_eq!(path(bad), None, "{bad}");
        }
        assert_eq!(directory_prefix("a/b"), "a/b/");
        assert_eq!(directory_prefix("a/b/"), "a/b/");
        assert_eq!(encode_name("a b/ü+'.tf"), "a%20b/%C3%BC%2B%27.tf");
    }
}
