//! A module: what the files of one directory say together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_address::ResourceMode;
use wardian_diagnostic::{SourceFile, Span};
use wardian_value::Str;

use crate::blocks::{
    Backend, Check, Import, Local, ModuleCall, Moved, Output, ProviderConfig, ProviderMeta, Removed,
    RequiredProvider, RequiredVersion, Resource, Variable,
};

/// Mode, type and name: what names a resource inside its module.
pub type ResourceKey = (ResourceMode, Str, Str);

/// What the files of one directory say. The same wherever it is called from.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The directory, as it was reached from the root's.
    pub directory: PathBuf,
    /// Whether something in it could not be read.
    pub(crate) has_errors: bool,
    /// Its files, in the order in which they were read.
    pub files: Vec<Arc<SourceFile>>,
    /// `variable` blocks by name.
    pub variables: BTreeMap<Str, Variable>,
    /// Local values by name.
    pub locals: BTreeMap<Str, Local>,
    /// `output` blocks by name.
    pub outputs: BTreeMap<Str, Output>,
    /// `resource`, `data` and `ephemeral` blocks.
    pub resources: BTreeMap<ResourceKey, Resource>,
    /// `module` blocks by name.
    pub module_calls: BTreeMap<Str, ModuleCall>,
    /// `provider` blocks by local name and alias.
    pub provider_configs: BTreeMap<(Str, Option<Str>), ProviderConfig>,
    /// `required_providers` by local name.
    pub required_providers: BTreeMap<Str, RequiredProvider>,
    /// `required_version` arguments.
    pub required_versions: Vec<RequiredVersion>,
    /// Where the `required_providers` block is.
    pub(crate) required_providers_span: Option<Span>,
    /// What `provider_meta` blocks tell providers about the module, by local name.
    pub provider_metas: BTreeMap<Str, ProviderMeta>,
    /// Where the state is kept, if it says so.
    pub backend: Option<Backend>,
    /// The service that keeps the state, if there is a `cloud` block.
    pub cloud: Option<Backend>,
    /// `moved` blocks.
    pub moved: Vec<Moved>,
    /// `removed` blocks.
    pub removed: Vec<Removed>,
    /// `import` blocks.
    pub imports: Vec<Import>,
    /// `check` blocks by name.
    pub checks: BTreeMap<Str, Check>,
}
