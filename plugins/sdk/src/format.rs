//! Strings in a format with several spellings of one value, such as JSON: [`Text`] keeps the user's
//! spelling if a server returns another one.

mod address;
mod time;

use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wardian_value::Type;

use crate::duration::GoDuration;
use crate::schema::{AttributeShape, AttributeType, Equality};
use crate::validate::{self, Validator};
use crate::{Diagnostics, Result};

pub use address::CidrBlock;
pub(crate) use address::{is_base64, is_ip_address, is_url, is_uuid};
pub use time::Timestamp;

/// A format of strings: the strings that are valid, and which of them are equal.
///
/// ```
/// use wardian_sdk::{Text, TextFormat};
///
/// /// A host name, whose case has no meaning.
/// struct HostName;
///
/// impl TextFormat for HostName {
///     type Parsed = String;
///     const EXPECTED: &'static str = "a host name";
///
///     fn parse(text: &str) -> Option<String> {
///         (!text.is_empty()).then(|| text.to_ascii_lowercase())
///     }
/// }
///
/// assert!(Text::<HostName>::from("Example.com").is_equivalent("example.COM"));
/// ```
pub trait TextFormat: 'static {
    /// The parsed value. Two strings are semantically equal if their parsed values are equal.
    type Parsed: PartialEq;

    /// The description of valid strings for error messages, such as "a duration".
    const EXPECTED: &'static str;

    /// Parses a string; `None` if it is not valid.
    fn parse(text: &str) -> Option<Self::Parsed>;
}

/// A string attribute in a format.
///
/// The attribute gets a validator. If a plan, an apply or a read returns a string that is
/// semantically equal to the previous string, the previous string is kept. Therefore, a server that
/// normalizes values causes neither differences nor "inconsistent result" errors.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{JsonText, Schema};
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Policy {
///     /// The policy document.
///     document: JsonText,
/// }
///
/// let document = JsonText::from(r#"{ "a": 1 }"#);
/// assert!(document.is_equivalent(r#"{"a":1}"#));
/// assert_eq!(document.parsed()?["a"], 1);
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
pub struct Text<F> {
    text: String,
    format: PhantomData<fn() -> F>,
}

impl<F: TextFormat> Text<F> {
    /// Returns the string as it is spelled.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Parses the string.
    pub fn parsed(&self) -> Result<F::Parsed> {
        F::parse(&self.text).ok_or_else(|| {
            Diagnostics::error("Invalid value", format!("{} is required, not {:?}", F::EXPECTED, self.text))
        })
    }

    /// Returns whether another string is identical or semantically equal.
    pub fn is_equivalent(&self, other: &str) -> bool {
        are_equivalent::<F>(&self.text, other)
    }
}

fn are_equivalent<F: TextFormat>(one: &str, other: &str) -> bool {
    one == other || F::parse(one).is_some_and(|one| F::parse(other).is_some_and(|other| one == other))
}

/// JSON; the order of attributes and white space have no meaning.
///
/// ```
/// use wardian_sdk::JsonText;
///
/// assert!(JsonText::from(r#"{ "b": 1, "a": 2 }"#).is_equivalent(r#"{"a":2,"b":1}"#));
/// ```
pub type JsonText = Text<JsonFormat>;
/// An RFC 3339 time; times in different UTC offsets can be equal.
///
/// ```
/// use wardian_sdk::TimeText;
///
/// assert!(TimeText::from("2020-02-12T06:00:00Z").is_equivalent("2020-02-12T07:00:00+01:00"));
/// ```
pub type TimeText = Text<TimeFormat>;
/// A duration such as `90s` or `1m30s`.
///
/// ```
/// use wardian_sdk::DurationText;
///
/// assert!(DurationText::from("90s").is_equivalent("1m30s"));
/// ```
pub type DurationText = Text<DurationFormat>;
/// An IP network such as `10.0.0.0/8`; bits of the host have no meaning.
///
/// ```
/// use wardian_sdk::CidrText;
///
/// assert!(CidrText::from("10.0.0.1/8").is_equivalent("10.0.0.0/8"));
/// ```
pub type CidrText = Text<CidrFormat>;

/// The format of [`JsonText`].
///
/// ```
/// use wardian_sdk::{JsonFormat, TextFormat as _};
///
/// assert!(JsonFormat::parse("{}").is_some());
/// assert!(JsonFormat::parse("{").is_none());
/// ```
pub enum JsonFormat {}
/// The format of [`TimeText`].
///
/// ```
/// use wardian_sdk::{TimeFormat, TextFormat as _};
///
/// assert!(TimeFormat::parse("2020-02-12T06:36:13Z").is_some());
/// assert!(TimeFormat::parse("today").is_none());
/// ```
pub enum TimeFormat {}
/// The format of [`DurationText`].
///
/// ```
/// use wardian_sdk::{DurationFormat, TextFormat as _};
///
/// assert!(DurationFormat::parse("1m30s").is_some());
/// assert!(DurationFormat::parse("soon").is_none());
/// ```
pub enum DurationFormat {}
/// The format of [`CidrText`].
///
/// ```
/// use wardian_sdk::{CidrFormat, TextFormat as _};
///
/// assert!(CidrFormat::parse("10.0.0.0/8").is_some());
/// assert!(CidrFormat::parse("10.0.0.0").is_none());
/// ```
pub enum CidrFormat {}

impl TextFormat for JsonFormat {
    type Parsed = serde_json::Value;
    const EXPECTED: &'static str = "JSON";

    fn parse(text: &str) -> Option<serde_json::Value> {
        serde_json::from_str(text).ok()
    }
}

impl TextFormat for TimeFormat {
    type Parsed = Timestamp;
    const EXPECTED: &'static str = "an RFC 3339 time, such as 2020-02-12T06:36:13Z";

    fn parse(text: &str) -> Option<Timestamp> {
        Timestamp::parse(text)
    }
}

impl TextFormat for DurationFormat {
    type Parsed = GoDuration;
    const EXPECTED: &'static str = "a duration, such as 30s or 2h45m";

    fn parse(text: &str) -> Option<GoDuration> {
        GoDuration::parse(text).ok()
    }
}

impl TextFormat for CidrFormat {
    type Parsed = CidrBlock;
    const EXPECTED: &'static str = "a CIDR block, such as 10.0.0.0/8 or 2001:db8::/32";

    fn parse(text: &str) -> Option<CidrBlock> {
        CidrBlock::parse(text)
    }
}

impl<F: TextFormat> AttributeType for Text<F> {
    fn shape() -> AttributeShape {
        AttributeShape::from_type(Type::String)
    }

    fn validators() -> Vec<Validator> {
        vec![validate::format::<F>()]
    }

    fn equality() -> Option<Equality> {
        Some(std::rc::Rc::new(|one, other| match (one.as_str(), other.as_str()) {
            (Some(one), Some(other)) => are_equivalent::<F>(one, other),
            _ => false,
        }))
    }
}

impl<F> From<&str> for Text<F> {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<F> From<String> for Text<F> {
    fn from(text: String) -> Self {
        Self { text, format: PhantomData }
    }
}

impl<F> From<Text<F>> for String {
    fn from(text: Text<F>) -> Self {
        text.text
    }
}

impl<F> Clone for Text<F> {
    fn clone(&self) -> Self {
        self.text.clone().into()
    }
}

impl<F> fmt::Debug for Text<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl<F> fmt::Display for Text<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compares the spelling; see [`Text::is_equivalent`] for semantic equality.
impl<F> PartialEq for Text<F> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<F> Eq for Text<F> {}

impl<F> Serialize for Text<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

// Strings are not parsed here, because a stored state can contain strings that were valid once.
impl<'de, F> Deserialize<'de> for Text<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_equivalent() {
        assert!(JsonText::from(r#"{"a":1,"b":[2]}"#).is_equivalent(r#"{ "b": [2], "a": 1 }"#));
        assert!(!JsonText::from(r#"{"a":1}"#).is_equivalent(r#"{"a":2}"#));
        assert!(!JsonText::from("{").is_equivalent("{ "));
        assert!(TimeText::from("2020-02-12T06:36:13Z").is_equivalent("2020-02-12T07:36:13.000+01:00"));
        assert!(!TimeText::from("2020-02-12T06:36:13Z").is_equivalent("2020-02-12T06:36:14Z"));
        assert!(DurationText::from("90s").is_equivalent("1m30s"));
        assert!(CidrText::from("10.1.2.3/8").is_equivalent("10.0.0.0/8"));
        assert!(!CidrText::from("10.0.0.0/8").is_equivalent("10.0.0.0/9"));
        assert!(CidrText::from("2001:db8:0:0::/32").is_equivalent("2001:db8::/32"));
    }
}
