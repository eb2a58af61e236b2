//! The provider registry protocol, `providers.v1`, and the files of releases.

use serde_json::json;

use crate::answer::{Answer, Incoming};
use crate::description::ComponentChannel;
use crate::site::{COMPONENT_PLATFORM, Release, Site};

pub(crate) fn answer(site: &Site, request: &Incoming, path: &str) -> Answer {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [namespace, kind, "versions"] => versions(site, &format!("{namespace}/{kind}")),
        [namespace, kind, version, "download", os, architecture] => {
            download(site, request, &format!("{namespace}/{kind}"), version, os, architecture)
        }
        _ => Answer::not_found(),
    }
}

fn versions(site: &Site, address: &str) -> Answer {
    let Some(provider) = site.description.providers.iter().find(|provider| provider.address == address)
    else {
        return Answer::not_found();
    };
    let releases = site.releases.get(address).map_or(&[][..], Vec::as_slice);
    let versions: Vec<_> = releases
        .iter()
        .map(|release| &release.description)
        .map(|version| {
            let mut platforms: Vec<&str> = version.platforms.iter().map(String::as_str).collect();
            if version.component.is_some() && version.component_channel == ComponentChannel::Platform {
                platforms.push(COMPONENT_PLATFORM);
            }
            let platforms: Vec<_> = platforms
                .iter()
                .filter_map(|platform| platform.split_once('_'))
                .map(|(os, architecture)| json!({ "os": os, "arch": architecture }))
                .collect();
            json!({ "version": version.version, "protocols": version.protocols, "platforms": platforms })
        })
        .collect();
    let mut document = json!({ "id": address, "versions": versions });
    if !provider.warnings.is_empty() {
        document["warnings"] = json!(provider.warnings);
    }
    Answer::json(&document)
}

fn download(
    site: &Site,
    request: &Incoming,
    address: &str,
    version: &str,
    os: &str,
    architecture: &str,
) -> Answer {
    let Some(release) = site.release(address, version).filter(|release| !release.description.is_withdrawn)
    else {
        return Answer::not_found();
    };
    let Some((name, package)) = release.package(&format!("{os}_{architecture}")) else {
        return Answer::not_found();
    };
    let kind = address.split('/').next_back().unwrap_or_default();
    let directory = format!("{}/releases/{address}/{version}", request.base);
    let sums = format!("{directory}/terraform-provider-{kind}_{version}_SHA256SUMS");
    let description = &release.description;
    let usual_url = format!("{directory}/{name}");
    Answer::json(&json!({
        "protocols": description.protocols,
        "os": os,
        "arch": architecture,
        "filename": name,
        "download_url": description.download_url.as_ref().unwrap_or(&usual_url),
        "shasums_url": sums,
        "shasums_signature_url": format!("{sums}.sig"),
        "shasum": description.shasum.as_ref().unwrap_or(&package.sha256),
        "signing_keys": { "gpg_public_keys": keys(release) },
    }))
}

fn keys(release: &Release) -> Vec<serde_json::Value> {
    let keys = release.keys.iter();
    keys.map(|(id, text)| {
        json!({
            "key_id": id,
            "ascii_armor": text,
            "trust_signature": release.trust,
            "source": "Acme",
            "source_url": "https://acme.example.test/keys",
        })
    })
    .collect()
}

/// Responds with a file of a release: `NAMESPACE/TYPE/VERSION/NAME`.
pub(crate) fn file(site: &Site, path: &str) -> Answer {
    let found = path.rsplit_once('/').and_then(|(directory, name)| {
        let (address, version) = directory.rsplit_once('/')?;
        let release = site.release(address, version).filter(|release| !release.description.is_withdrawn)?;
        release.files.get(name)
    });
    found.map_or_else(Answer::not_found, |blob| Answer::blob(blob, "application/octet-stream"))
}
