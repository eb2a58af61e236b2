//! What an evaluation may ask its caller for.

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_value::Value;

use crate::{ProviderCall, Subject};

/// The answer to a reference.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// The object itself; an index that follows is still to be applied.
    Whole(Value),
    /// The instance that the index names: the index is used up.
    Element(Value),
}

/// The world as expressions see it. Everything has a default, which asks the scope
/// around where there is one and refuses else, so that an implementer states only
/// what its place in a configuration offers.
pub trait Scope {
    /// The value of what a reference names.
    ///
    /// `index` is the evaluated index directly behind a resource or module
    /// (`a[count.index]`), if there is one and it is known. An implementer that
    /// can reach that instance alone answers [`Resolved::Element`]; answering
    /// [`Resolved::Whole`] is always right, only slower.
    ///
    /// # Errors
    ///
    /// Where nothing of that name is declared or may be used here; the
    /// diagnostics should carry `span`.
    fn resolve(&self, subject: &Subject, index: Option<&Value>, span: &Span)
    -> Result<Resolved, Diagnostics>;

    /// The scope around, which answers whatever this one does not state.
    fn outer(&self) -> Option<&dyn Scope> {
        None
    }

    /// The value of a name that hides whatever else a reference that begins with
    /// it would stand for: the iterator of a `dynamic` block.
    fn local(&self, name: &str) -> Option<Value> {
        self.outer()?.local(name)
    }

    /// Calls a function of a provider.
    ///
    /// # Errors
    ///
    /// Where there is no such function or it refuses.
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

    /// A file's content. Relative paths start at [`Scope::working_directory`].
    ///
    /// # Errors
    ///
    /// The reason in words, without the path.
    fn read_file(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.outer() {
            Some(outer) => outer.read_file(path),
            None => Err("files cannot be read here".into()),
        }
    }

    /// Whether there is a regular file at the path.
    ///
    /// # Errors
    ///
    /// Where something else is there, or it cannot be told.
    fn file_exists(&self, path: &str) -> Result<bool, String> {
        match self.outer() {
            Some(outer) => outer.file_exists(path),
            None => Err("files cannot be read here".into()),
        }
    }

    /// The paths of all regular files below a directory, relative to it, with
    /// `/` between their parts.
    ///
    /// # Errors
    ///
    /// Where the directory cannot be read.
    fn list_files(&self, directory: &str) -> Result<Vec<String>, String> {
        match self.outer() {
            Some(outer) => outer.list_files(directory),
            None => Err("files cannot be read here".into()),
        }
    }

    /// Where relative paths start; absolute.
    fn working_directory(&self) -> Option<String> {
        self.outer()?.working_directory()
    }

    /// What `~` stands for.
    fn home_directory(&self) -> Option<String> {
        self.outer()?.home_directory()
    }

    /// The current time as RFC 3339; `None` where it is not known yet (a plan).
    fn timestamp(&self) -> Option<String> {
        self.outer()?.timestamp()
    }

    /// The time of the plan as RFC 3339.
    fn plan_timestamp(&self) -> Option<String> {
        self.outer()?.plan_timestamp()
    }

    /// Fresh random bytes for `uuid` and `bcrypt`; `None` where the result must
    /// not be known yet (a plan).
    fn random_bytes(&self) -> Option<[u8; 16]> {
        self.outer()?.random_bytes()
    }

    /// Whether a template is being rendered, which cannot render another one.
    fn renders_template(&self) -> bool {
        self.outer().is_some_and(|outer| outer.renders_template())
    }
}

/// A scope that has nothing: for constants.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyScope;

impl Scope for EmptyScope {
    fn resolve(
        &self,
        subject: &Subject,
        _index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        Err(Diagnostic::error(
            "Variables not allowed",
            format!("Only constants can be used here, so `{subject}` cannot be."),
        )
        .at(span.clone())
        .into())
    }
}
