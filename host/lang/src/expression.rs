//! Expressions. They are compiled once, and inspected and evaluated many times.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, ValueNote};
use wardian_value::{Str, Value};

use crate::node::{Key, Kind, Node, Operator, StepKind, Target};
use crate::syntax::json::{self, Json};
use crate::{Cause, EmptyScope, Reference, Scope, Traversal, TraversalStep, compile, evaluate};

/// A compiled expression. Cheap to clone.
#[derive(Clone)]
pub struct Expression(Form);

#[derive(Clone)]
enum Form {
    Native(Arc<Compiled>),
    /// A JSON value, which is compiled on first use. The result is stored with the value.
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
    /// The value of an expression without references, computed on first use.
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

/// A function call in its source form.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function's name with its namespaces.
    pub name: Str,
    pub name_span: Span,
    pub arguments: Vec<Expression>,
    /// True if the last argument is followed by `...`.
    pub expands: bool,
}

impl Expression {
    pub(crate) fn new(file: &Arc<SourceFile>, node: Arc<Node>) -> Self {
        Self(Form::Native(Compiled::new(file, node)))
    }

    /// Returns a JSON value as an expression.
    pub(crate) fn from_json(value: &Arc<Json>, span: Span) -> Self {
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

    /// Returns an expression with a constant value.
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

    pub fn span(&self) -> &Span {
        match &self.0 {
            Form::Native(compiled) => &compiled.span,
            Form::Json { span, .. } => span,
        }
    }

    /// Returns the span at which a value of the wrong type is reported: the first token of a
    /// composite expression, and the text of a quoted string.
    pub fn beginning(&self) -> Span {
        match &self.0 {
            Form::Native(compiled) => {
                let (start, end) = compiled.node.beginning(compiled.file.text());
                Span::new(&compiled.file, start, end)
            }
            Form::Json { span, .. } => span.clone(),
        }
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    ///
    /// Returns all errors, each with its span.
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

    /// Evaluates an argument that must be constant: references and function calls are errors.
    /// Strings in JSON are literals here, not templates.
    ///
    /// # Errors
    ///
    /// Returns all errors, each with its span.
    pub fn evaluate_constant(&self) -> Result<Value, Diagnostics> {
        if let Some((value, file)) = self.json() {
            return json::constant(value, file);
        }
        let mut problems = Diagnostics::default();
        self.node().walk(&mut |node| {
            if let Kind::Call(call) = &node.kind {
                let detail = "Only constants are allowed here, so functions cannot be called.";
                let span = Span::new(self.file(), call.name_span.0, call.name_span.1);
                problems.push(Diagnostic::error("Function calls not allowed", detail).at(span));
            }
        });
        if problems.has_errors() { Err(problems) } else { self.evaluate(&EmptyScope) }
    }

    /// Returns notes with the values of the expression's references, for a diagnostic about the
    /// expression's value.
    pub fn value_notes(&self, scope: &dyn Scope, cause: Cause) -> Vec<ValueNote> {
        evaluate::value_notes(self, scope, cause)
    }

    /// Returns all references in source order. Variables of `for` expressions inside it are not
    /// references.
    pub fn references(&self) -> &[Reference] {
        self.compiled().references.get_or_init(|| self.find_references(&[]))
    }

    /// Returns [`Expression::references`] without references to names that are shadowed (see
    /// [`Scope::local`]).
    pub fn references_excluding(&self, locals: &[Str]) -> Vec<Reference> {
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

    /// Reports the errors that do not depend on values: names that are not valid references,
    /// functions that do not exist, and calls with a wrong number of arguments.
    pub fn check(&self) -> Diagnostics {
        self.check_excluding(&[])
    }

    /// Reports the same errors as [`Expression::check`] for an expression in which some names are
    /// shadowed.
    pub fn check_excluding(&self, locals: &[Str]) -> Diagnostics {
        let mut problems = Diagnostics::default();
        self.node().walk_with_catch(false, &mut |node, is_caught| match &node.kind {
            Kind::Embedded(inner) => problems.extend(inner.check_excluding(locals)),
            Kind::Broken(found) => problems.extend(found.iter().cloned()),
            Kind::Name(name) if locals.contains(&name.traversal.root) => {}
            Kind::Name(name) => {
                if let Err(diagnostic) = name.reference() {
                    problems.push(diagnostic);
                }
            }
            Kind::Call(call) if !is_caught => {
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

    /// Returns the names of the called functions in source order.
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

    /// Returns the value if it does not depend on references or functions.
    pub fn as_constant(&self) -> Option<Value> {
        self.is_constant().then(|| self.evaluate(&EmptyScope).ok()).flatten()
    }

    /// Returns the name if the expression is a single unquoted identifier. In JSON, the identifier
    /// is a string.
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

    /// Returns the text if the expression is a quoted string without interpolations. In JSON,
    /// returns the literal text of any string.
    pub fn as_quoted(&self) -> Option<&str> {
        if let Some((value, _)) = self.json() {
            return json::quoted(value);
        }
        match &self.node().kind {
            Kind::Quoted(value) => value.as_str(),
            _ => None,
        }
    }

    /// Returns true if the expression is a quoted string in native syntax. In a position that
    /// requires a name, this is the legacy form; in JSON, it is the only form.
    pub fn is_native_quoted(&self) -> bool {
        self.json().is_none() && matches!(self.node().kind, Kind::Quoted(_) | Kind::Template(_))
    }

    /// Returns the expression inside a JSON string, if the string cannot be a template, and any
    /// other expression unchanged.
    ///
    /// # Errors
    ///
    /// Returns the syntax errors in the string.
    pub fn unquoted(&self) -> Result<Self, Diagnostics> {
        match self.json() {
            Some((value, file)) => json::embedded(value, file).unwrap_or_else(|| Ok(self.clone())),
            None => Ok(self.clone()),
        }
    }

    /// Returns a sequence of names and constant indexes, unquoted or in the legacy quoted form.
    pub fn as_traversal(&self) -> Option<Traversal> {
        if let Some((value, file)) = self.json() {
            return json::traversal(value, file);
        }
        match &self.node().kind {
            Kind::Name(name) if name.traversal.span == *self.span() => Some(name.traversal.clone()),
            Kind::Constant(_) | Kind::Traverse { .. } => compile::reserved_word(self.node(), self.file()),
            Kind::Quoted(value) => {
                let text = value.as_str()?;
                // Without escapes, the text starts right after the quote, so its spans match those
                // in the file.
                let start = self.span().start + 1;
                if self.file().text().get(start..start + text.len()) != Some(text) {
                    return None;
                }
                let span = Span::new(self.file(), start, start + text.len());
                let inner = compile::expression_at(&span).ok()?;
                match &inner.node().kind {
                    Kind::Name(_) | Kind::Constant(_) | Kind::Traverse { .. } => inner.as_traversal(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the names in an address such as `module.a[0].b.c[each.key]`, without its instance
    /// keys, which may be computed.
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

    /// Returns the constant or computed key after each name of an address: for
    /// `module.a[0].b.c[each.key]`, these are none, `0`, none and `each.key`. Returns an empty list
    /// if the address is not an expression, and therefore has no computed keys.
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

    /// Returns the last key of an address if the key is computed.
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

    /// Returns the function name and the arguments of a function call.
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

    /// Returns the spans of the sides of all conditionals in the expression.
    pub fn branches(&self) -> Vec<Span> {
        let mut branches = Vec::new();
        if self.json().is_some() {
            return branches;
        }
        self.node().walk(&mut |node| {
            if let Kind::Conditional { arms, otherwise } = &node.kind {
                let sides = arms.iter().map(|arm| &arm.if_true).chain([otherwise]);
                branches.extend(sides.map(|side| Span::new(self.file(), side.start, side.end)));
            }
        });
        branches
    }

    /// Returns the operands of `a && b && c`; for any other expression, the expression itself.
    pub fn conjuncts(&self) -> Vec<Self> {
        self.operands(Operator::And).unwrap_or_else(|| vec![self.clone()])
    }

    /// Returns both sides of `a == b`.
    pub fn equality(&self) -> Option<(Self, Self)> {
        let [left, right] = self.operands(Operator::Equal)?.try_into().ok()?;
        Some((left, right))
    }

    fn operands(&self, operator: Operator) -> Option<Vec<Self>> {
        if self.json().is_some() {
            return None;
        }
        let mut node = self.node();
        while let Kind::Parenthesis(inside) = &node.kind {
            node = inside;
        }
        match &node.kind {
            Kind::Chain { first, rest } if rest.iter().all(|link| link.operator == operator) => {
                let nodes = std::iter::once(first).chain(rest.iter().map(|link| &link.right));
                Some(nodes.map(|node| self.inner(node)).collect())
            }
            _ => None,
        }
    }

    /// Returns the expression inside parentheses.
    pub fn in_parentheses(&self) -> Option<Self> {
        if self.json().is_some() {
            return None;
        }
        match &self.node().kind {
            Kind::Parenthesis(inside) => Some(self.inner(inside)),
            _ => None,
        }
    }

    /// Returns the items of `[a, b]`.
    pub fn as_tuple_items(&self) -> Option<Vec<Self>> {
        if let Some((value, file)) = self.json() {
            return json::items(value, file);
        }
        match &self.node().kind {
            Kind::Tuple(items) => Some(items.iter().map(|item| self.inner(item)).collect()),
            _ => None,
        }
    }

    /// Returns the keys and values of `{ a = b }`. A key that is a bare name has an
    /// [`Expression::as_keyword`].
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

/// Writes the source text.
impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.span().text())
    }
}
