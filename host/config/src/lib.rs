//! Configurations: the files of a directory, and of the modules that it calls, as a tree of typed
//! blocks; and the files that test a configuration.
//!
//! This crate reads files only through [`Files`], and does not depend on the environment, a
//! terminal, states or the engine. It evaluates only constants: all other expressions are returned
//! as [`wardian_lang::Expression`] or [`wardian_lang::Body`], and [`decode_body`] converts a body
//! to a value when a schema and a scope are available.
//!
//! Invariants: for any file content, loading never panics and returns a configuration or
//! diagnostics, with as many diagnostics as one run can determine; an unknown block or argument is
//! an error and is never ignored.

mod blocks;
mod configuration;
mod content;
mod decode;
mod files;
mod gated_files;
mod imports;
mod installed_modules;
mod load;
mod module;
mod names;
mod path;
mod providers;
mod reference_check;
mod self_reference;
mod test_files;
mod variables;
mod walk;

pub use blocks::{
    ActionBlock, ActionKey, ActionReference, ActionTrigger, Backend, Check, Condition, EncryptionConfig,
    EncryptionMethod, EncryptionOrigin, EncryptionTarget, IgnoreChanges, Import, KeyProviderBlock, Lifecycle,
    LifecycleEvent, ListBlock, Local, ModuleCall, Moved, Output, ProviderConfig, ProviderConfigOrigin,
    ProviderMeta, ProviderReference, Provisioner, Removed, RequiredProvider, RequiredVersion, Resource,
    StateStoreBlock, Target, TargetResource, Variable,
};
pub use configuration::{Configuration, ModuleNode, Requirement};
pub use decode::{arguments_and_blocks, decode_body, decode_constant_blocks, references, span_of};
pub use files::{Files, MemoryFiles};
pub use gated_files::GatedFiles;
pub use installed_modules::{
    InstalledModule, InstalledModules, MissingModule, MissingModuleReason, key as module_key,
};
pub use load::{LoadedRoot, QueryFiles, load_root, load_root_from, load_root_with, load_root_with_queries};
pub use module::Module;
pub use names::{ResourceKey, resource_mode};
pub use path::lexically_normalize;
pub use test_files::{
    CheckableObject, ExpectedFailure, LoadedTests, MockDefaults, MockProvider, Override, OverrideDuring,
    OverrideKind, RunConfiguration, RunModules, TestCommand, TestFile, TestModule, TestPlanAddresses,
    TestPlanMode, TestPlanOptions, TestProvider, TestRun, load_tests,
};
pub use variables::{
    RootVariables, TestValue, VariableInputs, VariableSource, VariableText, automatic_files, given_variables,
    global_test_values, missing_variables, root_variables, variables_for_run, variables_for_saved_plan,
};
