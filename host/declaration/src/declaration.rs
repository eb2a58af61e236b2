//! Parses the JSON documents of a declaration.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use sha2::{Digest as _, Sha256};
use wardian_policy::{CapabilityRequest, CapabilityRequestError, RuleArgument};

/// The supported version of the format.
const VERSION: u64 = 1;

/// Maximum number of capability requests of a component.
const MAX_REQUESTS: usize = 100;

/// Maximum length of an SDK's name.
const MAX_SDK_NAME_LENGTH: usize = 100;

/// The capabilities that a component declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    /// The SDKs that wrote the declaration, such as `wardian-sdk 0.1.0`; more than one if the
    /// component was linked from code of several SDKs.
    pub sdks: Vec<String>,
    pub requests: Vec<CapabilityRequest>,
}

/// The reason why a declaration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// A line is not a valid document.
    #[error("line {line}: {problem}")]
    Json {
        /// Line number, from 1.
        line: usize,
        problem: String,
    },
    /// The document has an unsupported version.
    #[error("line {line} has version {version}, but only version {VERSION} is supported")]
    Version {
        /// Line number, from 1.
        line: usize,
        version: u64,
    },
    /// The request cannot be granted by a rule.
    #[error("it requests {capability:?}, which no rule can grant: {problem}")]
    Request { capability: String, problem: CapabilityRequestError },
    /// There are too many requests.
    #[error("it requests more than {MAX_REQUESTS} capabilities")]
    TooMany,
    #[error("its SDK name is invalid")]
    Sdk,
}

/// The version of a document, which determines whether its other fields are supported.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "version")]
    _version: u64,
    #[serde(default)]
    sdk: Option<String>,
    capabilities: Vec<Pairs<Pairs<Value>>>,
}

impl Declaration {
    /// Parses documents, one per line.
    pub(crate) fn parse(lines: &[u8], root_module: &Path) -> Result<Self, DeclarationError> {
        let mut all = Self::default();
        for (index, line) in lines.split(|byte| *byte == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let line_number = index + 1;
            let wrong = |error: serde_json::Error| DeclarationError::Json {
                line: line_number,
                problem: printable(&error.to_string()),
            };
            let Versioned { version } = serde_json::from_slice(line).map_err(wrong)?;
            if version != VERSION {
                return Err(DeclarationError::Version { line: line_number, version });
            }
            all.add(serde_json::from_slice(line).map_err(wrong)?, root_module)?;
        }
        Ok(all)
    }

    fn add(&mut self, document: Document, root_module: &Path) -> Result<(), DeclarationError> {
        if let Some(sdk) = document.sdk {
            let is_name = (1..=MAX_SDK_NAME_LENGTH).contains(&sdk.len())
                && sdk.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            if !is_name {
                return Err(DeclarationError::Sdk);
            }
            if !self.sdks.contains(&sdk) {
                self.sdks.push(sdk);
            }
        }
        for Pairs(capability) in document.capabilities {
            for (name, Pairs(arguments)) in capability {
                let arguments = arguments.into_iter().map(|(name, Value(words))| (name, words));
                let request = CapabilityRequest::new(&name, arguments, root_module).map_err(|problem| {
                    DeclarationError::Request { capability: name.chars().take(32).collect(), problem }
                })?;
                if self.requests.contains(&request) {
                    continue;
                }
                if self.requests.len() >= MAX_REQUESTS {
                    return Err(DeclarationError::TooMany);
                }
                self.requests.push(request);
            }
        }
        Ok(())
    }

    /// Returns the SHA-256 of the requests, in hexadecimal.
    pub fn digest(&self) -> String {
        digest(&self.requests)
    }
}

/// Returns the SHA-256 of the rendered requests, in hexadecimal.
pub(crate) fn digest(requests: &[CapabilityRequest]) -> String {
    let mut hasher = Sha256::new();
    for request in requests {
        hasher.update(request.block("asks"));
    }
    hex::encode(hasher.finalize())
}

/// Returns the SHA-256 of a string, in hexadecimal.
pub(crate) fn text_digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// Removes control characters, since an error can contain text from the document.
fn printable(text: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_graphic() || *character == ' ';
    text.chars().filter(is_plain).take(200).collect()
}

/// The entries of an object in source order, with unique names.
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Pairs<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                /// Maximum number of entries, which is greater than the number of arguments of any
                /// rule.
                const MAX_ENTRIES: usize = 32;
                let mut pairs: Vec<(String, T)> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if pairs.len() >= MAX_ENTRIES || pairs.iter().any(|(earlier, _)| *earlier == name) {
                        return Err(A::Error::custom("duplicate name, or too many names"));
                    }
                    let value = map.next_value()?;
                    pairs.push((name, value));
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}

/// A string or a list of strings.
struct Value(RuleArgument);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = Value;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or a list of strings")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value(RuleArgument::String(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Value(RuleArgument::List(texts)))
            }
        }

        deserializer.deserialize_any(Texts)
    }
}
