//! Policies, which determine the accesses that plugins are allowed.
//!
//! A [`Policy`] consists of [`PolicyFile`]s, at most one for each path passed to [`load`].
//! [`Policy::for_plugin`] combines them for one plugin, and [`PluginPolicy::decide`] returns the
//! decision on a [`wardian_access::AccessRequest`], with the line that determined it. The language
//! is described in `docs/policy.md`, the combination of levels in the header of `policy.rs`,
//! protected files in the header of `protected.rs`, and the canonical forms of hosts, addresses,
//! paths and patterns in the headers of their modules.
//!
//! A user's grants are rules in the root module's file, not in a separate store. Therefore, there
//! is only one language to read, a grant is part of the pull request that needs it, and reviewers
//! see the grant in context. Only the hash of the component for which access was granted is stored
//! elsewhere, in the consent lock file.
//!
//! This crate does not depend on WebAssembly, configuration or state. It opens no connections,
//! and no files except the policy files at the caller's paths (`files.rs`).
//!
//! Invariants:
//! - ambiguous input is denied: a file with any error is not a policy, and nothing is granted
//!   without a policy;
//! - an access that one file denies is not granted by another file;
//! - the cost of a decision is linear in the size of the plugin's rules, regardless of the
//!   wildcards in them.

mod address_pattern;
mod capability_request;
mod confinement;
mod credential;
mod decision;
mod defaults;
mod explain;
mod files;
mod glob;
mod grant_status;
mod host_pattern;
mod identity_requirement;
mod learning;
mod level;
mod native_names;
mod native_programs;
mod parse;
mod plugin_pattern;
mod policy;
mod policy_edit;
mod policy_synthesis;
mod protected;
mod publisher;
mod remedy;
mod rule;
mod settings;
mod source_location;
mod suggest;
mod template;
mod unenforceable;
mod units;
mod untrusted;
mod untrusted_service;

pub use capability_request::{CapabilityRequest, CapabilityRequestError, RuleArgument};
pub use confinement::NativeConfinement;
pub use credential::{CredentialBinding, CredentialSource};
pub use decision::{Decision, Denial, DenialReason, Grant};
pub use explain::{Explained, ExplainedCredential, ExplainedFile, Explanation};
pub use files::{PolicyPaths, load, read_file};
pub use grant_status::{DenialSource, GrantStatus};
pub use identity_requirement::{IdentityRequirement, SignatureRequirement, UnmetRequirement};
pub use learning::Learning;
pub use level::Level;
pub use policy::{
    CONSENT_LOCK_FILE_NAME, DefaultAction, GrantedDirectory, POLICY_FILE_NAME, PluginPolicy, Policy,
    PolicyFile,
};
pub use policy_edit::{add_block, add_grants, grant_block};
pub use policy_synthesis::{
    LeastPrivilegePolicy, NeededAccess, ObservedAccesses, extend_policy, least_privilege_policy,
};
pub use protected::classes_of_file_name;
pub use protected::content::{MAX_CONTENT_HEADER_LENGTH, recognize_content};
pub use publisher::{IdentityChange, IdentityPart, PublisherIdentity, PublisherIdentityError};
pub use remedy::Remedy;
pub use rule::Effect;
pub use settings::{
    EvaluationSettings, NativePlugins, PluginLimits, PolicySetting, Settings, UntrustedNative,
};
pub use source_location::SourceLocation;
pub use template::{PolicyTemplate, TemplateError, TemplateValues};
pub use unenforceable::UnenforceableRule;
pub use untrusted_service::{ArgumentMismatch, ServiceArgument, ServiceDenial, ServiceKind, ServiceRule};
