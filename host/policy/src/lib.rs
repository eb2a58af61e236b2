//! What a plugin may touch: policy files, and decisions by them.
//!
//! A [`Policy`] is made of [`PolicyFile`]s, at most one for each place that [`load`]
//! looks at; [`Policy::of`] is what they come to for one plugin, and
//! [`PluginPolicy::decide`] answers a [`Request`], with the line that settles it. What
//! the language says is in `docs/policy.md`; how files of several levels meet is at the
//! head of `policy.rs`, and how hosts, addresses, paths and patterns are brought into one
//! form at the heads of their modules.
//!
//! Grants that a person gives are rules in the root module's file, and not a list of
//! their own: there is one language to read, a grant is in the pull request that needs
//! it, and its reader sees what it is next to. The hash that a grant was given for does
//! not belong there; it is pinned beside the lock file.
//!
//! Nothing here knows WebAssembly, a configuration or a state; nothing opens a
//! connection or a file but the policy files themselves, in `files.rs`, whose places the
//! caller says.
//!
//! Always holds:
//! - what cannot be read in one way alone is denied: a file with any error is no policy,
//!   and no policy is no grant;
//! - what one file denies, no other file grants;
//! - a decision costs the size of the rules for its plugin, whatever stars are in them.

mod address;
mod asked;
mod confinement;
mod credential;
mod decision;
mod defaults;
mod explain;
mod files;
mod glob;
mod grant;
mod host;
mod least;
mod parse;
mod path;
mod place;
mod plugin_pattern;
mod policy;
mod request;
mod rule;
mod settings;
mod standing;
mod suggest;
mod units;
mod untrusted;

pub use address::{AddressKind, canonical};
pub use asked::{Asked, AskedProblem, Words};
pub use confinement::NativeConfinement;
pub use credential::{CredentialBinding, CredentialSource};
pub use decision::{Decision, Denial, DenialReason, Grant};
pub use explain::{Explained, ExplainedCredential, ExplainedFile, Explanation};
pub use files::{PolicyPlaces, load, read_file};
pub use grant::{granting_block, with_grants};
pub use host::{Host, HostProblem};
pub use least::{LeastPolicy, NeededUse, least_policy};
pub use path::PathProblem;
pub use place::Place;
pub use policy::{
    AGREEMENTS_FILE_NAME, Level, Otherwise, POLICY_FILE_NAME, PluginPolicy, Policy, PolicyFile,
};
pub use request::{
    Access, CommunicatorConnection, EnvironmentName, FileAccess, NetworkRequest, ProcessStart, Request,
    RequestError, Scheme,
};
pub use rule::Effect;
pub use settings::{Limits, NativePlugins, Set, Settings};
pub use standing::{DeniedBy, Standing};
