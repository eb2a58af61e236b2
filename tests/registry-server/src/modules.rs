//! The module registry protocol, `modules.v1`, and the archives of the registry's modules.

use bytes::Bytes;
use serde_json::json;

use crate::answer::{Answer, Incoming};
use crate::site::Site;

pub(crate) fn answer(site: &Site, request: &Incoming, path: &str) -> Answer {
    let parts: Vec<&str> = path.split('/').collect();
    let [namespace, name, system, ref rest @ ..] = parts[..] else { return Answer::not_found() };
    let address = format!("{namespace}/{name}/{system}");
    let Some(module) = site.description.modules.iter().find(|module| module.address == address) else {
        return Answer::not_found();
    };
    match rest {
        ["versions"] => {
            let versions: Vec<_> =
                module.versions.iter().map(|version| json!({ "version": version.version })).collect();
            Answer::json(&json!({ "modules": [{ "source": address, "versions": versions }] }))
        }
        [wanted, "download"] => {
            let Some(version) = module.versions.iter().find(|version| version.version == *wanted) else {
                return Answer::not_found();
            };
            let archive = format!("{}/module-archives/{address}/{wanted}.tar.gz", request.base);
            let source = version.source.as_ref().unwrap_or(&archive);
            if version.has_body {
                Answer::json(&json!({ "location": source, "use_registry_credentials": false }))
            } else if version.has_no_location {
                Answer::new(204, Bytes::new())
            } else {
                Answer::new(204, Bytes::new()).header("X-Terraform-Get", source.as_str())
            }
        }
        _ => Answer::not_found(),
    }
}

/// Responds with an archive: `NAMESPACE/NAME/SYSTEM/VERSION.tar.gz`.
pub(crate) fn archive(site: &Site, path: &str) -> Answer {
    let blob = site.module_archives.get(path);
    blob.map_or_else(Answer::not_found, |blob| Answer::blob(blob, "application/gzip"))
}
