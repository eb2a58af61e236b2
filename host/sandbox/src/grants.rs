//! What a caller gives a plugin. The default is nothing.

use std::path::{Path, PathBuf};

use wardian_monitor::Monitor;
use wardian_plugin::address::ProviderAddress;
use wardian_policy::Access as PolicyAccess;

/// Everything that one provider configuration may reach beyond clocks and
/// randomness.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Decides on everything that is asked for while the plugin runs.
    pub monitor: Monitor,
    /// Directories, each under the name that the guest knows it by. Rights belong to
    /// the opened directory, not to a path: one for reading only cannot be at or
    /// below one for writing.
    pub directories: Vec<DirectoryGrant>,
    /// The guest's name of the directory that it works in: its `initial-cwd` and
    /// its variable `PWD`. By itself this gives access to nothing.
    pub working_directory: Option<String>,
    /// Variables of the host's environment that the plugin sees.
    pub environment: Vec<(String, String)>,
}

/// A directory with all that is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryGrant {
    /// Where it is.
    pub host: PathBuf,
    /// What the guest calls it: an absolute path, or `.` for where its relative
    /// paths lead.
    pub guest: String,
    /// What may be done there.
    pub access: Access,
}

/// What may be done in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading files and names.
    Read,
    /// Reading, and creating, changing and removing.
    ReadWrite,
}

impl Grants {
    /// Nothing, for a plugin that people know by a name.
    pub fn nothing() -> Self {
        let nobody = ProviderAddress::built_in("nobody");
        Self::denied_by(Monitor::that_denies_everything(&nobody))
    }

    fn denied_by(monitor: Monitor) -> Self {
        Self { monitor, directories: Vec::new(), working_directory: None, environment: Vec::new() }
    }

    /// What a monitor's policy grants in a run whose root module is in `root_module`,
    /// an absolute path. `environment` is the host's; of it the plugin sees what the
    /// policy names.
    pub fn by_policy(
        monitor: Monitor,
        root_module: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let directories = monitor.policy().directories();
        let mut grants = Self::denied_by(monitor);
        for (host, access) in directories {
            let Some(absolute) = host.to_str() else { continue };
            let access = if access.contains(&PolicyAccess::Write) { Access::ReadWrite } else { Access::Read };
            let grant = |guest: &str| DirectoryGrant { host: host.clone(), guest: guest.to_owned(), access };
            grants.directories.push(grant(absolute));
            if host == root_module {
                grants.directories.push(grant("."));
                grants.working_directory = Some(absolute.to_owned());
            } else if let Some(relative) = host.strip_prefix(root_module).ok().and_then(Path::to_str) {
                grants.directories.push(grant(relative));
            }
        }
        grants.environment =
            environment.into_iter().filter(|(name, _)| grants.monitor.grants_variable(name)).collect();
        grants
    }

    /// A directory that relative paths of the guest lead to, and that it can name
    /// by the host's own absolute path too.
    ///
    /// The C library of a guest looks an absolute name that no grant begins with
    /// up below `.`, so that `/tmp/x` means `./tmp/x`: nothing leaves the
    /// directory, but it is not what the person wrote. A plugin that takes names
    /// from people refuses absolute ones that are not below `PWD`.
    #[must_use]
    pub fn with_working_directory(mut self, directory: &Path, access: Access) -> Self {
        let grant =
            |guest: &str| DirectoryGrant { host: directory.to_path_buf(), guest: guest.to_owned(), access };
        if let Some(absolute) = directory.to_str().filter(|_| directory.is_absolute()) {
            self.directories.push(grant(absolute));
            self.working_directory = Some(absolute.to_owned());
        }
        self.directories.push(grant("."));
        self
    }
}
