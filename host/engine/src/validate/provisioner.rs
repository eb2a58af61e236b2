//! Validates provisioners and their connections.

use std::sync::Arc;

use wardian_config::{Provisioner as ProvisionerBlock, decode_body};
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_lang::{Body, Scope};
use wardian_plugin::{CallContext, Provisioner};
use wardian_value::Value;

use crate::diagnostic_spans::in_provisioner;
use crate::plugin_diagnostics::from_plugin_about;
use crate::provisioners::{Provisioners, connection_schema};

/// A configuration that the provisioner itself must still validate.
pub(super) struct Unchecked<'a> {
    block: &'a ProvisionerBlock,
    provisioner: Arc<dyn Provisioner>,
    config: Value,
}

/// Validates a provisioner against its schema; `self` in the scope is the provisioner's object.
/// `around` is the connection block of the resource.
pub(super) fn validate<'a>(
    block: &'a ProvisionerBlock,
    around: Option<&Body>,
    provisioners: &Provisioners,
    scope: &dyn Scope,
) -> Diagnosed<Unchecked<'a>> {
    let Some(known) = provisioners.get(&block.type_name) else {
        return Diagnosed::failed(provisioners.missing(block));
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
    Diagnosed { value: unchecked, diagnostics }
}

impl Unchecked<'_> {
    /// Returns the provisioner's diagnostics.
    pub(super) async fn check(self, context: &CallContext, address: &str) -> Diagnostics {
        let found =
            self.provisioner.validate_config(context, context.unmark_and_register(&self.config)).await;
        in_provisioner(self.block, from_plugin_about(&found, address))
    }
}

/// Checks that the provisioners of `removed` blocks exist. These provisioners are evaluated only
/// when an object is destroyed.
pub(super) fn check_removed(provisioners: &Provisioners, blocks: &[ProvisionerBlock]) -> Diagnostics {
    let is_missing = |block: &&ProvisionerBlock| provisioners.get(&block.type_name).is_none();
    let missing: Diagnostics =
        blocks.iter().filter(is_missing).map(|block| provisioners.missing(block)).collect();
    missing.in_block("removed")
}
