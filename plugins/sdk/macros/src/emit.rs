//! Generates the implementations of the SDK's traits.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned as _;

use crate::container::Container;
use crate::default_value;
use crate::field::{Choice, Field};
use crate::field_type::{Kind, Wrapper};

pub(crate) fn implementation(ident: &Ident, container: &Container, fields: &[Field]) -> TokenStream {
    let settings = settings(container);
    let parts = fields.iter().map(part);
    let checks = fields.iter().flat_map(checks);
    let has_blocks = fields.iter().map(has_blocks);
    quote! {
        #[automatically_derived]
        impl ::wardian_sdk::HasSchema for #ident {
            fn schema() -> ::wardian_sdk::Schema {
                #(#checks)*
                ::wardian_sdk::Schema::new()
                    #settings
                    #(#parts)*
            }
        }

        #[automatically_derived]
        impl ::wardian_sdk::AttributeType for #ident {
            const HAS_BLOCKS: bool = false #(|| #has_blocks)*;

            fn shape() -> ::wardian_sdk::AttributeShape {
                ::wardian_sdk::AttributeShape::nested::<Self>()
            }
        }

        #[automatically_derived]
        impl ::wardian_sdk::BlockType for #ident {
            type Contents = Self;
            const NESTING: ::wardian_sdk::BlockNesting = ::wardian_sdk::BlockNesting::Single;
            const IS_REQUIRED: bool = true;
        }
    }
}

/// Returns the calls that set the schema's own properties.
fn settings(container: &Container) -> TokenStream {
    let description = container.description.iter().map(|text| quote!(.description(#text)));
    let version = container.version.iter().map(|version| quote!(.version(#version)));
    let deprecated = container.deprecated.iter().map(|text| quote!(.deprecated(#text)));
    let rules = container.rules.iter().map(|rule| {
        let (name, paths) = (format_ident!("{}", rule.name), &rule.paths);
        quote!(.validate(::wardian_sdk::validate::paths::#name([#(#paths),*])))
    });
    let validators = container.validators.iter().map(|validator| quote!(.validate(#validator)));
    quote!(#(#description)* #(#version)* #(#deprecated)* #(#rules)* #(#validators)*)
}

/// Returns the expression for whether a field is a block or contains one.
fn has_blocks(field: &Field) -> TokenStream {
    let ty = &field.ty;
    if field.is_block() {
        return quote!(true);
    }
    if field.timeouts().is_some() || field.shape.kind != Kind::Other && !may_be_struct(&field.shape.kind) {
        return quote!(false);
    }
    quote_spanned!(ty.span()=> <#ty as ::wardian_sdk::AttributeType>::HAS_BLOCKS)
}

fn may_be_struct(kind: &Kind) -> bool {
    match kind {
        Kind::Other => true,
        Kind::List(element) | Kind::Set(element) | Kind::Map(element) => may_be_struct(element),
        _ => false,
    }
}

/// Returns statements that make the compiler check what the tokens of the types do not show.
fn checks(field: &Field) -> Vec<TokenStream> {
    let ty = &field.ty;
    if field.is_flattened || field.is_block() || field.timeouts().is_some() {
        return Vec::new();
    }
    let mut checks = Vec::new();
    if may_be_struct(&field.shape.kind) {
        let message = format!(
            "the field `{}` is a nested attribute, but its type has blocks, which only blocks can contain: add \
             `block` to the options of the field, or remove `block` inside the type",
            field.name
        );
        checks.push(quote_spanned!(ty.span()=>
            const _: () = assert!(!<#ty as ::wardian_sdk::AttributeType>::HAS_BLOCKS, #message);
        ));
    }
    if field.shape.kind == Kind::Other && field.shape.wrapper == Wrapper::None && needs_null(field) {
        let message = format!(
            "the field `{}` must represent null, because the attribute is optional, computed or write-only: use \
             `Option<_>`",
            field.name
        );
        checks.push(quote_spanned!(ty.span()=>
            const _: () = assert!(<#ty as ::wardian_sdk::AttributeType>::ACCEPTS_NULL, #message);
        ));
    }
    for (choice, _) in &field.choices {
        let Choice::Validate(validators) = choice else { continue };
        for validator in validators {
            let subject = validator.subject_type();
            checks.push(quote_spanned!(validator.span=>
                ::wardian_sdk::derive::accepts::<#ty, #subject>();
            ));
        }
    }
    checks
}

/// Returns whether the attribute can be null.
fn needs_null(field: &Field) -> bool {
    let is_nullable =
        |choice: &Choice| matches!(choice, Choice::Optional | Choice::Computed | Choice::WriteOnly);
    field.has(is_nullable) && !field.has_default()
}

/// Returns the call that adds the field to the schema.
fn part(field: &Field) -> TokenStream {
    let (name, ty) = (&field.name, &field.ty);
    let span = ty.span();
    if field.is_flattened {
        return quote_spanned!(span=> .include::<#ty>());
    }
    if let Some(operations) = field.timeouts() {
        let operations = operations.iter().map(ToString::to_string);
        return if field.is_block() {
            quote_spanned!(span=> .block(::wardian_sdk::Timeouts::block(&[#(#operations),*])))
        } else {
            quote_spanned!(span=> .attribute(::wardian_sdk::Timeouts::attribute(&[#(#operations),*])))
        };
    }
    let description = field.description.iter().map(|text| quote!(.description(#text)));
    let options = field.choices.iter().map(|(choice, span)| {
        let call = option(field, choice);
        quote_spanned!(*span=> #call)
    });
    if field.is_block() {
        return quote_spanned!(span=>
            .block(::wardian_sdk::Block::for_type::<#ty>(#name) #(#description)* #(#options)*)
        );
    }
    let implied = field.has_implied_presence().then(|| quote!(.required_unless_nullable::<#ty>()));
    quote_spanned!(span=>
        .attribute(::wardian_sdk::Attribute::for_type::<#ty>(#name) #implied #(#description)* #(#options)*)
    )
}

/// Returns the call of the builder for an option.
fn option(field: &Field, choice: &Choice) -> TokenStream {
    match choice {
        Choice::Required => quote!(.required()),
        Choice::Optional => quote!(.optional()),
        Choice::Computed => quote!(.computed()),
        Choice::Nullable | Choice::Block | Choice::Timeouts(_) => TokenStream::new(),
        Choice::Sensitive => quote!(.sensitive()),
        Choice::WriteOnly => quote!(.write_only()),
        Choice::ForceNew => quote!(.force_new()),
        Choice::ForceNewIfConfigured => quote!(.force_new_if_configured()),
        Choice::ForceNewIf(condition) => quote!(.force_new_if(#condition)),
        Choice::UseStateForUnknown => quote!(.use_state_for_unknown()),
        Choice::ModifyPlan(modify) => quote!(.modify_plan(#modify)),
        Choice::Default(default) => {
            let value = default_value::value(field, default);
            quote!(.default(#value))
        }
        Choice::DefaultWith(function) => {
            let inner = &field.shape.inner;
            // The span lets the compiler mark the function if its result has another type.
            quote_spanned!(function.span()=>
                .default_with(::wardian_sdk::derive::default_with::<#inner, _>(#function))
            )
        }
        Choice::Deprecated(text) => quote!(.deprecated(#text)),
        Choice::Description(text) => quote!(.description(#text)),
        Choice::Validate(validators) => {
            let (kind, inner) = (&field.shape.kind, &field.shape.inner);
            let validators = validators.iter().map(|validator| {
                let constructor = validator.constructor(kind, Some(inner));
                quote_spanned!(validator.span=> .validate(#constructor))
            });
            quote!(#(#validators)*)
        }
        Choice::Set => quote!(.into_set()),
        Choice::Group => quote!(.into_group()),
        Choice::MinItems(count) => quote!(.min(#count)),
        Choice::MaxItems(count) => quote!(.max(#count)),
    }
}
