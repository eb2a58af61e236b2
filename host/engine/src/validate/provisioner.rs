//! Provisioners, with their connections.

use std::sync::Arc;

use wardian_config::{Provisioner as ProvisionerBlock, decode_body};
use wardian_diagnostic::Diagnostics;
use wardian_lang::{Body, Scope};
use wardian_plugin::{Provisioner, hand_over};
use wardian_value::Value;

use crate::located::in_provisioner;
use crate::providers::about;
use crate::provisioners::{Provisioners, connection_schema};

/// A configuration that the provisioner itself has still to look at.
pub(super) struct Unchecked<'a> {
    block: &'a ProvisionerBlock,
    provisioner: Arc<dyn Provisioner>,
    config: Value,
}

/// Validates a provisioner as far as schemas go, where `self` is the object that it is for.
/// `around` is the connection block of the resource.
pub(super) fn validate<'a>(
    block: &'a ProvisionerBlock,
    around: Option<&Body>,
    provisioners: &Provisioners,
    scope: &dyn Scope,
) -> (Option<Unchecked<'a>>, Diagnostics) {
    let Some(known) = provisioners.get(&block.type_name) else {
        return (None, provisioners.missing(block).into());
    };
    let (config, mut diagnostics) = decode_body(&block.body, &known.schema.block, scope);
    let unchecked = (!diagnostics.has_errors()).then(|| Unchecked {
        block,
        provisioner: Arc::clone(&known.provisioner),
        config,
    });
    if let Some(connection) = block.connection_within(around) {
        diagnostics.extend(decode_body(&connection, &connection_schema().block, scope).1);
    }
    (unchecked, diagnostics)
}

impl Unchecked<'_> {
    /// What the provisioner says of it.
    pub(super) async fn check(self, address: &str) -> Diagnostics {
        let found = self.provisioner.validate_config(hand_over(&self.config)).await;
        in_provisioner(self.block, about(&found, address))
    }
}

/// Provisioners of `removed` blocks are only evaluated when an object goes; that they are
/// there is known before.
pub(super) fn check_removed(provisioners: &Provisioners, blocks: &[ProvisionerBlock]) -> Diagnostics {
    let is_missing = |block: &&ProvisionerBlock| provisioners.get(&block.type_name).is_none();
    let missing: Diagnostics =
        blocks.iter().filter(is_missing).map(|block| provisioners.missing(block)).collect();
    missing.in_block("removed")
}
