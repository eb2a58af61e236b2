//! Packages in Amazon S3, and in services with the same protocol.
//!
//! A key with an archive suffix refers to one object; any other key refers to a directory, whose
//! objects become files. Requests are signed if credentials are available: in the source, in a
//! profile, in the environment, or from the machine's instance role if the caller allows it.
//! Otherwise, requests are anonymous.

mod credentials;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use roxmltree::Document;
use url::Url;
use wardian_aws::{SignedRequest, SigningKey, sign};
use wardian_download::{Downloader, Fetch, FetchError};
use wardian_module_source::{S3Endpoint, S3Location, TreeHash};

pub use self::credentials::S3Settings;
use super::archive::{ArchiveGetter, archive_format, blocking, file_name};
pub use super::bucket::BucketError;
use super::bucket::{
    MAX_LIST_BYTES, ObjectList, PackageObject, directory_prefix, encode_name, encode_value, file_path,
};
use crate::cache::{PackageKey, PackageRecord};
use crate::package_error::PackageError;

/// Fetches packages from buckets.
#[derive(Clone, Copy)]
pub(crate) struct S3Getter<'a> {
    pub archives: ArchiveGetter<'a>,
    pub settings: &'a S3Settings,
}

/// A bucket with the credentials for it.
struct Bucket<'a> {
    location: &'a S3Location,
    endpoint: Option<&'a Url>,
    region: String,
    key: Option<SigningKey>,
}

impl S3Getter<'_> {
    pub(crate) async fn fetch(&self, location: &S3Location) -> Result<PackageRecord, PackageError> {
        let downloader = self.archives.downloader;
        let key = self.settings.access_key(location, downloader).await?;
        let bucket = Bucket {
            location,
            endpoint: self.settings.endpoint.as_ref(),
            region: location.region.clone(),
            key,
        };
        let cache = self.archives.cache;
        // A version of an object never changes.
        let record_key = location.version.as_ref().map(|version| {
            PackageKey::new(
                "s3",
                &format!("{:?} {}/{}", location.endpoint, location.bucket, location.key),
                version,
            )
        });
        if let Some(record) = record_key.as_ref().and_then(|key| cache.record(key)) {
            return Ok(record);
        }
        let hash = match location.archive.format {
            Some(_) => self.fetch_archive(bucket).await?,
            None => self.fetch_directory(bucket).await?,
        };
        let record = PackageRecord { hash, commit: None, subdirectory: String::new() };
        if let Some(key) = record_key {
            cache.write_record(&key, &record)?;
        }
        Ok(record)
    }

    async fn fetch_archive(&self, mut bucket: Bucket<'_>) -> Result<TreeHash, PackageError> {
        let location = bucket.location;
        let url = bucket.object_url(&location.key)?;
        let checksum = self.archives.checksum(&location.archive, file_name(&url)).await?;
        let format = location.archive.format.and_then(archive_format);
        let fetched = self.archives.fetch(bucket.request(url.clone()), &url, format, checksum.clone()).await;
        match fetched {
            // The bucket may be in another region.
            Err(PackageError::Fetch(FetchError::Status { status, .. }))
                if matches!(status.as_u16(), 301 | 307 | 400)
                    && bucket.find_region(self.archives.downloader).await =>
            {
                let url = bucket.object_url(&location.key)?;
                self.archives.fetch(bucket.request(url.clone()), &url, format, checksum).await
            }
            fetched => fetched,
        }
    }

    async fn fetch_directory(&self, mut bucket: Bucket<'_>) -> Result<TreeHash, PackageError> {
        let location = bucket.location;
        let shown = format!("s3://{}/{}", location.bucket, location.key);
        let prefix = directory_prefix(&location.key);
        let mut objects = ObjectList::default();
        let mut continuation: Option<String> = None;
        let mut found_region = false;
        loop {
            let url = bucket.list_url(&prefix, continuation.as_deref())?;
            let request = bucket.request(url).redirects(0);
            let fetched = match self.archives.downloader.fetch(request, MAX_LIST_BYTES).await {
                Err(FetchError::Redirect { .. }) => None,
                fetched => Some(fetched?),
            };
            let status = fetched.as_ref().map_or(StatusCode::TEMPORARY_REDIRECT, |fetched| fetched.status);
            let page = match fetched {
                Some(fetched) if fetched.status == StatusCode::OK => {
                    let text = String::from_utf8_lossy(&fetched.body).into_owned();
                    ObjectPage::parse(&text)
                        .map_err(|reason| BucketError::InvalidList { location: shown.clone(), reason })?
                }
                fetched => {
                    let headers = fetched.map(|fetched| fetched.headers);
                    let is_other = headers.is_some_and(|headers| bucket.use_region_of(&headers))
                        || matches!(status.as_u16(), 301 | 307 | 400)
                            && bucket.find_region(self.archives.downloader).await;
                    if is_other && !found_region {
                        found_region = true;
                        continue;
                    }
                    let is_anonymous = bucket.key.is_none();
                    return Err(BucketError::List { location: shown, status, is_anonymous }.into());
                }
            };
            for (name, size) in page.objects {
                if let Some(path) = file_path(&name, &prefix)? {
                    let request = bucket.request(bucket.object_url(&name)?);
                    objects.add(&shown, PackageObject { path, size, request })?;
                }
            }
            match page.continuation {
                Some(next) if continuation.as_ref() != Some(&next) => continuation = Some(next),
                _ => break,
            }
        }
        let temporary = self.archives.cache.temporary_directory()?;
        let tree = temporary.path().join("tree");
        objects.download(self.archives.downloader, &shown, &tree, self.archives.label).await?;
        let cache = self.archives.cache.clone();
        blocking(move || Ok(cache.store(&tree)?)).await
    }
}

impl Bucket<'_> {
    /// Returns the URL of the bucket, which ends with a slash.
    fn url(&self) -> Result<Url, BucketError> {
        let name = &self.location.bucket;
        let wrong = || BucketError::Url { name: name.clone() };
        let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let text = match (&self.location.endpoint, self.endpoint) {
            (S3Endpoint::Other { origin }, _) => format!("{origin}{}/", encode_value(name)),
            (S3Endpoint::Amazon { .. }, Some(endpoint)) => {
                format!("{}/{}/", endpoint.as_str().trim_end_matches('/'), encode_value(name))
            }
            (S3Endpoint::Amazon { domain }, None) if name.bytes().all(is_label) => {
                format!("https://{name}.s3.{}.{domain}/", self.region)
            }
            (S3Endpoint::Amazon { domain }, None) => {
                format!("https://s3.{}.{domain}/{}/", self.region, encode_value(name))
            }
        };
        Url::parse(&text).map_err(|_| wrong())
    }

    fn object_url(&self, key: &str) -> Result<Url, BucketError> {
        let wrong = || BucketError::Url { name: key.to_owned() };
        // A URL cannot contain such names.
        if key.split('/').any(|name| matches!(name, "." | "..")) {
            return Err(wrong());
        }
        let mut text = format!("{}{}", self.url()?, encode_name(key));
        if let Some(version) = &self.location.version {
            text.push_str("?versionId=");
            text.push_str(&encode_value(version));
        }
        Url::parse(&text).map_err(|_| wrong())
    }

    fn list_url(&self, prefix: &str, continuation: Option<&str>) -> Result<Url, BucketError> {
        let mut url = self.url()?;
        // The query parameters are in the order in which they are signed.
        let continuation = continuation.map(|token| format!("continuation-token={}&", encode_value(token)));
        let query =
            format!("{}list-type=2&prefix={}", continuation.unwrap_or_default(), encode_value(prefix));
        url.set_query(Some(&query));
        Ok(url)
    }

    fn request(&self, url: Url) -> Fetch {
        let Some(key) = &self.key else { return Fetch::get(url) };
        self.signature(key, "GET", &url)
            .into_iter()
            .fold(Fetch::get(url), |fetch, (name, value)| fetch.header(name, value))
    }

    fn signature(&self, key: &SigningKey, method: &str, url: &Url) -> Vec<(HeaderName, HeaderValue)> {
        let request =
            SignedRequest { region: &self.region, service: "s3", method, url, headers: &[], body: b"" };
        sign(key, &request, jiff::Timestamp::now())
    }

    /// Requests the bucket's region from the server. Returns whether the region differs from the
    /// current region.
    async fn find_region(&mut self, downloader: &Downloader) -> bool {
        let Ok(url) = self.url() else { return false };
        let mut request = Fetch::head(url.clone()).redirects(0);
        if let Some(key) = &self.key {
            let headers = self.signature(key, "HEAD", &url);
            request = headers.into_iter().fold(request, |fetch, (name, value)| fetch.header(name, value));
        }
        match downloader.fetch(request, 0).await {
            Ok(fetched) => self.use_region_of(&fetched.headers),
            Err(_) => false,
        }
    }

    /// Uses the region in a response. Returns whether it differs from the current region.
    fn use_region_of(&mut self, headers: &HeaderMap) -> bool {
        let region = headers.get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
        let is_region = |region: &&str| {
            region.len() <= 40 && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        match region.filter(is_region) {
            Some(region) if region != self.region => {
                region.clone_into(&mut self.region);
                true
            }
            _ => false,
        }
    }
}

/// One page of an object listing.
struct ObjectPage {
    /// The names and sizes of objects.
    objects: Vec<(String, u64)>,
    continuation: Option<String>,
}

impl ObjectPage {
    fn parse(text: &str) -> Result<Self, String> {
        let document = Document::parse(text).map_err(|error| error.to_string())?;
        let root = document.root_element();
        if root.tag_name().name() != "ListBucketResult" {
            return Err(format!("the response contains {} instead of objects", root.tag_name().name()));
        }
        let child = |node: roxmltree::Node<'_, '_>, name: &str| {
            let found = node.children().find(|child| child.tag_name().name() == name);
            found.and_then(|child| child.text().map(str::to_owned))
        };
        let mut objects = Vec::new();
        for node in root.children().filter(|node| node.tag_name().name() == "Contents") {
            let size = child(node, "Size").and_then(|size| size.parse().ok());
            match (child(node, "Key"), size) {
                (Some(key), Some(size)) => objects.push((key, size)),
                _ => return Err("an object has no name or no size".to_owned()),
            }
        }
        let is_truncated = child(root, "IsTruncated").is_some_and(|value| value == "true");
        let continuation = child(root, "NextContinuationToken").filter(|_| is_truncated);
        if is_truncated && continuation.is_none() {
            return Err("the list is incomplete".to_owned());
        }
        Ok(Self { objects, continuation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_listing_page_is_parsed() {
        let text = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
            <IsTruncated>true</IsTruncated><NextContinuationToken>t/1</NextContinuationToken>\
            <Contents><Key>a/b&amp;c.tf</Key><Size>12</Size></Contents><Contents><Key>a/</Key><Size>0</Size></Contents>\
            </ListBucketResult>";
        let page = ObjectPage::parse(text).unwrap();
        assert_eq!(page.objects, [("a/b&c.tf".to_owned(), 12), ("a/".to_owned(), 0)]);
        assert_eq!(page.continuation.as_deref(), Some("t/1"));
        for bad in [
            "",
            "<html></html>",
            "<ListBucketResult>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
            "<!DOCTYPE a [<!ENTITY b \"cccc\">]><ListBucketResult>&b;</ListBucketResult>",
        ] {
            assert!(ObjectPage::parse(bad).is_err(), "{bad}");
        }
    }
}
