//! The trait through which this library shows reports and asks the user.

use std::io;
use std::path::Path;

use async_trait::async_trait;
use wardian_address::{ProviderAddress, Version};
use wardian_diagnostic::Diagnostics;
use wardian_policy::{CapabilityRequest, GrantStatus};
use wardian_state::LockError;

use crate::error::AppError;
use crate::publisher_consent::PublisherChange;
use crate::state_access::StateLocation;
use crate::state_migration::StateCopy;

/// Shows the library's reports, and asks the user. The `cli` crate implements this trait.
#[async_trait]
pub trait Frontend: Send + Sync {
    fn warn(&self, warnings: &Diagnostics);

    fn report(&self, event: AppEvent<'_>);

    /// Returns whether a user is present and can be asked.
    fn can_ask(&self) -> bool;

    /// Asks the user to confirm something. Returns `None` if the input ended without an answer.
    ///
    /// # Errors
    /// Returns an error if the answer cannot be read.
    async fn confirm(&self, question: Confirmation<'_>) -> io::Result<Option<bool>>;
}

impl dyn Frontend {
    /// Shows warnings and returns the value, or returns the errors together with the warnings.
    pub(crate) fn accept<T>(&self, value: T, diagnostics: &Diagnostics) -> Result<T, AppError> {
        if diagnostics.has_errors() {
            return Err(diagnostics.clone().into());
        }
        self.warn(diagnostics);
        Ok(value)
    }
}

/// Progress of the library's work.
#[derive(Clone, Copy, Debug)]
pub enum AppEvent<'a> {
    /// A plugin is being compiled. This takes several seconds.
    Compiling {
        /// The plugin's name and version.
        plugin: &'a str,
    },
    /// The CLI configuration file has a problem, but can still be used.
    CliConfigWarning(&'a str),
    /// Another process holds the lock on the state.
    WaitingForStateLock(&'a LockError),
    BackendConfigured {
        /// `backend` or `state store`.
        kind: &'static str,
        type_name: &'a str,
    },
    /// A backend is no longer configured.
    BackendUnset,
    /// A state was copied to the new backend.
    StateCopied { from: &'a StateLocation, to: &'a StateLocation },
    /// The publisher of a selected plugin is new, has changed, or is no longer known.
    PublisherChanged { address: &'a ProviderAddress, version: &'a Version, change: &'a PublisherChange },
    /// A selected plugin requests capabilities.
    CapabilitiesRequested {
        /// The plugin's name and version.
        plugin: &'a str,
        /// The previously approved version, if its requests were different.
        approved_version: Option<&'a Version>,
        requests: &'a [RequestedCapability<'a>],
    },
    /// Rules were added to the root module's policy file.
    RulesAdded {
        /// The plugin to which the rules grant access.
        address: &'a ProviderAddress,
        count: usize,
    },
    /// The approved requests were written to the consent lock file.
    ConsentRecorded,
    /// Only publishers were written to the consent lock file, no requests.
    PublishersRecorded,
}

/// A capability request for the user to review.
#[derive(Clone, Copy, Debug)]
pub struct RequestedCapability<'a> {
    pub asked: &'a CapabilityRequest,
    /// The difference from the previously approved requests.
    pub change: CapabilityChange,
    /// The decision of the policy, unless the request is no longer made.
    pub standing: Option<&'a GrantStatus>,
}

/// The difference between a capability request and the previously approved requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapabilityChange {
    /// The request has not been approved before.
    Added,
    /// The request has already been approved.
    Unchanged,
    /// The request was approved before, but is no longer made.
    Removed,
}

/// A question to which the user answers yes or no.
#[derive(Clone, Copy, Debug)]
pub enum Confirmation<'a> {
    /// Whether to copy states to the new backend.
    CopyStates(&'a [StateCopy]),
    /// Whether to grant a plugin the access that it requests.
    Grant(&'a ProviderAddress),
    /// Whether to accept the publisher of a plugin.
    Publisher {
        address: &'a ProviderAddress,
        /// Whether the answer also grants the access that the plugin requests.
        grants: bool,
    },
    /// Whether native programs may replace components.
    NativePrograms(&'a [NativeReplacement<'a>]),
}

/// A native program that was selected in place of a component.
#[derive(Clone, Copy, Debug)]
pub struct NativeReplacement<'a> {
    pub address: &'a ProviderAddress,
    /// The version of the native plugin.
    pub version: &'a Version,
    /// The file of the native plugin.
    pub file: &'a Path,
    pub component: &'a Version,
}
