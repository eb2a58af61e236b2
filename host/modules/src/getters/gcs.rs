//! Packages in Google Cloud Storage, through its JSON API.
//!
//! A name with an archive suffix refers to one object; any other name refers to a directory, whose
//! objects become files. Requests are authorized if credentials are available, and otherwise
//! anonymous.

mod token;

use http::StatusCode;
use serde::Deserialize;
use url::Url;
use wardian_download::{Authorization, Fetch};
use wardian_module_source::{GcsLocation, TreeHash};

pub use self::token::GcsSettings;
use super::archive::{ArchiveGetter, archive_format, blocking};
use super::bucket::{
    BucketError, MAX_LIST_BYTES, ObjectList, PackageObject, directory_prefix, encode_value, file_path,
};
use crate::cache::{PackageKey, PackageRecord};
use crate::package_error::PackageError;

const ENDPOINT: &str = "https://storage.googleapis.com/";

/// Fetches packages from buckets.
#[derive(Clone, Copy)]
pub(crate) struct GcsGetter<'a> {
    pub archives: ArchiveGetter<'a>,
    pub settings: &'a GcsSettings,
}

/// A bucket with the authorization for it.
struct Bucket<'a> {
    location: &'a GcsLocation,
    endpoint: Url,
    authorization: Option<Authorization>,
}

impl GcsGetter<'_> {
    pub(crate) async fn fetch(&self, location: &GcsLocation) -> Result<PackageRecord, PackageError> {
        let cache = self.archives.cache;
        // A generation of an object never changes.
        let key = location.generation.as_ref().map(|generation| {
            PackageKey::new("gcs", &format!("{}/{}", location.bucket, location.object), generation)
        });
        if let Some(record) = key.as_ref().and_then(|key| cache.record(key)) {
            return Ok(record);
        }
        let authorization = self.settings.authorization(self.archives.downloader).await?;
        let endpoint = match &self.settings.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => Url::parse(ENDPOINT).map_err(|_| BucketError::Url { name: location.bucket.clone() })?,
        };
        let bucket = Bucket { location, endpoint, authorization };
        let hash = match location.archive.format {
            Some(format) => {
                let url = bucket.object_url(&location.object)?;
                let file = location.object.rsplit('/').next().unwrap_or_default();
                let checksum = self.archives.checksum(&location.archive, file).await?;
                self.archives
                    .fetch(bucket.request(url.clone()), &url, archive_format(format), checksum)
                    .await?
            }
            None => self.fetch_directory(&bucket).await?,
        };
        let record = PackageRecord { hash, commit: None, subdirectory: String::new() };
        if let Some(key) = key {
            cache.write_record(&key, &record)?;
        }
        Ok(record)
    }

    async fn fetch_directory(&self, bucket: &Bucket<'_>) -> Result<TreeHash, PackageError> {
        let location = bucket.location;
        let shown = format!("gs://{}/{}", location.bucket, location.object);
        let prefix = directory_prefix(&location.object);
        let mut objects = ObjectList::default();
        let mut next_page: Option<String> = None;
        loop {
            let page = next_page.as_ref().map(|page| format!("&pageToken={}", encode_value(page)));
            let query = format!("?prefix={}{}", encode_value(&prefix), page.unwrap_or_default());
            let request = bucket.request(bucket.url(&query)?).redirects(0);
            let fetched = self.archives.downloader.fetch(request, MAX_LIST_BYTES).await?;
            if fetched.status != StatusCode::OK {
                let is_anonymous = bucket.authorization.is_none();
                return Err(
                    BucketError::List { location: shown, status: fetched.status, is_anonymous }.into()
                );
            }
            let page: ObjectPage = serde_json::from_slice(&fetched.body).map_err(|error| {
                BucketError::InvalidList { location: shown.clone(), reason: error.to_string() }
            })?;
            for object in page.items {
                let size = object.size.parse().map_err(|_| BucketError::InvalidList {
                    location: shown.clone(),
                    reason: "an object has no size".to_owned(),
                })?;
                if let Some(path) = file_path(&object.name, &prefix)? {
                    let request = bucket.request(bucket.object_url(&object.name)?);
                    objects.add(&shown, PackageObject { path, size, request })?;
                }
            }
            match page.next_page_token.filter(|next| !next.is_empty()) {
                Some(next) if next_page.as_ref() != Some(&next) => next_page = Some(next),
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
    /// Returns the URL of the bucket's objects, followed by `rest`.
    fn url(&self, rest: &str) -> Result<Url, BucketError> {
        let bucket = encode_value(&self.location.bucket);
        let base = self.endpoint.as_str().trim_end_matches('/');
        Url::parse(&format!("{base}/storage/v1/b/{bucket}/o{rest}"))
            .map_err(|_| BucketError::Url { name: self.location.bucket.clone() })
    }

    /// Returns the URL of the content of an object.
    fn object_url(&self, name: &str) -> Result<Url, BucketError> {
        if matches!(name, "." | "..") {
            return Err(BucketError::Url { name: name.to_owned() });
        }
        let generation = self.location.generation.as_ref();
        let generation = generation.map(|generation| format!("&generation={}", encode_value(generation)));
        self.url(&format!("/{}?alt=media{}", encode_value(name), generation.unwrap_or_default()))
    }

    fn request(&self, url: Url) -> Fetch {
        match &self.authorization {
            Some(authorization) => Fetch::get(url).authorization(authorization.clone()),
            None => Fetch::get(url),
        }
    }
}

/// One page of an object listing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectPage {
    #[serde(default)]
    items: Vec<ObjectEntry>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct ObjectEntry {
    name: String,
    size: String,
}
