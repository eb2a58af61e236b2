//! Temporary credentials from the Security Token Service (STS).

use std::fmt::Write as _;

use http::header::{self, HeaderValue};
use http::{Method, StatusCode};
use jiff::Timestamp;
use roxmltree::Document;
use url::Url;
use wardian_download::{Downloader, Fetch};

use crate::encoding::encode_value;
use crate::error::{AwsError, AwsServiceError};
use crate::key::SigningKey;
use crate::signature::{SignedRequest, sign};

const MAX_BYTES: u64 = 1 << 20;
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";
const VERSION: &str = "2011-06-15";

/// The service of one region.
#[derive(Clone, Debug)]
pub(crate) struct TokenService {
    pub(crate) endpoint: Url,
    pub(crate) region: String,
}

impl TokenService {
    /// Calls an action that returns a key. Without a key, the request is not signed.
    pub(crate) async fn assume(
        &self,
        downloader: &Downloader,
        key: Option<&SigningKey>,
        action: &str,
        arguments: &[(String, String)],
    ) -> Result<SigningKey, AwsError> {
        let text = self.call(downloader, key, action, arguments).await?;
        parse_key(&text)
            .ok_or_else(|| AwsError(format!("the response of the token service to {action} contains no key")))
    }

    /// Returns the ID of the account to which a key belongs.
    pub(crate) async fn account(
        &self,
        downloader: &Downloader,
        key: &SigningKey,
    ) -> Result<String, AwsError> {
        let text = self.call(downloader, Some(key), "GetCallerIdentity", &[]).await?;
        let document = Document::parse(&text).ok();
        let account = document.as_ref().and_then(|document| {
            document.descendants().find(|node| node.tag_name().name() == "Account")?.text()
        });
        account
            .map(str::to_owned)
            .ok_or_else(|| AwsError("the response of the token service contains no account".to_owned()))
    }

    async fn call(
        &self,
        downloader: &Downloader,
        key: Option<&SigningKey>,
        action: &str,
        arguments: &[(String, String)],
    ) -> Result<String, AwsError> {
        let mut body = format!("Action={action}&Version={VERSION}");
        for (name, value) in arguments {
            let _ = write!(body, "&{}={}", encode_value(name), encode_value(value));
        }
        let mut request = Fetch::new(Method::POST, self.endpoint.clone())
            .redirects(0)
            .header(header::CONTENT_TYPE, HeaderValue::from_static(FORM));
        if let Some(key) = key {
            let signed = SignedRequest {
                region: &self.region,
                service: "sts",
                method: "POST",
                url: &self.endpoint,
                headers: &[("content-type", FORM.to_owned())],
                body: body.as_bytes(),
            };
            for (name, value) in sign(key, &signed, Timestamp::now()) {
                request = request.header(name, value);
            }
        }
        let response = downloader.fetch(request.body(body.into()), MAX_BYTES).await;
        let response = response.map_err(|error| AwsError(error.to_string()))?;
        if response.status != StatusCode::OK {
            let error = AwsServiceError::from_response(&response);
            return Err(AwsError(format!("the token service rejected {action}: {error}")));
        }
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }
}

fn parse_key(text: &str) -> Option<SigningKey> {
    let document = Document::parse(text).ok()?;
    let credentials = document.descendants().find(|node| node.tag_name().name() == "Credentials")?;
    let part = |name: &str| {
        let node = credentials.children().find(|node| node.tag_name().name() == name)?;
        node.text().map(|text| text.trim().to_owned())
    };
    Some(SigningKey {
        id: part("AccessKeyId")?,
        secret: part("SecretAccessKey")?,
        session_token: part("SessionToken"),
        expires: part("Expiration").and_then(|time| time.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_parsed() {
        let text = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult>\
            <Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s/+</SecretAccessKey>\
            <SessionToken>t==</SessionToken><Expiration>2026-01-02T03:04:05Z</Expiration></Credentials>\
            </AssumeRoleResult></AssumeRoleResponse>";
        let key = parse_key(text).unwrap();
        assert_eq!((&*key.id, &*key.secret, key.session_token.as_deref()), ("ASIA", "s/+", Some("t==")));
        assert_eq!(key.expires, "2026-01-02T03:04:05Z".parse().ok());
        for bad in
            ["", "<a/>", "<Credentials/>", "{}", "<Credentials><AccessKeyId>x</AccessKeyId></Credentials>"]
        {
            assert!(parse_key(bad).is_none(), "{bad}");
        }
    }
}
