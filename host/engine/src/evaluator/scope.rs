//! The scope of expressions in a module instance.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path as FilePath, PathBuf};

use wardian_address::{ModuleInstance, ModulePath, ResourceMode};
use wardian_config::{Files as _, ModuleNode};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span, did_you_mean, system_reason};
use wardian_files::FileType;
use wardian_lang::{Budget, ProviderCall, ReferenceMode, ReferenceSubject, Resolved, Scope};
use wardian_value::{Marks, Str, Type, Value};

use super::{Directories, Evaluator, Phase, declared_marks};
use crate::repeats::{Repeats, call_repeats};
use crate::test_inputs::TestValues;
use crate::values::{CallValue, RepetitionData, instance_key};
use wardian_config::resource_mode;

/// The scope of expressions in one module instance.
pub struct ModuleScope<'a> {
    evaluator: &'a Evaluator,
    instance: &'a ModuleInstance,
    path: ModulePath,
    repetition: RepetitionData,
    self_value: Option<Value>,
    validated_variable: Option<(&'a Str, Value)>,
    test: Option<&'a TestValues>,
    outputs: Option<&'a BTreeMap<Str, Value>>,
}

impl<'a> ModuleScope<'a> {
    /// Returns the scope of a module instance, with the values of `count` and `each` for one of its
    /// blocks.
    pub fn new(evaluator: &'a Evaluator, instance: &'a ModuleInstance, repetition: RepetitionData) -> Self {
        Self {
            evaluator,
            instance,
            path: instance.path(),
            repetition,
            self_value: None,
            validated_variable: None,
            test: None,
            outputs: None,
        }
    }

    /// Adds the values to which blocks of a test file can refer.
    #[must_use]
    pub fn with_test_values(mut self, values: &'a TestValues) -> Self {
        self.test = Some(values);
        self
    }

    /// Adds the outputs to which the assertions of a run can refer.
    #[must_use]
    pub fn with_outputs(mut self, outputs: &'a BTreeMap<Str, Value>) -> Self {
        self.outputs = Some(outputs);
        self
    }

    /// Returns the value of `run.NAME` or `output.NAME` in a test file; [`None`] for all other
    /// references.
    fn test_value(&self, subject: &ReferenceSubject, span: &Span) -> Option<Result<Value, Diagnostics>> {
        let test = self.test?;
        match subject {
            ReferenceSubject::Variable(name) => {
                let module = self.evaluator.values.module(self.instance);
                if module.is_some_and(|module| module.variables.contains_key(name)) {
                    return None;
                }
                if self.evaluator.phase == Phase::Validate {
                    return Some(Ok(Value::unknown(Type::Dynamic)));
                }
                test.variables.get(name).cloned().map(Ok)
            }
            ReferenceSubject::Resource { mode: ReferenceMode::Managed, kind, name } if &**kind == "run" => {
                if let Some(value) = test.runs.get(name) {
                    return Some(Ok(value.clone()));
                }
                if self.evaluator.phase == Phase::Validate {
                    return Some(Ok(Value::unknown(Type::Dynamic)));
                }
                let detail = format!("No run \"{name}\" precedes this run in the test file.");
                Some(Err(Self::invalid("Reference to undeclared run block", detail, span)))
            }
            ReferenceSubject::Resource { mode: ReferenceMode::Managed, kind, name }
                if &**kind == "output" && self.outputs.is_some() =>
            {
                if let Some(value) = self.outputs.and_then(|outputs| outputs.get(name)) {
                    return Some(Ok(value.clone()));
                }
                let detail = format!(
                    "The module under test declares no output \"{name}\".{}",
                    did_you_mean(name, self.outputs.into_iter().flatten().map(|(name, _)| &**name))
                );
                Some(Err(Self::invalid("Reference to undeclared output value", detail, span)))
            }
            _ => None,
        }
    }

    #[must_use]
    pub fn with_self(mut self, value: Value) -> Self {
        self.self_value = Some(value);
        self
    }

    /// Sets the value of the variable whose validations are evaluated. In the validation phase, no
    /// other variables have known values.
    #[must_use]
    pub fn with_validated_variable(mut self, name: &'a Str, value: Value) -> Self {
        self.validated_variable = Some((name, value));
        self
    }

    fn undeclared(&self, subject: &ReferenceSubject, span: &Span) -> Diagnostics {
        match self.declared().map(|node| node.check_declared(subject)) {
            Ok(Some(problem)) => problem.at(span.clone()).into(),
            Ok(None) => Self::invalid(
                "Invalid reference",
                format!("`{subject}` does not refer to anything here."),
                span,
            ),
            Err(problems) => problems,
        }
    }

    fn invalid(summary: &str, detail: String, span: &Span) -> Diagnostics {
        Diagnostic::error(summary, detail).at(span.clone()).into()
    }

    fn declared(&self) -> Result<&ModuleNode, Diagnostics> {
        self.evaluator.module(&self.path)
    }

    fn variable(&self, name: &Str, span: &Span) -> Result<Value, Diagnostics> {
        if let Some((_, value)) = self.validated_variable.as_ref().filter(|(known, _)| *known == name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.evaluator.values.module(self.instance).and_then(|m| m.variables.get(name)) {
            return Ok(value.clone());
        }
        let variables = &self.declared()?.module.variables;
        if let Some(variable) = variables.get(name) {
            let ty = variable.constraint.ty.clone();
            return Ok(Value::unknown(ty).with_marks(declared_marks(variable)));
        }
        Err(self.undeclared(&ReferenceSubject::Variable(name.clone()), span))
    }

    fn local(&self, name: &Str, span: &Span) -> Result<Value, Diagnostics> {
        if let Some(value) = self.evaluator.values.module(self.instance).and_then(|m| m.locals.get(name)) {
            return Ok(value.clone());
        }
        let locals = &self.declared()?.module.locals;
        if locals.contains_key(name) {
            return Ok(Value::unknown(Type::Dynamic));
        }
        Err(self.undeclared(&ReferenceSubject::Local(name.clone()), span))
    }

    fn resource(
        &self,
        subject: &ReferenceSubject,
        mode: ResourceMode,
        type_name: &Str,
        name: &Str,
        index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let node = self.declared()?;
        let Some(resource) = node.module.resources.get(&(mode, type_name.clone(), name.clone())) else {
            return Err(self.undeclared(subject, span));
        };
        if mode == ResourceMode::Ephemeral {
            self.check_expired(type_name, name, span)?;
        }
        let provider = self.evaluator.configuration.provider_for(&self.path, resource);
        let schema = self.evaluator.schemas.resource(&provider.provider, mode, type_name);
        let ty = schema.map_or(&Type::Dynamic, |schema| schema.implied_type());
        let known = self
            .evaluator
            .values
            .module(self.instance)
            .and_then(|m| m.resource(mode, type_name, name))
            .filter(|_| self.evaluator.phase != Phase::Validate);
        let Some(known) = known else {
            // The type of the value is unknown: the reference check verifies its attributes.
            let marks = if mode == ResourceMode::Ephemeral && schema.is_some() {
                Marks::EPHEMERAL
            } else {
                Marks::NONE
            };
            return Ok(Resolved::Whole(Value::unknown(Type::Dynamic).with_marks(marks)));
        };
        if let Some(key) = index.and_then(instance_key)
            && let Some(value) = known.instance(&key)
        {
            return Ok(Resolved::Element(value.clone()));
        }
        Ok(Resolved::Whole(known.whole(ty).clone()))
    }

    /// Rejects references to ephemeral resources that could not be renewed.
    fn check_expired(&self, type_name: &Str, name: &Str, span: &Span) -> Result<(), Diagnostics> {
        let expired = self.evaluator.expired.find(|address| {
            address.module() == self.instance && address.type_name() == type_name && address.name() == name
        });
        let Some(address) = expired else { return Ok(()) };
        let detail = format!(
            "{address} could not be renewed, so its value is no longer valid. Another error explains the \
             reason."
        );
        Err(Self::invalid("Ephemeral resource instance has expired", detail, span))
    }

    fn list(
        &self,
        subject: &ReferenceSubject,
        kind: &Str,
        name: &Str,
        span: &Span,
    ) -> Result<Value, Diagnostics> {
        let key = (kind.clone(), name.clone());
        if !self.declared()?.module.lists.contains_key(&key) {
            return Err(self.undeclared(subject, span));
        }
        let results = self.evaluator.values.module(self.instance).and_then(|module| module.lists.get(&key));
        Ok(results.cloned().unwrap_or_else(|| Value::unknown(Type::Dynamic)))
    }

    fn call(&self, name: &Str, index: Option<&Value>, span: &Span) -> Result<Resolved, Diagnostics> {
        let node = self.declared()?;
        let Some(call) = node.module.module_calls.get(name) else {
            return Err(self.undeclared(&ReferenceSubject::Module(name.clone()), span));
        };
        let called = self.evaluator.module(&self.path.child(name.clone()))?;
        if self.evaluator.phase == Phase::Validate {
            let outputs = called.module.outputs.keys().map(|name| (name.clone(), Type::Dynamic));
            let instance = Type::object(outputs);
            let ty = match call_repeats(call) {
                Repeats::No => instance,
                Repeats::Count => Type::list(instance),
                Repeats::ForEach => Type::map(instance),
            };
            return Ok(Resolved::Whole(Value::unknown(ty)));
        }
        let key = index.and_then(instance_key);
        let outputs = called.module.outputs.keys();
        Ok(match self.evaluator.values.call_value(self.instance, name, outputs, key.as_ref()) {
            Some(CallValue::Whole(value)) => Resolved::Whole(value),
            Some(CallValue::Element(value)) => Resolved::Element(value),
            None => Resolved::Whole(Value::unknown(Type::Dynamic)),
        })
    }

    fn directory(&self) -> PathBuf {
        self.evaluator
            .configuration
            .module(&self.path)
            .map(|m| m.module.directory.clone())
            .unwrap_or_default()
    }
}

fn shown_directory(path: &FilePath) -> Value {
    let text = path.to_string_lossy();
    Value::string(if text.is_empty() { "." } else { &*text })
}

impl Scope for ModuleScope<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        if self.evaluator.reported.contains(span) {
            return Ok(Resolved::Whole(Value::unknown(Type::Dynamic)));
        }
        if let Some(value) = self.test_value(subject, span) {
            return value.map(Resolved::Whole);
        }
        let value = match subject {
            ReferenceSubject::Variable(name) => self.variable(name, span)?,
            ReferenceSubject::Local(name) => self.local(name, span)?,
            ReferenceSubject::Resource { mode, kind, name } => {
                return self.resource(subject, resource_mode(*mode), kind, name, index, span);
            }
            ReferenceSubject::Module(name) => return self.call(name, index, span),
            ReferenceSubject::List { kind, name } => self.list(subject, kind, name, span)?,
            // Actions have no values.
            ReferenceSubject::Action { .. } => return Err(self.undeclared(subject, span)),
            ReferenceSubject::CountIndex => match &self.repetition {
                RepetitionData::Count(index) => Value::number(*index),
                RepetitionData::UnknownCount => Value::unknown(Type::Number),
                _ => {
                    return Err(Self::invalid(
                        "Reference to \"count\" in non-counted context",
                        "`count.index` is the index of an instance. It is available only in resource, data \
                         and module blocks with the argument `count`."
                            .into(),
                        span,
                    ));
                }
            },
            ReferenceSubject::EachKey | ReferenceSubject::EachValue => match (&self.repetition, subject) {
                (RepetitionData::Each { key, .. }, ReferenceSubject::EachKey) => key.clone(),
                (RepetitionData::Each { value, .. }, _) => value.clone(),
                (RepetitionData::UnknownEach, ReferenceSubject::EachKey) => Value::unknown(Type::String),
                (RepetitionData::UnknownEach, _) => Value::unknown(Type::Dynamic),
                _ => {
                    let summary = match subject {
                        ReferenceSubject::EachKey => "Reference to \"each\" in context without for_each",
                        _ => "each.value cannot be used in this context",
                    };
                    return Err(Self::invalid(
                        summary,
                        "The `each` object is available only in resource, data, ephemeral, module and \
                         import blocks that have the `for_each` argument."
                            .into(),
                        span,
                    ));
                }
            },
            ReferenceSubject::SelfValue => match &self.self_value {
                Some(value) => value.clone(),
                None => {
                    return Err(Self::invalid(
                        "Invalid \"self\" reference",
                        "`self` is the object to which a block applies. It is available only in \
                         postcondition, provisioner and connection blocks."
                            .into(),
                        span,
                    ));
                }
            },
            ReferenceSubject::PathModule => shown_directory(&self.directory()),
            ReferenceSubject::PathRoot => {
                shown_directory(&self.evaluator.configuration.root().module.directory)
            }
            ReferenceSubject::PathCwd => shown_directory(&self.evaluator.directories.working_directory),
            ReferenceSubject::Workspace => Value::string(self.evaluator.workspace.clone()),
            ReferenceSubject::Applying => {
                Value::bool(self.evaluator.phase == Phase::Apply).with_marks(Marks::EPHEMERAL)
            }
            ReferenceSubject::Name(name) => {
                return Err(Self::invalid(
                    "Invalid reference",
                    format!("`{name}` alone does not refer to anything here."),
                    span,
                ));
            }
        };
        Ok(Resolved::Whole(value))
    }

    fn call_provider_function(&self, call: &ProviderCall<'_>) -> Result<Value, Diagnostics> {
        let module = &self.declared()?.module;
        crate::functions::call(module, &self.evaluator.schemas, &self.evaluator.function_results, call)
            .map_err(Diagnostics::from)
    }

    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        let Directories { root_directory, files, .. } = &*self.evaluator.directories;
        files.read(&root_directory.join(path))
    }

    fn file_exists(&self, path: &str) -> Result<bool, String> {
        let Directories { root_directory, files, .. } = &*self.evaluator.directories;
        match files.kind(&root_directory.join(path)).map_err(|error| system_reason(&error))? {
            None => Ok(false),
            Some(FileType::RegularFile) => Ok(true),
            Some(FileType::Directory) => Err("it is a directory, not a file".into()),
            Some(_) => Err("it is neither a file nor a directory".into()),
        }
    }

    fn list_files(&self, directory: &str) -> Result<Option<Vec<String>>, String> {
        let Directories { root_directory, files, .. } = &*self.evaluator.directories;
        let directory = root_directory.join(directory);
        match files.kind(&directory).map_err(|error| system_reason(&error))? {
            Some(FileType::Directory) => {
                files.list_below(&directory).map(Some).map_err(|error| system_reason(&error))
            }
            _ => Ok(None),
        }
    }

    fn record_secret(&self, value: &Value) {
        self.evaluator.schemas.secrets().add_marked(value);
    }

    fn budget(&self) -> Option<&Budget> {
        Some(&self.evaluator.budget)
    }

    fn records_evaluated(&self) -> bool {
        self.evaluator.coverage().is_some()
    }

    fn record_evaluated(&self, span: &Span) {
        if let Some(coverage) = self.evaluator.coverage() {
            coverage.record(span);
        }
    }

    fn working_directory(&self) -> Option<String> {
        Some(self.evaluator.directories.root_directory.to_string_lossy().into_owned())
    }

    fn home_directory(&self) -> Option<String> {
        self.evaluator.directories.home_directory.as_ref().map(|p| p.to_string_lossy().into_owned())
    }

    fn timestamp(&self) -> Option<String> {
        (self.evaluator.phase == Phase::Apply).then(crate::clock::now)
    }

    fn plan_timestamp(&self) -> Option<String> {
        (self.evaluator.phase != Phase::Validate).then(|| self.evaluator.timestamp.clone())
    }

    fn random_bytes(&self) -> Option<[u8; 16]> {
        (self.evaluator.phase == Phase::Apply).then(|| *uuid::Uuid::new_v4().as_bytes())
    }
}
