//! `provider` blocks and references to them.

use wardian_lang::{Body, Span};
use wardian_plugin::version::Constraints;
use wardian_value::Str;

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// The provider's local name.
    pub local_name: Str,
    /// Which of several configurations; `None` for the default one.
    pub alias: Option<Str>,
    /// The old way to require a version.
    pub version: Option<(Constraints, Span)>,
    /// What the provider is configured with.
    pub body: Body,
    /// The header.
    pub span: Span,
}

/// `aws.west`, or what a resource type implies.
#[derive(Clone, Debug)]
pub struct ProviderReference {
    /// The provider's local name.
    pub local_name: Str,
    /// Which of several configurations.
    pub alias: Option<Str>,
    /// Where it is written; `None` where it is implied.
    pub span: Option<Span>,
}
