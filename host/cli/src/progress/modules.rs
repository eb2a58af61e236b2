//! Reports the progress of the installation of modules.

use std::path::Path;
use std::sync::Arc;

use wardian_address::Version;
use wardian_modules::{ModuleObserver, downloading_line, installed_line};
use wardian_printable::printable;

use crate::shell::Shell;

/// Prints Terraform's lines for each module.
pub(crate) struct ModuleProgress {
    shell: Arc<Shell>,
}

impl ModuleProgress {
    pub(crate) fn new(shell: &Arc<Shell>) -> Self {
        Self { shell: Arc::clone(shell) }
    }
}

impl ModuleObserver for ModuleProgress {
    fn downloading(&self, key: &str, package: &str, version: Option<&Version>) {
        let line = downloading_line(key, package, version);
        self.shell.say(printable!("{line}"));
    }

    fn installed(&self, key: &str, directory: &Path) {
        let line = installed_line(key, directory);
        self.shell.say(printable!("{line}"));
    }

    fn waiting(&self, directory: &Path) {
        let directory = directory.display();
        self.shell.say(printable!("Waiting for another process that installs modules in {directory}..."));
    }
}
