//! The repositories of the OCI registry: blobs, manifests, tags, uploads and tokens.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::oci::digest;
use crate::packages::Blob;

#[derive(Debug, Default)]
struct Repository {
    blobs: BTreeMap<String, Blob>,
    /// Media types and documents, by digest.
    manifests: BTreeMap<String, (String, Blob)>,
    tags: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
pub(crate) struct OciStore {
    repositories: BTreeMap<String, Repository>,
    uploads: BTreeMap<String, Vec<u8>>,
    tokens: Vec<String>,
}

impl OciStore {
    pub(crate) fn issue_token(&mut self) -> String {
        let token = format!("oci-token-{}", self.tokens.len() + 1);
        self.tokens.push(token.clone());
        token
    }

    pub(crate) fn has_token(&self, token: &str) -> bool {
        self.tokens.iter().any(|issued| issued == token)
    }

    pub(crate) fn has_repository(&self, name: &str) -> bool {
        self.repositories.contains_key(name)
    }

    pub(crate) fn tags(&self, name: &str) -> Option<Vec<&str>> {
        Some(self.repositories.get(name)?.tags.keys().map(String::as_str).collect())
    }

    pub(crate) fn blob(&self, name: &str, digest: &str) -> Option<&Blob> {
        self.repositories.get(name)?.blobs.get(digest)
    }

    pub(crate) fn put_blob(&mut self, name: &str, blob: Blob) -> String {
        let digest = digest(&blob);
        self.repositories.entry(name.to_owned()).or_default().blobs.insert(digest.clone(), blob);
        digest
    }

    /// Makes a blob of another repository available in this repository.
    pub(crate) fn mount(&mut self, name: &str, from: &str, digest: &str) -> bool {
        let Some(blob) = self.blob(from, digest).cloned() else { return false };
        self.put_blob(name, blob);
        true
    }

    /// Returns the manifest and its media type, by tag or digest.
    pub(crate) fn manifest(&self, name: &str, reference: &str) -> Option<(&str, &Blob)> {
        let repository = self.repositories.get(name)?;
        let digest = repository.tags.get(reference).map_or(reference, String::as_str);
        repository.manifests.get(digest).map(|(media_type, blob)| (media_type.as_str(), blob))
    }

    pub(crate) fn put_manifest(&mut self, name: &str, reference: &str, media_type: &str, blob: Blob) {
        let digest = digest(&blob);
        let repository = self.repositories.entry(name.to_owned()).or_default();
        if !reference.starts_with("sha256:") {
            repository.tags.insert(reference.to_owned(), digest.clone());
        }
        repository.manifests.insert(digest, (media_type.to_owned(), blob));
    }

    /// Returns the first digest in a manifest or an index that the repository does not have.
    pub(crate) fn missing(&self, name: &str, document: &Value) -> Option<String> {
        let repository = self.repositories.get(name);
        let entries = |member: &str| document[member].as_array().cloned().unwrap_or_default();
        let blobs = entries("layers").into_iter().chain(document.get("config").cloned());
        let of = |entry: &Value| entry["digest"].as_str().unwrap_or_default().to_owned();
        blobs
            .map(|entry| of(&entry))
            .find(|digest| !repository.is_some_and(|repository| repository.blobs.contains_key(digest)))
            .or_else(|| {
                let mut manifests = entries("manifests").into_iter().map(|entry| of(&entry));
                manifests.find(|digest| {
                    !repository.is_some_and(|repository| repository.manifests.contains_key(digest))
                })
            })
    }

    /// Returns the descriptors of all manifests whose subject has this digest.
    pub(crate) fn referrers(&self, name: &str, subject: &str) -> Vec<Value> {
        let manifests = self.repositories.get(name).into_iter().flat_map(|repository| &repository.manifests);
        manifests
            .filter_map(|(digest, (media_type, blob))| {
                let document: Value = serde_json::from_slice(&blob.bytes()).ok()?;
                if document["subject"]["digest"].as_str() != Some(subject) {
                    return None;
                }
                let kind = document.get("artifactType").or_else(|| document["config"].get("mediaType"));
                let mut entry = json!({ "mediaType": media_type, "digest": digest, "size": blob.size });
                if let Some(kind) = kind {
                    entry["artifactType"] = kind.clone();
                }
                if let Some(annotations) = document.get("annotations") {
                    entry["annotations"] = annotations.clone();
                }
                Some(entry)
            })
            .collect()
    }

    pub(crate) fn start_upload(&mut self) -> String {
        let id = format!("upload-{}", self.uploads.len() + 1);
        self.uploads.insert(id.clone(), Vec::new());
        id
    }

    /// Adds bytes to an upload and returns its size.
    pub(crate) fn append(&mut self, id: &str, bytes: &[u8]) -> Option<usize> {
        let upload = self.uploads.get_mut(id)?;
        upload.extend_from_slice(bytes);
        Some(upload.len())
    }

    pub(crate) fn finish_upload(&mut self, id: &str) -> Option<Vec<u8>> {
        self.uploads.get_mut(id).map(std::mem::take)
    }
}
