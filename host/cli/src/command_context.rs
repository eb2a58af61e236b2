//! The values that every command receives: the shell and the application context.

use std::sync::Arc;

use wardian_app::AppContext;
use wardian_app::plugins::Plugins;
use wardian_config::Configuration;
use wardian_engine::{EngineContext, Events};

use crate::progress::{DownloadProgress, Progress};
use crate::shell::Shell;

pub(crate) struct CommandContext {
    pub(crate) shell: Arc<Shell>,
    pub(crate) app: AppContext,
    pub(crate) progress: Arc<Progress>,
    pub(crate) downloads: Arc<DownloadProgress>,
}

impl CommandContext {
    /// Returns the engine's run for a configuration. The shell shows its progress.
    pub(crate) fn engine_run(
        &self,
        configuration: Arc<Configuration>,
        plugins: Arc<Plugins>,
    ) -> EngineContext {
        self.app.engine_run(configuration, plugins, Arc::clone(&self.progress) as Arc<dyn Events>)
    }
}
