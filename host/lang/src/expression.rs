//! Expressions: compiled once, looked into and evaluated many times.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, ValueNote};
use wardian_value::{Str, Value};

use crate::node::{Key, Kind, Node, StepKind, Target};
use crate::syntax::json::{self, Json};
use crate::{Cause, EmptyScope, Reference, Scope, Traversal, TraversalStep, compile, evaluate};

/// A compiled expression. Cheap to clone.
#[derive(Clone)]
pub struct Expression(Form);

#[derive(Clone)]
enum Form {
    Native(Arc<Compiled>),
    /// Compiled when first asked for, and kept with the value.
    Json {
        value: Arc<Json>,
        span: Span,
    },
}

pub(crate) struct Compiled {
    file: Arc<SourceFile>,
    node: Arc<Node>,
    span: Span,
    references: OnceLock<Vec<Reference>>,
    /// The value of an expression without references, made when first asked for.
    constant: OnceLock<Option<Value>>,
}

impl Compiled {
    pub(crate) fn new(file: &Arc<SourceFile>, node: Arc<Node>) -> Arc<Self> {
        let span = Span::new(file, node.start, node.end);
        Arc::new(Self {
            file: Arc::clone(file),
            node,
            span,
            references: OnceLock::new(),
            constant: OnceLock::new(),
        })
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.span.text())
    }
}

/// A function call as it is written.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function's name with its namespaces.
    pub name: Str,
    /// Its place.
    pub name_span: Span,
    /// The arguments.
    pub arguments: Vec<Expression>,
    /// Whether the last argument is followed by `...`.
    pub expands: bool,
}

impl Expression {
    pub(crate) fn new(file: &Arc<SourceFile>, node: Arc<Node>) -> Self {
        Self(Form::Native(Compiled::new(file, node)))
    }

    /// What a value in JSON means as an expression.
    pub(crate) fn of_json(value: &Arc<Json>, span: Span) -> Self {
        Self(Form::Json { value: Arc::clone(value), span })
    }

    fn compiled(&self) -> &Arc<Compiled> {
        match &self.0 {
            Form::Native(compiled) => compiled,
            Form::Json { value, span } => json::compiled(value, &span.file),
        }
    }

    fn json(&self) -> Option<(&Arc<Json>, &Arc<SourceFile>)> {
        match &self.0 {
            Form::Native(_) => None,
            Form::Json { value, span } => Some((value, &span.file)),
        }
    }

    /// An expression that stands for a value that is known already.
    pub fn constant(value: Value, span: &Span) -> Self {
        let node = Node::new(Kind::Constant(value), span.start, span.end);
        Self::new(&span.file, Arc::new(node))
    }

    pub(crate) fn node(&self) -> &Node {
        &self.compiled().node
    }

    pub(crate) fn file(&self) -> &Arc<SourceFile> {
        &self.compiled().file
    }

    fn inner(&self, node: &Arc<Node>) -> Self {
        Self::new(self.file(), Arc::clone(node))
    }

    /// Where it is.
    pub fn span(&self) -> &Span {
        match &self.0 {
            Form::Native(compiled) => &compiled.span,
            Form::Json { span, .. } => span,
        }
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// All that went wrong, each with its place.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Value, Diagnostics> {
        let compiled = self.compiled();
        if let Some(Some(value)) = compiled.constant.get() {
            return Ok(value.clone());
        }
        let value = evaluate::evaluate(self, scope)?;
        if compiled.constant.get().is_none() {
            let _ = compiled.constant.set(self.is_constant().then(|| value.clone()));
        }
        Ok(value)
    }

    /// The value of an argument that must be constant: neither references nor calls
    /// of functions may stand there. Texts in JSON are no templates here: they are
    /// what they are.
    ///
    /// # Errors
    ///
    /// All that went wrong, each with its place.
    pub fn evaluate_constant(&self) -> Result<Value, Diagnostics> {
        if let Some((value, file)) = self.json() {
            return json::constant(value, file);
        }
        let mut problems = Diagnostics::default();
        self.node().walk(&mut |node| {
            if let Kind::Call(call) = &node.kind {
                let detail = "Only constants can be used here, so no function can be called.";
                let span = Span::new(self.file(), call.name_span.0, call.name_span.1);
                problems.push(Diagnostic::error("Function calls not allowed", detail).at(span));
            }
        });
        if problems.has_errors() { Err(problems) } else { self.evaluate(&EmptyScope) }
    }

    /// What it refers to and what that is, for a problem with its value.
    pub fn value_notes(&self, scope: &dyn Scope, cause: Cause) -> Vec<ValueNote> {
        evaluate::value_notes(self, scope, cause)
    }

    /// Everything that it refers to, in the order of the text. Variables of its
    /// own `for` expressions are not references.
    pub fn references(&self) -> &[Reference] {
        self.compiled().references.get_or_init(|| self.find_references(&[]))
    }

    /// [`Expression::references`] where some names hide what they would refer to
    /// otherwise (see [`Scope::local`]).
    pub fn references_besides(&self, locals: &[Str]) -> Vec<Reference> {
        if locals.is_empty() { self.references().to_vec() } else { self.find_references(locals) }
    }

    fn find_references(&self, locals: &[Str]) -> Vec<Reference> {
        let mut found = Vec::new();
        self.node().walk(&mut |node| match &node.kind {
            Kind::Name(name) if !locals.contains(&name.traversal.root) => {
                found.extend(name.reference.iter().cloned());
            }
            Kind::Embedded(inner) => found.extend(inner.find_references(locals)),
            _ => {}
        });
        found
    }

    /// What can be told to be wrong without evaluating: names that form no
    /// reference, functions that do not exist, calls with too few or too many
    /// arguments.
    pub fn check(&self) -> Diagnostics {
        self.check_besides(&[])
    }

    /// [`Expression::check`] where some names hide what they would refer to
    /// otherwise.
    pub fn check_besides(&self, locals: &[Str]) -> Diagnostics {
        let mut problems = Diagnostics::default();
        self.node().walk(&mut |node| match &node.kind {
            Kind::Embedded(inner) => problems.extend(inner.check_besides(locals)),
            Kind::Broken(found) => problems.extend(found.iter().cloned()),
            Kind::Name(name) if locals.contains(&name.traversal.root) => {}
            Kind::Name(name) => {
                if let Err(diagnostic) = name.reference() {
                    problems.push(diagnostic);
                }
            }
            Kind::Call(call) => {
                if let Some(diagnostic) = evaluate::check_call(self.file(), node, call) {
                    problems.push(diagnostic);
                }
            }
            Kind::Object(items) => {
                for item in items {
                    if let Key::Ambiguous(key) = &item.key {
                        problems.push(evaluate::ambiguous_key(self.file(), key));
                    }
                }
            }
            _ => {}
        });
        problems
    }

    /// The functions that it calls, as they are named, in the order of the text.
    pub fn function_calls(&self) -> Vec<(Str, Span)> {
        let mut found = Vec::new();
        self.node().walk(&mut |node| match &node.kind {
            Kind::Call(call) => {
                found.push((call.name.clone(), Span::new(self.file(), call.name_span.0, call.name_span.1)));
            }
            Kind::Embedded(inner) => found.extend(inner.function_calls()),
            _ => {}
        });
        found
    }

    fn is_constant(&self) -> bool {
        let mut constant = true;
        self.node().walk(&mut |node| match &node.kind {
            Kind::Name(_) => constant = false,
            Kind::Embedded(inner) => constant &= inner.is_constant(),
            Kind::Call(call) => match call.target {
                Target::BuiltIn(function) => constant &= function.is_pure(),
                _ => constant = false,
            },
            _ => {}
        });
        constant
    }

    /// The value, where it depends on nothing but the text.
    pub fn as_constant(&self) -> Option<Value> {
        self.is_constant().then(|| self.evaluate(&EmptyScope).ok()).flatten()
    }

    /// The name, where the expression is one bare identifier; in JSON, a text
    /// that is one.
    pub fn as_keyword(&self) -> Option<&str> {
        if let Some((value, _)) = self.json() {
            return json::keyword(value);
        }
        match &self.node().kind {
            Kind::Name(name) if name.traversal.steps.is_empty() && name.traversal.span == *self.span() => {
                Some(&name.traversal.root)
            }
            _ => None,
        }
    }

    /// The text, where the expression is a quoted string without interpolations;
    /// in JSON, any text as it stands.
    pub fn as_quoted(&self) -> Option<&str> {
        if let Some((value, _)) = self.json() {
            return json::quoted(value);
        }
        match &self.node().kind {
            Kind::Quoted(value) => value.as_str(),
            _ => None,
        }
    }

    /// Whether the expression is a quoted string of the native syntax. Where names
    /// are wanted, that is the form of old; in JSON there is no other.
    pub fn is_native_quoted(&self) -> bool {
        self.json().is_none() && matches!(self.node().kind, Kind::Quoted(_) | Kind::Template(_))
    }

    /// The expression that a text in JSON holds, where the text cannot be meant as
    /// a template; any other as it is.
    ///
    /// # Errors
    ///
    /// Syntax errors in the text.
    pub fn unquoted(&self) -> Result<Self, Diagnostics> {
        match self.json() {
            Some((value, file)) => json::embedded(value, file).unwrap_or_else(|| Ok(self.clone())),
            None => Ok(self.clone()),
        }
    }

    /// Names and constant indexes in a row, bare or in the quoted form of old.
    pub fn as_traversal(&self) -> Option<Traversal> {
        if let Some((value, file)) = self.json() {
            return json::traversal(value, file);
        }
        match &self.node().kind {
            Kind::Name(name) if name.traversal.span == *self.span() => Some(name.traversal.clone()),
            Kind::Quoted(value) => {
                let text = value.as_str()?;
                // Without escapes the text starts right behind the quote, so that
                // its places are the file's.
                let start = self.span().start + 1;
                if self.file().text().get(start..start + text.len()) != Some(text) {
                    return None;
                }
                let span = Span::new(self.file(), start, start + text.len());
                compile::expression_at(&span).ok().and_then(|inner| match &inner.node().kind {
                    Kind::Name(name) if name.traversal.span == *inner.span() => Some(name.traversal.clone()),
                    _ => None,
                })
            }
            _ => None,
        }
    }

    /// The names of an address such as `module.a[0].b.c[each.key]`, without the
    /// keys of instances, which may be computed.
    pub fn as_address(&self) -> Option<Traversal> {
        let Kind::Name(name) = &self.node().kind else {
            return self.as_traversal();
        };
        let named = name.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Attribute(attribute) => Some(TraversalStep {
                step: wardian_value::PathStep::Attribute(attribute.clone()),
                span: Span::new(self.file(), step.start, step.end),
            }),
            StepKind::Key(_) | StepKind::Index(_) => None,
        });
        Some(Traversal {
            root: name.traversal.root.clone(),
            root_span: name.traversal.root_span.clone(),
            steps: named.collect(),
            span: self.span().clone(),
        })
    }

    /// The key behind each name of an address, constant or computed: for
    /// `module.a[0].b.c[each.key]` none, `0`, none and `each.key`. Empty where the
    /// address is not written as an expression: then no key of it is computed.
    pub fn address_keys(&self) -> Vec<Option<Self>> {
        let Kind::Name(name) = &self.node().kind else { return Vec::new() };
        let mut keys = vec![None];
        for step in &name.steps {
            let key = match &step.kind {
                StepKind::Attribute(_) => {
                    keys.push(None);
                    continue;
                }
                StepKind::Key(key) => {
                    Self::constant(key.clone(), &Span::new(self.file(), step.start, step.end))
                }
                StepKind::Index(key) => self.inner(key),
            };
            if let Some(last) = keys.last_mut() {
                *last = Some(key);
            }
        }
        keys
    }

    /// The key that an address ends with, where it is computed.
    pub fn computed_key(&self) -> Option<Self> {
        let steps = match &self.node().kind {
            Kind::Name(name) => &name.steps,
            Kind::Traverse { steps, .. } => steps,
            _ => return None,
        };
        match &steps.last()?.kind {
            StepKind::Index(key) => Some(self.inner(key)),
            StepKind::Key(_) | StepKind::Attribute(_) => None,
        }
    }

    /// The parts, where the expression is a function call.
    pub fn as_call(&self) -> Option<Call> {
        if let Some((value, file)) = self.json() {
            return json::call(value, file);
        }
        match &self.node().kind {
            Kind::Call(call) => Some(Call {
                name: call.name.clone(),
                name_span: Span::new(self.file(), call.name_span.0, call.name_span.1),
                arguments: call.arguments.iter().map(|argument| self.inner(argument)).collect(),
                expands: call.expands,
            }),
            _ => None,
        }
    }

    /// What is inside, where the expression is in parentheses.
    pub fn in_parentheses(&self) -> Option<Self> {
        if self.json().is_some() {
            return None;
        }
        match &self.node().kind {
            Kind::Parenthesis(inside) => Some(self.inner(inside)),
            _ => None,
        }
    }

    /// The items, where the expression is written as `[a, b]`.
    pub fn as_tuple_items(&self) -> Option<Vec<Self>> {
        if let Some((value, file)) = self.json() {
            return json::items(value, file);
        }
        match &self.node().kind {
            Kind::Tuple(items) => Some(items.iter().map(|item| self.inner(item)).collect()),
            _ => None,
        }
    }

    /// Keys and values, where the expression is written as `{ a = b }`. A key
    /// that is a bare name answers [`Expression::as_keyword`].
    pub fn as_object_items(&self) -> Option<Vec<(Self, Self)>> {
        if let Some((value, file)) = self.json() {
            return json::members(value, file);
        }
        match &self.node().kind {
            Kind::Object(items) => Some(
                items
                    .iter()
                    .map(|item| {
                        let key = match &item.key {
                            Key::Expression(node) | Key::Ambiguous(node) => self.inner(node),
                            Key::Name { name, start, end } => {
                                let span = Span::new(self.file(), *start, *end);
                                Self::new(&span.file, compile::bare_name(name, &span))
                            }
                        };
                        (key, self.inner(&item.value))
                    })
                    .collect(),
            ),
            _ => None,
        }
    }
}

/// The text as written.
impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.span().text())
    }
}
