//! Signature version 4 of Amazon Web Services.

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::key::SigningKey;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const CONTENT: HeaderName = HeaderName::from_static("x-amz-content-sha256");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// A request to be signed.
#[derive(Clone, Copy)]
pub struct SignedRequest<'a> {
    pub region: &'a str,
    /// The name of the service, such as `s3`.
    pub service: &'a str,
    pub method: &'a str,
    /// The URL. Its path must be encoded as it is signed, and its query must be sorted.
    pub url: &'a Url,
    /// Additional headers that are signed. Their names are in lower case.
    pub headers: &'a [(&'static str, String)],
    pub body: &'a [u8],
}

/// Returns the headers of a signed request, without the additional headers.
pub fn sign(key: &SigningKey, request: &SignedRequest<'_>, now: Timestamp) -> Vec<(HeaderName, HeaderValue)> {
    let SignedRequest { region, service, method, url, .. } = *request;
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = time.get(..8).unwrap_or_default();
    let content = hex::encode(Sha256::digest(request.body));
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut signed: Vec<(&str, String)> =
        vec![("host", host), ("x-amz-content-sha256", content.clone()), ("x-amz-date", time.clone())];
    if let Some(token) = &key.session_token {
        signed.push(("x-amz-security-token", token.clone()));
    }
    signed.extend(request.headers.iter().map(|(name, value)| (*name, value.trim().to_owned())));
    signed.sort();
    let headers = signed.iter().map(|(name, value)| format!("{name}:{value}")).collect::<Vec<_>>().join("\n");
    let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let query = canonical_query(url.query().unwrap_or_default());
    let canonical = format!("{method}\n{}\n{query}\n{headers}\n\n{names}\n{content}", url.path());
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let text = format!("{ALGORITHM}\n{time}\n{scope}\n{}", hex::encode(Sha256::digest(canonical.as_bytes())));
    let secret = format!("AWS4{}", key.secret);
    let signing_key = [day, region, service, "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, part| authenticate(&key, part.as_bytes()));
    let signature = hex::encode(authenticate(&signing_key, text.as_bytes()));
    let authorization =
        format!("{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", key.id);
    let headers = [(DATE, Some(time)), (CONTENT, Some(content)), (TOKEN, key.session_token.clone())];
    let headers = headers.into_iter().chain([(AUTHORIZATION, Some(authorization))]);
    headers
        .filter_map(|(name, value)| {
            let mut value = HeaderValue::from_str(&value?).ok()?;
            value.set_sensitive(name == AUTHORIZATION || name == TOKEN);
            Some((name, value))
        })
        .collect()
}

/// Sorts a query, and adds the equals sign to arguments without a value.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(&str, &str)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect();
    pairs.sort_unstable();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn authenticate(key: &[u8], text: &[u8]) -> Vec<u8> {
    // A key of any length is accepted.
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        }
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &Url) -> SignedRequest<'_> {
        SignedRequest { region: "us-east-1", service: "s3", method: "GET", url, headers: &[], body: b"" }
    }

    /// The examples in the documentation of Amazon S3, "Authenticating Requests: Using the
    /// Authorization Header".
    #[test]
    fn signatures_match_the_aws_documentation() {
        let key = SigningKey::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None);
        let now: Timestamp = "2013-05-24T00:00:00Z".parse().unwrap();
        for (query, signature) in [
            ("?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            ("?max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ] {
            let url = Url::parse(&format!("https://examplebucket.s3.amazonaws.com/{query}")).unwrap();
            let headers = sign(&key, &read(&url), now);
            let (_, value) = headers.last().unwrap();
            assert_eq!(
                value.to_str().unwrap(),
                format!(
                    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                     SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={signature}"
                )
            );
        }
    }

    /// An example of a write in the same documentation.
    #[test]
    fn signature_of_write_matches_the_aws_documentation() {
        let key = SigningKey::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None);
        let url = Url::parse("https://examplebucket.s3.amazonaws.com/test%24file.text").unwrap();
        let headers = [
            ("date", "Fri, 24 May 2013 00:00:00 GMT".to_owned()),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY".to_owned()),
        ];
        let request = SignedRequest {
            region: "us-east-1",
            service: "s3",
            method: "PUT",
            url: &url,
            headers: &headers,
            body: b"Welcome to Amazon S3.",
        };
        let headers = sign(&key, &request, "2013-05-24T00:00:00Z".parse().unwrap());
        let (_, value) = headers.last().unwrap();
        let signature = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd";
        assert!(value.to_str().unwrap().ends_with(signature));
    }

    #[test]
    fn session_token_is_signed() {
        let key = SigningKey::new("i", "s", Some("t".into()));
        let url = Url::parse("http://127.0.0.1:9000/bucket/key").unwrap();
        let headers = sign(&key, &read(&url), Timestamp::UNIX_EPOCH);
        assert!(headers.iter().any(|(name, value)| *name == TOKEN && value.is_sensitive()));
        let (_, value) = headers.last().unwrap();
        assert!(value.to_str().unwrap().contains("x-amz-date;x-amz-security-token"));
    }
}
