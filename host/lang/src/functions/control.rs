//! The functions that evaluate or inspect their arguments themselves: `try`, `can`, `convert`,
//! templates.

use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_value::{Type, Value, convert};

use super::{Body, Failure, Function, Lazy, Outcome, ResultType};
use super::{any, file, string, text};
use crate::{ReferenceSubject, Resolved, Scope, parse_template};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("can", &[any("expression").dynamic()], ResultType::Bool, Body::Lazy(Lazy::Can)),
    Function::new(
        "convert",
        &[any("value").null().dynamic(), any("type").dynamic()],
        ResultType::Dynamic,
        Body::Lazy(Lazy::Convert),
    ),
    Function::new("try", &[], ResultType::Dynamic, Body::Lazy(Lazy::Try)).variadic(any("expressions")),
    Function::new(
        "templatefile",
        &[string("path"), any("vars")],
        ResultType::Dynamic,
        Body::Scoped(templatefile),
    ),
    Function::new(
        "templatestring",
        &[string("template"), any("vars")],
        ResultType::String,
        Body::Template(templatestring),
    ),
];

/// The scope of a template: its variables and the caller's functions.
struct TemplateScope<'a> {
    variables: &'a Value,
    outer: &'a dyn Scope,
}

impl Scope for TemplateScope<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let name = subject.to_string();
        if let Some(value) = self.variables.get(&name) {
            return Ok(Resolved::Whole(value.clone()));
        }
        let known = self.variables.as_mapping().into_iter().flatten();
        let meant = wardian_diagnostic::did_you_mean(&name, known.map(|(name, _)| &**name));
        let detail = format!("The variables of this template include no \"{name}\".{meant}");
        Err(wardian_diagnostic::Diagnostic::error("Unknown variable", detail).at(span.clone()).into())
    }

    fn outer(&self) -> Option<&dyn Scope> {
        Some(self.outer)
    }

    // A template can use only its own variables, not the iterators in the scope of its call.
    fn local(&self, _name: &str) -> Option<Value> {
        None
    }

    fn renders_template(&self) -> bool {
        true
    }
}

fn templatefile(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    let path = text(arguments, 0);
    let template = file::read_text(path, 0, scope)?;
    render(path, &template, &arguments[1], scope)
}

fn templatestring(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    let value = render("<templatestring argument>", text(arguments, 0), &arguments[1], scope)?;
    convert::convert(&value, &Type::String)
        .map_err(|error| Failure::argument(0, format!("the result is not a string: {error}")))
}

fn render(name: &str, template: &str, variables: &Value, scope: &dyn Scope) -> Outcome {
    if scope.renders_template() {
        return Err(Failure::call("a template cannot render another template"));
    }
    if !matches!(variables.ty(), Type::Map(_) | Type::Object(_)) {
        return Err(Failure::argument(1, "a map or object is needed"));
    }
    for variable in variables.as_mapping().into_iter().flat_map(|variables| variables.keys()) {
        if !is_name(variable) {
            return Err(Failure::argument(
                1,
                format!(
                    "{:?} is not a valid name of a template variable: names start with a letter and contain \
                     only letters, digits and underscores",
                    &**variable
                ),
            ));
        }
    }
    let source = SourceFile::new(name, template);
    let expression = parse_template(&source).map_err(Failure::Elsewhere)?;
    expression.evaluate(&TemplateScope { variables, outer: scope }).map_err(Failure::Elsewhere)
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}
