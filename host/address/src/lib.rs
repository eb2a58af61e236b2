//! Addresses of providers, provisioners, modules, resources and their instances, and version
//! constraints: parsing, formatting, sorting and validation.
//!
//! In the workspace, this crate depends only on `value`. It performs no I/O, and does not depend on
//! configuration files or plugins.
//!
//! Invariants: parsing the displayed form of an address or of provider constraints yields the same
//! value; addresses are sorted in the same order as in Terraform; the components of a
//! [`ProviderAddress`] can be used as path segments.

mod instance;
mod provider;
mod provisioner;
mod version;

pub use instance::{
    AbsoluteResourceAddress, ActionAddress, ActionInstanceAddress, InstanceAddressError,
    InstanceAddressProblem, InstanceKey, ModuleInstance, ModulePath, ModuleStep, ProviderConfigAddress,
    Quoted, ResourceAddress, ResourceInstanceAddress, ResourceMode,
};
pub use provider::{
    BUILT_IN_HOST, BUILT_IN_NAMESPACE, DEFAULT_HOST, DEFAULT_NAMESPACE, ForDisplay, LEGACY_NAMESPACE,
    NameProblem, ProviderAddress, ProviderAddressError,
};
pub use provisioner::{
    DIRECTORY_HOST, DIRECTORY_NAMESPACE, is_in_plugin_directory, provisioner_address, provisioner_label,
    provisioner_name,
};
pub use version::{
    Constraint, ConstraintDialect, ConstraintError, ConstraintOperator, ConstraintProblem, Constraints,
    Version,
};
