//! Expressions: compiled once, looked into and evaluated many times.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wardian_value::{Str, Value};

use crate::node::{Key, Kind, Node, Target};
use crate::{Diagnostics, EmptyScope, Reference, Scope, SourceFile, Span, Traversal, compile, evaluate};

/// A compiled expression. Cheap to clone.
#[derive(Clone)]
pub struct Expression(Arc<Inner>);

struct Inner {
    file: Arc<SourceFile>,
    node: Arc<Node>,
    span: Span,
    references: OnceLock<Vec<Reference>>,
    /// The value of an expression without references, made when first asked for.
    constant: OnceLock<Option<Value>>,
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
        let span = Span::new(file, node.start, node.end);
        Self(Arc::new(Inner {
            file: Arc::clone(file),
            node,
            span,
            references: OnceLock::new(),
            constant: OnceLock::new(),
        }))
    }

    /// An expression that stands for a value that is known already.
    pub fn constant(value: Value, span: &Span) -> Self {
        let node = Node { kind: Kind::Constant(value), start: span.start, end: span.end };
        Self::new(&span.file, Arc::new(node))
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0.node
    }

    pub(crate) fn file(&self) -> &Arc<SourceFile> {
        &self.0.file
    }

    fn inner(&self, node: &Arc<Node>) -> Self {
        Self::new(&self.0.file, Arc::clone(node))
    }

    /// Where it is.
    pub fn span(&self) -> &Span {
        &self.0.span
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// All that went wrong, each with its place.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Value, Diagnostics> {
        if let Some(Some(value)) = self.0.constant.get() {
            return Ok(value.clone());
        }
        let value = evaluate::evaluate(self, scope)?;
        if self.0.constant.get().is_none() {
            let _ = self.0.constant.set(self.is_constant().then(|| value.clone()));
        }
        Ok(value)
    }

    /// Everything that it refers to, in the order of the text. Variables of its
    /// own `for` expressions are not references.
    pub fn references(&self) -> &[Reference] {
        self.0.references.get_or_init(|| self.find_references(&[]))
    }

    /// [`Expression::references`] where some names hide what they would refer to
    /// otherwise (see [`Scope::local`]).
    pub fn references_besides(&self, locals: &[Str]) -> Vec<Reference> {
        if locals.is_empty() { self.references().to_vec() } else { self.find_references(locals) }
    }

    fn find_references(&self, locals: &[Str]) -> Vec<Reference> {
        let mut found = Vec::new();
        self.0.node.walk(&mut |node| {
            if let Kind::Name(name) = &node.kind
                && let Ok(reference) = &name.reference
                && !locals.contains(&name.traversal.root)
            {
                found.push(reference.clone());
            }
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
        self.0.node.walk(&mut |node| match &node.kind {
            Kind::Name(name) if locals.contains(&name.traversal.root) => {}
            Kind::Name(name) => {
                if let Err(diagnostic) = &name.reference {
                    problems.push(diagnostic.clone());
                }
            }
            Kind::Call(call) => {
                if let Some(diagnostic) = evaluate::check_call(&self.0.file, node, call) {
                    problems.push(diagnostic);
                }
            }
            Kind::Object(items) => {
                for item in items {
                    if let Key::Ambiguous(key) = &item.key {
                        problems.push(evaluate::ambiguous_key(&self.0.file, key));
                    }
                }
            }
            _ => {}
        });
        problems
    }

    /// The provider functions that it calls: provider's local name and function.
    pub fn provider_functions(&self) -> Vec<(Str, Str, Span)> {
        let mut found = Vec::new();
        self.0.node.walk(&mut |node| {
            if let Kind::Call(call) = &node.kind
                && let Target::Provider { provider, function } = &call.target
            {
                let span = Span::new(&self.0.file, call.name_span.0, call.name_span.1);
                found.push((provider.clone(), function.clone(), span));
            }
        });
        found
    }

    fn is_constant(&self) -> bool {
        let mut constant = true;
        self.0.node.walk(&mut |node| match &node.kind {
            Kind::Name(_) => constant = false,
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

    /// The name, where the expression is one bare identifier.
    pub fn as_keyword(&self) -> Option<&str> {
        match &self.0.node.kind {
            Kind::Name(name) if name.traversal.steps.is_empty() && name.traversal.span == self.0.span => {
                Some(&name.traversal.root)
            }
            _ => None,
        }
    }

    /// The text, where the expression is a quoted string without interpolations.
    pub fn as_quoted(&self) -> Option<&str> {
        match &self.0.node.kind {
            Kind::Quoted(value) => value.as_str(),
            _ => None,
        }
    }

    /// Names and constant indexes in a row, bare or in the quoted form of old.
    pub fn as_traversal(&self) -> Option<Traversal> {
        match &self.0.node.kind {
            Kind::Name(name) if name.traversal.span == self.0.span => Some(name.traversal.clone()),
            Kind::Quoted(value) => {
                let text = value.as_str()?;
                // Without escapes the text starts right behind the quote, so that
                // its places are the file's.
                let start = self.0.span.start + 1;
                if self.0.file.text().get(start..start + text.len()) != Some(text) {
                    return None;
                }
                let span = Span::new(&self.0.file, start, start + text.len());
                compile::expression_at(&span).ok().and_then(|inner| match &inner.node().kind {
                    Kind::Name(name) if name.traversal.span == *inner.span() => Some(name.traversal.clone()),
                    _ => None,
                })
            }
            _ => None,
        }
    }

    /// The parts, where the expression is a function call.
    pub fn as_call(&self) -> Option<Call> {
        match &self.0.node.kind {
            Kind::Call(call) => Some(Call {
                name: call.name.clone(),
                name_span: Span::new(&self.0.file, call.name_span.0, call.name_span.1),
                arguments: call.arguments.iter().map(|argument| self.inner(argument)).collect(),
                expands: call.expands,
            }),
            _ => None,
        }
    }

    /// The items, where the expression is written as `[a, b]`.
    pub fn as_tuple_items(&self) -> Option<Vec<Self>> {
        match &self.0.node.kind {
            Kind::Tuple(items) => Some(items.iter().map(|item| self.inner(item)).collect()),
            _ => None,
        }
    }

    /// Keys and values, where the expression is written as `{ a = b }`. A key
    /// that is a bare name answers [`Expression::as_keyword`].
    pub fn as_object_items(&self) -> Option<Vec<(Self, Self)>> {
        match &self.0.node.kind {
            Kind::Object(items) => Some(
                items
                    .iter()
                    .map(|item| {
                        let key = match &item.key {
                            Key::Expression(node) | Key::Ambiguous(node) => self.inner(node),
                            Key::Name { name, start, end } => {
                                let span = Span::new(&self.0.file, *start, *end);
                                Self::new(&self.0.file, compile::bare_name(name, &span))
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
        f.write_str(self.0.span.text())
    }
}
