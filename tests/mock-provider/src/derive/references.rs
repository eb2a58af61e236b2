//! Finds the references to attributes of objects in expressions, and how each value is used.

use hcl::expr::{BinaryOperator, Operation, TraversalOperator};
use hcl::template::{Directive, Element, Template};
use hcl::{Expression, expr::ObjectKey};

use super::guess::Guess;
use super::inference::{attribute_name, is_arithmetic};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Resource,
    DataSource,
    EphemeralResource,
}

/// A reference to an attribute of an object.
#[derive(Debug, PartialEq)]
pub(crate) struct Reference {
    pub(crate) kind: Kind,
    pub(crate) type_name: String,
    /// The accesses after the name and the instance key, which begin with an attribute.
    pub(crate) accesses: Vec<Access>,
    /// The type that the context of the reference requires.
    pub(crate) expected: Guess,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Attribute(String),
    Position,
    Key,
    Splat,
    /// An index that is known only after its evaluation.
    Unknown,
}

/// A call of a provider's function: the local name of the provider, and the name of the function.
pub(crate) type ProviderFunction = (String, String);

/// The references in a configuration.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) references: Vec<Reference>,
    pub(crate) functions: Vec<ProviderFunction>,
}

impl Found {
    /// Adds the references in an expression, whose value is used as `expected`.
    pub(crate) fn add(&mut self, expression: &Expression, expected: &Guess) {
        match expression {
            Expression::Array(elements) => {
                let element = expected.element();
                for one in elements {
                    self.add(one, &element);
                }
            }
            Expression::Object(members) => {
                for (key, value) in members {
                    if let ObjectKey::Expression(key) = key {
                        self.add(key, &Guess::String);
                    }
                    self.add(value, &expected.element());
                }
            }
            Expression::TemplateExpr(template) => {
                if let Ok(template) = Template::from_expr(template) {
                    let is_only = template.elements().len() == 1;
                    self.add_template(&template, if is_only { expected } else { &Guess::String });
                }
            }
            Expression::Traversal(traversal) => {
                for operator in &traversal.operators {
                    if let TraversalOperator::Index(index) = operator {
                        self.add(index, &Guess::Unknown);
                    }
                }
                match &traversal.expr {
                    Expression::Variable(root) => {
                        if let Some(found) = reference(root.as_str(), &traversal.operators, expected) {
                            self.references.push(found);
                        }
                    }
                    inner => self.add(inner, &Guess::Unknown),
                }
            }
            Expression::FuncCall(call) => {
                if let [scope, provider] = call.name.namespace.as_slice()
                    && scope.as_str() == "provider"
                {
                    self.functions.push((provider.to_string(), call.name.name.to_string()));
                }
                for (index, argument) in call.args.iter().enumerate() {
                    let parameter = parameter(call.name.name.as_str(), index, expected);
                    self.add(argument, &parameter);
                }
            }
            Expression::Parenthesis(inner) => self.add(inner, expected),
            Expression::Conditional(conditional) => {
                self.add(&conditional.cond_expr, &Guess::Bool);
                self.add(&conditional.true_expr, expected);
                self.add(&conditional.false_expr, expected);
            }
            Expression::Operation(operation) => match &**operation {
                Operation::Unary(unary) => self.add(&unary.expr, &Guess::Unknown),
                Operation::Binary(binary) => {
                    use BinaryOperator::{And, Greater, GreaterEq, Less, LessEq, Or};
                    let operand = match binary.operator {
                        And | Or => Guess::Bool,
                        Greater | GreaterEq | Less | LessEq => Guess::Number,
                        other if is_arithmetic(other) => Guess::Number,
                        _ => match (literal(&binary.lhs_expr), literal(&binary.rhs_expr)) {
                            (Guess::Unknown, known) | (known, _) => known,
                        },
                    };
                    self.add(&binary.lhs_expr, &operand);
                    self.add(&binary.rhs_expr, &operand);
                }
            },
            Expression::ForExpr(each) => {
                self.add(&each.collection_expr, &Guess::Unknown);
                if let Some(key) = &each.key_expr {
                    self.add(key, &Guess::String);
                }
                self.add(&each.value_expr, &expected.element());
                if let Some(condition) = &each.cond_expr {
                    self.add(condition, &Guess::Bool);
                }
            }
            _ => {}
        }
    }

    fn add_template(&mut self, template: &Template, expected: &Guess) {
        for element in template.elements() {
            match element {
                Element::Literal(_) => {}
                Element::Interpolation(part) => self.add(&part.expr, expected),
                Element::Directive(directive) => match &**directive {
                    Directive::If(directive) => {
                        self.add(&directive.cond_expr, &Guess::Bool);
                        self.add_template(&directive.true_template, &Guess::String);
                        if let Some(otherwise) = &directive.false_template {
                            self.add_template(otherwise, &Guess::String);
                        }
                    }
                    Directive::For(directive) => {
                        self.add(&directive.collection_expr, &Guess::Unknown);
                        self.add_template(&directive.template, &Guess::String);
                    }
                },
            }
        }
    }
}

/// Returns the type of a literal.
fn literal(expression: &Expression) -> Guess {
    match expression {
        Expression::Bool(_) => Guess::Bool,
        Expression::Number(_) => Guess::Number,
        Expression::String(_) => Guess::String,
        _ => Guess::Unknown,
    }
}

/// Returns the type of a function's parameter.
fn parameter(function: &str, index: usize, result: &Guess) -> Guess {
    match (function, index) {
        ("join", 1)
        | (
            "compact" | "sort" | "slice" | "element" | "setproduct" | "setunion" | "formatlist" | "toset"
            | "tolist" | "contains",
            0,
        ) => Guess::list(Guess::String),
        ("concat", _) => Guess::list(result.element()),
        (
            "lower" | "upper" | "title" | "replace" | "substr" | "trimspace" | "trimprefix" | "trimsuffix"
            | "trim" | "base64decode" | "base64encode" | "jsondecode" | "yamldecode" | "sha256" | "md5"
            | "basename" | "startswith" | "endswith" | "cidrhost" | "cidrsubnet" | "format",
            0,
        )
        | ("split" | "regex" | "regexall", 1) => Guess::String,
        ("keys" | "values" | "lookup", 0) => Guess::map(Guess::String),
        ("try" | "coalesce" | "merge" | "sensitive" | "nonsensitive", _) => result.clone(),
        _ => Guess::Unknown,
    }
}

fn reference(root: &str, operators: &[TraversalOperator], expected: &Guess) -> Option<Reference> {
    let name = |index: usize| operators.get(index).and_then(attribute_name);
    let (kind, type_name, start) = match root {
        "var" | "local" | "module" | "each" | "count" | "path" | "terraform" | "self" => return None,
        "data" => (Kind::DataSource, name(0)?, 2),
        "ephemeral" => (Kind::EphemeralResource, name(0)?, 2),
        "resource" => (Kind::Resource, name(0)?, 2),
        other if other.contains('_') => (Kind::Resource, other, 1),
        _ => return None,
    };
    let mut rest = operators.get(start..)?;
    let mut expected = expected.clone();
    match rest.first() {
        Some(TraversalOperator::Index(_) | TraversalOperator::LegacyIndex(_)) => rest = &rest[1..],
        Some(TraversalOperator::AttrSplat | TraversalOperator::FullSplat) => {
            rest = &rest[1..];
            expected = expected.element();
        }
        _ => {}
    }
    if !matches!(rest.first(), Some(TraversalOperator::GetAttr(_))) {
        return None;
    }
    let accesses = rest.iter().map(|operator| match operator {
        TraversalOperator::GetAttr(name) => Access::Attribute(name.to_string()),
        TraversalOperator::Index(Expression::Number(_)) | TraversalOperator::LegacyIndex(_) => {
            Access::Position
        }
        TraversalOperator::Index(Expression::String(_) | Expression::TemplateExpr(_)) => Access::Key,
        TraversalOperator::Index(Expression::Traversal(index)) => match &index.expr {
            Expression::Variable(root) if root.as_str() == "count" => Access::Position,
            Expression::Variable(root) if root.as_str() == "each" => Access::Key,
            _ => Access::Unknown,
        },
        TraversalOperator::Index(_) => Access::Unknown,
        TraversalOperator::AttrSplat | TraversalOperator::FullSplat => Access::Splat,
    });
    Some(Reference { kind, type_name: type_name.to_owned(), accesses: accesses.collect(), expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expression: &str) -> Vec<Reference> {
        let mut found = Found::default();
        found.add(&expression.parse().unwrap(), &Guess::Unknown);
        found.references
    }

    #[test]
    fn references_are_found_with_their_context() {
        let all = found("\"x-${acme_net.a[0].id}${join(\",\", data.acme_zones.z.names)}\"");
        assert_eq!(
            all,
            [
                Reference {
                    kind: Kind::Resource,
                    type_name: "acme_net".to_owned(),
                    accesses: vec![Access::Attribute("id".to_owned())],
                    expected: Guess::String,
                },
                Reference {
                    kind: Kind::DataSource,
                    type_name: "acme_zones".to_owned(),
                    accesses: vec![Access::Attribute("names".to_owned())],
                    expected: Guess::list(Guess::String),
                },
            ]
        );
    }

    #[test]
    fn access_kinds_are_distinguished() {
        let one = |expression: &str| found(expression).remove(0).accesses[1..].to_vec();
        assert_eq!(one("acme_a.b.c[0]"), [Access::Position]);
        assert_eq!(one("acme_a.b.c.0.d"), [Access::Position, Access::Attribute("d".to_owned())]);
        assert_eq!(one("acme_a.b.c[each.key]"), [Access::Key]);
        assert_eq!(one("acme_a.b.c[*]"), [Access::Splat]);
        assert_eq!(one("acme_a.b.c[local.d]"), [Access::Unknown]);
    }

    #[test]
    fn names_without_provider_are_not_references() {
        assert_eq!(found("[var.a_b.c, k.id, each.value.x]"), []);
    }
}
