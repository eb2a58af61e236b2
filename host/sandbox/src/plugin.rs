//! A component that is loaded, linked and ready to be instantiated.

use std::sync::Arc;

use tokio::sync::OnceCell;
use wardian_plugin::transport::DecodedSchema;
use wasmtime::Engine;

use crate::bindings::ProviderPluginPre;
use crate::limits::SandboxLimits;
use crate::network::NetworkOptions;
use crate::state::GuestState;
use crate::ticker::Ticker;

/// What all provider configurations of one component share.
pub(crate) struct Plugin {
    pub(crate) name: Arc<str>,
    pub(crate) engine: Engine,
    pub(crate) component: ProviderPluginPre<GuestState>,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) limits: SandboxLimits,
    pub(crate) network: Arc<NetworkOptions>,
    /// The most instances of one provider configuration at a time.
    pub(crate) parallelism: usize,
    /// Asked of the component once, whichever configuration asks first.
    pub(crate) schema: OnceCell<Arc<DecodedSchema>>,
}
