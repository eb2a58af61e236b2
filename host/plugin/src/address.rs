//! Provider addresses: `HOST/NAMESPACE/TYPE`, the name under which the whole
//! house knows a provider.
//!
//! | written | means |
//! |---|---|
//! | `example.com/acme/dns` | itself |
//! | `acme/dns` | `registry.terraform.io/acme/dns` |
//! | `dns` | `registry.terraform.io/hashicorp/dns` |
//! | `terraform.io/builtin/terraform` | part of the program, never installed |
//! | `registry.terraform.io/-/dns` | from states older than namespaces; readable, not installable |
//!
//! Calls nothing, reads nothing. What always holds: the parts of a
//! [`ProviderAddress`] are lower case, NFC, and free of `/`, `\`, `_` and empty
//! or dot-only names, so that they can be path segments as they are.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

/// The host meant when an address names none.
pub const DEFAULT_HOST: &str = "registry.terraform.io";
/// The namespace meant when an address names none.
pub const DEFAULT_NAMESPACE: &str = "hashicorp";
/// The host of providers that are part of the program.
pub const BUILT_IN_HOST: &str = "terraform.io";
/// The namespace of providers that are part of the program.
pub const BUILT_IN_NAMESPACE: &str = "builtin";
/// The namespace of addresses in states written before namespaces existed.
pub const LEGACY_NAMESPACE: &str = "-";

/// The full address of a provider. A clone copies three pointers.
///
/// Ordered by host, then namespace, then type, which is the order of the
/// dependency lock file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderAddress {
    hostname: Arc<str>,
    namespace: Arc<str>,
    type_name: Arc<str>,
}

impl ProviderAddress {
    /// Reads a `source` as people write it in `required_providers`: one, two or
    /// three parts, upper case allowed.
    ///
    /// # Errors
    /// When a part breaks the rules for its place, with the part named. Legacy
    /// addresses are refused: nobody may ask for one in configuration.
    pub fn parse(source: &str) -> Result<Self, AddressError> {
        let address = Self::parse_any(source)?;
        if address.is_legacy() {
            return Err(AddressError::Legacy {
                source_text: source.to_owned(),
                suggestion: format!("{DEFAULT_NAMESPACE}/{}", address.type_name),
            });
        }
        Ok(address)
    }

    /// Reads an address written by a program (state, plan or lock file): all
    /// three parts, already folded. Legacy and built-in addresses are allowed.
    ///
    /// # Errors
    /// As [`ProviderAddress::parse`], and when parts are missing or the text is
    /// not the folded form, with the right form in the error.
    pub fn parse_full(text: &str) -> Result<Self, AddressError> {
        let address = Self::parse_any(text)?;
        let full = address.to_string();
        if full == text {
            Ok(address)
        } else {
            Err(AddressError::NotCanonical { source_text: text.to_owned(), canonical: full })
        }
    }

    /// The address that a local name means when `required_providers` says
    /// nothing about it: `terraform` is built in, everything else is from the
    /// default namespace.
    ///
    /// # Errors
    /// When the name cannot be a provider type.
    pub fn implied_by_local_name(local_name: &str) -> Result<Self, AddressError> {
        if local_name == "terraform" {
            return Ok(Self::built_in("terraform"));
        }
        let type_name = type_part(local_name, local_name)?;
        Ok(Self::from_parts(DEFAULT_HOST, DEFAULT_NAMESPACE, type_name))
    }

    /// The address that a bare name means in a state from before namespaces:
    /// `terraform` is built in, everything else is of the namespace `-`, and
    /// nobody knows of which one now.
    ///
    /// # Errors
    /// When the name cannot be a provider type.
    pub fn legacy(name: &str) -> Result<Self, AddressError> {
        if name == "terraform" {
            return Ok(Self::built_in("terraform"));
        }
        Self::parse_full(&format!("{DEFAULT_HOST}/{LEGACY_NAMESPACE}/{name}"))
    }

    /// The address of a provider that is part of the program.
    pub fn built_in(type_name: &str) -> Self {
        Self::from_parts(BUILT_IN_HOST, BUILT_IN_NAMESPACE, type_name)
    }

    /// The registry host in its Unicode form, with the port when it is not 443.
    pub fn hostname(&self) -> &str {
        &self.hostname
    }

    /// The second part.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The third part: the provider's own name, such as `random`.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Whether this provider is part of the program and so never installed or
    /// locked.
    pub fn is_built_in(&self) -> bool {
        &*self.hostname == BUILT_IN_HOST && &*self.namespace == BUILT_IN_NAMESPACE
    }

    /// Whether this comes from a state older than namespaces.
    pub fn is_legacy(&self) -> bool {
        &*self.hostname == DEFAULT_HOST && &*self.namespace == LEGACY_NAMESPACE
    }

    /// Whether the host is the one that addresses mean when they name none.
    pub fn is_on_default_host(&self) -> bool {
        &*self.hostname == DEFAULT_HOST
    }

    /// The short form for messages: without the host when it is the default.
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

    fn parse_any(text: &str) -> Result<Self, AddressError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (hostname, namespace, type_name) = match parts.as_slice() {
            [type_name] => (None, None, *type_name),
            [namespace, type_name] => (None, Some(*namespace), *type_name),
            [hostname, namespace, type_name] => (Some(*hostname), Some(*namespace), *type_name),
            _ => {
                return Err(AddressError::Shape { source_text: text.to_owned() });
            }
        };
        let hostname = match hostname {
            Some(written) => hostname_part(text, written)?,
            None => DEFAULT_HOST.to_owned(),
        };
        let namespace = match namespace {
            Some(LEGACY_NAMESPACE) if hostname == DEFAULT_HOST => LEGACY_NAMESPACE.to_owned(),
            Some(written) => fold_name(written).map_err(|problem| AddressError::Namespace {
                source_text: text.to_owned(),
                namespace: written.to_owned(),
                problem,
            })?,
            None => DEFAULT_NAMESPACE.to_owned(),
        };
        // Terraform takes the prefix where nothing stands before it.
        let type_name = match parts.as_slice() {
            [written] => folded_type(text, written)?,
            _ => type_part(text, type_name)?,
        };
        Ok(Self::from_parts(hostname, namespace, type_name))
    }
}

impl fmt::Display for ProviderAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.hostname, self.namespace, self.type_name)
    }
}

impl fmt::Debug for ProviderAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ProviderAddress({self})")
    }
}

impl FromStr for ProviderAddress {
    type Err = AddressError;

    fn from_str(source: &str) -> Result<Self, Self::Err> {
        Self::parse(source)
    }
}

/// Shows an address in its short form. See [`ProviderAddress::for_display`].
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

/// Why a text is not a provider address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// No parts, or more than three.
    #[error(
        "\"{source_text}\" is not a provider source address: it must have the form [HOST/][NAMESPACE/]TYPE, such as \"hashicorp/random\""
    )]
    Shape {
        /// What was written.
        source_text: String,
    },
    /// The first of three parts is not a host.
    #[error(
        "invalid provider source address \"{source_text}\": \"{hostname}\" is not a registry host name, because {problem}"
    )]
    Hostname {
        /// What was written.
        source_text: String,
        /// The offending part.
        hostname: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// The namespace breaks the rules of names.
    #[error(
        "invalid provider source address \"{source_text}\": \"{namespace}\" is not a namespace, because {problem}"
    )]
    Namespace {
        /// What was written.
        source_text: String,
        /// The offending part.
        namespace: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// The type breaks the rules of names.
    #[error(
        "invalid provider source address \"{source_text}\": \"{type_name}\" is not a provider type, because {problem}"
    )]
    Type {
        /// What was written.
        source_text: String,
        /// The offending part.
        type_name: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// The type repeats what an executable's name begins with.
    #[error(
        "invalid provider source address \"{source_text}\": a provider type does not begin with \"terraform-\"; did you mean \"{suggestion}\"?"
    )]
    RedundantPrefix {
        /// What was written.
        source_text: String,
        /// The address without the prefix.
        suggestion: String,
    },
    /// The namespace `-` in a place where people write addresses.
    #[error(
        "the provider address \"{source_text}\" is of an old form that only states may hold; write \"{suggestion}\""
    )]
    Legacy {
        /// What was written.
        source_text: String,
        /// A current address for it.
        suggestion: String,
    },
    /// A file written by programs holds something other than the folded form.
    #[error("the provider address \"{source_text}\" must be written in its full form, \"{canonical}\"")]
    NotCanonical {
        /// What was written.
        source_text: String,
        /// What it must be.
        canonical: String,
    },
}

/// What is wrong with one part of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// Nothing between two slashes.
    #[error("it is empty")]
    Empty,
    /// A character that no part may hold.
    #[error("it holds {0:?}; only letters, digits and dashes are allowed")]
    Character(char),
    /// A dash at an end, or two together.
    #[error("a dash must stand between letters or digits, and alone")]
    Dash,
    /// A label in encoded form; the readable form is asked for.
    #[error("it is in punycode; write it with its own letters")]
    Punycode,
    /// What follows the colon is not a port.
    #[error("what follows the colon is not a port number from 1 to 65535")]
    Port,
    /// More than 255 bytes.
    #[error("it is too long")]
    TooLong,
}

const LONGEST_PART: usize = 255;

fn fold_name(written: &str) -> Result<String, NameProblem> {
    if written.is_empty() {
        return Err(NameProblem::Empty);
    }
    let folded: String = written.nfc().flat_map(char::to_lowercase).nfc().collect();
    if folded.len() > LONGEST_PART {
        return Err(NameProblem::TooLong);
    }
    if let Some(wrong) = folded.chars().find(|character| !is_name_character(*character)) {
        return Err(NameProblem::Character(wrong));
    }
    if folded.starts_with("xn--") {
        return Err(NameProblem::Punycode);
    }
    if folded.starts_with('-') || folded.ends_with('-') || folded.contains("--") {
        return Err(NameProblem::Dash);
    }
    Ok(folded)
}

fn is_name_character(character: char) -> bool {
    character == '-'
        || character.is_ascii_digit()
        || character.is_alphabetic()
        || unicode_normalization::char::is_combining_mark(character)
}

fn folded_type(source_text: &str, written: &str) -> Result<String, AddressError> {
    fold_name(written).map_err(|problem| AddressError::Type {
        source_text: source_text.to_owned(),
        type_name: written.to_owned(),
        problem,
    })
}

fn type_part(source_text: &str, written: &str) -> Result<String, AddressError> {
    let folded = folded_type(source_text, written)?;
    for prefix in ["terraform-provider-", "terraform-"] {
        if let Some(rest) = folded.strip_prefix(prefix) {
            let kept = &source_text[..source_text.len().saturating_sub(written.len())];
            return Err(AddressError::RedundantPrefix {
                source_text: source_text.to_owned(),
                suggestion: format!("{kept}{rest}"),
            });
        }
    }
    Ok(folded)
}

fn hostname_part(source_text: &str, written: &str) -> Result<String, AddressError> {
    let wrong = |problem| AddressError::Hostname {
        source_text: source_text.to_owned(),
        hostname: written.to_owned(),
        problem,
    };
    if written.len() > LONGEST_PART {
        return Err(wrong(NameProblem::TooLong));
    }
    let (name, port) = match written.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (written, None),
    };
    let labels: Vec<String> = name.split('.').map(fold_name).collect::<Result<_, _>>().map_err(wrong)?;
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
    fn short_forms_get_their_defaults() {
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
    fn letters_are_composed() {
        assert_eq!(full("a\u{308}/b"), full("ä/b"));
    }

    #[test]
    fn what_is_refused_names_the_part() {
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
            "error: invalid provider source address \"a/terraform-provider-b\": a provider type does not begin with \"terraform-\"; did you mean \"a/b\"?"
        );
    }

    #[test]
    fn built_in_and_legacy() {
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
    fn full_form_must_be_full() {
        for text in ["hashicorp/random", "registry.terraform.io/HashiCorp/random"] {
            assert_eq!(
                ProviderAddress::parse_full(text),
                Err(AddressError::NotCanonical {
                    source_text: text.to_owned(),
                    canonical: "registry.terraform.io/hashicorp/random".to_owned(),
                })
            );
        }
    }

    #[test]
    fn display_drops_the_default_host_only() {
        let short = |source: &str| ProviderAddress::parse(source).unwrap().for_display().to_string();
        assert_eq!(short("random"), "hashicorp/random");
        assert_eq!(short("example.com/a/b"), "example.com/a/b");
    }
}
