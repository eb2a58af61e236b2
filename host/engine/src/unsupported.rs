//! What configurations may say and this engine does not do yet: it is told, never
//! passed over.

use wardian_config::Configuration;
use wardian_lang::{Diagnostic, Diagnostics};
use wardian_value::Str;

use crate::provisioners::{awaited_schema, blocks};

/// An error for each block that is not honoured, given the types of provisioners that there are.
/// Types that nobody knows are told when the configuration is validated.
pub fn check(configuration: &Configuration, types: &[Str]) -> Diagnostics {
    blocks(configuration)
        .filter(|block| awaited_schema(&block.type_name).is_some() && !types.contains(&block.type_name))
        .map(|block| {
            let detail = format!(
                "This version of Wardian does not support the provisioner {}, and refuses rather than ignores it. \
                 Remove it, or run this configuration with Terraform for now.",
                block.type_name
            );
            Diagnostic::error("Not supported yet", detail).at(block.span.clone())
        })
        .collect()
}
