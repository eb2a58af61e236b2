//! Validators in `#[attr(validate(..))]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{
    Error, Expr, ExprLit, ExprRange, ExprUnary, Lit, LitStr, RangeLimits, Result, Token, Type, UnOp,
    parenthesized,
};

use crate::field_type::Kind;
use crate::suggestion;

pub(crate) struct Validator {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) check: Check,
}

pub(crate) enum Check {
    /// A range of numbers, lengths or sizes.
    Bounds(ExprRange),
    /// Choices, which are literals or other expressions.
    Choices(Vec<Expr>),
    /// A regular expression, and the requirement that it checks.
    Pattern(LitStr, Option<LitStr>),
    /// A format without arguments.
    Format,
    /// Names of attributes of the same object.
    Siblings(Vec<LitStr>),
    /// Validators of the elements or keys, or alternatives.
    Inside(Vec<Validator>),
    /// A function that checks the typed value.
    Custom(Expr),
    /// An expression of type `Validator`.
    Expression(Expr),
}

/// The values that a validator checks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Strings,
    Numbers,
    StringsOrNumbers,
    Collections,
    Lists,
    Maps,
    Anything,
}

const FORMATS: [&str; 9] = ["url", "http_url", "cidr", "ip", "uuid", "json", "duration", "time", "base64"];
const SIBLINGS: [&str; 5] =
    ["conflicts_with", "also_requires", "at_least_one_of", "exactly_one_of", "prefer_write_only"];
const NAMES: [&str; 27] = [
    "range",
    "length",
    "size",
    "one_of",
    "one_of_ignore_case",
    "none_of",
    "regex",
    "integer",
    "unique",
    "elements",
    "keys",
    "any_of",
    "custom",
    "url",
    "http_url",
    "cidr",
    "ip",
    "uuid",
    "json",
    "duration",
    "time",
    "base64",
    "conflicts_with",
    "also_requires",
    "at_least_one_of",
    "exactly_one_of",
    "prefer_write_only",
];

impl Validator {
    pub(crate) fn parse_list(meta: &ParseNestedMeta<'_>) -> Result<Vec<Self>> {
        let content;
        parenthesized!(content in meta.input);
        let all = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
        if all.is_empty() {
            return Err(Error::new_spanned(
                &meta.path,
                "`validate` needs validators\nhelp: write `validate(length(1..=63))`",
            ));
        }
        all.into_iter().map(Self::new).collect()
    }

    fn new(expression: Expr) -> Result<Self> {
        let span = expression.span();
        let (name, arguments) = match &expression {
            Expr::Call(call) => (single_name(&call.func), call.args.iter().cloned().collect()),
            path @ Expr::Path(_) => (single_name(path), Vec::new()),
            _ => (None, Vec::new()),
        };
        let Some(name) = name else {
            return Ok(Self { name: String::new(), span, check: Check::Expression(expression) });
        };
        let check = match name.as_str() {
            "range" | "length" | "size" => Check::Bounds(range(&name, arguments, span)?),
            "one_of" | "one_of_ignore_case" | "none_of" => {
                at_least_one(&name, &arguments, span)?;
                Check::Choices(arguments)
            }
            "regex" => pattern(arguments, span)?,
            "elements" | "keys" | "any_of" => {
                at_least_one(&name, &arguments, span)?;
                Check::Inside(arguments.into_iter().map(Self::new).collect::<Result<_>>()?)
            }
            "custom" => match <[Expr; 1]>::try_from(arguments) {
                Ok([function]) => Check::Custom(function),
                Err(_) => {
                    return Err(Error::new(
                        span,
                        "`custom` needs one function\nhelp: write `custom(check_name)`, with `fn \
                         check_name(name: &str) -> Result<(), &'static str>`",
                    ));
                }
            },
            name if SIBLINGS.contains(&name) => {
                at_least_one(name, &arguments, span)?;
                Check::Siblings(
                    arguments.into_iter().map(|argument| string(name, argument)).collect::<Result<_>>()?,
                )
            }
            name if FORMATS.contains(&name) || name == "integer" || name == "unique" => {
                if let Some(argument) = arguments.first() {
                    return Err(Error::new_spanned(
                        argument,
                        format!("`{name}` has no arguments\nhelp: write `{name}`"),
                    ));
                }
                Check::Format
            }
            other => {
                let message = suggestion::unknown("validator", other, &NAMES);
                return Err(Error::new(
                    span,
                    format!("{message}, or the path of a function that returns a `Validator`"),
                ));
            }
        };
        Ok(Self { name, span, check })
    }

    pub(crate) fn subject(&self) -> Subject {
        match self.name.as_str() {
            "range" | "integer" => Subject::Numbers,
            "one_of" | "none_of" => Subject::StringsOrNumbers,
            "size" | "elements" => Subject::Collections,
            "unique" => Subject::Lists,
            "keys" => Subject::Maps,
            "any_of" | "custom" | "" => Subject::Anything,
            name if SIBLINGS.contains(&name) => Subject::Anything,
            _ => Subject::Strings,
        }
    }

    /// Returns the error if the validator cannot check values of this kind.
    pub(crate) fn mismatch(&self, kind: &Kind) -> Option<Error> {
        if matches!(kind, Kind::Other | Kind::Dynamic | Kind::Impossible(_)) {
            return None;
        }
        let fits = match self.subject() {
            Subject::Strings => matches!(kind, Kind::Text),
            Subject::Numbers => matches!(kind, Kind::Integer(_) | Kind::Number),
            Subject::StringsOrNumbers => matches!(kind, Kind::Text | Kind::Integer(_) | Kind::Number),
            Subject::Collections => matches!(kind, Kind::List(_) | Kind::Set(_) | Kind::Map(_)),
            Subject::Lists => matches!(kind, Kind::List(_)),
            Subject::Maps => matches!(kind, Kind::Map(_)),
            Subject::Anything => true,
        };
        if fits {
            return match &self.check {
                Check::Inside(validators) if self.name == "elements" => {
                    let (Kind::List(element) | Kind::Set(element) | Kind::Map(element)) = kind else {
                        return None;
                    };
                    validators.iter().find_map(|validator| validator.mismatch(element))
                }
                Check::Inside(validators) if self.name == "keys" => {
                    validators.iter().find_map(|validator| validator.mismatch(&Kind::Text))
                }
                Check::Inside(validators) => validators.iter().find_map(|validator| validator.mismatch(kind)),
                _ => None,
            };
        }
        let help = match (self.name.as_str(), kind) {
            ("range", Kind::Text) => "use `length` for the number of characters",
            ("range" | "length", Kind::List(_) | Kind::Set(_) | Kind::Map(_)) => {
                "use `size` for the number of elements, or `elements(..)` for each element"
            }
            ("length", Kind::Integer(_) | Kind::Number) => "use `range` for the size of a number",
            ("size", Kind::Text) => "use `length` for the number of characters",
            ("unique", Kind::Set(_)) => "remove it: the elements of a set are always unique",
            (_, Kind::List(_) | Kind::Set(_) | Kind::Map(_)) => "use `elements(..)` to check each element",
            _ => "remove the validator, or change the type of the field",
        };
        let message = format!(
            "`{}` cannot check {}, so it would accept everything\nhelp: {help}",
            self.name,
            kind.describe()
        );
        Some(Error::new(self.span, message))
    }

    /// Returns the names of attributes to which the validator refers.
    pub(crate) fn siblings(&self) -> &[LitStr] {
        match &self.check {
            Check::Siblings(names) => names,
            _ => &[],
        }
    }

    /// Returns the marker type of the values that the validator checks.
    pub(crate) fn subject_type(&self) -> TokenStream {
        let derive = quote!(::wardian_sdk::derive);
        match self.subject() {
            Subject::Strings => quote!(#derive::Strings),
            Subject::Numbers => quote!(#derive::Numbers),
            Subject::StringsOrNumbers if self.has_number_choices() => quote!(#derive::Numbers),
            Subject::StringsOrNumbers => quote!(#derive::Strings),
            Subject::Collections => match &self.check {
                Check::Inside(inside) => {
                    let element = inside.first().map_or(quote!(#derive::Anything), Self::subject_type);
                    quote!(#derive::Elements<#element>)
                }
                _ => quote!(#derive::Collections),
            },
            Subject::Lists => quote!(#derive::Lists),
            Subject::Maps => quote!(#derive::Maps),
            Subject::Anything => match &self.check {
                Check::Inside(inside) => inside.first().map_or(quote!(#derive::Anything), Self::subject_type),
                _ => quote!(#derive::Anything),
            },
        }
    }

    fn has_number_choices(&self) -> bool {
        matches!(&self.check, Check::Choices(choices) if choices.iter().any(|choice| number(choice).is_some()))
    }

    /// Returns the call that creates the validator for values of this kind and, if it is known, this
    /// type.
    pub(crate) fn constructor(&self, kind: &Kind, ty: Option<&Type>) -> TokenStream {
        let span = self.span;
        let name = syn::Ident::new(if self.name.is_empty() { "custom" } else { &self.name }, span);
        let validate = quote_spanned!(span=> ::wardian_sdk::validate);
        match &self.check {
            Check::Bounds(range) if self.name == "range" && *kind == Kind::Number => {
                let range = float_range(range);
                quote_spanned!(span=> #validate::float_range(#range))
            }
            Check::Bounds(range) => quote_spanned!(span=> #validate::#name(#range)),
            Check::Choices(choices) if self.has_number_choices() => {
                let name = syn::Ident::new(&format!("{}_numbers", self.name), span);
                quote_spanned!(span=> #validate::#name([#(::wardian_sdk::Number::from(#choices)),*]))
            }
            Check::Choices(choices) => quote_spanned!(span=> #validate::#name([#(#choices),*])),
            Check::Pattern(pattern, Some(requirement)) => {
                quote_spanned!(span=> #validate::regex_with_requirement(#pattern, #requirement))
            }
            Check::Pattern(pattern, None) => quote_spanned!(span=> #validate::regex(#pattern)),
            Check::Format => quote_spanned!(span=> #validate::#name()),
            Check::Siblings(names) => quote_spanned!(span=> #validate::#name([#(#names),*])),
            Check::Inside(inside) => {
                let text = Kind::Text;
                let element = match kind {
                    Kind::List(element) | Kind::Set(element) | Kind::Map(element)
                        if self.name == "elements" =>
                    {
                        &**element
                    }
                    _ if self.name == "keys" => &text,
                    other => other,
                };
                let ty = ty.filter(|_| self.name == "any_of");
                let inside: Vec<TokenStream> =
                    inside.iter().map(|validator| validator.constructor(element, ty)).collect();
                if self.name == "any_of" {
                    return quote_spanned!(span=> #validate::any_of([#(#inside),*]));
                }
                quote_spanned!(span=> #validate::#name(#validate::all_of([#(#inside),*])))
            }
            Check::Custom(function) if matches!(kind, Kind::Text) => {
                quote_spanned!(span=> #validate::typed(|value: &::std::string::String| #function(value)))
            }
            Check::Custom(function) => match ty {
                Some(ty) => quote_spanned!(span=> #validate::typed(|value: &#ty| #function(value))),
                None => quote_spanned!(span=> #validate::typed(|value| #function(value))),
            },
            Check::Expression(expression) => quote!(#expression),
        }
    }
}

fn single_name(function: &Expr) -> Option<String> {
    match function {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

fn at_least_one(name: &str, arguments: &[Expr], span: Span) -> Result<()> {
    if arguments.is_empty() {
        return Err(Error::new(span, format!("`{name}` needs arguments\nhelp: write `{name}(..)`")));
    }
    Ok(())
}

fn string(name: &str, argument: Expr) -> Result<LitStr> {
    match argument {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text),
        other => Err(Error::new_spanned(other, format!("`{name}` needs string literals"))),
    }
}

fn range(name: &str, arguments: Vec<Expr>, span: Span) -> Result<ExprRange> {
    let example = if name == "range" { "30.." } else { "1..=63" };
    let error = |span| Error::new(span, format!("`{name}` needs one range\nhelp: write `{name}({example})`"));
    let [argument] = <[Expr; 1]>::try_from(arguments).map_err(|_| error(span))?;
    let Expr::Range(range) = argument else { return Err(error(argument.span())) };
    if let (Some(start), Some(end)) =
        (range.start.as_deref().and_then(number), range.end.as_deref().and_then(number))
    {
        let is_empty = match range.limits {
            RangeLimits::HalfOpen(_) => start >= end,
            RangeLimits::Closed(_) => start > end,
        };
        if is_empty {
            return Err(Error::new_spanned(
                &range,
                "the range is empty, so no value is valid\nhelp: exchange its ends",
            ));
        }
    }
    Ok(range)
}

fn pattern(arguments: Vec<Expr>, span: Span) -> Result<Check> {
    let mut arguments = arguments.into_iter();
    let (Some(pattern), requirement, None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err(Error::new(
            span,
            "`regex` needs a pattern, and optionally the requirement for messages\n\
             help: write `regex(\"^[a-z]+$\", \"must consist of lower-case letters\")`",
        ));
    };
    let pattern = string("regex", pattern)?;
    if let Err(error) = regex_lite::Regex::new(&pattern.value()) {
        return Err(Error::new_spanned(&pattern, format!("the regular expression is not valid: {error}")));
    }
    Ok(Check::Pattern(pattern, requirement.map(|text| string("regex", text)).transpose()?))
}

/// Returns the value of a literal number.
pub(crate) fn number(expression: &Expr) -> Option<f64> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => literal.base10_digits().parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(literal), .. }) => literal.base10_digits().parse().ok(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => number(expr).map(|number| -number),
        Expr::Group(group) => number(&group.expr),
        Expr::Paren(paren) => number(&paren.expr),
        _ => None,
    }
}

/// Returns the range with integer literals as floating-point literals.
fn float_range(range: &ExprRange) -> TokenStream {
    let end = |side: Option<&Expr>| {
        side.map(|side| match (side, number(side)) {
            (Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) | Expr::Unary(_), Some(value)) => quote!(#value),
            _ => quote!(#side),
        })
    };
    let (start, limits, end) = (end(range.start.as_deref()), &range.limits, end(range.end.as_deref()));
    quote!(#start #limits #end)
}
