//! Patterns for plugin addresses.
//!
//! | pattern | matches |
//! |---|---|
//! | `hashicorp/random`, `random` | that plugin, parsed like any plugin address |
//! | `acme/*` | `registry.terraform.io/acme/*` |
//! | `example.com/*/*` | every plugin of that registry |
//! | `*` | every plugin |
//!
//! A wildcard matches any characters of its component of the address.

use std::fmt;

use wardian_address::{DEFAULT_HOST, ProviderAddress, ProviderAddressError};

use crate::glob::{Glob, GlobError, OnUndecidable};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PluginPattern {
    hostname: Glob,
    namespace: Glob,
    type_name: Glob,
    text: Box<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PluginPatternProblem {
    #[error("{0}")]
    Address(#[from] ProviderAddressError),
    #[error(transparent)]
    Glob(#[from] GlobError),
    #[error("a single name with a wildcard is ambiguous; use \"hashicorp/{0}\", or \"*\" for every plugin")]
    OnePart(String),
    #[error("a name with a wildcard must be in lower-case ASCII")]
    Ascii,
    #[error("\"*\" matches any characters of a name; \"**\" is not supported here")]
    DoubleStar,
}

impl PluginPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PluginPatternProblem> {
        let every = || Glob::parse("*");
        if text == "*" {
            return Ok(Self {
                hostname: every()?,
                namespace: every()?,
                type_name: every()?,
                text: "*".into(),
            });
        }
        if text.contains("**") {
            return Err(PluginPatternProblem::DoubleStar);
        }
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() == 1 && text.contains('*') {
            return Err(PluginPatternProblem::OnePart(text.to_owned()));
        }
        // After each wildcard is replaced with a letter, the pattern must be a valid address.
        let example = ProviderAddress::parse(&text.replace('*', "x"))?;
        let part = |from_end: usize, folded: &str| {
            let written = parts.len().checked_sub(from_end).and_then(|index| parts.get(index)).copied();
            match written.filter(|written| written.contains('*')) {
                Some(written)
                    if written.bytes().any(|byte| !byte.is_ascii() || byte.is_ascii_uppercase()) =>
                {
                    Err(PluginPatternProblem::Ascii)
                }
                Some(written) => Ok(Glob::parse(written)?),
                None => Ok(Glob::parse(folded)?),
            }
        };
        let hostname = part(3, example.hostname())?;
        let namespace = part(2, example.namespace())?;
        let type_name = part(1, example.type_name())?;
        let short = format!("{}/{}", namespace.as_str(), type_name.as_str());
        let text = match hostname.as_str() {
            DEFAULT_HOST => short,
            host => format!("{host}/{short}"),
        };
        Ok(Self { hostname, namespace, type_name, text: text.into() })
    }

    pub(crate) fn matches(&self, address: &ProviderAddress) -> bool {
        // The components of an address are short, so the result of matching can always be
        // determined.
        self.type_name.matches(address.type_name(), OnUndecidable::NoMatch)
            && self.namespace.matches(address.namespace(), OnUndecidable::NoMatch)
            && self.hostname.matches(address.hostname(), OnUndecidable::NoMatch)
    }

    /// Whether the pattern matches that plugin and no other.
    pub(crate) fn is_exactly(&self, address: &ProviderAddress) -> bool {
        let is = |glob: &Glob, part: &str| glob.literal() == Some(part);
        is(&self.hostname, address.hostname())
            && is(&self.namespace, address.namespace())
            && is(&self.type_name, address.type_name())
    }

    /// Returns how specific the pattern is; higher is more specific.
    pub(crate) fn specificity(&self) -> u8 {
        let of = |glob: &Glob| match (glob.literal(), glob.as_str()) {
            (Some(_), _) => 2,
            (None, "*") => 0,
            (None, _) => 1,
        };
        of(&self.hostname) + of(&self.namespace) + of(&self.type_name)
    }
}

impl fmt::Display for PluginPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, address: &str) -> bool {
        PluginPattern::parse(pattern).unwrap().matches(&ProviderAddress::parse(address).unwrap())
    }

    #[test]
    fn patterns_match_as_documented() {
        for (pattern, yes, no) in [
            (
                "hashicorp/random",
                &["random", "Hashicorp/Random"][..],
                &["acme/random", "example.com/hashicorp/random"][..],
            ),
            ("random", &["hashicorp/random"], &["acme/random"]),
            ("acme/*", &["acme/dns"], &["example.com/acme/dns", "acmes/dns"]),
            ("acme/cloud-*", &["acme/cloud-dns"], &["acme/cloud", "acme/xcloud-dns"]),
            ("example.com/*/*", &["example.com/acme/dns"], &["acme/dns"]),
            ("*/acme/*", &["acme/dns", "example.com/acme/dns"], &["other/dns"]),
            ("*", &["acme/dns", "example.com/a/b"], &[]),
        ] {
            for address in yes {
                assert!(matches(pattern, address), "{pattern} {address}");
            }
            for address in no {
                assert!(!matches(pattern, address), "{pattern} {address}");
            }
        }
    }

    #[test]
    fn rejects_invalid_patterns() {
        let told = |text| PluginPattern::parse(text).unwrap_err().to_string();
        assert!(told("rand*").contains("\"hashicorp/rand*\""));
        assert!(told("acme/**").contains("not supported here"));
        assert!(told("Acme*/dns").contains("lower-case"));
        assert!(told("a/b/c/d").contains("HOST"));
        assert!(told("a b/*").contains("namespace"));
        assert!(told("").contains("empty"));
    }

    #[test]
    fn patterns_with_fewer_wildcards_are_more_specific() {
        let of = |text| PluginPattern::parse(text).unwrap().specificity();
        assert!(of("*") < of("*/acme/*") && of("*/acme/*") < of("acme/*"));
        assert!(of("acme/*") < of("acme/d*") && of("acme/d*") < of("acme/dns"));
    }

    proptest! {
        #[test]
        fn address_matches_itself(text in "[a-z0-9]{1,5}(/[a-z0-9]{1,5}){0,2}") {
            let Ok(address) = ProviderAddress::parse(&text) else { return Ok(()) };
            prop_assert!(PluginPattern::parse(&address.to_string()).unwrap().matches(&address));
        }
    }
}
