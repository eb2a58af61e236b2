//! Completes addresses without a scheme. The rules are tried in this order:
//!
//! | address | result |
//! |---|---|
//! | a URL with a scheme | unchanged |
//! | `github.com/OWNER/REPOSITORY[/SUB]` | `git::https://github.com/OWNER/REPOSITORY.git[//SUB]` |
//! | `git@HOST:PATH` | `git::ssh://git@HOST/PATH` |
//! | `bitbucket.org/PATH` | `git::https://bitbucket.org/PATH.git` |
//! | contains `googleapis.com/` | `gcs::https://www.googleapis.com/storage/VERSION/BUCKET/OBJECT` |
//! | contains `.amazonaws.com/` | `s3::https://ENDPOINT.amazonaws.com/BUCKET/OBJECT` |
//! | begins with `/` | `file:///PATH` |
//!
//! The results, including details such as the order of query parameters, are the same as
//! Terraform's, because Terraform compares them with `modules.json`.

use crate::address_syntax::{
    decode_percent, encode_host, encode_path, encode_query, has_valid_escapes, is_url, normalize_path,
    parse_query, split_forced_getter, split_query,
};
use crate::error::ModuleSourceError;
use crate::redaction::printable_address;

/// Returns the complete address. It may contain a subdirectory that a rule has found.
pub(crate) fn detect(package: &str) -> Result<String, ModuleSourceError> {
    let (forced, address) = split_forced_getter(package);
    if is_url(address) {
        return Ok(package.to_owned());
    }
    let Some(detected) = apply_rules(address)? else {
        return Err(ModuleSourceError::UnknownForm { address: printable_address(address) });
    };
    Ok(match forced.or(detected.getter) {
        Some(getter) => format!("{getter}::{}", detected.url),
        None => detected.url,
    })
}

struct Detected {
    getter: Option<&'static str>,
    url: String,
}

impl Detected {
    fn new(getter: &'static str, url: String) -> Self {
        Self { getter: Some(getter), url }
    }
}

fn apply_rules(address: &str) -> Result<Option<Detected>, ModuleSourceError> {
    if let Some(detected) = github(address)? {
        return Ok(Some(detected));
    }
    if let Some(detected) = git_over_ssh(address).or_else(|| bitbucket(address)) {
        return Ok(Some(detected));
    }
    if let Some(detected) = gcs(address)? {
        return Ok(Some(detected));
    }
    if let Some(detected) = s3(address)? {
        return Ok(Some(detected));
    }
    Ok(absolute_path(address))
}

fn with_query(url: String, query: Option<&str>) -> String {
    match query {
        Some(query) => format!("{url}?{query}"),
        None => url,
    }
}

fn github(address: &str) -> Result<Option<Detected>, ModuleSourceError> {
    let Some(rest) = address.strip_prefix("github.com/") else { return Ok(None) };
    let (path, query) = split_query(rest);
    let wrong = || ModuleSourceError::GitHubRepository { address: printable_address(address) };
    if !has_valid_escapes(path) {
        return Err(wrong());
    }
    let mut names = path.splitn(3, '/');
    let (Some(owner), Some(repository)) = (names.next(), names.next()) else { return Err(wrong()) };
    let repository = format!("/{owner}/{repository}");
    let repository = if has_git_suffix(&repository) {
        normalize_path(&repository)
    } else {
        encode_path(&[&decode_percent(&repository), b".git".as_slice()].concat())
    };
    let inner = names.next().map(|inner| inner.trim_matches('/')).unwrap_or_default();
    let separator = if inner.is_empty() { "" } else { "//" };
    let url = format!("https://github.com{repository}{separator}{inner}");
    Ok(Some(Detected::new("git", with_query(url, query))))
}

fn has_git_suffix(path: &str) -> bool {
    path.strip_suffix(".git").is_some()
}

fn git_over_ssh(address: &str) -> Option<Detected> {
    let (host, path) = address.strip_prefix("git@")?.split_once(':')?;
    let path = path.strip_prefix('/').unwrap_or(path);
    if host.is_empty() || path.is_empty() {
        return None;
    }
    let (path, query) = split_query(path);
    let query = query.map(|query| encode_query(parse_query(query))).filter(|query| !query.is_empty());
    let url = format!("ssh://git@{}/{}", encode_host(host), encode_path(path.as_bytes()));
    Some(Detected::new("git", with_query(url, query.as_deref())))
}

fn bitbucket(address: &str) -> Option<Detected> {
    let rest = address.strip_prefix("bitbucket.org/")?;
    let (path, query) = split_query(rest);
    let path = if has_git_suffix(path) {
        normalize_path(path)
    } else {
        encode_path(&[&decode_percent(path), b".git".as_slice()].concat())
    };
    Some(Detected::new("git", with_query(format!("https://bitbucket.org/{path}"), query)))
}

fn gcs(address: &str) -> Result<Option<Detected>, ModuleSourceError> {
    if !address.contains("googleapis.com/") {
        return Ok(None);
    }
    let (path, query) = split_query(address);
    let parts: Vec<&str> = path.splitn(5, '/').collect();
    let [_, _, version, bucket, object] = parts.as_slice() else {
        return Err(ModuleSourceError::GcsUrl { address: printable_address(address) });
    };
    let path = normalize_path(&format!("{version}/{bucket}/{object}"));
    Ok(Some(Detected::new("gcs", with_query(format!("https://www.googleapis.com/storage/{path}"), query))))
}

fn s3(address: &str) -> Result<Option<Detected>, ModuleSourceError> {
    if !address.contains(".amazonaws.com/") {
        return Ok(None);
    }
    let wrong = || ModuleSourceError::S3Url { address: printable_address(address) };
    let (path, query) = split_query(address);
    let (host, path) = path.split_once('/').ok_or_else(wrong)?;
    let labels: Vec<&str> = host.split('.').collect();
    let (endpoint, path) = match labels.as_slice() {
        [endpoint, _, _] => ((*endpoint).to_owned(), path.to_owned()),
        [bucket, endpoint, _, _] => ((*endpoint).to_owned(), format!("{bucket}/{path}")),
        [bucket, "s3", region, _, _] => (format!("s3.{region}"), format!("{bucket}/{path}")),
        _ => return Err(wrong()),
    };
    let url = format!("https://{}.amazonaws.com/{}", encode_host(&endpoint), normalize_path(&path));
    Ok(Some(Detected::new("s3", with_query(url, query))))
}

fn absolute_path(address: &str) -> Option<Detected> {
    address.starts_with('/').then(|| Detected { getter: None, url: format!("file://{address}") })
}
