//! What a run tells while it goes on.

use std::time::Duration;

use wardian_address::ResourceInstanceAddress;

use crate::plan::Action;

/// Something that happened to one object.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A managed object is about to be read.
    RefreshStarted {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// What the provider calls it.
        id: Option<String>,
    },
    /// A managed object was read.
    RefreshCompleted {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// What the provider calls it.
        id: Option<String>,
    },
    /// A provider is about to be asked for an object that exists.
    ImportStarted {
        /// What it becomes.
        address: &'a ResourceInstanceAddress,
        /// What it is found by: `id=x`.
        id: &'a str,
    },
    /// The provider found what is to be imported; it is read next.
    ImportFound {
        /// What it becomes.
        address: &'a ResourceInstanceAddress,
        /// How many objects that are.
        count: usize,
    },
    /// An object that the plan found comes under management.
    Importing {
        /// What it becomes.
        address: &'a ResourceInstanceAddress,
        /// What it was found by: `id=x`.
        id: &'a str,
    },
    /// An object came under management.
    Imported {
        /// What it became.
        address: &'a ResourceInstanceAddress,
        /// What it was found by: `id=x`.
        id: &'a str,
    },
    /// Work on an object begins: a create, update or delete, or the read of a data
    /// source.
    Started {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// The key of a deposed object.
        deposed: Option<&'a str>,
        /// What is done; a replacement is told as its two halves.
        action: Action,
        /// What the provider calls it.
        id: Option<String>,
    },
    /// Work on an object goes on; told every ten seconds.
    InProgress {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// What is done.
        action: Action,
        /// What the provider calls it.
        id: Option<String>,
        /// Since when.
        elapsed: Duration,
    },
    /// Work on an object is done.
    Completed {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// What was done.
        action: Action,
        /// What the provider calls it.
        id: Option<String>,
        /// How long it took.
        elapsed: Duration,
    },
    /// Work on an object failed.
    Failed {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// What was tried.
        action: Action,
        /// How long it took.
        elapsed: Duration,
    },
    /// A provisioner is about to work on an object.
    ProvisionStarted {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// The provisioner's type.
        provisioner: &'a str,
    },
    /// A provisioner shows something.
    ProvisionOutput {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// The provisioner's type.
        provisioner: &'a str,
        /// A line or several, each with or without its break.
        text: &'a str,
    },
    /// A provisioner's work is done.
    ProvisionCompleted {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// The provisioner's type.
        provisioner: &'a str,
    },
    /// A provisioner's work failed, which may be let pass.
    ProvisionFailed {
        /// Which object.
        address: &'a ResourceInstanceAddress,
        /// The provisioner's type.
        provisioner: &'a str,
    },
    /// An ephemeral resource is about to be opened, renewed or closed.
    EphemeralStarted {
        /// Which instance.
        address: &'a ResourceInstanceAddress,
        /// What is done.
        action: EphemeralAction,
    },
    /// That goes on; told every ten seconds.
    EphemeralInProgress {
        /// Which instance.
        address: &'a ResourceInstanceAddress,
        /// What is done.
        action: EphemeralAction,
        /// Since when.
        elapsed: Duration,
    },
    /// That is done.
    EphemeralCompleted {
        /// Which instance.
        address: &'a ResourceInstanceAddress,
        /// What was done.
        action: EphemeralAction,
        /// How long it took.
        elapsed: Duration,
    },
    /// That failed.
    EphemeralFailed {
        /// Which instance.
        address: &'a ResourceInstanceAddress,
        /// What was tried.
        action: EphemeralAction,
        /// How long it took.
        elapsed: Duration,
    },
}

/// What is done with an ephemeral resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EphemeralAction {
    /// It comes to be.
    Open,
    /// It is kept.
    Renew,
    /// It ends.
    Close,
}

/// Hears what a run tells. Called from several threads, and must not block.
pub trait Events: Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Events for Silent {
    fn event(&self, _event: &Event<'_>) {}
}
