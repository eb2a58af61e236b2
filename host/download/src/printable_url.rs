//! URLs in messages and logs.

use url::Url;

/// The query parameters whose values are printed. The value of any other parameter may be a secret,
/// for example the signature of a presigned URL.
const PUBLIC_PARAMETERS: [&str; 12] = [
    "archive",
    "artifactType",
    "checksum",
    "depth",
    "digest",
    "last",
    "n",
    "ref",
    "rev",
    "tag",
    "terraform-get",
    "version",
];

/// Maximum length of a printed URL in bytes.
const MAX_SHOWN_BYTES: usize = 1_000;

/// Returns a URL in its printable form: without user information and fragment, and without the
/// values of query parameters that may be secrets.
///
/// A parsed URL contains only ASCII characters, and no control characters.
pub fn printable_url(url: &Url) -> String {
    let mut shown = url.clone();
    // These calls fail only for URLs without a host, which have no user information.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    let query = shown.query().map(|query| {
        let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
            Some((name, "")) => format!("{name}="),
            Some((name, _)) if !PUBLIC_PARAMETERS.contains(&name) => format!("{name}=***"),
            None if !PUBLIC_PARAMETERS.contains(&parameter) && !parameter.is_empty() => "***".to_owned(),
            Some(_) | None => parameter.to_owned(),
        });
        parameters.collect::<Vec<_>>().join("&")
    });
    shown.set_query(query.as_deref());
    let mut text = String::from(shown);
    if text.len() > MAX_SHOWN_BYTES {
        let end = (0..=MAX_SHOWN_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(url: &str) -> String {
        printable_url(&Url::parse(url).unwrap())
    }

    #[test]
    fn printable_url_hides_secrets() {
        for (url, expected) in [
            ("https://a.example/b", "https://a.example/b"),
            ("https://me:pa55@a.example:8443/b#part", "https://a.example:8443/b"),
            ("https://token@a.example/", "https://a.example/"),
            (
                "https://a.example/x?ref=v1&X-Amz-Signature=5e",
                "https://a.example/x?ref=v1&X-Amz-Signature=***",
            ),
            ("https://a.example/x?5ecret", "https://a.example/x?***"),
            ("https://a.example/x?sig=&archive=zip", "https://a.example/x?sig=&archive=zip"),
            ("https://a.example/x?", "https://a.example/x?"),
            ("https://a.example/x?ref=a%0a%1b[31m", "https://a.example/x?ref=a%0a%1b[31m"),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
    }

    #[test]
    fn printable_url_is_short_ascii() {
        let long = shown(&format!("https://a.example/{}", "ü".repeat(4_000)));
        assert!(long.len() <= MAX_SHOWN_BYTES + 3 && long.is_ascii(), "{long}");
        assert!(shown("https://bücher.example/ü\u{202e}").is_ascii());
    }
}
