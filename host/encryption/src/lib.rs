//! Encryption of states and plans in OpenTofu's format, so that either program can read the files of
//! the other.
//!
//! [`Encryption`] evaluates the `encryption` configuration. Its targets (`state`, `plan` and the
//! states that `terraform_remote_state` reads) have a chain of methods: new content is encrypted with
//! the first one, and stored content is decrypted with the first one that succeeds. A method obtains
//! keys from a key provider, which can use the key of another provider.
//!
//! | file | content |
//! |---|---|
//! | `envelope` | the JSON document that contains encrypted content |
//! | `target` | the chain of methods of a target; implements [`wardian_state::StateEncryption`] |
//! | `method` | `aes_gcm`, `external`, `unencrypted` |
//! | `key_provider` | `pbkdf2`, `external`, `openbao`, `aws_kms` |
//! | `scope` | the values of variables and local values, which are known before a state is read |
//!
//! Invariants:
//! - keys and passphrases are `secret::Secret`s: they are overwritten when they are dropped, and are
//!   neither in `Debug` output nor in errors or logs (the configuration from which a passphrase comes is
//!   not overwritten);
//! - each encryption uses a new random nonce; a target uses one key for all content of a command;
//! - content of any form causes an error or is decrypted, and never causes a panic, and the cost of
//!   a key derivation that stored metadata requests is limited;
//! - for an untrusted configuration, no key provider or method that the configuration defines starts
//!   a program, and none sends a request that the caller's [`KeyServiceRules`] do not permit.
//!
//! The crate reads no environment variables: the caller passes [`EncryptionHost`].

mod arguments;
mod encryption;
mod envelope;
mod host;
mod key_provider;
mod method;
mod program;
mod record_cipher;
mod scope;
mod secret;
mod target;

pub use encryption::Encryption;
pub use envelope::{has_identity, is_encrypted};
pub use host::{EncryptionHost, EncryptionTrust, HttpSettings, KeyServiceRules};
pub use scope::StaticValues;
pub use target::TargetEncryption;
