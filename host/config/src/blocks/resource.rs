//! `resource`, `data` and `ephemeral` blocks.

use wardian_lang::{Body, Expression, Reference, Span};
use wardian_plugin::ResourceMode;
use wardian_value::Str;

use super::{Lifecycle, ProviderReference};
use crate::module::ResourceKey;

/// A `resource`, `data` or `ephemeral` block.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Which of the three.
    pub mode: ResourceMode,
    /// `aws_instance`.
    pub type_name: Str,
    /// Its name.
    pub name: Str,
    /// Which provider configuration it belongs to.
    pub provider: ProviderReference,
    /// How many instances.
    pub count: Option<Expression>,
    /// One instance for each element.
    pub for_each: Option<Expression>,
    /// What it waits for besides what it refers to.
    pub depends_on: Vec<Reference>,
    /// How its objects live.
    pub lifecycle: Lifecycle,
    /// What is run when an object is created or destroyed.
    pub provisioners: Vec<Provisioner>,
    /// How provisioners reach the object.
    pub connection: Option<Body>,
    /// What the provider is given: the body without all of the above.
    pub body: Body,
    /// The header.
    pub span: Span,
}

impl Resource {
    /// What names it in its module.
    pub fn key(&self) -> ResourceKey {
        (self.mode, self.type_name.clone(), self.name.clone())
    }
}

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// `local-exec`.
    pub type_name: Str,
    /// Whether it runs when an object is destroyed rather than created.
    pub on_destroy: bool,
    /// Whether its failure is let pass.
    pub continue_on_failure: bool,
    /// How it reaches the object.
    pub connection: Option<Body>,
    /// What it is configured with.
    pub body: Body,
    /// The header.
    pub span: Span,
}
