//! Guesses the type of an expression's value from the expression, variables, locals and outputs.

use std::collections::BTreeMap;

use hcl::expr::{BinaryOperator, FuncCall, ObjectKey, Operation, Traversal, TraversalOperator};
use hcl::template::{Element, Template};
use hcl::{Block, Expression};

use super::guess::{Guess, from_name};
use super::modules::{Modules, attribute, label};

/// The maximum number of locals, outputs and nested expressions that are followed.
const MAX_STEPS: usize = 24;

/// The modules of a configuration, indexed by the names that expressions use.
pub(crate) struct Inference<'a> {
    modules: &'a Modules,
    names: Vec<Names<'a>>,
}

#[derive(Default)]
struct Names<'a> {
    variables: BTreeMap<&'a str, &'a Block>,
    locals: BTreeMap<&'a str, &'a Expression>,
    outputs: BTreeMap<&'a str, &'a Expression>,
}

impl<'a> Inference<'a> {
    pub(crate) fn new(modules: &'a Modules) -> Self {
        let names = modules.all.iter().map(|module| {
            let mut names = Names::default();
            for block in &module.blocks {
                match (block.identifier(), label(block, 0)) {
                    ("variable", Some(name)) => {
                        names.variables.insert(name, block);
                    }
                    ("output", Some(name)) => {
                        if let Some(value) = attribute(block, "value") {
                            names.outputs.insert(name, value);
                        }
                    }
                    ("locals", _) => names.locals.extend(
                        block.body().attributes().map(|attribute| (attribute.key(), attribute.expr())),
                    ),
                    _ => {}
                }
            }
            names
        });
        Self { names: names.collect(), modules }
    }

    /// Guesses the type of an expression in a module.
    pub(crate) fn guess(&self, module: usize, expression: &Expression) -> Guess {
        self.guess_within(module, expression, MAX_STEPS)
    }

    fn guess_within(&self, module: usize, expression: &Expression, steps: usize) -> Guess {
        let Some(steps) = steps.checked_sub(1) else { return Guess::Unknown };
        let of = |expression: &Expression| self.guess_within(module, expression, steps);
        match expression {
            Expression::Bool(_) => Guess::Bool,
            Expression::Number(_) => Guess::Number,
            Expression::String(_) => Guess::String,
            Expression::Array(elements) => {
                Guess::list(elements.iter().map(of).fold(Guess::Unknown, Guess::join))
            }
            Expression::Object(members) => {
                let mut names = BTreeMap::new();
                for (key, value) in members {
                    match key_name(key) {
                        Some(name) => names.insert(name, of(value)),
                        None => {
                            return Guess::map(
                                members.iter().map(|(_, value)| of(value)).fold(Guess::Unknown, Guess::join),
                            );
                        }
                    };
                }
                Guess::Object(names)
            }
            Expression::TemplateExpr(template) => match Template::from_expr(template) {
                Ok(template) => match template.elements() {
                    [Element::Interpolation(only)] => of(&only.expr),
                    _ => Guess::String,
                },
                Err(_) => Guess::String,
            },
            Expression::Traversal(traversal) => self.guess_traversal(module, traversal, steps),
            Expression::FuncCall(call) => self.guess_call(module, call, steps),
            Expression::Parenthesis(inner) => of(inner),
            Expression::Conditional(conditional) => {
                of(&conditional.true_expr).join(of(&conditional.false_expr))
            }
            Expression::Operation(operation) => match &**operation {
                Operation::Unary(unary) => match unary.operator {
                    hcl::expr::UnaryOperator::Neg => Guess::Number,
                    hcl::expr::UnaryOperator::Not => Guess::Bool,
                },
                Operation::Binary(binary) if is_arithmetic(binary.operator) => Guess::Number,
                Operation::Binary(_) => Guess::Bool,
            },
            Expression::ForExpr(each) => {
                let element = of(&each.value_expr);
                let element = if each.grouping { Guess::list(element) } else { element };
                if each.key_expr.is_some() { Guess::map(element) } else { Guess::list(element) }
            }
            _ => Guess::Unknown,
        }
    }

    fn guess_traversal(&self, module: usize, traversal: &Traversal, steps: usize) -> Guess {
        let Expression::Variable(root) = &traversal.expr else {
            return follow(self.guess_within(module, &traversal.expr, steps), &traversal.operators);
        };
        let operators = &traversal.operators;
        let first = operators.first().and_then(attribute_name);
        let names = &self.names[module];
        match (root.as_str(), first) {
            ("var", Some(name)) => {
                let Some(variable) = names.variables.get(name) else { return Guess::Unknown };
                let declared = attribute(variable, "type").map(constraint).unwrap_or_default();
                let known = match (declared, attribute(variable, "default")) {
                    (Guess::Unknown, Some(default)) => self.guess_within(module, default, steps),
                    (declared, _) => declared,
                };
                follow(known, &operators[1..])
            }
            ("local", Some(name)) => match names.locals.get(name) {
                Some(local) => follow(self.guess_within(module, local, steps), &operators[1..]),
                None => Guess::Unknown,
            },
            ("module", Some(name)) => {
                let called = self.modules.all[module].calls.get(name);
                let mut rest = &operators[1..];
                let mut is_splat = false;
                if let [TraversalOperator::Index(_) | TraversalOperator::LegacyIndex(_), after @ ..] = rest {
                    rest = after;
                } else if let [TraversalOperator::AttrSplat | TraversalOperator::FullSplat, after @ ..] = rest
                {
                    (rest, is_splat) = (after, true);
                }
                let output = rest.first().and_then(attribute_name);
                let (Some(called), Some(output)) = (called, output) else { return Guess::Unknown };
                let Some(value) = self.names[*called].outputs.get(output) else { return Guess::Unknown };
                let known = follow(self.guess_within(*called, value, steps), &rest[1..]);
                if is_splat { Guess::list(known) } else { known }
            }
            ("each", Some("key")) | ("path" | "terraform", _) => Guess::String,
            ("count", _) => Guess::Number,
            // A reference to an attribute of a provider's object.
            _ => match operators.last().and_then(attribute_name) {
                Some(name) if operators.len() > 1 && !operators.iter().any(is_splat) => from_name(name),
                _ => Guess::Unknown,
            },
        }
    }

    fn guess_call(&self, module: usize, call: &FuncCall, steps: usize) -> Guess {
        let argument = |index: usize| {
            call.args
                .get(index)
                .map_or(Guess::Unknown, |expression| self.guess_within(module, expression, steps))
        };
        let joined = |from: usize| {
            let arguments = call.args.iter().skip(from);
            arguments
                .map(|expression| self.guess_within(module, expression, steps))
                .fold(Guess::Unknown, Guess::join)
        };
        if call.name.is_namespaced() {
            return Guess::Unknown;
        }
        match call.name.name.as_str() {
            "format" | "join" | "lower" | "upper" | "title" | "replace" | "substr" | "trim" | "trimspace"
            | "trimprefix" | "trimsuffix" | "chomp" | "indent" | "jsonencode" | "yamlencode" | "file"
            | "filebase64" | "templatefile" | "base64encode" | "base64decode" | "md5" | "sha1" | "sha256"
            | "sha512" | "filemd5" | "filesha1" | "filesha256" | "filebase64sha256" | "uuid"
            | "timestamp" | "tostring" | "basename" | "dirname" | "abspath" | "pathexpand" | "cidrhost"
            | "cidrsubnet" | "cidrnetmask" | "formatdate" | "timeadd" | "urlencode" | "base64gzip"
            | "strrev" => Guess::String,
            "length" | "max" | "min" | "ceil" | "floor" | "abs" | "parseint" | "tonumber" | "index"
            | "sum" | "pow" | "signum" | "log" => Guess::Number,
            "can" | "contains" | "alltrue" | "anytrue" | "startswith" | "endswith" | "tobool"
            | "fileexists" => Guess::Bool,
            "split" | "keys" | "cidrsubnets" | "formatlist" | "range" => Guess::list(Guess::String),
            "fileset" => Guess::set(Guess::String),
            "tolist" | "values" => Guess::list(argument(0).element()),
            "toset" => Guess::set(argument(0).element()),
            "tomap" => Guess::map(argument(0).element()),
            "sort" | "compact" | "distinct" | "reverse" | "slice" | "sensitive" | "nonsensitive" => {
                argument(0)
            }
            "element" | "one" => argument(0).element(),
            "coalesce" | "try" | "concat" | "merge" | "coalescelist" | "setunion" => joined(0),
            "lookup" => joined(2).join(argument(0).element()),
            "zipmap" => Guess::map(argument(1).element()),
            _ => Guess::Unknown,
        }
    }
}

/// Parses the type constraint of a variable.
pub(crate) fn constraint(expression: &Expression) -> Guess {
    match expression {
        Expression::Variable(name) => match name.as_str() {
            "string" => Guess::String,
            "number" => Guess::Number,
            "bool" => Guess::Bool,
            "list" => Guess::list(Guess::Unknown),
            "map" => Guess::map(Guess::Unknown),
            _ => Guess::Unknown,
        },
        // The notation before Terraform 0.12.
        Expression::String(name) => match name.as_str() {
            "string" => Guess::String,
            "list" => Guess::list(Guess::Unknown),
            "map" => Guess::map(Guess::Unknown),
            _ => Guess::Unknown,
        },
        Expression::Parenthesis(inner) => constraint(inner),
        Expression::FuncCall(call) => {
            let inner = || call.args.first().map(constraint).unwrap_or_default();
            match call.name.name.as_str() {
                "list" => Guess::list(inner()),
                "set" => Guess::set(inner()),
                "map" => Guess::map(inner()),
                "optional" => inner(),
                "object" => match call.args.first() {
                    Some(Expression::Object(members)) => Guess::Object(
                        members
                            .iter()
                            .filter_map(|(key, member)| Some((key_name(key)?, constraint(member))))
                            .collect(),
                    ),
                    _ => Guess::Unknown,
                },
                _ => Guess::Unknown,
            }
        }
        _ => Guess::Unknown,
    }
}

/// Returns the key of an object member, unless it is computed.
pub(crate) fn key_name(key: &ObjectKey) -> Option<String> {
    match key {
        ObjectKey::Identifier(name) => Some(name.to_string()),
        ObjectKey::Expression(Expression::String(name)) => Some(name.clone()),
        _ => None,
    }
}

pub(crate) fn attribute_name(operator: &TraversalOperator) -> Option<&str> {
    match operator {
        TraversalOperator::GetAttr(name) => Some(name.as_str()),
        TraversalOperator::Index(Expression::String(name)) => Some(name),
        _ => None,
    }
}

fn is_splat(operator: &TraversalOperator) -> bool {
    matches!(operator, TraversalOperator::AttrSplat | TraversalOperator::FullSplat)
}

/// Whether the operands of an operator are numbers.
pub(crate) fn is_arithmetic(operator: BinaryOperator) -> bool {
    use BinaryOperator::{Div, Minus, Mod, Mul, Plus};
    matches!(operator, Div | Minus | Mod | Mul | Plus)
}

/// Returns the type after attribute accesses, indexes and splats.
fn follow(mut guess: Guess, operators: &[TraversalOperator]) -> Guess {
    for (index, operator) in operators.iter().enumerate() {
        guess = match operator {
            TraversalOperator::GetAttr(name) => guess.member(name.as_str()),
            TraversalOperator::Index(Expression::String(name)) => guess.member(name),
            TraversalOperator::Index(_) | TraversalOperator::LegacyIndex(_) => guess.element(),
            _ => return Guess::list(follow(guess.element(), &operators[index + 1..])),
        };
    }
    guess
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(configuration: &str) -> Guess {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("main.tf"), configuration).unwrap();
        let modules = Modules::load(directory.path()).unwrap();
        let inference = Inference::new(&modules);
        inference.guess(0, inference.names[0].locals["it"])
    }

    #[test]
    fn types_are_inferred_from_expressions() {
        let strings = || Guess::list(Guess::String);
        for (expression, expected) in [
            ("\"a-${1}\"", Guess::String),
            ("\"${true}\"", Guess::Bool),
            ("[1, \"a\"]", strings()),
            ("var.names[0]", Guess::String),
            ("var.rules[*].port", Guess::list(Guess::Number)),
            ("{ for k, v in {} : k => 1 }", Guess::map(Guess::Number)),
            ("null", Guess::Unknown),
            ("var.on ? [\"a\"] : null", strings()),
            ("1 + 2", Guess::Number),
            ("!var.on", Guess::Bool),
            ("lookup(each.value, \"a\", 5)", Guess::Number),
            ("local.it", Guess::Unknown),
            ("try(var.old, \"x\")", strings().join(Guess::String)),
        ] {
            let configuration = format!(
                "variable \"names\" {{ type = set(string) }}\n\
                 variable \"old\" {{ default = [\"a\"] }}\n\
                 variable \"on\" {{ type = bool }}\n\
                 variable \"rules\" {{ type = list(object({{ port = optional(number, 1) }})) }}\n\
                 locals {{ it = {expression} }}\n"
            );
            assert_eq!(guessed(&configuration), expected, "{expression}");
        }
    }
}
