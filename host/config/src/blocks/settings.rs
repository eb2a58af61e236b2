//! `terraform` blocks.

use wardian_lang::{Body, Span};
use wardian_plugin::address::ProviderAddress;
use wardian_plugin::version::Constraints;
use wardian_value::Str;

/// One entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// Which provider the local name stands for.
    pub address: ProviderAddress,
    /// Which versions will do.
    pub constraints: Constraints,
    /// Names of configurations that callers hand over.
    pub configuration_aliases: Vec<(Str, Span)>,
    /// The entry.
    pub span: Span,
}

/// A `required_version` argument.
#[derive(Clone, Debug)]
pub struct RequiredVersion {
    /// Which versions of the program will do.
    pub constraints: Constraints,
    /// The argument's value.
    pub span: Span,
}

/// A `backend` block.
#[derive(Clone, Debug)]
pub struct Backend {
    /// `local`.
    pub type_name: Str,
    /// What it is configured with.
    pub body: Body,
    /// The header.
    pub span: Span,
}
