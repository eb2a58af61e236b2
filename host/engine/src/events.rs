//! Progress events of a run.

use std::time::Duration;

use wardian_address::{ActionInstanceAddress, ResourceInstanceAddress};

use wardian_value::Value;

use crate::plan::{Action, InvocationTrigger};
use crate::query::{ListInstance, ListedObject};

/// An event about one object.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The run will read a managed object.
    RefreshStarted {
        address: &'a ResourceInstanceAddress,
        /// The provider's ID of the object.
        id: Option<String>,
    },
    /// A managed object was read.
    RefreshCompleted {
        address: &'a ResourceInstanceAddress,
        /// The provider's ID of the object.
        id: Option<String>,
    },
    /// Reading a managed object, for a refresh or an import, failed.
    ReadFailed { address: &'a ResourceInstanceAddress },
    /// The run will import an object.
    ImportStarted {
        address: &'a ResourceInstanceAddress,
        /// The identification of the object: `id=x`.
        id: &'a str,
    },
    /// The provider found the objects to import; they are read next.
    ImportFound { address: &'a ResourceInstanceAddress, count: usize },
    /// An apply will add an imported object to the state.
    Importing {
        address: &'a ResourceInstanceAddress,
        /// The identification of the object: `id=x`.
        id: &'a str,
    },
    /// An apply added an imported object to the state.
    Imported {
        address: &'a ResourceInstanceAddress,
        /// The identification of the object: `id=x`.
        id: &'a str,
    },
    /// An operation on an object starts: it is created, updated, deleted, or read as a data source.
    Started {
        address: &'a ResourceInstanceAddress,
        /// The key of a deposed object.
        deposed: Option<&'a str>,
        /// The action. A replacement consists of two operations.
        action: Action,
        /// The provider's ID of the object.
        id: Option<String>,
    },
    /// An operation on an object is still running. Sent every ten seconds.
    InProgress {
        address: &'a ResourceInstanceAddress,
        action: Action,
        /// The provider's ID of the object.
        id: Option<String>,
        elapsed: Duration,
    },
    /// An operation on an object succeeded.
    Completed {
        address: &'a ResourceInstanceAddress,
        action: Action,
        /// The provider's ID of the object.
        id: Option<String>,
        elapsed: Duration,
    },
    /// An operation on an object failed.
    Failed { address: &'a ResourceInstanceAddress, action: Action, elapsed: Duration },
    /// A provisioner will run for an object.
    ProvisionStarted {
        address: &'a ResourceInstanceAddress,
        /// The provisioner's type.
        provisioner: &'a str,
    },
    /// A provisioner printed output.
    ProvisionOutput {
        address: &'a ResourceInstanceAddress,
        provisioner: &'a str,
        /// One or more lines, each with or without its line break.
        text: &'a str,
    },
    /// A provisioner succeeded.
    ProvisionCompleted { address: &'a ResourceInstanceAddress, provisioner: &'a str },
    /// A provisioner failed. `on_failure` can specify that the run continues.
    ProvisionFailed { address: &'a ResourceInstanceAddress, provisioner: &'a str },
    /// An action will be invoked.
    ActionStarted { address: &'a ActionInstanceAddress, trigger: &'a InvocationTrigger },
    /// An action reported its progress.
    ActionProgress {
        address: &'a ActionInstanceAddress,
        trigger: &'a InvocationTrigger,
        /// The provider's message.
        message: &'a str,
    },
    /// An action succeeded.
    ActionCompleted { address: &'a ActionInstanceAddress, trigger: &'a InvocationTrigger },
    /// An action failed.
    ActionFailed {
        address: &'a ActionInstanceAddress,
        trigger: &'a InvocationTrigger,
        /// The summaries of the errors.
        error: &'a str,
    },
    /// A query starts.
    ListStarted {
        list: &'a ListInstance,
        /// The configuration of the list. Sensitive values are marked.
        config: &'a Value,
    },
    /// A query found an object.
    ListFound { list: &'a ListInstance, object: &'a ListedObject },
    /// A query ended. It may have failed after it found objects.
    ListCompleted { list: &'a ListInstance, found: &'a [ListedObject] },
    /// The run will open, renew or close an ephemeral resource.
    EphemeralStarted { address: &'a ResourceInstanceAddress, action: EphemeralAction },
    /// An operation on an ephemeral resource is still running. Sent every ten seconds.
    EphemeralInProgress { address: &'a ResourceInstanceAddress, action: EphemeralAction, elapsed: Duration },
    /// The operation on an ephemeral resource succeeded.
    EphemeralCompleted { address: &'a ResourceInstanceAddress, action: EphemeralAction, elapsed: Duration },
    /// The operation on an ephemeral resource failed.
    EphemeralFailed { address: &'a ResourceInstanceAddress, action: EphemeralAction, elapsed: Duration },
}

/// An operation on an ephemeral resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EphemeralAction {
    Open,
    Renew,
    Close,
}

/// Receives the events of a run. Called from several threads, so it must not block.
pub trait Events: Send + Sync {
    fn event(&self, event: &Event<'_>);
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Events for Silent {
    fn event(&self, _event: &Event<'_>) {}
}
