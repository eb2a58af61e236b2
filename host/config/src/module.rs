//! A module: the combined content of the files of one directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_diagnostic::{SourceFile, Span};
use wardian_value::Str;

use crate::blocks::{
    ActionBlock, ActionKey, Backend, Check, EncryptionConfig, Import, ListBlock, Local, ModuleCall, Moved,
    Output, ProviderConfig, ProviderMeta, Removed, RequiredProvider, RequiredVersion, Resource,
    StateStoreBlock, Variable,
};
use crate::names::ResourceKey;

/// The content of the files of one directory, independent of its callers.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The directory, as a path relative to the root module's directory.
    pub directory: PathBuf,
    /// True if some of the content could not be read.
    pub(crate) has_errors: bool,
    /// The module's files, in the order in which they were read.
    pub files: Vec<Arc<SourceFile>>,
    /// `variable` blocks by name.
    pub variables: BTreeMap<Str, Variable>,
    /// Local values by name.
    pub locals: BTreeMap<Str, Local>,
    /// `output` blocks by name.
    pub outputs: BTreeMap<Str, Output>,
    /// `resource`, `data` and `ephemeral` blocks.
    pub resources: BTreeMap<ResourceKey, Resource>,
    /// `action` blocks by type and name.
    pub actions: BTreeMap<ActionKey, ActionBlock>,
    /// The `list` blocks of query files, by type and name.
    pub lists: BTreeMap<(Str, Str), ListBlock>,
    /// `module` blocks by name.
    pub module_calls: BTreeMap<Str, ModuleCall>,
    /// `provider` blocks by local name and alias.
    pub provider_configs: BTreeMap<(Str, Option<Str>), ProviderConfig>,
    /// `required_providers` by local name.
    pub required_providers: BTreeMap<Str, RequiredProvider>,
    /// `required_version` arguments.
    pub required_versions: Vec<RequiredVersion>,
    /// The span of the `required_providers` block.
    pub(crate) required_providers_span: Option<Span>,
    /// `provider_meta` blocks by local name. They pass metadata about the module to providers.
    pub provider_metas: BTreeMap<Str, ProviderMeta>,
    /// The `backend` block.
    pub backend: Option<Backend>,
    /// The `cloud` block.
    pub cloud: Option<Backend>,
    /// The `state_store` block.
    pub state_store: Option<StateStoreBlock>,
    /// The `encryption` block. Only the root module's has an effect.
    pub encryption: Option<EncryptionConfig>,
    /// The span of the `encryption` block's header.
    pub(crate) encryption_span: Option<Span>,
    /// `moved` blocks.
    pub moved: Vec<Moved>,
    /// `removed` blocks.
    pub removed: Vec<Removed>,
    /// `import` blocks.
    pub imports: Vec<Import>,
    /// `check` blocks by name.
    pub checks: BTreeMap<Str, Check>,
}
