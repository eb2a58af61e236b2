//! Values of the root module's variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_lang::{Diagnostics, SourceFile};
use wardian_value::{Str, Value};

use crate::module::Module;

/// Everything that gives values to root variables. The caller has read the
/// files and the environment.
#[derive(Clone, Debug, Default)]
pub struct VariableInputs {
    /// `TF_VAR_name` and its text, without the prefix.
    pub environment: Vec<(String, String)>,
    /// `terraform.tfvars`, `terraform.tfvars.json`, then `*.auto.tfvars` and
    /// `*.auto.tfvars.json` in the order of their names.
    pub automatic_files: Vec<Arc<SourceFile>>,
    /// `-var` and `-var-file` in the order of the command line.
    pub arguments: Vec<VariableSource>,
}

/// One `-var` or `-var-file`.
#[derive(Clone, Debug)]
pub enum VariableSource {
    /// `-var name=text`.
    Text(VariableText),
    /// `-var-file`, read by the caller; a name that ends in `.json` is JSON.
    File(Arc<SourceFile>),
}

/// The text of one `-var`.
#[derive(Clone, Debug)]
pub struct VariableText {
    /// The variable.
    pub name: String,
    /// What is behind the `=`.
    pub text: String,
}

/// The values of a root module's variables, converted to their types. Variables
/// that have a default and are not given are not in it. Warnings are returned
/// beside the values.
///
/// # Errors
///
/// All that is wrong with what is given, and what is missing.
pub fn root_variables(
    module: &Module,
    inputs: &VariableInputs,
) -> Result<(BTreeMap<Str, Value>, Diagnostics), Diagnostics> {
    let _ = (module, inputs);
    Ok((BTreeMap::new(), Diagnostics::new()))
}
