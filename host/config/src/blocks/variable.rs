//! Reads `variable` blocks.

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Expression, Label, ReferenceSubject, TypeConstraint};
use wardian_value::{Str, Type, Value};

use super::Condition;
use super::check::conditions;
use crate::content::{Content, Shape, labels};
use crate::names::check_name;

/// An input variable.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Str,
    pub description: Option<String>,
    /// The type to which values are converted.
    pub constraint: TypeConstraint,
    /// True if external text (`-var`, environment variables) is the value itself, not an
    /// expression.
    pub takes_text: bool,
    /// The default value, converted to the type; `None` if a value is required.
    pub default: Option<Value>,
    /// True if the value must not be shown.
    pub sensitive: bool,
    /// True if null is a valid value.
    pub nullable: bool,
    /// True if the value must not be stored.
    pub ephemeral: bool,
    /// The deprecation message for callers if the variable is deprecated.
    pub deprecated: Option<String>,
    pub validations: Vec<Condition>,
    /// The span of the header.
    pub span: Span,
}

/// Variable names that are reserved for meta-arguments of module calls.
const RESERVED: [&str; 9] =
    ["source", "version", "provider", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"];

impl Variable {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a variable block",
            required: &[],
            optional: &["description", "default", "type", "sensitive", "ephemeral", "nullable", "deprecated"],
            blocks: &["validation"],
        };
        let [label] = labels(block, ["name"], problems)?;
        if check_name(label, "Invalid variable name", problems) {
            check_reserved(label, problems);
        }
        let content = SHAPE.read(&block.body, problems);
        let (constraint, takes_text) = match content.attribute("type") {
            None => (TypeConstraint::any(), true),
            Some(attribute) => constraint(&attribute.expression, problems),
        };
        let nullable = content.flag("nullable", problems).unwrap_or(true);
        let validations = conditions(&content, "validation", problems);
        for validation in &validations {
            check_validation(&label.text, validation, problems);
        }
        Some(Self {
            name: label.text.clone(),
            description: content.text("description", problems).map(|(text, _)| text),
            default: default(&content, &constraint, nullable, problems),
            constraint,
            takes_text,
            sensitive: content.flag("sensitive", problems).unwrap_or(false),
            nullable,
            ephemeral: content.flag("ephemeral", problems).unwrap_or(false),
            deprecated: content.text("deprecated", problems).map(|(text, _)| text),
            validations,
            span: block.header_span.clone(),
        })
    }

    /// Returns true if the variable needs a value.
    pub fn is_required(&self) -> bool {
        self.default.is_none()
    }
}

fn check_reserved(label: &Label, problems: &mut Diagnostics) {
    if RESERVED.contains(&&*label.text) {
        let detail =
            format!("A variable cannot be named \"{}\": module blocks reserve that argument.", label.text);
        problems.push(Diagnostic::error("Invalid variable name", detail).at(label.span.clone()));
    }
}

fn constraint(expression: &Expression, problems: &mut Diagnostics) -> (TypeConstraint, bool) {
    if let Some(text) = expression.as_quoted().filter(|_| expression.is_native_quoted()) {
        problems.push(quoted_type(text, expression.span()));
        return (TypeConstraint::any(), false);
    }
    // The legacy form, used before element types were required.
    match expression.as_keyword() {
        Some("list") => return (TypeConstraint::from_type(Type::list(Type::Dynamic)), false),
        Some("map") => return (TypeConstraint::from_type(Type::map(Type::Dynamic)), false),
        _ => {}
    }
    match problems.collect(TypeConstraint::parse(expression)) {
        Some(constraint) => {
            let takes_text = constraint.ty.is_primitive();
            (constraint, takes_text)
        }
        None => (TypeConstraint::any(), false),
    }
}

fn quoted_type(text: &str, span: &Span) -> Diagnostic {
    let (summary, type_name) = match text {
        "string" => ("Invalid quoted type constraints", "string"),
        "list" => ("Invalid quoted type constraints", "list(string)"),
        "map" => ("Invalid quoted type constraints", "map(string)"),
        _ => ("Invalid legacy variable type hint", text),
    };
    let detail = format!("Types are written without quotes: type = {type_name}");
    Diagnostic::error(summary, detail).at(span.clone())
}

fn default(
    content: &Content<'_>,
    constraint: &TypeConstraint,
    nullable: bool,
    problems: &mut Diagnostics,
) -> Option<Value> {
    let expression = &content.attribute("default")?.expression;
    let problem = |detail: String| {
        Diagnostic::error("Invalid default value for variable", detail).at(expression.span().clone())
    };
    let Some(value) = problems.collect(expression.evaluate_constant()) else {
        return Some(Value::unknown(constraint.ty.clone()));
    };
    let value = match constraint.apply(&value) {
        Ok(value) => value,
        Err(reason) => {
            problems.push(problem(format!("The default is not of the variable's type: {reason}.")));
            Value::unknown(constraint.ty.clone())
        }
    };
    if value.is_null() && !nullable {
        problems.push(problem("The default is null, but the variable sets nullable = false.".to_owned()));
    }
    Some(value)
}

fn check_validation(name: &Str, validation: &Condition, problems: &mut Diagnostics) {
    let subject = ReferenceSubject::Variable(name.clone());
    let refers = validation.condition.references().iter().any(|reference| reference.subject == subject);
    if !refers {
        let detail = format!("The condition must refer to var.{name}, because it validates that value.");
        problems.push(
            Diagnostic::error("Invalid variable validation condition", detail)
                .at(validation.condition.span().clone()),
        );
    }
}
