//! A provider function call. The scope must execute it.

use std::sync::Arc;

use wardian_diagnostic::{SourceFile, Span};
use wardian_value::Value;

use crate::node::{Call, Node};

/// A call of `provider::<provider>::<function>`.
#[derive(Clone, Copy)]
pub struct ProviderCall<'a> {
    provider: &'a str,
    function: &'a str,
    arguments: &'a [Value],
    sensitive: bool,
    call: &'a Call,
    node: &'a Node,
    file: &'a Arc<SourceFile>,
}

/// The data of the call that the evaluator supplies.
pub(crate) struct CallParts<'a> {
    pub(crate) call: &'a Call,
    pub(crate) node: &'a Node,
    pub(crate) file: &'a Arc<SourceFile>,
}

impl<'a> ProviderCall<'a> {
    pub(crate) fn new(
        provider: &'a str,
        function: &'a str,
        arguments: &'a [Value],
        sensitive: bool,
        parts: CallParts<'a>,
    ) -> Self {
        let CallParts { call, node, file } = parts;
        Self { provider, function, arguments, sensitive, call, node, file }
    }

    /// Returns the provider's local name.
    pub fn provider(&self) -> &'a str {
        self.provider
    }

    /// Returns the function's name without namespaces.
    pub fn function(&self) -> &'a str {
        self.function
    }

    /// Returns the function's name as written, with namespaces.
    pub fn name(&self) -> &'a str {
        &self.call.name
    }

    /// Returns the arguments without marks. An expanded argument is replaced by its elements. The
    /// marks are added to the result.
    pub fn arguments(&self) -> &'a [Value] {
        self.arguments
    }

    /// Returns true if an argument is sensitive. In this case, messages must not contain any
    /// argument.
    pub fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    pub fn name_span(&self) -> Span {
        Span::new(self.file, self.call.name_span.0, self.call.name_span.1)
    }

    /// Returns the span of an argument. For an element of an expanded argument, this is the span of
    /// that argument; for a call without arguments, the span of the call.
    pub fn argument_span(&self, position: usize) -> Span {
        let argument = self.call.arguments.get(position).or(self.call.arguments.last());
        let (start, end) = argument.map_or((self.node.start, self.node.end), |node| (node.start, node.end));
        Span::new(self.file, start, end)
    }

    /// Returns the span of the closing parenthesis.
    pub fn closing_span(&self) -> Span {
        Span::new(self.file, self.node.end.saturating_sub(1), self.node.end)
    }
}
