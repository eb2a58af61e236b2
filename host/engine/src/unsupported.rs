//! What configurations may say and this engine does not do yet: it is told, never
//! passed over.

use wardian_config::Configuration;
use wardian_lang::{Diagnostic, Diagnostics, Span};

/// An error for each block that the engine does not honour.
pub fn check(configuration: &Configuration) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let mut refuse = |what: &str, span: &Span| {
        diagnostics.push(
            Diagnostic::error(
                "Not supported yet",
                format!(
                    "This version of Wardian does not support {what}, and refuses rather than ignores \
                     it. Remove it, or run this configuration with Terraform for now."
                ),
            )
            .at(span.clone()),
        );
    };
    for node in configuration.modules() {
        let module = &node.module;
        for provisioner in module.removed.iter().flat_map(|block| &block.provisioners) {
            refuse("provisioners", &provisioner.span);
        }
        for resource in module.resources.values() {
            for provisioner in &resource.provisioners {
                refuse("provisioners", &provisioner.span);
            }
        }
    }
    diagnostics
}
