//! `-untrusted`: a configuration that comes from a stranger, such as a pull request.
//!
//! What plugins may touch then is said by `wardian-policy`. Here is what the host itself
//! reads for the configuration: its files and modules, what functions read, states of
//! others. All of it stays within the configuration's directory and away from states, is
//! decided by the same monitor, and stands in the audit log under
//! `terraform.io/builtin/configuration`.
//!
//! Links are followed before a path is decided on. Nothing of the stranger runs beside
//! this that could exchange a file in between.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use wardian_builtin::TYPE_NAME;
use wardian_config::{DiskFiles, Files};
use wardian_lang::{Diagnostics, SourceFile};
use wardian_monitor::{AuditLog, Call, Capability, Monitor, PluginIdentity};
use wardian_plugin::FileGate;
use wardian_plugin::address::ProviderAddress;
use wardian_policy::{Access, FileAccess, Level, POLICY_FILE_NAME, Policy, PolicyFile, Request};

use crate::failure::{Failure, Outcome};

/// Whose the configuration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The user's own: it may name whatever the user can read.
    Own,
    /// A stranger's.
    Stranger,
}

/// The name under which the host's own reading is recorded.
const CONFIGURATION: &str = "configuration";

const GRANTED: &str = r#"otherwise = "defer"

plugin "terraform.io/builtin/configuration" {
  allow filesystem {
    directories = ["."]
  }
}
"#;

/// What is beside a configuration and is no part of it.
const HIDDEN: [&str; 7] = [
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "terraform.tfstate.journal",
    "terraform.tfstate.d",
    "errored.tfstate",
    ".terraform",
    ".git",
];

/// Files that commands read without being told to, and complain about with the line.
const READ_UNASKED: [&str; 3] = [POLICY_FILE_NAME, ".terraform.lock.hcl", ".wardian.lock.hcl"];

/// Keeps the host's reading within a directory. Clones are the same.
#[derive(Clone)]
pub(crate) struct Confinement {
    directory: PathBuf,
    configuration: Monitor,
    states: Monitor,
}

impl Confinement {
    /// For the configuration in a directory, with states in these places.
    ///
    /// # Errors
    /// Where there is no such directory.
    pub(crate) fn new(directory: &Path, states: &[PathBuf], audit_log: &Arc<AuditLog>) -> Outcome<Self> {
        let failed = |error: io::Error| {
            let detail = format!("The directory {} cannot be found: {error}.", directory.display());
            Failure::error("No working directory", detail)
        };
        let directory = directory.canonicalize().map_err(failed)?;
        let source = SourceFile::new("-untrusted", GRANTED);
        let file = PolicyFile::parse(Level::Host, &source, &directory)?;
        let monitor = |policy: Policy, name| {
            let address = ProviderAddress::built_in(name);
            let identity = PluginIdentity { address: address.clone(), version: None, sha256: None };
            Monitor::new(policy.of(&address), identity, Arc::clone(audit_log))
        };
        let mut readable = Policy::new(&directory, [file], []);
        readable.distrust(hidden(&directory, states));
        let mut nothing = Policy::new(&directory, [], []);
        nothing.distrust([PathBuf::from("/")]);
        Ok(Self {
            configuration: monitor(readable, CONFIGURATION),
            states: monitor(nothing, TYPE_NAME),
            directory,
        })
    }

    /// That no file that is read unasked is a link to somewhere else.
    ///
    /// # Errors
    /// Where one is.
    pub(crate) fn check_files_read_unasked(&self) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_read =
                READ_UNASKED.contains(&&*name) || name.ends_with(".tfvars") || name.ends_with(".tfvars.json");
            if is_read && let Err(reason) = self.check(&self.configuration, "read-file", &entry.path()) {
                problems.error("File not permitted", format!("{name} leads elsewhere: {reason}."));
            }
        }
        problems.into_result(())
    }

    /// That a place for the state that the configuration names is in its directory.
    ///
    /// # Errors
    /// Where it is not.
    pub(crate) fn check_state_path(&self, path: &Path) -> Outcome<()> {
        let led = led_to(&self.directory.join(path));
        if led.as_ref().is_ok_and(|led| led.starts_with(&self.directory)) {
            return Ok(());
        }
        let detail = format!(
            "The configuration keeps its state in {}, outside of its directory, where -untrusted lets it read \
             nothing. If that is the right place, name it with -state.",
            path.display()
        );
        Err(Failure::error("State file not permitted", detail))
    }

    /// What functions of the language may read.
    pub(crate) fn of_functions(&self) -> FileGate {
        let this = self.clone();
        FileGate::new(move |path| this.check(&this.configuration, "function", path))
    }

    /// What data sources of the host's own may read: states of others hold secrets.
    pub(crate) fn of_states(&self) -> FileGate {
        let this = self.clone();
        FileGate::new(move |path| this.check(&this.states, "read-data-source", path))
    }

    fn check(&self, monitor: &Monitor, function: &'static str, path: &Path) -> Result<(), String> {
        let call = Call::new(&Arc::from("the configuration"), function, None);
        let refuse = |reason: &dyn std::fmt::Display| {
            monitor.refuse(&call, Capability::Filesystem, path.to_string_lossy().into_owned(), reason).reason
        };
        let led = led_to(&self.directory.join(path)).map_err(|error| refuse(&error))?;
        let file = FileAccess::new(&self.directory, &led, Access::Read).map_err(|error| refuse(&error))?;
        monitor.begin(&call, Request::File(file)).map(drop).map_err(|denied| denied.reason)
    }
}

impl Files for Confinement {
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.check(&self.configuration, "load-module", directory).map_err(not_permitted)?;
        DiskFiles.list(directory)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.check(&self.configuration, "load-module", path).map_err(not_permitted)?;
        DiskFiles.read(path)
    }
}

fn not_permitted(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

/// Paths that plugins of a stranger's configuration do not read either.
pub(crate) fn hidden(directory: &Path, states: &[PathBuf]) -> Vec<PathBuf> {
    let own = HIDDEN.iter().map(|name| directory.join(name));
    let others = states.iter().flat_map(|state| {
        let state = directory.join(state);
        let beside = |suffix| {
            let mut path = state.clone().into_os_string();
            path.push(suffix);
            PathBuf::from(path)
        };
        [beside(".backup"), beside(".journal"), state]
    });
    own.chain(others).collect()
}

/// Where a path leads, links followed. Of one that is not there, the part that is.
fn led_to(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(mut led) => {
                led.extend(missing.iter().rev());
                return Ok(led);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Behind what is not there, `..` leads nowhere that is known.
                match (existing.components().next_back(), existing.parent()) {
                    (Some(Component::Normal(name)), Some(parent)) => {
                        missing.push(name);
                        existing = parent;
                    }
                    _ => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        root: tempfile::TempDir,
        log: Arc<AuditLog>,
        confinement: Confinement,
    }

    fn place() -> Place {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("project");
        fs::create_dir_all(directory.join("module")).unwrap();
        for name in ["project/main.tf", "project/module/a.txt", "project/terraform.tfstate", "secret"] {
            fs::write(root.path().join(name), "text").unwrap();
        }
        let log = Arc::new(AuditLog::nowhere());
        let states = [PathBuf::from("states/own.tfstate")];
        let confinement = Confinement::new(&directory, &states, &log).unwrap();
        Place { root, log, confinement }
    }

    #[test]
    fn functions_read_what_is_in_the_directory() {
        let place = place();
        let gate = place.confinement.of_functions();
        let directory = place.root.path().join("project");
        for name in [".", "main.tf", "module/a.txt", "module/../main.tf", "module/absent.txt", "absent/x"] {
            assert_eq!(gate.check(&directory.join(name)), Ok(()), "{name}");
        }
        assert_eq!(place.log.denials(), []);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_else_is_read_however_it_is_named() {
        let place = place();
        let directory = place.root.path().join("project");
        std::os::unix::fs::symlink(place.root.path().join("secret"), directory.join("link")).unwrap();
        std::os::unix::fs::symlink("terraform.tfstate", directory.join("harmless")).unwrap();
        std::os::unix::fs::symlink(place.root.path(), directory.join("up")).unwrap();
        let gate = place.confinement.of_functions();
        let denied = [
            "../secret",
            "/etc/passwd",
            "/proc/self/environ",
            "link",
            "up/secret",
            "up/absent",
            "absent/../../secret",
            "harmless",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "terraform.tfstate.d/other/terraform.tfstate",
            "states/own.tfstate",
            "states/own.tfstate.backup",
            ".git/config",
            ".terraform/terraform.tfstate",
        ];
        for name in denied {
            assert!(gate.check(&directory.join(name)).is_err(), "{name}");
            assert!(place.confinement.read(&directory.join(name)).is_err(), "{name}");
        }
        assert!(place.confinement.of_states().check(&directory.join("other.tfstate")).is_err());
        let recorded: u64 = place.log.denials().iter().map(|denied| denied.count).sum();
        assert_eq!(recorded, 2 * denied.len() as u64 + 1, "each is in the log");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_read_unasked_is_no_link_to_elsewhere() {
        for name in ["x.auto.tfvars", "terraform.tfvars.json", ".terraform.lock.hcl", "wardian.policy.hcl"] {
            let place = place();
            let directory = place.root.path().join("project");
            std::os::unix::fs::symlink("main.tf", directory.join("a.tfvars")).unwrap();
            assert!(place.confinement.check_files_read_unasked().is_ok());
            std::os::unix::fs::symlink("/proc/self/environ", directory.join(name)).unwrap();
            assert!(place.confinement.check_files_read_unasked().is_err(), "{name}");
        }
    }
}
