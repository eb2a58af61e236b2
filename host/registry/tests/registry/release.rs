//! A release of the provider `example.com/ns/foo` on a server. The directory `release` contains its
//! keys, checksums and signatures.

use serde_json::{Value, json};
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;
use wardian_registry::providers::PackagePlatform;

use crate::server::{Answer, Server};

macro_rules! release_file {
    ($name:literal) => {
        include_bytes!(concat!("release/", $name)).as_slice()
    };
}
pub(crate) use release_file;

pub(crate) const VERSIONS: &str = "/p/ns/foo/versions";
pub(crate) const NATIVE: &str = "/p/ns/foo/1.0.0/download/linux/amd64";
pub(crate) const COMPONENT: &str = "/p/ns/foo/1.0.0/download/wasip2/wasm";
pub(crate) const SUMS: &str = "/f/terraform-provider-foo_1.0.0_SHA256SUMS";
pub(crate) const SIGNATURE: &str = "/f/terraform-provider-foo_1.0.0_SHA256SUMS.sig";

/// The contents of the files in the release.
pub(crate) const NATIVE_CONTENT: &str = "native\n";
pub(crate) const COMPONENT_CONTENT: &str = "component\n";
pub(crate) const ARCHIVE_CONTENT: &str = "component-archive\n";

pub(crate) fn address() -> ProviderAddress {
    ProviderAddress::parse("example.com/ns/foo").unwrap()
}

pub(crate) fn version() -> Version {
    Version::new(1, 0, 0)
}

pub(crate) fn linux() -> PackagePlatform {
    PackagePlatform::parse("linux_amd64").unwrap()
}

pub(crate) fn digest(content: &str) -> Sha256Digest {
    Sha256Digest::hash(content.as_bytes())
}

/// Returns the list of versions with only the version 1.0.0.
pub(crate) fn versions(platforms: &[&str]) -> Value {
    let platforms: Vec<Value> = platforms
        .iter()
        .map(|platform| {
            let (os, arch) = platform.split_once('_').unwrap();
            json!({"os": os, "arch": arch})
        })
        .collect();
    json!({"versions": [{"version": "1.0.0", "protocols": ["5.0"], "platforms": platforms}]})
}

/// Returns a key as a registry publishes it.
pub(crate) fn key(armored: &[u8]) -> Value {
    json!({"key_id": "ignored", "ascii_armor": String::from_utf8(armored.to_vec()).unwrap()})
}

/// Returns the description of a package.
pub(crate) fn document(platform: &str, extension: &str, content: &str) -> Value {
    let (os, arch) = platform.split_once('_').unwrap();
    let file_name = format!("terraform-provider-foo_1.0.0_{platform}.{extension}");
    json!({
        "protocols": ["5.0"], "os": os, "arch": arch,
        "filename": file_name,
        "download_url": format!("/f/{file_name}"),
        "shasums_url": SUMS,
        "shasums_signature_url": SIGNATURE,
        "shasum": digest(content).to_string(),
        "signing_keys": {"gpg_public_keys": [key(release_file!("author.asc"))]},
    })
}

/// Returns the description of the native package.
pub(crate) fn native_document() -> Value {
    document("linux_amd64", "zip", NATIVE_CONTENT)
}

/// Publishes the native package, without a component.
pub(crate) fn publish_native(server: &Server) {
    server
        .answer(VERSIONS, Answer::json(&versions(&["linux_amd64", "windows_amd64"])))
        .answer(NATIVE, Answer::json(&native_document()));
    publish_checksums(server, release_file!("native.sums"), release_file!("native.sig"));
}

pub(crate) fn publish_checksums(server: &Server, sums: &[u8], signature: &[u8]) {
    server
        .answer(SUMS, Answer::bytes("text/plain", sums))
        .answer(SIGNATURE, Answer::bytes("application/octet-stream", signature));
}
