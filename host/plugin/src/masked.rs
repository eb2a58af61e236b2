//! Plugins whose words bear no secrets: what stands above each transport.
//!
//! Before a call it is noted what of its values the plugin's schema calls sensitive; with
//! what the caller noted ([`hand_over`](crate::hand_over)) and what the provider was
//! configured with these are the [`Secrets`] of the call. Whoever carries it out masks log
//! lines and records by [`current_secrets`](crate::current_secrets). What is answered for
//! people is masked here, whichever way it came: said by the plugin, or by the host of it.

mod call;
mod provider;
mod provisioner;

pub use provider::MaskedProvider;
pub use provisioner::MaskedProvisioner;
