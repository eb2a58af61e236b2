//! The encryption of states and plans: combines the root module's `encryption` block with
//! `TF_ENCRYPTION` and the values of variables.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use wardian_builtin::{RemoteStateEncryption, RemoteStateTarget};
use wardian_config::{
    Configuration, EncryptionConfig, GatedFiles, Module, RootVariables, VariableInputs, given_variables,
};
use wardian_diagnostic::Diagnostics;
use wardian_encryption::{
    Encryption, EncryptionHost, EncryptionTrust, HttpSettings, KeyServiceRules, StaticValues,
    TargetEncryption, is_encrypted,
};
use wardian_plugin::PluginDiagnostic;
use wardian_state::{Decrypted, EncryptionFailure, State, StateEncryption, StateProblem, decode_state};

use crate::context::AppContext;
use crate::error::{AppError, sentence};
use crate::modules;
use crate::variable_files;

/// The inputs of the encryption of a command, and the result.
#[derive(Default)]
pub(crate) struct CommandEncryption {
    inputs: Mutex<EncryptionInputs>,
}

#[derive(Default)]
struct EncryptionInputs {
    /// The parts of the root module that the encryption configuration can refer to.
    root: Option<Module>,
    variables: GivenVariables,
    evaluated: Evaluated,
}

/// The encryption of a command.
#[derive(Default)]
enum Evaluated {
    #[default]
    NotYet,
    None,
    Encryption(Arc<Encryption>),
}

/// The values of the root module's variables.
#[derive(Default)]
enum GivenVariables {
    /// From the environment, and from files that are loaded automatically.
    #[default]
    Automatic,
    Inputs(VariableInputs),
    Values(RootVariables),
}

impl CommandEncryption {
    fn inputs(&self) -> MutexGuard<'_, EncryptionInputs> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AppContext {
    /// Sets the root module, unless it was set before.
    pub fn set_encryption_root(&self, module: &Module) {
        let mut inputs = self.encryption.inputs();
        if inputs.root.is_none() {
            inputs.root = Some(self.relevant_parts(module));
        }
    }

    /// Sets the root module of a saved plan that is applied in a directory without configuration.
    pub fn set_encryption_root_of_plan(&self, configuration: &Configuration) -> Result<(), AppError> {
        let has_own = self.own_encryption_root()?;
        let mut inputs = self.encryption.inputs();
        if !has_own {
            inputs.root = Some(self.relevant_parts(&configuration.root().module));
            inputs.evaluated = Evaluated::NotYet;
        }
        Ok(())
    }

    /// Reads the root module of the directory if none is set. Returns whether it has files.
    fn own_encryption_root(&self) -> Result<bool, AppError> {
        if self.encryption.inputs().root.is_none() {
            let root = modules::root_module(self)?;
            self.set_encryption_root(&root);
        }
        Ok(self.encryption.inputs().root.as_ref().is_some_and(|root| !root.files.is_empty()))
    }

    fn relevant_parts(&self, module: &Module) -> Module {
        let mut parts = Module::default();
        parts.files.clone_from(&module.files);
        parts.encryption.clone_from(&module.encryption);
        if module.encryption.is_some() || self.environment.encryption().is_some() {
            parts.variables.clone_from(&module.variables);
            parts.locals.clone_from(&module.locals);
        }
        parts
    }

    /// Sets the values of the root module's variables.
    pub fn set_encryption_variables(&self, variables: &RootVariables) {
        self.encryption.inputs().variables = GivenVariables::Values(variables.clone());
    }

    /// Sets the sources of the values of the root module's variables.
    pub fn set_encryption_variable_inputs(&self, inputs: VariableInputs) {
        self.encryption.inputs().variables = GivenVariables::Inputs(inputs);
    }

    /// Returns the encryption of states and plans; [`None`] if there is none.
    ///
    /// # Errors
    /// Returns an error if the configuration or a value cannot be read.
    pub fn encryption(&self) -> Result<Option<Arc<Encryption>>, AppError> {
        match &self.encryption.inputs().evaluated {
            Evaluated::NotYet => {}
            Evaluated::None => return Ok(None),
            Evaluated::Encryption(encryption) => return Ok(Some(Arc::clone(encryption))),
        }
        self.own_encryption_root()?;
        let mut inputs = self.encryption.inputs();
        let root = inputs.root.as_ref();
        let block = root.and_then(|root| root.encryption.clone());
        let variable = self.environment.encryption().map(EncryptionConfig::from_variable).transpose()?;
        let config = match (block, variable) {
            (Some(block), Some(variable)) => Some(block.overridden_by(variable)),
            (block, variable) => variable.or(block),
        };
        let (Some(config), Some(root)) = (config, root) else {
            inputs.evaluated = Evaluated::None;
            return Ok(None);
        };
        let values = self.static_values(root, &inputs.variables)?;
        let encryption = Arc::new(Encryption::new(config, values, self.encryption_host()?));
        inputs.evaluated = Evaluated::Encryption(Arc::clone(&encryption));
        drop(inputs);
        for warning in encryption.warnings() {
            self.warn_once("unencrypted-method", &warning);
        }
        Ok(Some(encryption))
    }

    fn static_values(&self, root: &Module, variables: &GivenVariables) -> Result<StaticValues, AppError> {
        let given = match variables {
            GivenVariables::Values(values) => values.clone(),
            GivenVariables::Inputs(inputs) => given_variables(root, inputs)?.0,
            GivenVariables::Automatic => {
                let inputs = VariableInputs {
                    environment: self.environment.root_variables(),
                    automatic_files: variable_files::automatic(Path::new("."))?,
                    arguments: Vec::new(),
                };
                given_variables(root, &inputs)?.0
            }
        };
        Ok(StaticValues {
            variables: root.variables.clone(),
            given,
            locals: root.locals.clone(),
            workspace: self.workspace.name.clone(),
            root_directory: self.directory.clone(),
            working_directory: self.started_in.clone(),
            home_directory: self.environment.home(),
            files: match &self.confinement {
                Some(confinement) => confinement.function_files(),
                None => GatedFiles::default(),
            },
        })
    }

    fn encryption_host(&self) -> Result<EncryptionHost, AppError> {
        let backend = self.backend_host(false);
        let rules: Option<Arc<dyn KeyServiceRules>> = match self.confinement {
            Some(_) => Some(Arc::new(self.untrusted_services()?)),
            None => None,
        };
        Ok(EncryptionHost {
            rules,
            variables: backend.variables,
            home: backend.home,
            directory: backend.directory,
            http: HttpSettings {
                proxies: backend.http.proxies,
                user_agent: backend.http.user_agent,
                authority: self.host_requests("encryption"),
            },
            trust: if self.confinement.is_some() {
                EncryptionTrust::Untrusted
            } else {
                EncryptionTrust::Trusted
            },
        })
    }

    /// Returns the encryption of the directory's states.
    ///
    /// # Errors
    /// Returns an error if the configuration is not valid.
    pub fn state_encryption(&self) -> Result<Option<Arc<dyn StateEncryption>>, AppError> {
        let Some(encryption) = self.encryption()? else { return Ok(None) };
        Ok(in_terraform_block(encryption.state())?.map(|state| state as Arc<dyn StateEncryption>))
    }

    /// Returns the encryption of saved plans.
    ///
    /// # Errors
    /// Returns an error if the configuration is not valid.
    pub fn plan_encryption(&self) -> Result<Option<Arc<TargetEncryption>>, AppError> {
        let Some(encryption) = self.encryption()? else { return Ok(None) };
        in_terraform_block(encryption.plan())
    }

    /// Decodes the bytes of a state file that the user has named, which may be encrypted.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a state, or cannot be decrypted.
    pub async fn decode_named_state(&self, bytes: &[u8]) -> Result<Option<State>, NamedStateError> {
        if !is_encrypted(bytes) {
            return Ok(decode_state(bytes)?);
        }
        let Some(encryption) = self.state_encryption()? else {
            return Err(StateProblem::Encrypted.into());
        };
        match encryption.decrypt(bytes).await.map_err(StateProblem::from)? {
            Decrypted::Text { plain, .. } => Ok(decode_state(&plain)?),
            Decrypted::Plain => Ok(decode_state(bytes)?),
        }
    }
}

/// The reason why a state file that the user has named cannot be used.
#[derive(Debug)]
pub enum NamedStateError {
    Content(StateProblem),
    Configuration(AppError),
}

impl From<StateProblem> for NamedStateError {
    fn from(problem: StateProblem) -> Self {
        Self::Content(problem)
    }
}

impl From<AppError> for NamedStateError {
    fn from(error: AppError) -> Self {
        Self::Configuration(error)
    }
}

fn in_terraform_block<T>(evaluated: Result<T, Diagnostics>) -> Result<T, AppError> {
    evaluated.map_err(|problems| problems.in_block("terraform").into())
}

/// Returns the error for content that cannot be encrypted or decrypted.
pub(crate) fn encryption_error(summary: &str, failure: &EncryptionFailure) -> AppError {
    let advice = failure.advice.as_ref().map_or(String::new(), |advice| format!("\n\n{}", sentence(advice)));
    AppError::new(summary, format!("{}{advice}", sentence(&failure.message)))
}

/// The encryption of the states that `terraform_remote_state` reads.
#[derive(Clone, Debug)]
pub struct RemoteStates {
    /// The encryption, or the errors of its configuration.
    encryption: Result<Option<Arc<Encryption>>, Diagnostics>,
}

impl RemoteStates {
    pub(crate) fn new(context: &AppContext) -> Self {
        Self { encryption: context.encryption().map_err(AppError::into_diagnostics) }
    }
}

#[async_trait]
impl RemoteStateEncryption for RemoteStates {
    fn target(&self, address: &str) -> Result<Option<RemoteStateTarget>, Vec<PluginDiagnostic>> {
        let target = match &self.encryption {
            Ok(None) => Ok(None),
            Ok(Some(encryption)) => encryption.remote_state(address),
            Err(problems) => Err(problems.clone()),
        };
        let target = target.map_err(|problems| {
            let problems = problems.iter();
            problems
                .map(|problem| PluginDiagnostic::error(&*problem.summary, &*problem.detail))
                .collect::<Vec<_>>()
        })?;
        Ok(target.map(|target| target as RemoteStateTarget))
    }
}
