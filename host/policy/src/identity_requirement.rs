//! Requirements of policies on the publishers of plugins.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wardian_address::ProviderAddress;

use crate::glob::{Glob, OnUndecidable};
use crate::plugin_pattern::PluginPattern;
use crate::publisher::{IdentityPart, PublisherIdentity};
use crate::source_location::SourceLocation;

/// A `require_signature` block: releases of some plugins must have the signature of a publisher
/// whose identity matches all patterns. If there are no patterns, any publisher satisfies the
/// requirement.
#[derive(Clone, Debug)]
pub struct IdentityRequirement {
    pub(crate) pattern: PluginPattern,
    pub(crate) location: SourceLocation,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) parts: BTreeMap<IdentityPart, Glob>,
}

impl IdentityRequirement {
    pub(crate) fn is_for(&self, address: &ProviderAddress) -> bool {
        self.pattern.matches(address)
    }

    /// Returns the line of the block.
    pub fn location(&self) -> &SourceLocation {
        &self.location
    }

    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns the required parts of the identity with their patterns.
    pub fn parts(&self) -> impl Iterator<Item = (IdentityPart, &str)> {
        self.parts.iter().map(|(part, pattern)| (*part, pattern.as_str()))
    }

    fn unmet(&self, identity: &PublisherIdentity) -> Vec<UnmetRequirement<'_>> {
        let unmet = self.parts.iter().filter_map(|(part, pattern)| {
            let found = identity.part(*part);
            let is_met = found.is_some_and(|text| pattern.matches(text, OnUndecidable::NoMatch));
            (!is_met).then(|| UnmetRequirement {
                requirement: self,
                part: *part,
                pattern: pattern.as_str(),
                found: found.map(Into::into),
            })
        });
        unmet.collect()
    }
}

/// The blocks of all policies that require a signature of one plugin. The list is not empty.
#[derive(Clone, Debug)]
pub struct SignatureRequirement<'a> {
    blocks: Vec<&'a IdentityRequirement>,
}

impl<'a> SignatureRequirement<'a> {
    /// Returns `None` if there are no blocks.
    pub(crate) fn new(blocks: Vec<&'a IdentityRequirement>) -> Option<Self> {
        (!blocks.is_empty()).then_some(Self { blocks })
    }

    pub fn blocks(&self) -> impl Iterator<Item = &'a IdentityRequirement> {
        self.blocks.iter().copied()
    }

    /// Returns the requirements that a publisher does not meet. A publisher must meet the
    /// requirements of every block.
    pub fn unmet(&self, identity: &PublisherIdentity) -> Vec<UnmetRequirement<'a>> {
        self.blocks.iter().flat_map(|block| block.unmet(identity)).collect()
    }
}

/// A part of a publisher's identity that does not match a policy's requirement.
#[derive(Clone, Debug)]
pub struct UnmetRequirement<'a> {
    pub requirement: &'a IdentityRequirement,
    pub part: IdentityPart,
    pub pattern: &'a str,
    /// The value of the part in the publisher's identity, if the identity has this part.
    pub found: Option<Box<str>>,
}

impl fmt::Display for UnmetRequirement<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requirement, part, pattern, found } = self;
        write!(
            formatter,
            "{} requires the {part} {pattern:?}, but the publisher has ",
            requirement.location
        )?;
        match found {
            Some(found) => write!(formatter, "{found:?}"),
            None => formatter.write_str("none"),
        }
    }
}
