//! Packages on HTTP servers: archives, and pages that refer to another location.
//!
//! A URL whose path does not end with an archive suffix is requested with the query parameter
//! `terraform-get=1`. The package's address is in the response's `X-Terraform-Get` header, or in
//! the element `<meta name="terraform-get" content="...">` in the head of an HTML page. A
//! subdirectory in that address becomes the root of the package.

use http::{HeaderName, StatusCode};
use url::Url;
use wardian_download::advice::ASK_OPERATOR;
use wardian_download::{Authorization, Fetch, FetchError, printable_url};
use wardian_module_source::{HttpLocation, TreeHash};

use super::archive::{ArchiveGetter, MAX_REDIRECTS, archive_format, file_name};
use crate::cache::{PackageKey, PackageRecord};
use crate::package_error::PackageError;

const LOCATION_HEADER: HeaderName = HeaderName::from_static("x-terraform-get");
const LOCATION_NAME: &str = "terraform-get";
const MAX_PAGE_BYTES: u64 = 1 << 20;
const MAX_LOCATION_BYTES: usize = 8 << 10;

/// A page without the location of a package.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    #[error(
        "no source URL was returned by {url}; check the address: it must be the URL of an archive, such as a zip \
         file, or its response must have the header X-Terraform-Get"
    )]
    NoLocation { url: String },
    #[error("the location that {url} returned is malformed; {ASK_OPERATOR}")]
    Malformed { url: String },
}

/// The response of an HTTP server.
pub(crate) enum HttpPackage {
    Tree(TreeHash),
    /// The address of the package.
    Location {
        url: Url,
        text: String,
    },
}

impl ArchiveGetter<'_> {
    /// Fetches an archive, or the address to which a page refers.
    pub(crate) async fn fetch_http(&self, location: &HttpLocation) -> Result<HttpPackage, PackageError> {
        let Some(format) = location.archive.format else {
            return self.fetch_page(location).await;
        };
        let checksum = self.checksum(&location.archive, file_name(&location.url)).await?;
        // A digest identifies the content, so it does not have to be fetched again.
        let key = checksum.as_ref().map(|checksum| {
            PackageKey::new(
                "archive",
                &format!("{} {format}", printable_url(&location.url)),
                &checksum.to_string(),
            )
        });
        if let Some(record) = key.as_ref().and_then(|key| self.cache.record(key)) {
            return Ok(HttpPackage::Tree(record.hash));
        }
        let request = authorize(Fetch::get(location.url.clone()), location);
        let hash = self.fetch(request, &location.url, archive_format(format), checksum).await?;
        if let Some(key) = key {
            let record = PackageRecord { hash, commit: None, subdirectory: String::new() };
            self.cache.write_record(&key, &record)?;
        }
        Ok(HttpPackage::Tree(hash))
    }

    async fn fetch_page(&self, location: &HttpLocation) -> Result<HttpPackage, PackageError> {
        let mut url = location.url.clone();
        url.query_pairs_mut().append_pair(LOCATION_NAME, "1");
        let request = authorize(Fetch::get(url), location).redirects(MAX_REDIRECTS);
        let fetched = self.downloader.fetch(request, MAX_PAGE_BYTES).await?;
        let shown = printable_url(&fetched.url);
        if !fetched.status.is_success() {
            return Err(FetchError::Status { url: shown, status: fetched.status }.into());
        }
        let in_header = fetched.headers.get(&LOCATION_HEADER).map(|value| value.to_str().map(str::to_owned));
        let text = match in_header {
            Some(Ok(text)) if !text.is_empty() => Some(text),
            Some(Err(_)) => return Err(PageError::Malformed { url: shown }.into()),
            _ if fetched.status == StatusCode::NO_CONTENT => None,
            _ => location_in_page(&String::from_utf8_lossy(&fetched.body)),
        };
        match text {
            None => Err(PageError::NoLocation { url: shown }.into()),
            Some(text) if text.len() > MAX_LOCATION_BYTES || text.chars().any(char::is_control) => {
                Err(PageError::Malformed { url: shown }.into())
            }
            Some(text) => Ok(HttpPackage::Location { url: fetched.url, text }),
        }
    }
}

fn authorize(request: Fetch, location: &HttpLocation) -> Fetch {
    match &location.credentials {
        Some(credentials) => {
            request.authorization(Authorization::basic(&credentials.user, &credentials.password))
        }
        None => request.with_netrc(),
    }
}

/// Returns the location in the head of an HTML page. The body is ignored, since it may contain text
/// by other authors.
fn location_in_page(page: &str) -> Option<String> {
    let mut rest = page;
    loop {
        rest = rest.get(rest.find('<')? + 1..)?;
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.get(comment.find("-->")? + 3..)?;
            continue;
        }
        let name_end =
            rest.find(|character: char| character.is_whitespace() || matches!(character, '>' | '/'));
        let name_end = match name_end {
            Some(0) if rest.starts_with('/') => rest.find('>')?,
            Some(end) => end,
            None => return None,
        };
        let (name, after) = rest.split_at(name_end);
        match name.to_ascii_lowercase().as_str() {
            "body" | "/head" => return None,
            "meta" => {
                let (attributes, after) = parse_attributes(after)?;
                let value = |name: &str| {
                    attributes
                        .iter()
                        .find(|(found, _)| found.eq_ignore_ascii_case(name))
                        .map(|(_, value)| value)
                };
                if value("name").is_some_and(|name| name == LOCATION_NAME)
                    && let Some(content) = value("content").filter(|content| !content.is_empty())
                {
                    return Some(content.clone());
                }
                rest = after;
            }
            // Scripts and styles contain text that looks like elements.
            "script" | "style" => {
                let end = format!("</{}", name.to_ascii_lowercase());
                let at = after.to_ascii_lowercase().find(&end)?;
                rest = after.get(at..)?;
            }
            _ => rest = after,
        }
    }
}

/// The attributes of an element, and the text after it.
type Attributes<'a> = (Vec<(String, String)>, &'a str);

fn parse_attributes(text: &str) -> Option<Attributes<'_>> {
    let mut attributes = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|character: char| character.is_whitespace() || character == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return Some((attributes, after));
        }
        let end =
            rest.find(|character: char| character.is_whitespace() || matches!(character, '=' | '>' | '/'))?;
        let (name, after) = rest.split_at(end);
        let after_name = after.trim_start();
        let Some(value) = after_name.strip_prefix('=') else {
            // An empty name cannot occur here, but the loop must advance in any case.
            rest = if end == 0 { after.get(1..)? } else { after };
            attributes.push((name.to_owned(), String::new()));
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next()? {
            quote @ ('"' | '\'') => {
                let inner = value.get(1..)?;
                let end = inner.find(quote)?;
                (inner.get(..end)?, inner.get(end + 1..)?)
            }
            _ => value.split_at(value.find(|character: char| character.is_whitespace() || character == '>')?),
        };
        attributes.push((name.to_owned(), decode_entities(value)));
        rest = after;
    }
}

fn decode_entities(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn location_is_read_from_the_html_head() {
        for (page, expected) in [
            (
                "<html><head><meta name=\"terraform-get\" content=\"https://a/x.zip\"></head>",
                Some("https://a/x.zip"),
            ),
            (
                "<META content='git::https://a/r?ref=1&amp;depth=1' NAME=terraform-get />",
                Some("git::https://a/r?ref=1&depth=1"),
            ),
            ("<!DOCTYPE html>\n<meta charset=utf-8><meta\nname = \"terraform-get\" content = x >", Some("x")),
            (
                "<script>if (a<b) '<meta name=\"terraform-get\" content=\"no\">'</script><meta name=terraform-get content=yes>",
                Some("yes"),
            ),
            ("<!-- <meta name=\"terraform-get\" content=\"no\"> -->", None),
            ("<html><body><meta name=\"terraform-get\" content=\"x\"></body>", None),
            ("<head></head><meta name=\"terraform-get\" content=\"x\">", None),
            ("<meta name=\"other\" content=\"x\">", None),
            ("<meta name=\"terraform-get\">", None),
            ("<meta name=\"terraform-get\" content=\"x", None),
            ("not a page", None),
            ("", None),
        ] {
            assert_eq!(location_in_page(page).as_deref(), expected, "{page}");
        }
    }

    proptest! {
        #[test]
        fn parsing_any_page_never_panics(page in "([<>/=\"' a-z!&;-]|meta|head|\\PC){0,80}") {
            let _ = location_in_page(&page);
        }
    }
}
