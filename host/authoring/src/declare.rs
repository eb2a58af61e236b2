//! Adds capability requests to a component, for components that were built without the Rust SDK.
//!
//! The requests are stored in an additional custom section at the end of the file, in the format that
//! `wardian-declaration` reads. The other bytes of the component stay the same.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value, json};
use wardian_declaration::{InspectError, Inspected, MAX_DECLARATION_SIZE, SECTION_NAME, inspect};
use wasm_encoder::{CustomSection, Encode as _, Section as _};

/// The name of the declaring program in a declaration.
const DECLARED_BY: &str = concat!("wardian plugin declare ", env!("CARGO_PKG_VERSION"));

/// The capabilities that a component can declare.
pub const CAPABILITIES: [&str; 5] = ["network", "filesystem", "environment", "process", "communicator"];

/// Arguments whose value is one string. All other arguments are lists.
const TEXT_ARGUMENTS: [&str; 2] = ["program", "reason"];

/// A capability request that has not been checked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredCapability {
    pub capability: String,
    /// The arguments of the rule that grants the request, each with its values.
    pub arguments: Vec<(String, Vec<String>)>,
}

/// The reason why requests cannot be added to a component.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    #[error("no capability is given; name one, such as -network-host=api.example.com, or a file with -from")]
    Empty,
    #[error("the file of declarations is not valid: {0}")]
    Document(String),
    #[error("the component cannot be read: {0}")]
    Component(InspectError),
    #[error("the requests are not valid: {0}")]
    Requests(InspectError),
    #[error(
        "the component already declares each of these requests; nothing was written. `wardian plugin inspect` \
         prints its declaration"
    )]
    Unchanged,
}

/// Returns the document for these requests: one line of a declaration.
pub fn document(requests: &[DeclaredCapability]) -> String {
    let capabilities: Vec<Value> = requests
        .iter()
        .map(|request| {
            let arguments: Map<String, Value> = request
                .arguments
                .iter()
                .map(|(name, values)| {
                    let value = match values.as_slice() {
                        [one] if TEXT_ARGUMENTS.contains(&name.as_str()) => json!(one),
                        all => json!(all),
                    };
                    (name.clone(), value)
                })
                .collect();
            json!({ &request.capability: arguments })
        })
        .collect();
    json!({ "version": 1, "sdk": DECLARED_BY, "capabilities": capabilities }).to_string()
}

/// Converts a JSON file, which may contain line breaks, to one line of a declaration. The file
/// contains either a complete document or only the list of its capabilities.
///
/// # Errors
/// Returns an error if the file is not JSON, or is neither of the two.
pub fn document_from_json(text: &str) -> Result<String, DeclareError> {
    if text.len() > MAX_DECLARATION_SIZE {
        return Err(DeclareError::Document(format!("it is larger than {MAX_DECLARATION_SIZE} bytes")));
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| DeclareError::Document(error.to_string()))?;
    let document = match value {
        Value::Array(capabilities) => {
            json!({ "version": 1, "sdk": DECLARED_BY, "capabilities": capabilities })
        }
        Value::Object(object) if object.contains_key("capabilities") => {
            let mut document = object;
            document.entry("version").or_insert_with(|| json!(1));
            Value::Object(document)
        }
        _ => {
            let detail = "it must be a list of capabilities, such as \
                [{\"network\": {\"hosts\": [\"api.example.com\"], \"reason\": \"...\"}}]";
            return Err(DeclareError::Document(detail.to_owned()));
        }
    };
    Ok(document.to_string())
}

/// Returns the component with an additional declaration, and its requests before and after.
///
/// # Errors
/// Returns an error if the bytes are not a component, or the requests cannot be granted by a rule or
/// change nothing.
pub fn declare(
    component: &[u8],
    document: &str,
    root_module: &Path,
) -> Result<(Vec<u8>, Inspected), DeclareError> {
    let before = inspect(component, root_module).map_err(DeclareError::Component)?;
    let mut line = document.to_owned();
    line.push('\n');
    let section = CustomSection { name: Cow::Borrowed(SECTION_NAME), data: Cow::Borrowed(line.as_bytes()) };
    let mut bytes = component.to_vec();
    bytes.push(section.id());
    section.encode(&mut bytes);
    let after = inspect(&bytes, root_module).map_err(DeclareError::Requests)?;
    if after.declaration.requests == before.declaration.requests {
        return Err(DeclareError::Unchanged);
    }
    Ok((bytes, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    const ROOT: &str = "/";

    fn network() -> DeclaredCapability {
        DeclaredCapability {
            capability: "network".to_owned(),
            arguments: vec![
                ("hosts".to_owned(), vec!["api.example.com".to_owned()]),
                ("reason".to_owned(), vec!["manages zones".to_owned()]),
            ],
        }
    }

    fn add(component: &[u8], document: &str) -> Result<(Vec<u8>, Inspected), DeclareError> {
        declare(component, document, Path::new(ROOT))
    }

    #[test]
    fn declared_requests_can_be_inspected() {
        let (bytes, inspected) = add(COMPONENT, &document(&[network()])).unwrap();
        assert!(bytes.starts_with(COMPONENT));
        assert_eq!(inspected.declaration.requests.len(), 1);
        let request = &inspected.declaration.requests[0];
        assert_eq!((request.capability(), request.reason()), ("network", "manages zones"));
        assert!(inspected.declaration.sdks[0].starts_with("wardian plugin declare "));
        assert!(matches!(add(&bytes, &document(&[network()])), Err(DeclareError::Unchanged)));
    }

    #[test]
    fn second_declaration_adds_to_the_first() {
        let (bytes, _) = add(COMPONENT, &document(&[network()])).unwrap();
        let second =
            document_from_json("[{\"environment\": {\"names\": [\"A_*\"],\n\"reason\": \"settings\"}}]");
        let (_, inspected) = add(&bytes, &second.unwrap()).unwrap();
        assert_eq!(inspected.declaration.requests.len(), 2);
    }

    #[test]
    fn invalid_declarations_are_rejected() {
        for text in ["", "{", "3", "{}", "\"network\"", "null"] {
            assert!(matches!(document_from_json(text), Err(DeclareError::Document(_))), "{text}");
        }
        let big = format!("[\"{}\"]", "a".repeat(MAX_DECLARATION_SIZE));
        assert!(matches!(document_from_json(&big), Err(DeclareError::Document(_))));
        for text in [
            "[{\"magic\": {\"reason\": \"x\"}}]",
            "[{\"network\": {\"hosts\": [\"a b\"], \"reason\": \"x\"}}]",
        ] {
            let document = document_from_json(text).unwrap();
            assert!(matches!(add(COMPONENT, &document), Err(DeclareError::Requests(_))), "{text}");
        }
        let mut without_reason = network();
        without_reason.arguments.truncate(1);
        assert!(matches!(add(COMPONENT, &document(&[without_reason])), Err(DeclareError::Requests(_))));
        for bytes in [&b""[..], b"\0asm\x01\0\0\0", b"\x7fELF"] {
            assert!(matches!(add(bytes, &document(&[network()])), Err(DeclareError::Component(_))));
        }
    }
}
