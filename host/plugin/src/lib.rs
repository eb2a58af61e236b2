//! The plugin protocol, stated once, in Rust: as the newest Terraform protocol
//! (6.x) has it for providers, and protocol 5 for provisioners.
//!
//! The sandbox and the bridge to native plugins implement [`Provider`] and
//! [`Provisioner`]; the engine calls them and never learns which is behind. This
//! crate knows no transport, no configuration language and no engine. It also
//! holds what all of them name plugins by: addresses and versions.

pub mod address;
mod diagnostic;
mod file_gate;
mod instance_address;
mod printable;
mod provider;
mod provisioner;
mod provisioner_address;
mod schema;
mod schema_table;
mod source;
mod subject;
pub mod version;

pub use diagnostic::{PluginDiagnostic, PluginDiagnostics, Severity, has_errors};
pub use file_gate::FileGate;
pub use instance_address::{
    AbsoluteResourceAddress, InstanceAddressError, InstanceAddressProblem, InstanceKey, ModuleInstance,
    ModulePath, ModuleStep, ProviderConfigAddress, Quoted, ResourceAddress, ResourceInstanceAddress,
    ResourceMode,
};
pub use printable::{printable, printable_line};
pub use provider::*;
pub use provisioner::{ProvisionOutput, ProvisionRequest, Provisioner, SharedByObject};
pub use provisioner_address::{
    DIRECTORY_HOST, DIRECTORY_NAMESPACE, is_in_plugin_directory, provisioner_address, provisioner_label,
    provisioner_name,
};
pub use schema::*;
pub use schema_table::{SchemaSource, SchemaTable};
pub use source::{NoProvisioners, ProviderSource, ProvisionerSource};
pub use subject::{current_subject, on_behalf_of};
