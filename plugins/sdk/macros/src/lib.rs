//! The macro behind `#[derive(Schema)]` of `wardian-sdk`, where it is documented.
//!
//! The macro parses a struct, checks its options and generates calls of the SDK's schema builder. It
//! reports every mistake that it finds at the span of the field or option. It sees only the tokens
//! of types, so checks that depend on other types are left to the bounds of the generated calls.
//! It performs no I/O.

mod check;
mod container;
mod default_value;
mod description;
mod emit;
mod field;
mod field_type;
mod suggestion;
mod validator;

use proc_macro2::TokenStream;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::container::Container;
use crate::field::Field;

/// See the documentation of `wardian_sdk::Schema`.
#[proc_macro_derive(Schema, attributes(attr, schema))]
pub fn derive_schema(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input).and_then(|input| expand(&input)) {
        Ok(tokens) => tokens.into(),
        Err(errors) => errors.into_compile_error().into(),
    }
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let fields = named_fields(input)?;
    let mut errors = Errors::default();
    let container = errors.take(Container::parse(input));
    let is_computed = container.as_ref().is_some_and(|container| container.is_computed);
    let fields: Vec<Field> = fields
        .iter()
        .filter_map(|field| errors.take(Field::parse(field)))
        .filter(|field| !field.is_skipped)
        .map(|field| if is_computed { field.computed_by_default() } else { field })
        .collect();
    if let Some(container) = &container {
        check::names(container, &fields, &mut errors);
    }
    for field in &fields {
        check::options(field, &input.ident, &mut errors);
    }
    match container {
        Some(container) if errors.0.is_none() => Ok(emit::implementation(&input.ident, &container, &fields)),
        _ => Err(errors.0.unwrap_or_else(|| Error::new_spanned(&input.ident, "the struct is not valid"))),
    }
}

fn named_fields(input: &DeriveInput) -> Result<&Fields> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "`Schema` cannot be derived for a generic type, since a schema has fixed types\n\
             help: derive it for a struct with concrete field types, and share fields with \
             `#[serde(flatten)]`",
        ));
    }
    match &input.data {
        Data::Struct(data) => match &data.fields {
            fields @ Fields::Named(_) => Ok(fields),
            Fields::Unnamed(_) => Err(Error::new_spanned(
                &input.ident,
                "`Schema` needs named fields, since each field is an attribute or a block\n\
                 help: for a newtype around a string, implement `TextFormat` and use `Text<_>`",
            )),
            Fields::Unit => Err(Error::new_spanned(
                &input.ident,
                "`Schema` needs named fields, since each field is an attribute or a block\n\
                 help: write `struct NAME {}` for a schema without attributes",
            )),
        },
        Data::Enum(_) => Err(Error::new_spanned(
            &input.ident,
            "`Schema` cannot be derived for an enum, since an object always has the same attributes\n\
             help: derive it for a struct with an optional field for each variant, and add \
             `#[schema(exactly_one_of(\"a\", \"b\"))]`",
        )),
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "`Schema` cannot be derived for a union\nhelp: derive it for a struct",
        )),
    }
}

/// All errors that were found, combined.
#[derive(Default)]
struct Errors(Option<Error>);

impl Errors {
    fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }
}

#[cfg(test)]
mod tests;
