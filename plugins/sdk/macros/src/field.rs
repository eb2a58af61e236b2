//! The fields of the struct and their options: `#[attr(..)]`, and serde's options that determine
//! an attribute's name.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, Ident, LitInt, LitStr, Path, Result, Token, Type, parenthesized};

use crate::container::skip_value;
use crate::description;
use crate::field_type::FieldType;
use crate::suggestion;
use crate::validator::Validator;

pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) ty: Type,
    pub(crate) shape: FieldType,
    pub(crate) description: Option<TokenStream>,
    /// The options in the order in which they are written, which is the order of plan modifiers.
    pub(crate) choices: Vec<(Choice, Span)>,
    pub(crate) is_flattened: bool,
    pub(crate) is_skipped: bool,
}

pub(crate) enum Choice {
    Required,
    Optional,
    Computed,
    Nullable,
    Sensitive,
    WriteOnly,
    ForceNew,
    ForceNewIfConfigured,
    ForceNewIf(Expr),
    UseStateForUnknown,
    ModifyPlan(Expr),
    Default(Expr),
    DefaultWith(Path),
    Deprecated(Expr),
    Description(Expr),
    Validate(Vec<Validator>),
    Set,
    Block,
    Group,
    MinItems(LitInt),
    MaxItems(LitInt),
    Timeouts(Vec<Ident>),
}

const OPTIONS: [&str; 22] = [
    "required",
    "optional",
    "computed",
    "nullable",
    "sensitive",
    "write_only",
    "force_new",
    "force_new_if_configured",
    "force_new_if",
    "use_state_for_unknown",
    "modify_plan",
    "default",
    "default_with",
    "deprecated",
    "description",
    "validate",
    "set",
    "block",
    "group",
    "min_items",
    "max_items",
    "timeouts",
];

const OPERATIONS: [&str; 4] = ["create", "read", "update", "delete"];

impl Field {
    pub(crate) fn parse(field: &syn::Field) -> Result<Self> {
        let Some(ident) = &field.ident else {
            return Err(Error::new_spanned(field, "the field has no name"));
        };
        let mut parsed = Self {
            name: ident.unraw().to_string(),
            name_span: ident.span(),
            ty: field.ty.clone(),
            shape: FieldType::new(&field.ty),
            description: description::from_doc_comments(&field.attrs),
            choices: Vec::new(),
            is_flattened: false,
            is_skipped: false,
        };
        for attribute in &field.attrs {
            if attribute.path().is_ident("serde") {
                attribute.parse_nested_meta(|meta| parsed.serde_option(&meta))?;
            } else if attribute.path().is_ident("attr") {
                attribute.parse_nested_meta(|meta| parsed.option(&meta))?;
            } else if attribute.path().is_ident("schema") {
                return Err(Error::new_spanned(
                    attribute,
                    "`#[schema(..)]` belongs to structs\nhelp: write `#[attr(..)]` for the options of a field",
                ));
            }
        }
        Ok(parsed)
    }

    fn serde_option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("rename") && meta.input.peek(Token![=]) {
            let name: LitStr = meta.value()?.parse()?;
            self.name = name.value();
            self.name_span = name.span();
            return Ok(());
        }
        if meta.path.is_ident("rename") {
            return Err(Error::new_spanned(
                &meta.path,
                "an attribute has one name for reading and writing\nhelp: write `#[serde(rename = \"..\")]`",
            ));
        }
        self.is_flattened |= meta.path.is_ident("flatten");
        self.is_skipped |= meta.path.is_ident("skip");
        skip_value(meta)
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let choice = match name.as_str() {
            "required" => Choice::Required,
            "optional" => Choice::Optional,
            "computed" => Choice::Computed,
            "nullable" => Choice::Nullable,
            "sensitive" => Choice::Sensitive,
            "write_only" => Choice::WriteOnly,
            "force_new" => Choice::ForceNew,
            "force_new_if_configured" => Choice::ForceNewIfConfigured,
            "force_new_if" => Choice::ForceNewIf(meta.value()?.parse()?),
            "use_state_for_unknown" => Choice::UseStateForUnknown,
            "modify_plan" => Choice::ModifyPlan(meta.value()?.parse()?),
            "default" => Choice::Default(meta.value()?.parse()?),
            "default_with" => Choice::DefaultWith(meta.value()?.parse()?),
            "deprecated" => Choice::Deprecated(meta.value()?.parse()?),
            "description" => Choice::Description(meta.value()?.parse()?),
            "validate" => Choice::Validate(Validator::parse_list(meta)?),
            "set" => Choice::Set,
            "block" => Choice::Block,
            "group" => Choice::Group,
            "min_items" => Choice::MinItems(meta.value()?.parse()?),
            "max_items" => Choice::MaxItems(meta.value()?.parse()?),
            "timeouts" => Choice::Timeouts(operations(meta)?),
            "name" => {
                return Err(Error::new_spanned(
                    &meta.path,
                    "the name of an attribute is the name that serde uses\n\
                     help: write `#[serde(rename = \"..\")]`",
                ));
            }
            other => {
                let message = suggestion::unknown("option", other, &OPTIONS);
                return Err(Error::new_spanned(&meta.path, message));
            }
        };
        let kind = std::mem::discriminant(&choice);
        let is_repeatable = matches!(choice, Choice::Validate(_) | Choice::ModifyPlan(_));
        if !is_repeatable && self.choices.iter().any(|(other, _)| std::mem::discriminant(other) == kind) {
            return Err(Error::new_spanned(
                &meta.path,
                format!("`{name}` is written twice\nhelp: remove one of them"),
            ));
        }
        self.choices.push((choice, meta.path.span()));
        Ok(())
    }

    /// Makes the attribute computed if its options do not contradict this.
    pub(crate) fn computed_by_default(mut self) -> Self {
        let is_contrary = |choice: &Choice| {
            matches!(
                choice,
                Choice::Required
                    | Choice::Optional
                    | Choice::Computed
                    | Choice::WriteOnly
                    | Choice::Default(_)
                    | Choice::DefaultWith(_)
                    | Choice::Block
                    | Choice::Timeouts(_)
            )
        };
        if !self.is_flattened && !self.has(is_contrary) {
            self.choices.push((Choice::Computed, self.name_span));
        }
        self
    }

    /// Returns the span of the first option that the function accepts.
    pub(crate) fn find(&self, is_wanted: impl Fn(&Choice) -> bool) -> Option<Span> {
        self.choices.iter().find(|(choice, _)| is_wanted(choice)).map(|(_, span)| *span)
    }

    pub(crate) fn has(&self, is_wanted: impl Fn(&Choice) -> bool) -> bool {
        self.find(is_wanted).is_some()
    }

    pub(crate) fn is_block(&self) -> bool {
        self.has(|choice| matches!(choice, Choice::Block))
    }

    pub(crate) fn has_default(&self) -> bool {
        self.has(|choice| matches!(choice, Choice::Default(_) | Choice::DefaultWith(_)))
    }

    pub(crate) fn timeouts(&self) -> Option<&[Ident]> {
        self.choices.iter().find_map(|(choice, _)| match choice {
            Choice::Timeouts(operations) => Some(operations.as_slice()),
            _ => None,
        })
    }

    /// Returns whether no option of the field determines who sets the attribute.
    pub(crate) fn has_implied_presence(&self) -> bool {
        let is_explicit = |choice: &Choice| {
            matches!(
                choice,
                Choice::Required
                    | Choice::Optional
                    | Choice::Computed
                    | Choice::Default(_)
                    | Choice::DefaultWith(_)
            )
        };
        !self.has(is_explicit)
    }

    /// Returns whether only the provider sets the attribute.
    pub(crate) fn is_computed_only(&self) -> bool {
        self.has(|choice| matches!(choice, Choice::Computed))
            && !self.has(|choice| matches!(choice, Choice::Optional))
            && !self.has_default()
    }
}

fn operations(meta: &ParseNestedMeta<'_>) -> Result<Vec<Ident>> {
    let content;
    parenthesized!(content in meta.input);
    let operations: Vec<Ident> =
        Punctuated::<Ident, Token![,]>::parse_terminated(&content)?.into_iter().collect();
    if operations.is_empty() {
        return Err(Error::new_spanned(
            &meta.path,
            "`timeouts` needs operations\nhelp: write `timeouts(create, delete)`",
        ));
    }
    for operation in &operations {
        if !OPERATIONS.iter().any(|known| operation == known) {
            let message = suggestion::unknown("operation", &operation.to_string(), &OPERATIONS);
            return Err(Error::new_spanned(operation, message));
        }
    }
    Ok(operations)
}
