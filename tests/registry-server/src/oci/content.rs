//! Artifacts in the layout that OpenTofu documents for its mirrors and module packages, and the
//! standard artifact of WebAssembly components.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::oci::{INDEX, MANIFEST, OciStore, digest};
use crate::packages::Blob;
use crate::site::{COMPONENT_PLATFORM, Release, archive};

const PROVIDER: &str = "application/vnd.opentofu.provider";
const PROVIDER_TARGET: &str = "application/vnd.opentofu.provider-target";
const MODULE: &str = "application/vnd.opentofu.modulepkg";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// Adds a version of a provider: an index with an entry for each package.
pub(crate) fn add_provider(store: &mut OciStore, repository: &str, release: &Release) {
    let mut entries = Vec::new();
    for (platform, name) in &release.packages {
        if platform == COMPONENT_PLATFORM {
            continue;
        }
        let manifest = image(store, repository, PROVIDER_TARGET, &release.files[name]);
        let mut entry = put(store, repository, MANIFEST, &manifest);
        entry["artifactType"] = json!(PROVIDER_TARGET);
        let (os, architecture) = platform.split_once('_').unwrap_or((platform, ""));
        entry["platform"] = json!({ "os": os, "architecture": architecture });
        entries.push(entry);
    }
    if let Some(component) = &release.description.component {
        let mut entry = component_entry(store, repository, &Blob::from_file(component));
        entry["artifactType"] = json!(WASM_CONFIG);
        entry["platform"] = json!({ "os": "wasip2", "architecture": "wasm" });
        entries.push(entry);
    }
    let index =
        json!({ "schemaVersion": 2, "mediaType": INDEX, "artifactType": PROVIDER, "manifests": entries });
    let tag = release.description.version.replace('+', "_");
    store.put_manifest(repository, &tag, INDEX, Blob::new(index.to_string()));
}

/// Adds a module package under a tag.
pub(crate) fn add_module(
    store: &mut OciStore,
    repository: &str,
    tag: &str,
    files: &BTreeMap<String, String>,
) {
    let package = Blob::new(archive(files, "zip"));
    let manifest = image(store, repository, MODULE, &package);
    store.put_manifest(repository, tag, MANIFEST, Blob::new(manifest.to_string()));
}

/// Stores a zip file, and returns the manifest of an image with this layer.
fn image(store: &mut OciStore, repository: &str, kind: &str, package: &Blob) -> Value {
    let empty = Blob::new("{}");
    store.put_blob(repository, empty.clone());
    store.put_blob(repository, package.clone());
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": kind,
        "config": { "mediaType": EMPTY, "digest": digest(&empty), "size": empty.size },
        "layers": [{ "mediaType": "archive/zip", "digest": digest(package), "size": package.size }],
    })
}

fn component_entry(store: &mut OciStore, repository: &str, component: &Blob) -> Value {
    let configuration = Blob::new(
        json!({
            "created": "2025-02-01T00:00:00Z",
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [digest(component)],
            "component": { "exports": [], "imports": [] },
        })
        .to_string(),
    );
    store.put_blob(repository, configuration.clone());
    store.put_blob(repository, component.clone());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": { "mediaType": WASM_CONFIG, "digest": digest(&configuration), "size": configuration.size },
        "layers": [
            { "mediaType": "application/wasm", "digest": digest(component), "size": component.size },
        ],
    });
    put(store, repository, MANIFEST, &manifest)
}

/// Stores a manifest without a tag and returns its descriptor.
fn put(store: &mut OciStore, repository: &str, media_type: &str, manifest: &Value) -> Value {
    let blob = Blob::new(manifest.to_string());
    let descriptor = json!({ "mediaType": media_type, "digest": digest(&blob), "size": blob.size });
    let reference = digest(&blob);
    store.put_manifest(repository, &reference, media_type, blob);
    descriptor
}
