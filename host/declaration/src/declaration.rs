//! The documents of a declaration.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use sha2::{Digest as _, Sha256};
use wardian_policy::{Asked, AskedProblem, Words};

/// The one version that there is.
const VERSION: u64 = 1;

/// The most capabilities of a component.
const MOST_CAPABILITIES: usize = 100;

/// The longest name of an SDK.
const MOST_SDK: usize = 100;

/// What a component says that it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    /// What it was written with, such as `wardian-sdk 0.1.0`; more than one where several
    /// parts of it say so.
    pub sdks: Vec<String>,
    /// What it asks for.
    pub asked: Vec<Asked>,
}

/// Why a declaration cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// A line is no document of that form.
    #[error("line {line}: {problem}")]
    Json {
        /// Which, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// It is of a form that is not known here.
    #[error("line {line} is of version {version}, and this program knows version {VERSION} only")]
    Version {
        /// Which, from 1.
        line: usize,
        /// What it says.
        version: u64,
    },
    /// Nothing can be granted for it.
    #[error("it asks for {capability:?}, for which there is no rule: {problem}")]
    Asked {
        /// What.
        capability: String,
        /// What is wrong.
        problem: AskedProblem,
    },
    /// There is too much of it.
    #[error("it asks for more than {MOST_CAPABILITIES} capabilities")]
    TooMany,
    /// What it was written with has no name.
    #[error("the name of its SDK is no name")]
    Sdk,
}

/// Enough to tell whether the rest is understood.
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
    /// Reads documents, one on each line.
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
            let is_name = (1..=MOST_SDK).contains(&sdk.len())
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
                let asked = Asked::new(&name, arguments, root_module).map_err(|problem| {
                    DeclarationError::Asked { capability: name.chars().take(32).collect(), problem }
                })?;
                if self.asked.contains(&asked) {
                    continue;
                }
                if self.asked.len() >= MOST_CAPABILITIES {
                    return Err(DeclarationError::TooMany);
                }
                self.asked.push(asked);
            }
        }
        Ok(())
    }

    /// The SHA-256 of what is asked for, in hexadecimal.
    pub fn digest(&self) -> String {
        digest(&self.asked)
    }
}

/// The SHA-256 of what is asked for, as it is written where it was agreed to.
pub(crate) fn digest(asked: &[Asked]) -> String {
    let mut hasher = Sha256::new();
    for one in asked {
        hasher.update(one.block("asks"));
    }
    hex::encode(hasher.finalize())
}

/// An error can quote the document.
fn printable(text: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_graphic() || *character == ' ';
    text.chars().filter(is_plain).take(200).collect()
}

/// The entries of an object, in their order, each name once.
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
                /// More than any rule has arguments.
                const MOST: usize = 32;
                let mut pairs: Vec<(String, T)> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if pairs.len() >= MOST || pairs.iter().any(|(earlier, _)| *earlier == name) {
                        return Err(A::Error::custom("a name is there twice, or there are too many"));
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

/// A text or a list of texts.
struct Value(Words);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = Value;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a list of texts")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value(Words::Text(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Value(Words::List(texts)))
            }
        }

        deserializer.deserialize_any(Texts)
    }
}
