//! The arguments of a backend: those in its block, and those that `-backend-config` sets.

use std::fs;
use std::path::Path;

use wardian_backend::{BackendConfig, BackendType, convert_argument};
use wardian_config::{Backend as BackendBlock, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_lang::{EmptyScope, SourceBytes, parse_body, parse_expression};
use wardian_plugin::{AttributeType, Block};
use wardian_value::{Type, Value};

use super::in_terraform_block;
use crate::context::AppContext;
use crate::error::AppError;

/// Decodes the arguments of a block.
///
/// # Errors
/// Returns an error if an argument does not exist, or its value does not have the required type.
pub(crate) fn decode(block: &BackendBlock, kind: &dyn BackendType) -> Result<BackendConfig, AppError> {
    let (value, problems) = decode_body(&block.body, kind.schema(), &EmptyScope);
    Ok(in_terraform_block(problems).into_result(BackendConfig::new(value))?)
}

/// The schema of arguments that `-backend-config` sets.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentSchema<'a> {
    /// The kind of the location: `backend` or `state store`.
    pub(crate) kind: &'a str,
    pub(crate) type_name: &'a str,
    pub(crate) schema: &'a Block,
}

impl<'a> ArgumentSchema<'a> {
    pub(crate) fn for_backend(kind: &'static dyn BackendType) -> ArgumentSchema<'a> {
        Self { kind: "backend", type_name: kind.name(), schema: kind.schema() }
    }
}

/// Returns the arguments of a block with the values of `-backend-config`, each of which is
/// `NAME=VALUE`, or a file of such lines.
///
/// # Errors
/// Returns an error if an argument does not exist, or a value or a file cannot be used.
pub(crate) fn with_options(
    context: &AppContext,
    kind: ArgumentSchema<'_>,
    block: &BackendConfig,
    options: &[String],
) -> Result<BackendConfig, AppError> {
    let mut config = block.clone();
    for given in options {
        config = match given.split_once('=') {
            Some((name, value)) => with_argument(kind, &config, name.trim(), value.trim())?,
            None => with_file(context, kind, &config, Path::new(given))?,
        };
    }
    Ok(config)
}

fn with_argument(
    kind: ArgumentSchema<'_>,
    config: &BackendConfig,
    name: &str,
    text: &str,
) -> Result<BackendConfig, AppError> {
    let schema = kind.schema;
    let Some(attribute) = schema.attributes.get(name) else {
        let suggestion = wardian_diagnostic::did_you_mean(name, schema.attributes.keys().map(|name| &**name));
        return Err(AppError::new(
            "Invalid backend configuration argument",
            format!("The {} \"{}\" has no argument \"{name}\".{suggestion}", kind.kind, kind.type_name),
        ));
    };
    let invalid = |reason: String| {
        AppError::new(
            "Invalid backend configuration argument",
            format!("The value of \"{name}\", given with -backend-config, is not valid: {reason}."),
        )
    };
    let is_simple = matches!(&attribute.ty, AttributeType::Value(Type::String | Type::Bool | Type::Number));
    let value = if is_simple {
        Value::string(text)
    } else {
        let file = SourceBytes::new("-backend-config", text.as_bytes().to_vec())?.into_file();
        parse_expression(&file)?.evaluate(&EmptyScope)?
    };
    let value = convert_argument(attribute, &value).map_err(invalid)?;
    Ok(config.with(name, value))
}

fn with_file(
    context: &AppContext,
    kind: ArgumentSchema<'_>,
    config: &BackendConfig,
    path: &Path,
) -> Result<BackendConfig, AppError> {
    let bytes = fs::read(path).map_err(|error| {
        AppError::new(
            "Backend configuration cannot be read",
            format!(
                "The file {}, given with -backend-config, cannot be read: {}.",
                path.display(),
                system_reason(&error)
            ),
        )
    })?;
    let file = SourceBytes::new(&path.display().to_string(), bytes)?.into_file();
    let (body, mut problems) = parse_body(&file);
    for block in &body.blocks {
        let detail = "A file of backend arguments cannot contain blocks.";
        problems.push(Diagnostic::error("Unsupported block type", detail).at(block.header_span.clone()));
    }
    let (value, found) = if body.blocks.is_empty() {
        decode_body(&body, kind.schema, &EmptyScope)
    } else {
        (Value::empty_object(), Diagnostics::new())
    };
    problems.extend(found);
    let mut merged = config.clone();
    for attribute in &body.attributes {
        if let Some(given) = value.get(&attribute.name) {
            merged = merged.with(&attribute.name, given.clone());
        }
    }
    context.frontend.accept(merged, &problems)
}
