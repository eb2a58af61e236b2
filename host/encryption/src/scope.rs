//! The values in an `encryption` configuration. They are known before any state is read: variables,
//! local values, paths and the workspace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use wardian_config::{EncryptionConfig, GatedFiles, Local, RootVariables, Variable};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Reference, ReferenceMode, ReferenceSubject, Resolved, Scope};
use wardian_value::{PathStep, Str, Value};

const KEY_PROVIDER: &str = "key_provider";

/// The values and files to which an encryption configuration can refer.
#[derive(Clone, Debug, Default)]
pub struct StaticValues {
    /// The root module's variables.
    pub variables: BTreeMap<Str, Variable>,
    /// The values of variables that do not have their defaults.
    pub given: RootVariables,
    /// The root module's local values.
    pub locals: BTreeMap<Str, Local>,
    pub workspace: String,
    /// The directory of the root module, an absolute path.
    pub root_directory: PathBuf,
    /// The directory in which Wardian was started, an absolute path.
    pub working_directory: PathBuf,
    pub home_directory: Option<PathBuf>,
    /// The files that functions may read.
    pub files: GatedFiles,
}

/// The scope of an encryption configuration. The value of a reference to a key provider is the
/// provider's address, so keys are never values.
pub(crate) struct StaticScope<'a> {
    values: &'a StaticValues,
    config: &'a EncryptionConfig,
    /// The local values that are being evaluated.
    evaluating: RefCell<Vec<Str>>,
}

impl<'a> StaticScope<'a> {
    pub(crate) fn new(values: &'a StaticValues, config: &'a EncryptionConfig) -> Self {
        Self { values, config, evaluating: RefCell::default() }
    }

    fn variable(&self, name: &Str, span: &Span) -> Result<Value, Diagnostics> {
        let Some(variable) = self.values.variables.get(name) else {
            let detail = format!("The root module declares no variable \"{name}\".");
            return Err(error("Reference to undeclared input variable", detail, span));
        };
        if let Some(refused) = self.values.given.refused.get(name) {
            return Err(refused.clone());
        }
        self.values.given.values.get(name).or(variable.default.as_ref()).cloned().ok_or_else(|| {
            let detail = format!(
                "The encryption configuration needs the variable \"{name}\", which has no default and no value. Set \
                 it in a file terraform.tfvars or with the environment variable TF_VAR_{name}."
            );
            error("No value for required variable", detail, span)
        })
    }

    fn local(&self, name: &Str, span: &Span) -> Result<Value, Diagnostics> {
        let Some(local) = self.values.locals.get(name) else {
            let detail = format!("The root module declares no local value \"{name}\".");
            return Err(error("Reference to undeclared local value", detail, span));
        };
        if self.evaluating.borrow().contains(name) {
            let detail = format!("The local value \"{name}\" refers to itself.");
            return Err(error("Circular reference detected", detail, span));
        }
        self.evaluating.borrow_mut().push(name.clone());
        let value = local.expression.evaluate(self);
        self.evaluating.borrow_mut().pop();
        value
    }

    /// Returns the error for a reference to a key provider that does not exist.
    pub(crate) fn undeclared_key_provider(&self, reference: &Reference) -> Option<Diagnostic> {
        let ReferenceSubject::Resource { mode: ReferenceMode::Managed, kind, name: type_name } =
            &reference.subject
        else {
            return None;
        };
        let Some(PathStep::Attribute(name)) = reference.remaining.first() else { return None };
        if &**kind != KEY_PROVIDER || self.config.key_provider(type_name, name).is_some() {
            return None;
        }
        let detail = format!("The encryption configuration has no key_provider \"{type_name}\" \"{name}\".");
        Some(Diagnostic::error("Reference to undeclared key provider", detail).at(reference.span.clone()))
    }

    /// Returns the addresses of all key providers of a type, by name.
    fn key_providers(&self, type_name: &Str) -> Value {
        let of_type = self.config.key_providers.iter().filter(|known| known.type_name == *type_name);
        Value::object(of_type.map(|known| (known.name.clone(), Value::string(known.address()))))
    }
}

fn error(summary: &str, detail: impl Into<String>, span: &Span) -> Diagnostics {
    Diagnostic::error(summary, detail).at(span.clone()).into()
}

impl Scope for StaticScope<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let path = |path: &PathBuf| Value::string(path.to_string_lossy().into_owned());
        let value = match subject {
            ReferenceSubject::Variable(name) => self.variable(name, span)?,
            ReferenceSubject::Local(name) => self.local(name, span)?,
            ReferenceSubject::PathModule | ReferenceSubject::PathRoot => Value::string("."),
            ReferenceSubject::PathCwd => path(&self.values.working_directory),
            ReferenceSubject::Workspace => Value::string(self.values.workspace.clone()),
            ReferenceSubject::Resource { mode: ReferenceMode::Managed, kind, name }
                if &**kind == KEY_PROVIDER =>
            {
                self.key_providers(name)
            }
            other => {
                let detail = format!(
                    "`{other}` cannot be used here. The encryption configuration is evaluated before the state is \
                     read, so it can refer only to variables, local values, paths, terraform.workspace and key \
                     providers."
                );
                return Err(error("Invalid reference", detail, span));
            }
        };
        Ok(Resolved::Whole(value.unmark_deep()))
    }

    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        use wardian_config::Files as _;
        self.values.files.read(&self.values.root_directory.join(path))
    }

    fn working_directory(&self) -> Option<String> {
        Some(self.values.root_directory.to_string_lossy().into_owned())
    }

    fn home_directory(&self) -> Option<String> {
        self.values.home_directory.as_ref().map(|path| path.to_string_lossy().into_owned())
    }
}
