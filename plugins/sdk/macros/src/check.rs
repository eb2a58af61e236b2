//! Checks that the names of a schema and the options of each field agree.

use std::collections::BTreeMap;

use proc_macro2::Span;
use syn::{Error, Ident, LitInt};

use crate::Errors;
use crate::container::{Container, Role};
use crate::default_value;
use crate::field::{Choice, Field};
use crate::field_type::{Kind, Wrapper, mentions};
use crate::suggestion;

const RESERVED: [&str; 7] =
    ["connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"];
const RESERVED_IN_PROVIDER: [&str; 2] = ["alias", "version"];

/// Checks the names of attributes, and the references to them.
pub(crate) fn names(container: &Container, fields: &[Field], errors: &mut Errors) {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    let reserved: &[&str] = match container.role {
        Role::Provider => &RESERVED_IN_PROVIDER,
        Role::Nested => &[],
        Role::Root | Role::Shared => &RESERVED,
    };
    for field in fields.iter().filter(|field| !field.is_flattened) {
        let name = field.name.as_str();
        let is_valid = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !is_valid {
            let message = format!(
                "`{name}` is not a valid name of an attribute\nhelp: use lower-case letters, digits and underscores"
            );
            errors.push(Error::new(field.name_span, message));
        }
        if reserved.contains(&name) {
            let message = format!(
                "Terraform reserves the name `{name}`, so no configuration could set the attribute\n\
                 help: choose another name; if the struct describes only nested attributes or blocks, add \
                 `#[schema(nested)]` to it"
            );
            errors.push(Error::new(field.name_span, message));
        }
        if seen.insert(name, field.name_span).is_some() {
            let message = format!("two attributes have the name `{name}`\nhelp: rename one of them");
            errors.push(Error::new(field.name_span, message));
        }
    }
    let may_have_others = container.role == Role::Shared || fields.iter().any(|field| field.is_flattened);
    if may_have_others {
        return;
    }
    let known: Vec<&str> = seen.into_keys().collect();
    let siblings = fields.iter().flat_map(|field| &field.choices).filter_map(|(choice, _)| match choice {
        Choice::Validate(validators) => Some(validators.iter().flat_map(|validator| validator.siblings())),
        _ => None,
    });
    let firsts = container.rules.iter().flat_map(|rule| &rule.paths);
    for name in siblings.flatten().chain(firsts) {
        let value = name.value();
        let first = value.split('.').next().unwrap_or_default();
        if !known.contains(&first) {
            let message = format!(
                "{}; if the struct is flattened into others, add `#[schema(shared)]` to it",
                suggestion::unknown("attribute", first, &known)
            );
            errors.push(Error::new(name.span(), message));
        }
    }
}

/// Checks the options and the type of a field.
pub(crate) fn options(field: &Field, owner: &Ident, errors: &mut Errors) {
    let mut report = |span: Span, message: &str| errors.push(Error::new(span, message));
    let type_span = syn::spanned::Spanned::span(&field.ty);
    if field.is_flattened {
        if let Some((_, span)) = field.choices.first() {
            report(*span, "a flattened struct has no options of its own\nhelp: write them in that struct");
        }
        return;
    }
    if let Some(remedy) = field.shape.kind.impossible() {
        report(type_span, &format!("no attribute can have this type\nhelp: {remedy}"));
        return;
    }
    if mentions(&field.ty, "Self") || mentions(&field.ty, &owner.to_string()) {
        report(
            type_span,
            "a schema cannot contain itself, since it would be infinite\n\
             help: limit the depth with a separate struct for each level, or use `Dynamic`",
        );
        return;
    }
    if let Some(span) = field.find(|choice| matches!(choice, Choice::Timeouts(_))) {
        if field.choices.iter().any(|(choice, _)| !matches!(choice, Choice::Timeouts(_) | Choice::Block)) {
            report(span, "`timeouts` can be combined only with `block`");
        }
        if field.shape.wrapper != Wrapper::Option {
            report(type_span, "timeouts are optional\nhelp: use `Option<Timeouts>`");
        }
        return;
    }
    if field.is_block() {
        block(field, errors);
    } else {
        attribute(field, type_span, errors);
        validators(field, errors);
    }
}

fn block(field: &Field, errors: &mut Errors) {
    for (choice, span) in &field.choices {
        let is_allowed = matches!(
            choice,
            Choice::Block
                | Choice::Set
                | Choice::Group
                | Choice::MinItems(_)
                | Choice::MaxItems(_)
                | Choice::ForceNew
                | Choice::Validate(_)
                | Choice::Deprecated(_)
                | Choice::Description(_)
        );
        if !is_allowed {
            errors.push(Error::new(
                *span,
                "a block does not have this option\n\
                 help: use `min_items = 1` if a block is required, options of the fields inside the block, or \
                 a nested attribute (without `block`)",
            ));
        }
    }
    let count = |limit: Option<&LitInt>| limit.and_then(|limit| limit.base10_parse::<u64>().ok());
    let limit = |is_wanted: fn(&Choice) -> Option<&LitInt>| {
        field.choices.iter().find_map(|(choice, _)| is_wanted(choice))
    };
    let minimum = limit(|choice| if let Choice::MinItems(limit) = choice { Some(limit) } else { None });
    let maximum = limit(|choice| if let Choice::MaxItems(limit) = choice { Some(limit) } else { None });
    if let (Some(minimum), Some(maximum), Some(limit)) = (count(minimum), count(maximum), maximum)
        && minimum > maximum
    {
        errors.push(Error::new(limit.span(), "`max_items` is less than `min_items`\nhelp: exchange them"));
    }
}

fn attribute(field: &Field, type_span: Span, errors: &mut Errors) {
    let mut report = |span: Span, message: &str| errors.push(Error::new(span, message));
    let find = |is_wanted: fn(&Choice) -> bool| field.find(is_wanted);
    let is_nullable = field.shape.accepts_null();
    let required = find(|choice| matches!(choice, Choice::Required));
    let optional = find(|choice| matches!(choice, Choice::Optional));
    let computed = find(|choice| matches!(choice, Choice::Computed));
    let default = find(|choice| matches!(choice, Choice::Default(_) | Choice::DefaultWith(_)));
    let write_only = find(|choice| matches!(choice, Choice::WriteOnly));
    let nullable = find(|choice| matches!(choice, Choice::Nullable));

    if let (Some(_), Some(span)) = (required, optional.or(computed)) {
        report(span, "a required attribute cannot be optional or computed\nhelp: remove one of the options");
    }
    if let (Some(_), Some(span)) = (required, default) {
        report(
            span,
            "a required attribute cannot have a default, which would never be used\n\
             help: remove `required` or the default",
        );
    }
    if required.is_some()
        && field.shape.wrapper == Wrapper::Option
        && nullable.or(write_only).or(optional).or(computed).or(default).is_none()
    {
        report(
            type_span,
            "a required attribute is never null, but the type is an `Option`\n\
             help: use the type inside the `Option`; if stored states of earlier versions contain null, add \
             `nullable`",
        );
    }
    if let Some(span) = nullable.filter(|_| required.is_none()) {
        report(span, "`nullable` is for required attributes that are null in old states\nhelp: remove it");
    }
    if !is_nullable && computed.is_some() && default.is_none() {
        report(
            type_span,
            "a computed attribute is unknown until the provider has set it, which this type cannot represent\n\
             help: use `Option<_>`, or `Attr<_>` to distinguish unknown values from null",
        );
    } else if !is_nullable && optional.is_some() && default.is_none() {
        report(
            type_span,
            "an optional attribute can be null, which this type cannot represent\n\
             help: use `Option<_>`, or add a default",
        );
    }
    if let Some(span) = write_only {
        if computed.is_some() || default.is_some() {
            report(
                span,
                "a write-only attribute exists only in the configuration, so it cannot be computed or have a \
                 default\nhelp: remove `write_only`, or use `sensitive`",
            );
        }
        if !is_nullable {
            report(
                type_span,
                "a write-only attribute is null in plans and states, which this type cannot represent\n\
                 help: use `Option<_>`, and read the value with `Context::config_as`",
            );
        }
    }
    for (choice, span) in &field.choices {
        match choice {
            Choice::ForceNew | Choice::ForceNewIf(_) | Choice::ForceNewIfConfigured
                if write_only.is_some() =>
            {
                report(
                    *span,
                    "a write-only attribute has no prior value, so no change of it can be found\n\
                     help: add a second attribute, such as `secret_wo_version`, with `force_new`",
                );
            }
            Choice::ForceNew | Choice::ForceNewIf(_) | Choice::ForceNewIfConfigured
                if field.is_computed_only()
                    && !field.has(|choice| matches!(choice, Choice::ModifyPlan(_))) =>
            {
                report(*span, "no configuration changes a computed attribute\nhelp: remove the option");
            }
            Choice::UseStateForUnknown if computed.is_none() || default.is_some() => {
                report(
                    *span,
                    "the attribute is never unknown, so the option has no effect\nhelp: add `computed`, or \
                     remove the option",
                );
            }
            Choice::Validate(_) if field.is_computed_only() => report(
                *span,
                "no configuration sets a computed attribute, so validators have no effect\n\
                 help: add `optional`, or remove `validate`",
            ),
            Choice::Group | Choice::MinItems(_) | Choice::MaxItems(_) => report(
                *span,
                "the option is for blocks\nhelp: add `block`, or use `validate(size(..))` for a collection",
            ),
            Choice::Set if !matches!(field.shape.kind, Kind::List(_) | Kind::Other) => {
                report(*span, "`set` converts a list to a set\nhelp: use it with `Vec<_>`");
            }
            _ => {}
        }
    }
}

fn validators(field: &Field, errors: &mut Errors) {
    for (choice, _) in &field.choices {
        match choice {
            Choice::Validate(validators) => {
                for error in validators.iter().filter_map(|v| v.mismatch(&field.shape.kind)) {
                    errors.push(error);
                }
            }
            Choice::Default(default) => {
                for error in default_value::errors(field, default) {
                    errors.push(error);
                }
            }
            _ => {}
        }
    }
}
