//! The submodules of a commit: their directories, commits and URLs.
//!
//! The URL of a submodule comes from the repository, not from the user. It must be a URL of a
//! server or `[USER@]HOST:PATH`; repositories on this machine are rejected, as git rejects them in
//! submodules. A URL that begins with `./` or `../` is relative to the URL of the repository.

use std::collections::BTreeMap;

use url::Url;
use wardian_module_source::CommitId;

use super::GitError;
use super::repository::{GitRepository, RemoteUrl};
use crate::package_error::PackageError;
use crate::programs::ProgramError;

const SCHEMES: [&str; 4] = ["https", "http", "ssh", "git"];

/// A submodule to fetch.
pub(super) struct Submodule {
    pub(super) path: String,
    pub(super) commit: CommitId,
    pub(super) url: RemoteUrl,
}

/// Returns the submodules with the given directories and commits. Submodules that the repository
/// excludes from updates are omitted.
pub(super) async fn read(
    repository: &GitRepository<'_>,
    commit: &CommitId,
    found: Vec<(String, CommitId)>,
) -> Result<Vec<Submodule>, PackageError> {
    let blob = format!("--blob={commit}:.gitmodules");
    let output = match repository.run(&["config", "--null", &blob, "--list"], Vec::new()).await {
        Ok(output) => output,
        Err(ProgramError::Failed { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let settings = SubmoduleSettings::parse(&output);
    let mut submodules = Vec::new();
    for (path, commit) in found {
        let wrong = |reason: String| GitError::Submodule { path: path.clone(), reason };
        let Some(setting) = settings.by_path.get(&path) else {
            return Err(wrong("the file .gitmodules contains no URL for it".to_owned()).into());
        };
        if setting.update.as_deref() == Some("none") {
            continue;
        }
        let text = setting.url.as_deref().unwrap_or_default();
        let url = resolve(repository.remote().full(), text).map_err(|reason| wrong(reason.to_owned()))?;
        submodules.push(Submodule { path: path.clone(), commit, url });
    }
    Ok(submodules)
}

#[derive(Default)]
struct SubmoduleSetting {
    path: Option<String>,
    url: Option<String>,
    update: Option<String>,
}

/// The content of `.gitmodules`.
#[derive(Default)]
struct SubmoduleSettings {
    by_path: BTreeMap<String, SubmoduleSetting>,
}

impl SubmoduleSettings {
    /// Parses settings of the form `submodule.NAME.KEY<newline>VALUE<nul>`.
    fn parse(output: &[u8]) -> Self {
        let mut by_name: BTreeMap<String, SubmoduleSetting> = BTreeMap::new();
        for entry in String::from_utf8_lossy(output).split('\0') {
            let Some((key, value)) = entry.split_once('\n') else { continue };
            let parts = key.strip_prefix("submodule.").and_then(|rest| rest.rsplit_once('.'));
            let Some((name, key)) = parts else { continue };
            let setting = by_name.entry(name.to_owned()).or_default();
            match key {
                "path" => setting.path = Some(value.to_owned()),
                "url" => setting.url = Some(value.to_owned()),
                "update" => setting.update = Some(value.to_owned()),
                _ => {}
            }
        }
        let by_path = by_name.into_values().filter_map(|setting| Some((setting.path.clone()?, setting)));
        Self { by_path: by_path.collect() }
    }
}

/// Returns the URL of a submodule.
fn resolve(parent: &str, text: &str) -> Result<RemoteUrl, &'static str> {
    if text.is_empty() {
        return Err("the file .gitmodules contains no URL for it");
    }
    if text.starts_with('-') || text.chars().any(char::is_control) {
        return Err("its URL is invalid");
    }
    if text.starts_with("./") || text.starts_with("../") {
        let resolved = resolve_relative(parent, text).ok_or("its relative URL points outside the server")?;
        return resolve_absolute(&resolved);
    }
    resolve_absolute(text)
}

fn resolve_absolute(text: &str) -> Result<RemoteUrl, &'static str> {
    const LOCAL: &str = "its URL is a path on this machine";
    if text.contains("://") {
        let url = Url::parse(text).map_err(|_| "its URL is invalid")?;
        if url.scheme() == "file" {
            return Err(LOCAL);
        }
        let starts_with_dash = |text: Option<&str>| text.is_some_and(|text| text.starts_with(['-', '%']));
        let is_allowed = SCHEMES.contains(&url.scheme())
            && url.has_host()
            && !starts_with_dash(url.host_str())
            && !starts_with_dash(Some(url.username()))
            && !url.as_str().to_ascii_lowercase().contains("%0");
        return if is_allowed { Ok(RemoteUrl::from_url(url)) } else { Err("its URL cannot be used") };
    }
    // The notation `NAME::ADDRESS` would start another program.
    let Some((host, path)) = text.split_once(':') else { return Err(LOCAL) };
    if host.is_empty()
        || host.contains('/')
        || host.starts_with('-')
        || path.starts_with(':')
        || path.is_empty()
    {
        return Err(LOCAL);
    }
    Ok(RemoteUrl::from_scp_notation(text))
}

/// Resolves a relative URL against the URL of the parent repository. Returns `None` if the result
/// would be outside of the server's root.
fn resolve_relative(parent: &str, text: &str) -> Option<String> {
    let parent = parent.split(['?', '#']).next().unwrap_or_default();
    let (server, path) = match parent.find("://") {
        Some(at) => {
            let start = at + 3;
            let path = parent.get(start..)?.find('/').map(|slash| start + slash)?;
            (parent.get(..path)?, parent.get(path..)?)
        }
        None => parent.split_once(':')?,
    };
    let separator = if parent.contains("://") { '/' } else { ':' };
    let mut names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    (!names.is_empty()).then(|| format!("{server}{separator}{}", names.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(parent: &str, text: &str) -> Result<String, &'static str> {
        resolve(parent, text).map(|url| url.full().to_owned())
    }

    #[test]
    fn relative_urls_are_resolved() {
        let parent = "https://a.example/org/parent.git";
        for (text, expected) in [
            ("../child.git", "https://a.example/org/child.git"),
            ("./child", "https://a.example/org/parent.git/child"),
            ("../../other/child", "https://a.example/other/child"),
        ] {
            assert_eq!(resolved(parent, text).as_deref(), Ok(expected), "{text}");
        }
        assert!(resolved(parent, "../../../evil.example/x").is_err());
        assert!(resolved(parent, "../../../../x").is_err());
        assert_eq!(
            resolved("git@a.example:org/parent", "../child").as_deref(),
            Ok("git@a.example:org/child")
        );
        assert_eq!(resolved("git@a.example:parent", "../child").as_deref(), Ok("git@a.example:child"));
        assert!(resolved("file:///srv/parent", "../child").is_err());
    }

    #[test]
    fn submodule_urls_must_name_a_server() {
        for good in
            ["https://a.example/x", "ssh://git@a.example/x", "git@a.example:o/x.git", "git://a.example/x"]
        {
            assert_eq!(resolved("https://b.example/y", good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "/srv/x",
            "file:///srv/x",
            "ext::sh -c x",
            "ext::https://a/b",
            "fd::17",
            "-oProxyCommand=x",
            "--upload-pack=x",
            "ssh://-oProxyCommand=x/y",
            "ssh://%2doProxyCommand=x/y",
            "-oProxyCommand=x:y",
            "https://a.example/x%0ahost=evil",
            "ftp://a.example/x",
            "a/b:c",
            "a\nb",
            "x",
        ] {
            assert!(resolved("https://b.example/y", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn submodule_settings_are_found_by_path() {
        let output =
            b"submodule.a.b.path\nvendor/x\0submodule.a.b.url\nhttps://a/x\0submodule.c.update\nnone\0\
            core.bare\ntrue\0submodule.d.path\ny\0submodule.d.update\n!touch x\0";
        let settings = SubmoduleSettings::parse(output);
        assert_eq!(settings.by_path.len(), 2);
        assert_eq!(settings.by_path["vendor/x"].url.as_deref(), Some("https://a/x"));
        assert_eq!(settings.by_path["y"].url, None);
    }
}
