//! Plugins whose output is redacted: the layer above each transport.
//!
//! Before a call, the parts of its values that the plugin's schema declares sensitive are
//! registered. Together with the values that the caller registered in the
//! [`CallContext`](crate::CallContext) and those of the provider's configuration, they are the
//! sensitive values of the context that the transport receives, which redacts log lines and
//! records. Text in the response is redacted here, whether it comes from the plugin or from its
//! host.

mod call;
mod provider;
mod provisioner;

pub use provider::RedactingProvider;
pub use provisioner::RedactingProvisioner;
