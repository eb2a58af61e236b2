//! Wraps plugins and redacts their output.
//!
//! Before a call, the attributes in its values that the plugin's schema declares sensitive are
//! registered. The context that the transport receives contains these values, the values that the
//! caller registered in the [`CallContext`](crate::CallContext), and the sensitive values of the
//! provider's configuration; the transport redacts them in log lines and records. Text in the
//! response is redacted here, whether it comes from the plugin or from its host.

mod call;
mod provider;
mod provisioner;

pub use provider::RedactingProvider;
pub use provisioner::RedactingProvisioner;
