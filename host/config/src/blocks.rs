//! The typed blocks of a module. Each block type has its own file.

mod action;
mod check;
mod encryption;
mod lifecycle;
mod list;
mod local;
mod meta_arguments;
mod module_call;
mod output;
mod provider;
mod refactoring;
mod references;
mod resource;
mod settings;
mod target;
mod variable;

pub use action::{ActionBlock, ActionKey, ActionReference, ActionTrigger, LifecycleEvent};
pub use check::{Check, Condition};
pub use encryption::{
    EncryptionConfig, EncryptionMethod, EncryptionOrigin, EncryptionTarget, KeyProviderBlock,
};
pub use lifecycle::{IgnoreChanges, Lifecycle};
pub use list::ListBlock;
pub use local::Local;
pub use module_call::ModuleCall;
pub use output::Output;
pub use provider::{ProviderConfig, ProviderConfigOrigin, ProviderReference};
pub use refactoring::{Import, Moved, Removed};
pub use resource::{Provisioner, Resource};
pub use settings::{Backend, ProviderMeta, RequiredProvider, RequiredVersion, StateStoreBlock};
pub use target::{Target, TargetResource};
pub use variable::Variable;

pub(crate) use check::conditions;
pub(crate) use module_call::passed_providers;
pub(crate) use provider::constraints;
pub(crate) use references::{not_static, static_references};
pub(crate) use resource::implied_provider;
pub(crate) use settings::Settings;
