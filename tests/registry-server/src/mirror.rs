//! The network mirror protocol. The mirror has the providers of the registry under every host name.

use serde_json::{Map, json};

use crate::answer::Answer;
use crate::site::Site;

/// Returns whether a path refers to a document, not to a package.
pub(crate) fn is_document(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "json")
}

/// Responds with a document: `HOST/NAMESPACE/TYPE/index.json`, or `VERSION.json`.
pub(crate) fn answer(site: &Site, path: &str) -> Answer {
    let parts: Vec<&str> = path.split('/').collect();
    let [_, namespace, kind, name] = parts[..] else { return Answer::not_found() };
    let address = format!("{namespace}/{kind}");
    let Some(releases) = site.releases.get(&address) else { return Answer::not_found() };
    if name == "index.json" {
        let versions: Map<_, _> =
            releases.iter().map(|release| (release.description.version.clone(), json!({}))).collect();
        return Answer::json(&json!({ "versions": versions }));
    }
    let release = name.strip_suffix(".json").and_then(|version| site.release(&address, version));
    let Some(release) = release.filter(|release| !release.description.is_withdrawn) else {
        return Answer::not_found();
    };
    let archives: Map<_, _> = release
        .packages
        .iter()
        .map(|(platform, file)| {
            let mut archive = json!({ "url": file });
            match &release.description.mirror_hashes {
                Some(hashes) if hashes.is_empty() => {}
                Some(hashes) => archive["hashes"] = json!(hashes),
                None => archive["hashes"] = json!([format!("zh:{}", release.files[file].sha256)]),
            }
            (platform.clone(), archive)
        })
        .collect();
    Answer::json(&json!({ "archives": archives }))
}

/// Responds with a package: `HOST/NAMESPACE/TYPE/FILE`.
pub(crate) fn package(site: &Site, path: &str) -> Answer {
    let parts: Vec<&str> = path.split('/').collect();
    let [_, namespace, kind, name] = parts[..] else { return Answer::not_found() };
    let releases = site.releases.get(&format!("{namespace}/{kind}"));
    let blob = releases.and_then(|releases| releases.iter().find_map(|release| release.files.get(name)));
    blob.map_or_else(Answer::not_found, |blob| Answer::blob(blob, "application/zip"))
}
