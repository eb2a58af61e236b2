//! Errors of services and of credentials.

use http::StatusCode;
use roxmltree::Document;
use wardian_download::Fetched;

/// Credentials that cannot be found or used. The text contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AwsError(pub String);

/// The error in a response of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsServiceError {
    pub status: StatusCode,
    /// The code, such as `NoSuchKey`; empty if the response contains none.
    pub code: String,
    pub message: String,
}

impl AwsServiceError {
    /// Reads the error in a response, which is XML or JSON.
    pub fn from_response(response: &Fetched) -> Self {
        let text = String::from_utf8_lossy(&response.body);
        let (code, message) = from_json(&text).or_else(|| from_xml(&text)).unwrap_or_default();
        Self { status: response.status, code, message }
    }
}

impl std::fmt::Display for AwsServiceError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.status)?;
        if !self.code.is_empty() {
            write!(formatter, ", {}", self.code)?;
        }
        if !self.message.is_empty() {
            write!(formatter, ": {}", self.message)?;
        }
        Ok(())
    }
}

fn from_json(text: &str) -> Option<(String, String)> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let part = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| value.get(*name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    let code = part(["__type", "code"]);
    // The code may have a prefix such as `com.amazonaws.dynamodb.v20120810#`.
    let code = code.rsplit('#').next().unwrap_or_default().to_owned();
    Some((code, part(["message", "Message"])))
}

fn from_xml(text: &str) -> Option<(String, String)> {
    let document = Document::parse(text.trim_start()).ok()?;
    let part = |name: &str| {
        let node = document.descendants().find(|node| node.tag_name().name() == name);
        node.and_then(|node| node.text()).unwrap_or_default().trim().to_owned()
    };
    Some((part("Code"), part("Message")))
}
