//! The evaluated arguments of a key provider or a method.

use std::collections::BTreeMap;

use wardian_config::decode_body;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Body, Expected};
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, NestedBlock, Setting,
};
use wardian_value::convert::convert;
use wardian_value::{Str, Type, Value};

use crate::scope::StaticScope;

/// The evaluated arguments of a block.
pub(crate) struct Arguments {
    value: Value,
    /// The block's address, such as `key_provider.pbkdf2.main`.
    address: String,
    span: Span,
    summary: &'static str,
}

impl Arguments {
    /// Evaluates a body. `summary` is the summary of errors about single arguments.
    ///
    /// # Errors
    /// Returns an error if the body does not match the schema, or a value is not known.
    pub(crate) fn evaluate(
        body: &Body,
        schema: &Block,
        scope: &StaticScope<'_>,
        (address, span): (String, &Span),
        summary: &'static str,
    ) -> Result<Self, Diagnostics> {
        let undeclared = undeclared_key_providers(body, schema, scope);
        if undeclared.has_errors() {
            return Err(undeclared);
        }
        let (value, problems) = decode_body(body, schema, scope);
        let value = problems.into_result(value)?.unmark_deep();
        let arguments = Self { value, address, span: span.clone(), summary };
        if arguments.value.is_wholly_known() {
            return Ok(arguments);
        }
        Err(arguments.invalid("an argument is not known before the state is read"))
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// Returns a string that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Returns a string that is not empty, and is required.
    pub(crate) fn required_text(&self, name: &str) -> Result<&str, Diagnostics> {
        self.text(name).ok_or_else(|| self.invalid(&format!("\"{name}\" is required")))
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Value::as_bool)
    }

    /// Returns a whole number within limits, or the default.
    pub(crate) fn number(
        &self,
        name: &str,
        (least, most): (u32, u32),
        default: u32,
    ) -> Result<u32, Diagnostics> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let text = convert(value, &Type::String).ok();
        let number = text.as_ref().and_then(Value::as_str).and_then(|text| text.parse::<u32>().ok());
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(number),
            None => Err(self.invalid(&format!("\"{name}\" must be a whole number from {least} to {most}"))),
        }
    }

    /// Returns the strings of a list.
    pub(crate) fn strings(&self, name: &str) -> Vec<String> {
        strings(self.get(name))
    }

    /// Returns a map of strings.
    pub(crate) fn text_map(&self, name: &str) -> BTreeMap<String, String> {
        let mapping = self.get(name).and_then(Value::as_mapping);
        let entries = mapping.into_iter().flatten();
        entries.filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned()))).collect()
    }

    /// Returns the error for an invalid argument. The problem is the end of a sentence.
    pub(crate) fn invalid(&self, problem: &str) -> Diagnostics {
        Diagnostic::error(self.summary, format!("{}: {problem}.", self.address)).at(self.span.clone()).into()
    }
}

pub(crate) fn strings(value: Option<&Value>) -> Vec<String> {
    let elements = value.and_then(Value::as_elements).unwrap_or_default();
    elements.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Reports references to key providers that do not exist.
fn undeclared_key_providers(body: &Body, schema: &Block, scope: &StaticScope<'_>) -> Diagnostics {
    let expected = |name: &str| schema.attributes.contains_key(name).then_some(Expected::Argument);
    // Errors in the body are reported when it is decoded.
    let body = body.interpreted(&expected, &mut Diagnostics::new());
    let attributes = body.layers().flat_map(|layer| &layer.attributes);
    let references = attributes.flat_map(|attribute| attribute.expression.references());
    references.filter_map(|reference| scope.undeclared_key_provider(reference)).collect()
}

/// Returns a schema of optional arguments.
pub(crate) fn schema<const N: usize>(arguments: [(&'static str, Type); N]) -> Block {
    let attributes = arguments.into_iter().map(|(name, ty)| (Str::new(name), argument(ty))).collect();
    Block { attributes, ..Block::default() }
}

/// Adds a block type of which a body contains at most one block.
pub(crate) fn with_block<const N: usize>(
    mut schema: Block,
    name: &'static str,
    arguments: [(&'static str, Type); N],
) -> Block {
    let block = self::schema(arguments);
    let nested = NestedBlock { block, nesting: BlockNesting::Single, min_items: 0, max_items: 1 };
    schema.block_types.insert(Str::new(name), nested);
    schema
}

fn argument(ty: Type) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        setting: Setting::Optional,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}
