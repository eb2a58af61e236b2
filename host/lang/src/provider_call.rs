//! A call of a provider's function, as the scope is asked to carry it out.

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

/// The parts that evaluation knows.
pub(crate) struct Written<'a> {
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
        written: Written<'a>,
    ) -> Self {
        let Written { call, node, file } = written;
        Self { provider, function, arguments, sensitive, call, node, file }
    }

    /// The provider's local name.
    pub fn provider(&self) -> &'a str {
        self.provider
    }

    /// The function's name without namespaces.
    pub fn function(&self) -> &'a str {
        self.function
    }

    /// The function's name as it is written.
    pub fn name(&self) -> &'a str {
        &self.call.name
    }

    /// The arguments, an expanded one as its elements; without marks, which the
    /// result is given back.
    pub fn arguments(&self) -> &'a [Value] {
        self.arguments
    }

    /// Whether an argument is sensitive, so that no message may quote one.
    pub fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// Where the name is.
    pub fn name_span(&self) -> Span {
        Span::new(self.file, self.call.name_span.0, self.call.name_span.1)
    }

    /// Where an argument is written: that of an element is the expanded one's, and
    /// that of a call without arguments is the call's.
    pub fn argument_span(&self, position: usize) -> Span {
        let written = self.call.arguments.get(position).or(self.call.arguments.last());
        let (start, end) = written.map_or((self.node.start, self.node.end), |node| (node.start, node.end));
        Span::new(self.file, start, end)
    }

    /// Where the call ends: the closing parenthesis.
    pub fn closing_span(&self) -> Span {
        Span::new(self.file, self.node.end.saturating_sub(1), self.node.end)
    }
}
