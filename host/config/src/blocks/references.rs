//! Reads arguments that contain references instead of values.

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Expression, Reference, ReferenceSubject, Traversal};
use wardian_value::{PathStep, Str};

use super::ProviderReference;
use crate::content::Content;

/// Reads the `depends_on` of a block.
pub(super) fn depends_on(content: &Content<'_>, problems: &mut Diagnostics) -> Vec<Reference> {
    let Some(attribute) = content.attribute("depends_on") else {
        return Vec::new();
    };
    let Some(items) = attribute.expression.as_tuple_items() else {
        let detail = "A list of references is required here.";
        problems.push(Diagnostic::error("Invalid expression", detail).at(attribute.expression.beginning()));
        return Vec::new();
    };
    items.iter().filter_map(|item| dependency(item, problems)).collect()
}

fn dependency(item: &Expression, problems: &mut Diagnostics) -> Option<Reference> {
    warn_of_quotes(item, problems);
    let Some(traversal) = item.as_traversal() else {
        let detail = "The name of a resource, a module or another object is required here.";
        problems.push(Diagnostic::error("Invalid expression", detail).at(item.span().clone()));
        return None;
    };
    let reference = problems.collect(traversal.reference().map_err(Diagnostics::from))?;
    let whole = match reference.remaining.as_slice() {
        [] => true,
        [PathStep::Key(_) | PathStep::Index(_)] => {
            matches!(reference.subject, ReferenceSubject::Resource { .. } | ReferenceSubject::Module(_))
        }
        // Each output of a module is a separate object.
        [PathStep::Attribute(_)] | [PathStep::Key(_) | PathStep::Index(_), PathStep::Attribute(_)] => {
            matches!(reference.subject, ReferenceSubject::Module(_))
        }
        _ => false,
    };
    if !whole {
        let detail =
            "Only whole objects can be dependencies: name the resource or module without its attributes.";
        let attributes = Span { start: reference.step_span(0).start, ..reference.span.clone() };
        problems.push(Diagnostic::error("Invalid depends_on reference", detail).at(attributes));
        return None;
    }
    Some(reference)
}

/// Reads an argument that is a list of static references.
pub(crate) fn static_references(
    content: &Content<'_>,
    name: &str,
    problems: &mut Diagnostics,
) -> Vec<Traversal> {
    let Some(attribute) = content.attribute(name) else {
        return Vec::new();
    };
    let Some(items) = attribute.expression.as_tuple_items() else {
        let detail = "A list of references is required here.";
        problems.push(Diagnostic::error("Invalid expression", detail).at(attribute.expression.beginning()));
        return Vec::new();
    };
    let mut references = Vec::new();
    for item in items {
        warn_of_quotes(&item, problems);
        match item.as_traversal() {
            Some(traversal) => references.push(traversal),
            None => problems.push(not_static(&item)),
        }
    }
    references
}

/// Returns the diagnostic for an expression that is not a static reference.
pub(crate) fn not_static(expression: &Expression) -> Diagnostic {
    let detail = "A single reference is required here: a name followed by names and constant keys.";
    Diagnostic::error("Invalid expression", detail).at(expression.span().clone())
}

/// Warns about a quoted reference. Quotes are the legacy syntax.
pub(super) fn warn_of_quotes(expression: &Expression, problems: &mut Diagnostics) {
    if expression.is_native_quoted() {
        let detail = "References are written without quotes.";
        problems.push(
            Diagnostic::warning("Quoted references are deprecated", detail).at(expression.span().clone()),
        );
    }
}

/// Reads `aws` or `aws.west`, unquoted or quoted (the legacy syntax).
pub(super) fn provider_reference(
    expression: &Expression,
    problems: &mut Diagnostics,
) -> Option<ProviderReference> {
    warn_of_quotes(expression, problems);
    let names: Option<Vec<Str>> = expression
        .as_traversal()
        .and_then(|traversal| Some(traversal.names()?.into_iter().cloned().collect()));
    let (local_name, alias) = match names.as_deref() {
        Some([local_name]) => (local_name.clone(), None),
        Some([local_name, alias]) => (local_name.clone(), Some(alias.clone())),
        _ => {
            let detail = "A provider name is required here, such as aws, or with an alias: aws.west. It \
                must be constant.";
            problems.push(
                Diagnostic::error("Invalid provider configuration reference", detail)
                    .at(expression.span().clone()),
            );
            return None;
        }
    };
    Some(ProviderReference { local_name, alias, span: Some(expression.span().clone()) })
}
