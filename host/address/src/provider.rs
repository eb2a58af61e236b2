//! Provider addresses: `HOST/NAMESPACE/TYPE`.
//!
//! | source | address |
//! |---|---|
//! | `example.com/acme/dns` | `example.com/acme/dns` |
//! | `acme/dns` | `registry.terraform.io/acme/dns` |
//! | `dns` | `registry.terraform.io/hashicorp/dns` |
//! | `terraform.io/builtin/terraform` | built into Wardian, never installed |
//! | `registry.terraform.io/-/dns` | legacy, from states written before namespaces existed; can be read, but not installed |
//!
//! The components of a [`ProviderAddress`] are always in lower case and NFC, contain no `/`, `\` or
//! `_`, are not empty and do not consist only of dots, so they can be used as path segments.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

/// The host of addresses that do not contain a host.
pub const DEFAULT_HOST: &str = "registry.terraform.io";
/// The namespace of addresses that do not contain a namespace.
pub const DEFAULT_NAMESPACE: &str = "hashicorp";
pub const BUILT_IN_HOST: &str = "terraform.io";
pub const BUILT_IN_NAMESPACE: &str = "builtin";
/// The namespace of addresses in states written before namespaces existed.
pub const LEGACY_NAMESPACE: &str = "-";

/// The full address of a provider. A clone copies three pointers.
///
/// Addresses are sorted by host, then namespace, then type, as in the dependency lock file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderAddress {
    hostname: Arc<str>,
    namespace: Arc<str>,
    type_name: Arc<str>,
}

impl ProviderAddress {
    /// Parses a `source` argument of `required_providers`: one, two or three components; upper case
    /// is allowed.
    ///
    /// # Errors
    /// Returns an error with the component that is not valid. Legacy addresses are rejected,
    /// because a configuration cannot require such a provider.
    pub fn parse(source: &str) -> Result<Self, ProviderAddressError> {
        let address = Self::parse_any(source)?;
        if address.is_legacy() {
            return Err(ProviderAddressError::Legacy {
                source_text: source.to_owned(),
                suggestion: format!("{DEFAULT_NAMESPACE}/{}", address.type_name),
            });
        }
        Ok(address)
    }

    /// Parses an address that a program has written to a state, plan or lock file: all three
    /// components, in canonical form. Legacy and built-in addresses are allowed.
    ///
    /// # Errors
    /// Returns the same errors as [`ProviderAddress::parse`], or an error with the canonical form
    /// if the text is not in that form.
    pub fn parse_full(text: &str) -> Result<Self, ProviderAddressError> {
        let address = Self::parse_any(text)?;
        let full = address.to_string();
        if full == text {
            Ok(address)
        } else {
            Err(ProviderAddressError::NotCanonical { source_text: text.to_owned(), canonical: full })
        }
    }

    /// Returns the address for a local name without an entry in `required_providers`: `terraform`
    /// is the built-in provider; any other name is in the default namespace.
    ///
    /// # Errors
    /// Returns an error if the name cannot be a provider type.
    pub fn implied_by_local_name(local_name: &str) -> Result<Self, ProviderAddressError> {
        if local_name == "terraform" {
            return Ok(Self::built_in("terraform"));
        }
        let type_name = parse_type(local_name, local_name)?;
        Ok(Self::from_parts(DEFAULT_HOST, DEFAULT_NAMESPACE, type_name))
    }

    /// Returns the address for a bare name in a state that was written before namespaces existed:
    /// `terraform` is the built-in provider; any other name has the namespace `-`, because its
    /// namespace is unknown.
    ///
    /// # Errors
    /// Returns an error if the name cannot be a provider type.
    pub fn legacy(name: &str) -> Result<Self, ProviderAddressError> {
        if name == "terraform" {
            return Ok(Self::built_in("terraform"));
        }
        Self::parse_full(&format!("{DEFAULT_HOST}/{LEGACY_NAMESPACE}/{name}"))
    }

    /// Returns the address of a built-in provider.
    pub fn built_in(type_name: &str) -> Self {
        Self::from_parts(BUILT_IN_HOST, BUILT_IN_NAMESPACE, type_name)
    }

    /// Returns the registry host in its Unicode form, with the port unless it is 443.
    pub fn hostname(&self) -> &str {
        &self.hostname
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the provider's type name, such as `random`.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Returns whether this provider is built into Wardian. Built-in providers are never installed
    /// or locked.
    pub fn is_built_in(&self) -> bool {
        &*self.hostname == BUILT_IN_HOST && &*self.namespace == BUILT_IN_NAMESPACE
    }

    /// Returns whether this address is from a state that was written before namespaces existed.
    pub fn is_legacy(&self) -> bool {
        &*self.hostname == DEFAULT_HOST && &*self.namespace == LEGACY_NAMESPACE
    }

    pub fn is_on_default_host(&self) -> bool {
        &*self.hostname == DEFAULT_HOST
    }

    /// Returns the address as it is displayed in messages, without the default host.
    pub fn for_display(&self) -> ForDisplay<'_> {
        ForDisplay(self)
    }

    fn from_parts(
        hostname: impl Into<Arc<str>>,
        namespace: impl Into<Arc<str>>,
        type_name: impl Into<Arc<str>>,
    ) -> Self {
        Self { hostname: hostname.into(), namespace: namespace.into(), type_name: type_name.into() }
    }

    fn parse_any(text: &str) -> Result<Self, ProviderAddressError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (hostname, namespace, type_name) = match parts.as_slice() {
            [type_name] => (None, None, *type_name),
            [namespace, type_name] => (None, Some(*namespace), *type_name),
            [hostname, namespace, type_name] => (Some(*hostname), Some(*namespace), *type_name),
            _ => {
                return Err(ProviderAddressError::Shape { source_text: text.to_owned() });
            }
        };
        let hostname = match hostname {
            Some(part) => parse_hostname(text, part)?,
            None => DEFAULT_HOST.to_owned(),
        };
        let namespace = match namespace {
            Some(LEGACY_NAMESPACE) if hostname == DEFAULT_HOST => LEGACY_NAMESPACE.to_owned(),
            Some(part) => canonical_name(part).map_err(|problem| ProviderAddressError::Namespace {
                source_text: text.to_owned(),
                namespace: part.to_owned(),
                problem,
            })?,
            None => DEFAULT_NAMESPACE.to_owned(),
        };
        // Terraform accepts the prefix in a source with only one component.
        let type_name = match parts.as_slice() {
            [part] => canonical_type(text, part)?,
            _ => parse_type(text, type_name)?,
        };
        Ok(Self::from_parts(hostname, namespace, type_name))
    }
}

impl fmt::Display for ProviderAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hostname)?;
        formatter.write_str("/")?;
        formatter.write_str(&self.namespace)?;
        formatter.write_str("/")?;
        formatter.write_str(&self.type_name)
    }
}

impl fmt::Debug for ProviderAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ProviderAddress({self})")
    }
}

impl FromStr for ProviderAddress {
    type Err = ProviderAddressError;

    fn from_str(source: &str) -> Result<Self, Self::Err> {
        Self::parse(source)
    }
}

/// An address as it is displayed in messages. See [`ProviderAddress::for_display`].
#[derive(Clone, Copy, Debug)]
pub struct ForDisplay<'a>(&'a ProviderAddress);

impl fmt::Display for ForDisplay<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.0;
        if address.is_on_default_host() {
            write!(formatter, "{}/{}", address.namespace, address.type_name)
        } else {
            fmt::Display::fmt(address, formatter)
        }
    }
}

/// The reason why text is not a provider address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderAddressError {
    /// The text has no components, or more than three.
    #[error(
        "\"{source_text}\" is not a provider source address: it must have the form [HOST/][NAMESPACE/]TYPE, such as \"hashicorp/random\""
    )]
    Shape { source_text: String },
    /// The first of three components is not a host.
    #[error(
        "invalid provider source address \"{source_text}\": \"{hostname}\" is not a registry host name, because {problem}"
    )]
    Hostname { source_text: String, hostname: String, problem: NameProblem },
    /// The namespace is not a valid name.
    #[error(
        "invalid provider source address \"{source_text}\": \"{namespace}\" is not a namespace, because {problem}"
    )]
    Namespace { source_text: String, namespace: String, problem: NameProblem },
    /// The type is not a valid name.
    #[error(
        "invalid provider source address \"{source_text}\": \"{type_name}\" is not a provider type, because {problem}"
    )]
    Type { source_text: String, type_name: String, problem: NameProblem },
    /// The type has the prefix that is used in the file names of provider executables.
    #[error(
        "invalid provider source address \"{source_text}\": a provider type must not begin with \
         \"terraform-\"; did you mean \"{suggestion}\"?"
    )]
    RedundantPrefix {
        source_text: String,
        /// The address without the prefix.
        suggestion: String,
    },
    /// The namespace is `-` in text that a user has written.
    #[error(
        "the provider address \"{source_text}\" has a legacy form that only state files may contain; write \
         \"{suggestion}\""
    )]
    Legacy {
        source_text: String,
        /// A current address for the provider.
        suggestion: String,
    },
    /// A file that programs write contains an address in a form that is not canonical.
    #[error("the provider address \"{source_text}\" must be written in its full form, \"{canonical}\"")]
    NotCanonical { source_text: String, canonical: String },
}

/// The reason why a component of an address is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// The text between two slashes is empty.
    #[error("it is empty")]
    Empty,
    /// The component contains a character that is not allowed.
    #[error("it contains {0:?}; only letters, digits and dashes are allowed")]
    Character(char),
    /// A dash is at the start or the end, or next to another dash.
    #[error("a dash must be between two letters or digits")]
    Dash,
    /// A label is in Punycode; the Unicode form is required.
    #[error("it is Punycode; write it in its Unicode form")]
    Punycode,
    /// The text after the colon is not a port.
    #[error("the text after the colon is not a port number from 1 to 65535")]
    Port,
    /// The component is longer than 255 bytes.
    #[error("it is too long")]
    TooLong,
}

const MAX_PART_LENGTH: usize = 255;

fn canonical_name(part: &str) -> Result<String, NameProblem> {
    if part.is_empty() {
        return Err(NameProblem::Empty);
    }
    let canonical: String = part.nfc().flat_map(char::to_lowercase).nfc().collect();
    if canonical.len() > MAX_PART_LENGTH {
        return Err(NameProblem::TooLong);
    }
    if let Some(wrong) = canonical.chars().find(|character| !is_name_character(*character)) {
        return Err(NameProblem::Character(wrong));
    }
    if canonical.starts_with("xn--") {
        return Err(NameProblem::Punycode);
    }
    if canonical.starts_with('-') || canonical.ends_with('-') || canonical.contains("--") {
        return Err(NameProblem::Dash);
    }
    Ok(canonical)
}

fn is_name_character(character: char) -> bool {
    character == '-'
        || character.is_ascii_digit()
        || character.is_alphabetic()
        || unicode_normalization::char::is_combining_mark(character)
}

fn canonical_type(source_text: &str, part: &str) -> Result<String, ProviderAddressError> {
    canonical_name(part).map_err(|problem| ProviderAddressError::Type {
        source_text: source_text.to_owned(),
        type_name: part.to_owned(),
        problem,
    })
}

fn parse_type(source_text: &str, part: &str) -> Result<String, ProviderAddressError> {
    let canonical = canonical_type(source_text, part)?;
    for prefix in ["terraform-provider-", "terraform-"] {
        if let Some(rest) = canonical.strip_prefix(prefix) {
            let prefix_parts = &source_text[..source_text.len().saturating_sub(part.len())];
            return Err(ProviderAddressError::RedundantPrefix {
                source_text: source_text.to_owned(),
                suggestion: format!("{prefix_parts}{rest}"),
            });
        }
    }
    Ok(canonical)
}

fn parse_hostname(source_text: &str, part: &str) -> Result<String, ProviderAddressError> {
    let wrong = |problem| ProviderAddressError::Hostname {
        source_text: source_text.to_owned(),
        hostname: part.to_owned(),
        problem,
    };
    if part.len() > MAX_PART_LENGTH {
        return Err(wrong(NameProblem::TooLong));
    }
    let (name, port) = match part.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (part, None),
    };
    let labels: Vec<String> = name.split('.').map(canonical_name).collect::<Result<_, _>>().map_err(wrong)?;
    let name = labels.join(".");
    let Some(port) = port else { return Ok(name) };
    let all_digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(443) if all_digits => Ok(name),
        Ok(number) if all_digits && number != 0 => Ok(format!("{name}:{number}")),
        _ => Err(wrong(NameProblem::Port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(source: &str) -> String {
        match ProviderAddress::parse(source) {
            Ok(address) => address.to_string(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn short_source_has_default_host_and_namespace() {
        assert_eq!(full("random"), "registry.terraform.io/hashicorp/random");
        assert_eq!(full("X/Aws"), "registry.terraform.io/x/aws");
        assert_eq!(full("Example.COM/a/b"), "example.com/a/b");
        assert_eq!(full("localhost:8080/a/b"), "localhost:8080/a/b");
        assert_eq!(full("example.com:443/a/b"), "example.com/a/b");
        assert_eq!(full("Bücher.example/Ä/b"), "bücher.example/ä/b");
        assert_eq!(full("1.2.3.4/a/b"), "1.2.3.4/a/b");
        assert_eq!(full("terraform"), "registry.terraform.io/hashicorp/terraform");
    }

    #[test]
    fn names_are_normalized_to_nfc() {
        assert_eq!(full("a\u{308}/b"), full("ä/b"));
    }

    #[test]
    fn invalid_source_error_names_invalid_part() {
        for source in [
            "",
            "/",
            "a//b",
            "a/b/c/d",
            "a_b/c",
            "a--b/c",
            "-a/b",
            "a-/b",
            "a.b/c",
            " a/b",
            "../../b",
            "a/..",
            "a\\b/c",
            "example.com:/a/b",
            "example.com:0/a/b",
            "example.com:+80/a/b",
            "example.com:99999/a/b",
            "a..b/a/b",
            "a_b.com/a/b",
            "[::1]/a/b",
            "xn--bcher-kva.example/a/b",
            "a.com/xn--a/b",
            "a.com/-/b",
            "registry.terraform.io/-/aws",
            "\u{661}/b",
        ] {
            assert!(ProviderAddress::parse(source).is_err(), "{source:?}");
        }
        assert_eq!(
            full("a/terraform-provider-b"),
            "error: invalid provider source address \"a/terraform-provider-b\": a provider type must not \
             begin with \"terraform-\"; did you mean \"a/b\"?"
        );
    }

    #[test]
    fn parses_built_in_and_legacy_addresses() {
        let built_in = ProviderAddress::implied_by_local_name("terraform").unwrap();
        assert_eq!(built_in.to_string(), "terraform.io/builtin/terraform");
        assert!(built_in.is_built_in());
        assert_eq!(built_in.for_display().to_string(), "terraform.io/builtin/terraform");
        let legacy = ProviderAddress::parse_full("registry.terraform.io/-/aws").unwrap();
        assert!(legacy.is_legacy());
        assert_eq!(legacy.to_string(), "registry.terraform.io/-/aws");
        assert_eq!(
            ProviderAddress::implied_by_local_name("random"),
            ProviderAddress::parse("hashicorp/random")
        );
    }

    #[test]
    fn parse_full_rejects_short_form() {
        for text in ["hashicorp/random", "registry.terraform.io/HashiCorp/random"] {
            assert_eq!(
                ProviderAddress::parse_full(text),
                Err(ProviderAddressError::NotCanonical {
                    source_text: text.to_owned(),
                    canonical: "registry.terraform.io/hashicorp/random".to_owned(),
                })
            );
        }
    }

    #[test]
    fn display_omits_only_default_host() {
        let short = |source: &str| ProviderAddress::parse(source).unwrap().for_display().to_string();
        assert_eq!(short("random"), "hashicorp/random");
        assert_eq!(short("example.com/a/b"), "example.com/a/b");
    }
}
