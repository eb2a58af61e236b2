//! A component that is loaded, linked and ready to be instantiated.

use std::sync::Arc;

use wasmtime::Engine;

use crate::bindings::state_store::StateStoreExportsPre;
use crate::exports::LinkedProvider;
use crate::limits::SandboxLimits;
use crate::network::NetworkOptions;
use crate::provider_run::KnownSchema;
use crate::state::GuestState;
use crate::symbols::Symbols;
use crate::ticker::Ticker;

/// State shared by all provider configurations of one component.
pub(crate) struct Plugin {
    pub(crate) name: Arc<str>,
    pub(crate) engine: Engine,
    pub(crate) component: LinkedProvider,
    /// The exports of the state stores, if the component has any.
    pub(crate) state_stores: Option<StateStoreExportsPre<GuestState>>,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) limits: SandboxLimits,
    pub(crate) network: Arc<NetworkOptions>,
    /// The debug information, for a plugin under development.
    pub(crate) symbols: Option<Arc<Symbols>>,
    /// Maximum number of instances of one provider configuration.
    pub(crate) parallelism: usize,
    /// The schema, which is requested from the component once, by the first configuration that
    /// needs it.
    pub(crate) schema: KnownSchema,
}
