//! The options of the struct: `#[schema(..)]`.

use proc_macro2::{Span, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Error, Expr, LitInt, LitStr, Result, Token, parenthesized};

use crate::description;
use crate::suggestion;

pub(crate) struct Container {
    pub(crate) description: Option<TokenStream>,
    pub(crate) version: Option<LitInt>,
    pub(crate) deprecated: Option<Expr>,
    pub(crate) role: Role,
    /// Whether fields without a contrary option are computed.
    pub(crate) is_computed: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) validators: Vec<Expr>,
}

/// The use of the struct, which determines the reserved names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// The schema of a resource, a data source or another type that a configuration block has.
    #[default]
    Root,
    /// The schema of a provider's configuration.
    Provider,
    /// The contents of nested attributes or blocks.
    Nested,
    /// Attributes that other structs contain through `#[serde(flatten)]`.
    Shared,
}

/// A requirement that concerns several attributes.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) paths: Vec<LitStr>,
}

const RULES: [&str; 5] =
    ["required_together", "conflicting", "exactly_one_of", "at_least_one_of", "prefer_write_only"];
const OPTIONS: [&str; 13] = [
    "computed",
    "description",
    "version",
    "deprecated",
    "provider",
    "nested",
    "shared",
    "validate",
    "required_together",
    "conflicting",
    "exactly_one_of",
    "at_least_one_of",
    "prefer_write_only",
];

impl Container {
    pub(crate) fn parse(input: &DeriveInput) -> Result<Self> {
        let mut container = Self {
            description: description::from_doc_comments(&input.attrs),
            version: None,
            deprecated: None,
            role: Role::default(),
            is_computed: false,
            rules: Vec::new(),
            validators: Vec::new(),
        };
        for attribute in &input.attrs {
            if attribute.path().is_ident("schema") {
                attribute.parse_nested_meta(|meta| container.option(&meta))?;
            } else if attribute.path().is_ident("attr") {
                return Err(Error::new_spanned(
                    attribute,
                    "`#[attr(..)]` belongs to fields\nhelp: write `#[schema(..)]` for the options of a struct",
                ));
            } else if attribute.path().is_ident("serde") {
                attribute.parse_nested_meta(|meta| reject_renaming(&meta))?;
            }
        }
        Ok(container)
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match name.as_str() {
            "description" => {
                let text: Expr = meta.value()?.parse()?;
                self.description = Some(quote::quote!(#text));
            }
            "version" => {
                let version: LitInt = meta.value()?.parse()?;
                version.base10_parse::<i64>()?;
                self.version = Some(version);
            }
            "deprecated" => self.deprecated = Some(meta.value()?.parse()?),
            "computed" => self.is_computed = true,
            "provider" => self.set_role(Role::Provider, meta.path.span())?,
            "nested" => self.set_role(Role::Nested, meta.path.span())?,
            "shared" => self.set_role(Role::Shared, meta.path.span())?,
            "validate" => {
                let content;
                parenthesized!(content in meta.input);
                self.validators.extend(Punctuated::<Expr, Token![,]>::parse_terminated(&content)?);
            }
            other => match RULES.iter().find(|rule| **rule == other) {
                Some(rule) => self.rule(rule, meta)?,
                None => {
                    let message = suggestion::unknown("option of a struct", other, &OPTIONS);
                    return Err(Error::new_spanned(&meta.path, message));
                }
            },
        }
        Ok(())
    }

    fn set_role(&mut self, role: Role, span: Span) -> Result<()> {
        if self.role != Role::Root {
            return Err(Error::new(span, "`provider`, `nested` and `shared` exclude each other"));
        }
        self.role = role;
        Ok(())
    }

    fn rule(&mut self, name: &'static str, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let content;
        parenthesized!(content in meta.input);
        let paths: Vec<LitStr> =
            Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?.into_iter().collect();
        if paths.len() < 2 || (name == "prefer_write_only" && paths.len() != 2) {
            let example = if name == "prefer_write_only" {
                "`prefer_write_only(\"secret\", \"secret_wo\")`".to_owned()
            } else {
                format!("`{name}(\"name\", \"rule.port\")`")
            };
            let message =
                format!("`{name}` needs the paths of at least two attributes\nhelp: write {example}");
            return Err(Error::new_spanned(&meta.path, message));
        }
        self.rules.push(Rule { name, paths });
        Ok(())
    }
}

/// Rejects names that no schema can have, and skips other options of serde.
fn reject_renaming(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.path.is_ident("rename_all") {
        return Err(Error::new_spanned(
            &meta.path,
            "the names of attributes are in snake case\nhelp: remove `rename_all`; use a separate struct for \
             the JSON of an API",
        ));
    }
    skip_value(meta)
}

/// Skips the value of an option that does not concern the schema.
pub(crate) fn skip_value(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        parenthesized!(content in meta.input);
        content.parse::<TokenStream>()?;
    }
    Ok(())
}
