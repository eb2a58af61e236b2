//! Configurations: the files of a directory and of the modules it calls, as a
//! tree of typed blocks.
//!
//! Reads files through [`Files`] and nothing else; knows no environment, no
//! terminal, no state and no engine. It evaluates nothing but constants: what
//! depends on anything else is handed on as an [`wardian_lang::Expression`] or a
//! [`wardian_lang::Body`], and [`decode_body`] turns the latter into a value once
//! somebody has a schema and a scope.
//!
//! Always holds: whatever the files hold, loading gives a configuration or
//! diagnostics, as many of them as one run can find, and never panics; a block
//! or argument that is not understood is an error, never dropped.

mod blocks;
mod configuration;
mod content;
mod decode;
mod files;
mod imports;
mod load;
mod module;
mod names;
mod path;
mod providers;
mod undeclared;
mod variables;
mod walk;

pub use blocks::{
    Backend, Check, Condition, IgnoreChanges, Import, Lifecycle, Local, ModuleCall, Moved, Output,
    ProviderConfig, ProviderMeta, ProviderReference, Provisioner, Removed, RequiredProvider, RequiredVersion,
    Resource, Target, TargetResource, Variable,
};
pub use configuration::{Configuration, ModuleNode, Requirement};
pub use decode::{arguments_and_blocks, decode_body, references, span_of};
pub use files::{DiskFiles, Files, MemoryFiles};
pub use load::{load_root, load_root_from};
pub use module::{Module, ResourceKey};
pub use names::resource_mode;
pub use path::lexically_normalize;
pub use variables::{
    RootVariables, VariableInputs, VariableSource, VariableText, automatic_files, given_variables,
    missing_variables, root_variables, variables_for_saved_plan,
};
