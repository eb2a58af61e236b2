//! Everything that a command works with.

use std::sync::Arc;

use wardian_app::AppContext;
use wardian_app::plugins::Plugins;
use wardian_config::Configuration;
use wardian_engine::EngineContext;

use crate::progress::Progress;
use crate::shell::Shell;

/// The library's context and the terminal.
pub(crate) struct CommandContext {
    /// The terminal.
    pub(crate) shell: Arc<Shell>,
    /// The library's context.
    pub(crate) app: AppContext,
}

impl CommandContext {
    /// Returns everything that the engine needs to work on a configuration. Progress is shown
    /// in the shell.
    pub(crate) fn engine_run(
        &self,
        configuration: Arc<Configuration>,
        plugins: Arc<Plugins>,
    ) -> EngineContext {
        self.app.engine_run(configuration, plugins, Arc::new(Progress::new(&self.shell)))
    }
}
