//! Default values: checks of literals against the type and the validators, and their code.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, Lit, RangeLimits};

use crate::field::{Choice, Field};
use crate::field_type::Kind;
use crate::validator::{Check, Validator, number};

/// Returns the errors of a default value that its tokens show.
pub(crate) fn errors(field: &Field, default: &Expr) -> Vec<Error> {
    let kind = &field.shape.kind;
    if let Some(found) = literal_kind(default)
        && !fits(kind, default)
    {
        return vec![Error::new_spanned(
            default,
            format!("the default is {found}, but the type of the field is {}", kind.describe()),
        )];
    }
    if let (Kind::Integer(name), Some(value)) = (kind, number(default))
        && !integer_contains(name, value)
    {
        return vec![Error::new_spanned(default, format!("the default is out of the range of `{name}`"))];
    }
    let validators = field.choices.iter().filter_map(|(choice, _)| match choice {
        Choice::Validate(validators) => Some(validators),
        _ => None,
    });
    validators.flatten().filter_map(|validator| rejection(validator, default)).collect()
}

fn literal_kind(default: &Expr) -> Option<&'static str> {
    match default {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => Some("a string"),
        Expr::Lit(ExprLit { lit: Lit::Bool(_), .. }) => Some("a bool"),
        Expr::Lit(ExprLit { lit: Lit::Float(_), .. }) => Some("a number with a fraction"),
        Expr::Array(_) => Some("a list"),
        _ if number(default).is_some() => Some("a number"),
        Expr::Lit(_) => Some("a literal without a corresponding type"),
        _ => None,
    }
}

fn fits(kind: &Kind, default: &Expr) -> bool {
    match (kind, default) {
        (Kind::Other | Kind::Dynamic | Kind::Impossible(_), _) => true,
        (Kind::Text, Expr::Lit(ExprLit { lit: Lit::Str(_), .. })) => true,
        (Kind::Bool, Expr::Lit(ExprLit { lit: Lit::Bool(_), .. })) => true,
        (Kind::Integer(_), Expr::Lit(ExprLit { lit: Lit::Float(_), .. })) => false,
        (Kind::Integer(_) | Kind::Number, default) => number(default).is_some(),
        (Kind::List(_) | Kind::Set(_), Expr::Array(_)) => true,
        _ => false,
    }
}

/// Returns whether an integer type contains a literal. The bounds of wide types are inexact, which
/// the compiler's own check of the literal corrects.
fn integer_contains(name: &str, value: f64) -> bool {
    let bits: i32 = name[1..].parse().unwrap_or(64);
    let magnitude = 2_f64.powi(if name.starts_with('i') { bits - 1 } else { bits });
    let minimum = if name.starts_with('i') { -magnitude } else { 0.0 };
    (minimum..=magnitude - 1.0).contains(&value)
}

/// Returns the error if a validator rejects a literal default.
fn rejection(validator: &Validator, default: &Expr) -> Option<Error> {
    let text = match default {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    };
    let measured = match validator.name.as_str() {
        "range" => number(default),
        "length" => text.as_ref().and_then(|text| u32::try_from(text.chars().count()).ok()).map(f64::from),
        "size" => match default {
            Expr::Array(array) => u32::try_from(array.elems.len()).ok().map(f64::from),
            _ => None,
        },
        _ => None,
    };
    let is_valid = match &validator.check {
        Check::Bounds(range) => measured.is_none_or(|value| {
            let start = range.start.as_deref().and_then(number);
            let end = range.end.as_deref().and_then(number);
            let below_end = |end: f64| match range.limits {
                RangeLimits::HalfOpen(_) => value < end,
                RangeLimits::Closed(_) => value <= end,
            };
            start.is_none_or(|start| value >= start) && end.is_none_or(below_end)
        }),
        Check::Choices(choices) => match &text {
            Some(text) => {
                let all: Option<Vec<String>> = choices.iter().map(choice_text).collect();
                all.is_none_or(|all| match validator.name.as_str() {
                    "none_of" => !all.contains(text),
                    "one_of_ignore_case" => all.iter().any(|choice| choice.eq_ignore_ascii_case(text)),
                    _ => all.contains(text),
                })
            }
            None => true,
        },
        Check::Pattern(pattern, _) => text.is_none_or(|text| {
            regex_lite::Regex::new(&pattern.value()).is_ok_and(|pattern| pattern.is_match(&text))
        }),
        _ => true,
    };
    (!is_valid).then(|| {
        Error::new(
            default.span(),
            format!(
                "the default does not pass the validator `{}`\n\
                 help: change the default or the validator, so that they agree",
                validator.name
            ),
        )
    })
}

fn choice_text(choice: &Expr) -> Option<String> {
    match choice {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// Returns the default value as an expression of type `Value`.
pub(crate) fn value(field: &Field, default: &Expr) -> TokenStream {
    let inner = &field.shape.inner;
    let span = default.span();
    let convert = |typed: TokenStream| quote_spanned!(span=> ::wardian_sdk::derive::value::<#inner>(&#typed));
    match (&field.shape.kind, default) {
        (Kind::Number, literal) if number(literal).is_some() => {
            let text = quote!(#literal).to_string().replace(' ', "");
            quote_spanned!(span=> ::wardian_sdk::derive::number(#text))
        }
        (Kind::List(_) | Kind::Set(_), Expr::Array(array)) => convert(quote_spanned!(span=>
            ::std::iter::IntoIterator::into_iter(#array)
                .map(::std::convert::Into::into)
                .collect::<#inner>()
        )),
        (Kind::Bool | Kind::Integer(_), _) => convert(quote_spanned!(span=> {
            let value: #inner = #default;
            value
        })),
        _ => convert(quote_spanned!(span=> {
            let value: #inner = ::std::convert::Into::into(#default);
            value
        })),
    }
}
