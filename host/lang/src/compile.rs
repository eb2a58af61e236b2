//! From hcl-edit's syntax tree to our own nodes.
//!
//! The tree says what was written; the text says how. Numbers, and the literal
//! parts of heredocs, are taken from the text: hcl-edit holds numbers as machine
//! floats, and removes indentation by rules of its own.

mod template;
mod traversal;

use std::sync::Arc;

use hcl_edit::expr::{BinaryOperator, Expression as Syntax, ObjectKey, UnaryOperator};
use hcl_edit::{Ident, Span as _};
use wardian_value::{Number, Str, Type, Value};

use crate::functions;
use crate::node::{Arm, Call, For, Item, Key, Kind, Link, Node, Operator, Target};
use crate::syntax::{syntax_error, tolerant};
use crate::{Diagnostic, Diagnostics, Expression, SourceFile, Span};

/// Compiles the expression that is the text of a span. White space and comments
/// may stand around it.
pub(crate) fn expression_at(span: &Span) -> Result<Expression, Diagnostics> {
    expression_in(&span.file, span.start, span.end)
}

/// [`expression_at`] for a part of a file that may be an excerpt.
pub(crate) fn expression_in(
    file: &Arc<SourceFile>,
    from: usize,
    to: usize,
) -> Result<Expression, Diagnostics> {
    let text = file.text().get(from..to).unwrap_or("");
    let start = trivia(text);
    let text = text[start..].trim_end();
    let parse = |text: &str| tolerant(text, hcl_edit::parser::parse_expr);
    let parsed = parse(text).or_else(|error| {
        // What follows may be a comment only.
        let at = error.location().offset().min(text.len());
        match text.get(at..) {
            Some(rest) if at > 0 && !rest.is_empty() && trivia(rest) == rest.len() => {
                parse(text[..at].trim_end()).map_err(|_| error)
            }
            _ => Err(error),
        }
    });
    let offset = from + start;
    let syntax = parsed.map_err(|error| Diagnostics::from(syntax_error(file, offset, &error)))?;
    Compiler::new(file, offset).expression(&syntax)
}

/// How much of the start of a text is white space and comments.
fn trivia(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("/*") {
            let Some(end) = comment.find("*/") else { break };
            rest = &comment[end + 2..];
        } else if rest.starts_with('#') || rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else {
            break;
        }
    }
    text.len() - rest.len()
}

/// What bare names in an expression stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Variables, resources and the like.
    #[allow(dead_code, reason = "strings of the JSON syntax, which follows")]
    References,
    /// Variables of a template: [`crate::Subject::Name`].
    Plain,
}

/// Compiles the text of a span as a template without quotes or escapes.
pub(crate) fn template_at(span: &Span, names: Names) -> Result<Expression, Diagnostics> {
    let parsed = tolerant(span.text(), hcl_edit::parser::parse_template);
    let template = parsed.map_err(|error| Diagnostics::from(syntax_error(&span.file, span.start, &error)))?;
    let mut compiler = Compiler::new(&span.file, span.start);
    compiler.plain_names = names == Names::Plain;
    let kind = compiler.template(&template, template::Literals::Template);
    compiler.finish(Node { kind, start: span.start, end: span.end })
}

/// Compiles a part of a file, which may be an excerpt, as a template whose names
/// are references as in any expression.
pub(crate) fn template_in(file: &Arc<SourceFile>, from: usize, to: usize) -> Result<Expression, Diagnostics> {
    let parsed = tolerant(file.text().get(from..to).unwrap_or(""), hcl_edit::parser::parse_template);
    let template = parsed.map_err(|error| Diagnostics::from(syntax_error(file, from, &error)))?;
    let mut compiler = Compiler::new(file, from);
    let kind = compiler.template(&template, template::Literals::Template);
    compiler.finish(Node { kind, start: from, end: to })
}

/// A bare name as an expression of its own.
pub(crate) fn bare_name(name: &Str, span: &Span) -> Arc<Node> {
    Arc::new(traversal::name(name.clone(), span.clone(), Vec::new(), span.clone(), false))
}

/// Makes nodes of one file's syntax.
pub(crate) struct Compiler<'a> {
    file: &'a Arc<SourceFile>,
    /// Where in the file the parsed text starts.
    offset: usize,
    /// Bare names are variables of a template, not references.
    plain_names: bool,
    /// Variables of the `for` expressions around, by slot; elements of splats
    /// take slots without a name.
    variables: Vec<Option<Str>>,
    problems: Diagnostics,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(file: &'a Arc<SourceFile>, offset: usize) -> Self {
        Self { file, offset, plain_names: false, variables: Vec::new(), problems: Diagnostics::new() }
    }

    /// Compiles one expression.
    pub(crate) fn expression(&mut self, syntax: &Syntax) -> Result<Expression, Diagnostics> {
        let node = self.compile(syntax);
        self.finish(node)
    }

    fn finish(&mut self, node: Node) -> Result<Expression, Diagnostics> {
        std::mem::take(&mut self.problems).into_result(Expression::new(self.file, Arc::new(node)))
    }

    fn bytes(&self, range: Option<std::ops::Range<usize>>) -> (usize, usize) {
        let range = range.unwrap_or_default();
        (range.start + self.offset, range.end + self.offset)
    }

    fn span(&self, (start, end): (usize, usize)) -> Span {
        Span::new(self.file, start, end)
    }

    fn text(&self, (start, end): (usize, usize)) -> &'a str {
        self.file.text().get(start..end).unwrap_or("")
    }

    fn problem(&mut self, summary: &str, detail: &str, place: (usize, usize)) {
        let span = self.span(place);
        self.problems.push(Diagnostic::error(summary, detail).at(span));
    }

    fn slot_of(&self, name: &str) -> Option<usize> {
        self.variables.iter().rposition(|variable| variable.as_deref() == Some(name))
    }

    fn shared(&mut self, syntax: &Syntax) -> Arc<Node> {
        Arc::new(self.compile(syntax))
    }

    fn compile(&mut self, syntax: &Syntax) -> Node {
        let place = self.bytes(syntax.span());
        let kind = match syntax {
            Syntax::Null(_) => Kind::Constant(Value::null(Type::Dynamic)),
            Syntax::Bool(value) => Kind::Constant(Value::bool(**value)),
            Syntax::Number(_) => self.number(place),
            Syntax::String(text) => {
                self.refuse_line_break(place);
                Kind::Quoted(Value::string(text.as_str()))
            }
            Syntax::StringTemplate(template) => self.template(template, template::Literals::Quoted),
            Syntax::HeredocTemplate(heredoc) => {
                return self.heredoc(heredoc, place);
            }
            Syntax::Array(items) => Kind::Tuple(items.iter().map(|item| self.shared(item)).collect()),
            Syntax::Object(object) => Kind::Object(
                object
                    .iter()
                    .map(|(key, value)| Item { key: self.object_key(key), value: self.shared(value.expr()) })
                    .collect(),
            ),
            Syntax::Parenthesis(inner) => Kind::Parenthesis(self.shared(inner.inner())),
            Syntax::Variable(name) => return self.name(name, &[], place),
            Syntax::Traversal(traversal) => return self.traversal(traversal, place),
            Syntax::Conditional(conditional) => Kind::Conditional {
                arms: vec![Arm {
                    condition: self.shared(&conditional.cond_expr),
                    if_true: self.shared(&conditional.true_expr),
                }],
                otherwise: self.shared(&conditional.false_expr),
            },
            Syntax::UnaryOp(operation) => {
                let operand = self.shared(&operation.expr);
                match operation.operator.value() {
                    UnaryOperator::Neg => Kind::Negate(operand),
                    UnaryOperator::Not => Kind::Not(operand),
                }
            }
            Syntax::BinaryOp(operation) => Kind::Chain {
                first: self.shared(&operation.lhs_expr),
                rest: vec![Link {
                    operator: operator(*operation.operator.value()),
                    right: self.shared(&operation.rhs_expr),
                }],
            },
            Syntax::FuncCall(call) => self.call(call),
            Syntax::ForExpr(each) => self.for_expression(each),
        };
        Node { kind, start: place.0, end: place.1 }
    }

    fn number(&mut self, place: (usize, usize)) -> Kind {
        // A minus that the parser took for part of the number may stand apart.
        let text: String = self.text(place).split_whitespace().collect();
        match Number::parse(&text) {
            Ok(number) => Kind::Constant(Value::number(number)),
            Err(_) => {
                self.problem("Invalid number literal", "This is not a number.", place);
                Kind::Constant(Value::null(Type::Number))
            }
        }
    }

    fn refuse_line_break(&mut self, place: (usize, usize)) {
        if let Some(at) = self.text(place).find('\n') {
            self.problem(
                "Invalid multi-line string",
                "A quoted string ends on the line on which it starts. For text of several lines, \
                 use a heredoc (<<EOT), or write \"\\n\" for a line break.",
                (place.0, place.0 + at),
            );
        }
    }

    fn object_key(&mut self, key: &ObjectKey) -> Key {
        match key {
            // Of a name the text counts: duplicates were renamed for the parser.
            ObjectKey::Ident(name) => {
                let place = self.bytes(name.span().or_else(|| key.span()));
                Key::Name { name: Str::new(self.text(place)), start: place.0, end: place.1 }
            }
            ObjectKey::Expression(syntax) => {
                // `true`, `null` and the like are names where a key is expected.
                let place = self.bytes(syntax.span());
                match syntax {
                    Syntax::Null(_) | Syntax::Bool(_) => {
                        Key::Name { name: Str::new(self.text(place)), start: place.0, end: place.1 }
                    }
                    Syntax::Traversal(traversal) if traversal::is_fixed(traversal) => {
                        Key::Ambiguous(self.shared(syntax))
                    }
                    Syntax::String(_) => {
                        let mut node = self.compile(syntax);
                        let text = self.text(place);
                        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                        if let Some(inner) = inner
                            && !inner.contains(['\\', '{'])
                        {
                            node.kind = Kind::Quoted(Value::string(inner));
                        }
                        Key::Expression(Arc::new(node))
                    }
                    _ => Key::Expression(self.shared(syntax)),
                }
            }
        }
    }

    fn call(&mut self, call: &hcl_edit::expr::FuncCall) -> Kind {
        let last = self.bytes(call.name.name.span());
        let first = call.name.namespace.first().map_or(last, |namespace| self.bytes(namespace.span()));
        let name_span = (first.0, last.1);
        let namespaces: Vec<&str> = call.name.namespace.iter().map(|part| part.as_str()).collect();
        let short: &str = call.name.name.as_str();
        let target = match namespaces.as_slice() {
            [] | ["core"] => match functions::find(short) {
                Some(function) => Target::BuiltIn(function),
                None => Target::Unknown(functions::unknown(short, self.span(name_span))),
            },
            ["provider", provider] => {
                Target::Provider { provider: Str::new(provider), function: Str::new(short) }
            }
            _ => Target::Unknown(functions::unknown_namespace(&namespaces, short, self.span(name_span))),
        };
        let mut name = namespaces.join("::");
        if !name.is_empty() {
            name.push_str("::");
        }
        name.push_str(short);
        Kind::Call(Box::new(Call {
            name: name.into(),
            name_span,
            target,
            arguments: call.args.iter().map(|argument| self.shared(argument)).collect(),
            expands: call.args.expand_final(),
        }))
    }

    fn for_expression(&mut self, each: &hcl_edit::expr::ForExpr) -> Kind {
        let collection = self.shared(&each.intro.collection_expr);
        let slot = self.enter(each.intro.key_var.as_deref(), &each.intro.value_var);
        let key = each.key_expr.as_ref().map(|key| self.shared(key));
        let value = self.shared(&each.value_expr);
        let condition = each.cond.as_ref().map(|condition| self.shared(&condition.expr));
        self.leave(slot);
        Kind::For(Box::new(For {
            collection,
            slot,
            has_key: each.intro.key_var.is_some(),
            key,
            value,
            condition,
            groups: each.grouping,
        }))
    }

    /// Gives slots to the variables of a `for`; answers the first.
    fn enter(&mut self, key: Option<&Ident>, value: &Ident) -> usize {
        let slot = self.variables.len();
        if let Some(key) = key {
            self.variables.push(Some(Str::new(key.as_str())));
        }
        self.variables.push(Some(Str::new(value.as_str())));
        slot
    }

    fn leave(&mut self, slot: usize) {
        self.variables.truncate(slot);
    }
}

const fn operator(operator: BinaryOperator) -> Operator {
    match operator {
        BinaryOperator::Or => Operator::Or,
        BinaryOperator::And => Operator::And,
        BinaryOperator::Eq => Operator::Equal,
        BinaryOperator::NotEq => Operator::NotEqual,
        BinaryOperator::Less => Operator::Less,
        BinaryOperator::LessEq => Operator::LessOrEqual,
        BinaryOperator::Greater => Operator::Greater,
        BinaryOperator::GreaterEq => Operator::GreaterOrEqual,
        BinaryOperator::Plus => Operator::Add,
        BinaryOperator::Minus => Operator::Subtract,
        BinaryOperator::Mul => Operator::Multiply,
        BinaryOperator::Div => Operator::Divide,
        BinaryOperator::Mod => Operator::Remainder,
    }
}
