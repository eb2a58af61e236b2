//! The interface through which evaluation accesses its environment.

use std::io;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_value::Value;

use crate::budget::Budget;
use crate::{ProviderCall, ReferenceSubject};

/// The result of resolving a reference.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// The object itself. If an index follows, it has not been applied yet.
    Whole(Value),
    /// The instance selected by the index, which has already been applied.
    Element(Value),
}

/// The environment of an expression. Every method has a default implementation that queries the
/// outer scope, or returns an error if there is none. Therefore, implementations define only the
/// methods that they support.
pub trait Scope {
    /// Returns the value of a reference's subject.
    ///
    /// `index` is the evaluated index directly after a resource or module (`a[count.index]`), if it
    /// exists and is known. An implementation that can return only that instance returns
    /// [`Resolved::Element`]; returning [`Resolved::Whole`] is always correct, but slower.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not declared or not allowed here. The diagnostics should
    /// have the source span
    /// `span`.
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics>;

    /// Returns the outer scope, which is queried for all names that this scope does not define.
    fn outer(&self) -> Option<&dyn Scope> {
        None
    }

    /// Returns the value of a name that shadows references with the same first name: the iterator
    /// of a `dynamic` block.
    fn local(&self, name: &str) -> Option<Value> {
        self.outer()?.local(name)
    }

    /// Calls a provider function.
    ///
    /// # Errors
    ///
    /// Returns an error if the function does not exist or fails.
    fn call_provider_function(&self, call: &ProviderCall<'_>) -> Result<Value, Diagnostics> {
        if let Some(outer) = self.outer() {
            return outer.call_provider_function(call);
        }
        Err(Diagnostic::error(
            "Unknown provider function",
            format!("No function \"{}\" is available here.", call.name()),
        )
        .at(call.name_span())
        .into())
    }

    /// Returns a file's content. Relative paths are resolved against [`Scope::working_directory`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        match self.outer() {
            Some(outer) => outer.read_file(path),
            None => Err(io::Error::other("files cannot be read here")),
        }
    }

    /// Returns true if the path is a regular file.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is another kind of file, or if this cannot be determined.
    fn file_exists(&self, path: &str) -> Result<bool, String> {
        match self.outer() {
            Some(outer) => outer.file_exists(path),
            None => Err("files cannot be read here".into()),
        }
    }

    /// Returns the paths of all regular files below a directory, relative to it, with `/` between
    /// path components; `None` if there is no such directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be read.
    fn list_files(&self, directory: &str) -> Result<Option<Vec<String>>, String> {
        match self.outer() {
            Some(outer) => outer.list_files(directory),
            None => Err("files cannot be read here".into()),
        }
    }

    /// Returns the absolute directory against which relative paths are resolved.
    fn working_directory(&self) -> Option<String> {
        self.outer()?.working_directory()
    }

    /// Returns the directory that replaces `~`.
    fn home_directory(&self) -> Option<String> {
        self.outer()?.home_directory()
    }

    /// Returns the current time in RFC 3339 format, or `None` if it is unknown (in a plan).
    fn timestamp(&self) -> Option<String> {
        self.outer()?.timestamp()
    }

    /// Returns the time of the plan in RFC 3339 format.
    fn plan_timestamp(&self) -> Option<String> {
        self.outer()?.plan_timestamp()
    }

    /// Returns new random bytes for `uuid` and `bcrypt`, or `None` if the result must be unknown
    /// (in a plan).
    fn random_bytes(&self) -> Option<[u8; 16]> {
        self.outer()?.random_bytes()
    }

    /// Returns the budget of the run, or `None` if there is no run. Without a run, the default
    /// limits apply to each evaluation separately.
    fn budget(&self) -> Option<&Budget> {
        self.outer()?.budget()
    }

    /// Receives each sensitive string that an expression derives from a secret, or inserts into
    /// another string.
    fn record_secret(&self, value: &Value) {
        if let Some(outer) = self.outer() {
            outer.record_secret(value);
        }
    }

    /// Returns whether [`Scope::record_evaluated`] must be called.
    fn records_evaluated(&self) -> bool {
        self.outer().is_some_and(|outer| outer.records_evaluated())
    }

    /// Receives the span of each side of a conditional that determines the result.
    fn record_evaluated(&self, span: &Span) {
        if let Some(outer) = self.outer() {
            outer.record_evaluated(span);
        }
    }

    /// Returns true while a template is rendered. A template cannot render another template.
    fn renders_template(&self) -> bool {
        self.outer().is_some_and(|outer| outer.renders_template())
    }
}

/// A scope without names, for constants.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyScope;

impl Scope for EmptyScope {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        // Only the first name is reported.
        let length = span.text().find(['.', '[']).unwrap_or(span.end - span.start);
        Err(Diagnostic::error(
            "Variables not allowed",
            format!("Only constants are allowed here, so `{subject}` cannot be used."),
        )
        .at(Span::new(&span.file, span.start, span.start + length))
        .into())
    }
}
