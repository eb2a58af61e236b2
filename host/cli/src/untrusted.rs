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

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_builtin::TYPE_NAME;
use wardian_config::{DiskFiles, Files};
use wardian_diagnostic::{Diagnostics, SourceFile};
use wardian_monitor::{AuditLog, Call, Capability, Monitor, PluginIdentity};
use wardian_plugin::FileGate;
use wardian_policy::{Access, FileAccess, Level, POLICY_FILE_NAME, Policy, PolicyFile, Request};
use wardian_state::Sidecars;

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

/// What is beside a configuration and is no part of it, besides what is [`OWN`].
const HIDDEN: [&str; 2] = [".terraform", ".git"];

/// Links on one way.
const MOST_LINKS: usize = 40;

/// Files that commands read without being told to, and complain about with the line.
const READ_UNASKED: [&str; 3] = [POLICY_FILE_NAME, ".terraform.lock.hcl", ".wardian.lock.hcl"];

/// What commands read and write of their own: none of it may be a link to elsewhere, or in
/// a directory that is one. `.git` is not among it.
const OWN: [&str; 3] = [DEFAULT_STATE, "terraform.tfstate.d", "errored.tfstate"];

/// The state file of the default workspace.
const DEFAULT_STATE: &str = "terraform.tfstate";

/// The same in the directory of data, which is `.terraform` or what the user says.
const OWN_DATA: [&str; 5] =
    ["environment", "terraform.tfstate", "modules/modules.json", "providers", "plugins"];

/// Keeps the host's reading within a directory. Clones are the same.
#[derive(Clone)]
pub(crate) struct Confinement {
    directory: PathBuf,
    data_directory: PathBuf,
    configuration: Monitor,
    states: Monitor,
}

impl Confinement {
    /// For the configuration in a directory, with its data and states in these places.
    ///
    /// # Errors
    /// Where there is no such directory.
    pub(crate) fn new(
        directory: &Path,
        data_directory: &Path,
        states: &[PathBuf],
        audit_log: &Arc<AuditLog>,
    ) -> Outcome<Self> {
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
        readable.distrust(hidden(&directory, data_directory, states));
        let mut nothing = Policy::new(&directory, [], []);
        nothing.distrust([PathBuf::from("/")]);
        Ok(Self {
            configuration: monitor(readable, CONFIGURATION),
            states: monitor(nothing, TYPE_NAME),
            data_directory: data_directory.to_owned(),
            directory,
        })
    }

    /// That no file that is read or written unasked is a link to somewhere else. This is to
    /// be known before the first of them is read: messages quote what they complain of.
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
        let data = OWN_DATA.map(|name| self.data_directory.join(name));
        for name in host_files().into_iter().chain(data) {
            let path = without_steps_up(&self.directory.join(&name));
            // Data that the user keeps elsewhere is no stranger's.
            if self.is_above(&path)
                && let Err(reason) = self.check_own(&path)
            {
                problems
                    .error("File not permitted", format!("{} leads elsewhere: {reason}.", name.display()));
            }
        }
        problems.into_result(())
    }

    /// Whether a path goes through the configuration's directory, whatever it is called there.
    fn is_above(&self, path: &Path) -> bool {
        path.ancestors().any(|above| above.canonicalize().is_ok_and(|above| above == self.directory))
    }

    /// That what the host keeps in a place is in the configuration's directory.
    fn check_own(&self, path: &Path) -> Result<(), String> {
        match led_to(path) {
            Ok(led) if led.starts_with(&self.directory) => Ok(()),
            Ok(led) => Err(self.refuse(&led, &"it is outside of the configuration's directory")),
            Err(reason) => Err(self.refuse(path, &reason)),
        }
    }

    fn refuse(&self, path: &Path, reason: &dyn std::fmt::Display) -> String {
        let call = Call::new(&Arc::from("the configuration"), "read-file", None);
        let target = path.to_string_lossy().into_owned();
        self.configuration.refuse(&call, Capability::Filesystem, target, reason).reason
    }

    /// That a place for the state that the configuration names, and what is beside it, are
    /// in its directory.
    ///
    /// # Errors
    /// Where one is not.
    pub(crate) fn check_state_path(&self, path: &Path) -> Outcome<()> {
        let state = self.directory.join(path);
        let sidecars = Sidecars::for_state(&state).into_paths();
        let all_within = [state].iter().chain(&sidecars).try_for_each(|path| self.check_own(path));
        let Err(reason) = all_within else { return Ok(()) };
        let detail = format!(
            "The configuration keeps its state in {}, outside of its directory, where -untrusted lets it read \
             nothing: {reason}. If that is the right place, name it with -state.",
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

/// That nothing which commands read or write of their own leads out of a stranger's
/// directory, in which the process is.
///
/// # Errors
/// Where something does.
pub(crate) fn check_before_anything_is_read(
    trust: Trust,
    data_directory: &Path,
    audit_log: &Arc<AuditLog>,
) -> Outcome<()> {
    if trust == Trust::Stranger {
        Confinement::new(Path::new("."), data_directory, &[], audit_log)?.check_files_read_unasked()?;
    }
    Ok(())
}

/// That a file which the user asks for is not written through a link that a stranger has put
/// in its place in the configuration's directory, in which the process is.
///
/// # Errors
/// Where it would be.
pub(crate) fn check_written(path: &Path) -> Outcome<()> {
    let led = || {
        let directory = std::env::current_dir()?;
        let path = without_steps_up(&std::path::absolute(path)?);
        let leads_out = path.starts_with(&directory) && !led_to(&path)?.starts_with(led_to(&directory)?);
        Ok(leads_out)
    };
    let problem = match led() {
        Ok(false) => return Ok(()),
        Ok(true) => "a link of the configuration's leads out of its directory from there".to_owned(),
        Err(error) => io::Error::to_string(&error),
    };
    let detail = format!(
        "{} is not written: {problem}. Under -untrusted, name a place that is not the stranger's.",
        path.display()
    );
    Err(Failure::error("File not permitted", detail))
}

/// By its words alone, as the user has written it.
fn without_steps_up(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// Paths that plugins of a stranger's configuration do not read either.
pub(crate) fn hidden(directory: &Path, data_directory: &Path, states: &[PathBuf]) -> Vec<PathBuf> {
    let other_files = HIDDEN.map(PathBuf::from).into_iter().chain([data_directory.to_owned()]);
    let own = host_files().into_iter().chain(other_files).map(|name| directory.join(name));
    let of_states = states.iter().flat_map(|state| {
        let state = directory.join(state);
        Sidecars::for_state(&state).into_paths().into_iter().chain([state])
    });
    own.chain(of_states).collect()
}

/// Returns the files of the host in a configuration's directory: [`OWN`] and the sidecar
/// files of the default state.
fn host_files() -> Vec<PathBuf> {
    let sidecars = Sidecars::for_state(Path::new(DEFAULT_STATE)).into_paths();
    OWN.into_iter().map(PathBuf::from).chain(sidecars).collect()
}

/// Where an absolute path leads, links followed, whether anything is there or not: what is
/// answered must not tell that of a place that nothing may be read of.
fn led_to(path: &Path) -> io::Result<PathBuf> {
    let reversed = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
    let mut pending: Vec<OsString> = reversed(path);
    let mut led = PathBuf::new();
    let mut links = 0;
    while let Some(name) = pending.pop() {
        match Path::new(&name).components().next() {
            Some(Component::ParentDir) => {
                led.pop();
            }
            Some(Component::Normal(_)) => {
                led.push(&name);
                if std::fs::symlink_metadata(&led).is_ok_and(|about| about.is_symlink()) {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(io::Error::other("it leads from link to link without an end"));
                    }
                    let target = std::fs::read_link(&led)?;
                    led.pop();
                    pending.extend::<Vec<OsString>>(reversed(&target));
                }
            }
            Some(Component::Prefix(_) | Component::RootDir) => led.push(&name),
            Some(Component::CurDir) | None => {}
        }
    }
    Ok(led)
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
        place_with("kept/data")
    }

    fn place_with(data_directory: &str) -> Place {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("project");
        fs::create_dir_all(directory.join("module")).unwrap();
        for name in ["project/main.tf", "project/module/a.txt", "project/terraform.tfstate", "secret"] {
            fs::write(root.path().join(name), "text").unwrap();
        }
        let log = Arc::new(AuditLog::nowhere());
        let states = [PathBuf::from("states/own.tfstate")];
        let confinement = Confinement::new(&directory, Path::new(data_directory), &states, &log).unwrap();
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
            "states/.own.tfstate.journal",
            ".terraform.tfstate.journal",
            ".git/config",
            ".terraform/terraform.tfstate",
            "kept/data/terraform.tfstate",
        ];
        for name in denied {
            assert!(gate.check(&directory.join(name)).is_err(), "{name}");
            assert!(place.confinement.read(&directory.join(name)).is_err(), "{name}");
        }
        assert!(place.confinement.of_states().check(&directory.join("other.tfstate")).is_err());
        let recorded: u64 = place.log.denials().iter().map(|denied| denied.count).sum();
        assert_eq!(recorded, 2 * denied.len() as u64 + 1, "each is in the log");
    }

    /// A link is no way to ask what is there elsewhere.
    #[cfg(unix)]
    #[test]
    fn what_is_there_and_what_is_not_give_one_answer() {
        let place = place();
        let directory = place.root.path().join("project");
        let gate = place.confinement.of_functions();
        let links = [
            ("there", "../secret"),
            ("absent", "../absent"),
            ("file-as-directory", "../secret/x"),
            ("nowhere", "/no/such/directory/x"),
            ("chain", "absent"),
            ("loop", "loop"),
        ];
        for (link, target) in links {
            std::os::unix::fs::symlink(target, directory.join(link)).unwrap();
        }
        for (name, _) in links {
            assert!(gate.check(&directory.join(name)).is_err(), "{name}");
            assert!(gate.check(&directory.join(name).join("below")).is_err(), "{name}/below");
        }
        let told = |name: &str| gate.check(&directory.join(name)).unwrap_err().replace("absent", "secret");
        assert_eq!(told("there"), told("absent"));
        assert_eq!(told("../secret/x"), told("../absent/x"));
        std::os::unix::fs::symlink("module/new", directory.join("inside")).unwrap();
        assert_eq!(gate.check(&directory.join("inside")), Ok(()));
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

    #[cfg(unix)]
    #[test]
    fn what_the_host_keeps_is_no_link_to_elsewhere_either() {
        for (data, link, target) in [
            (".terraform", ".terraform", "../elsewhere"),
            (".terraform", ".terraform/environment", "../../secret"),
            (".terraform", ".terraform/terraform.tfstate", "../../absent"),
            (".terraform", ".terraform/modules", "/"),
            (".terraform", "terraform.tfstate.backup", "../absent"),
            (".terraform", ".terraform.tfstate.journal", "../secret"),
            ("kept/data", "kept/data", "../../elsewhere"),
            ("kept/data", "kept/data/environment", "../../../secret"),
            ("kept/data", "kept/data/terraform.tfstate", "../../../absent"),
            ("kept/data", "kept/data/modules", "/"),
        ] {
            let place = place_with(data);
            let directory = place.root.path().join("project");
            fs::create_dir(place.root.path().join("elsewhere")).unwrap();
            let link = directory.join(link);
            let made = if link.ends_with(data) { link.parent().unwrap() } else { &*directory.join(data) };
            fs::create_dir_all(made).unwrap();
            assert!(place.confinement.check_files_read_unasked().is_ok(), "{}", link.display());
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert!(place.confinement.check_files_read_unasked().is_err(), "{}", link.display());
            assert!(!place.log.denials().is_empty(), "{}", link.display());
        }
    }

    /// The user's own directory of data is where the user says, and may be a link.
    #[cfg(unix)]
    #[test]
    fn data_kept_elsewhere_is_no_strangers() {
        let place = place();
        let directory = place.root.path().join("project");
        std::os::unix::fs::symlink("/", place.root.path().join("data")).unwrap();
        let other_name = place.root.path().join("data").join(directory.strip_prefix("/").unwrap());
        std::os::unix::fs::symlink("../data", directory.join("link")).unwrap();
        for (data, is_fine) in [
            (PathBuf::from("../data"), true),
            (PathBuf::from("module/../../data"), true),
            (PathBuf::from("module/../link"), false),
            (other_name.join("kept"), true),
            (other_name.join("link"), false),
        ] {
            let log = Arc::new(AuditLog::nowhere());
            let confinement = Confinement::new(&directory, &data, &[], &log).unwrap();
            assert_eq!(confinement.check_files_read_unasked().is_ok(), is_fine, "{}", data.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_state_is_kept_within_the_directory() {
        let place = place();
        let directory = place.root.path().join("project");
        assert!(place.confinement.check_state_path(Path::new("states/x.tfstate")).is_ok());
        for outside in ["../x.tfstate", "/srv/x.tfstate"] {
            assert!(place.confinement.check_state_path(Path::new(outside)).is_err(), "{outside}");
        }
        std::os::unix::fs::symlink("../secret", directory.join(".x.tfstate.journal")).unwrap();
        assert!(place.confinement.check_state_path(Path::new("x.tfstate")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn sidecars_of_dotted_state_are_neither_read_nor_links() {
        let place = place();
        let directory = place.root.path().join("project");
        let states = [PathBuf::from(".x.tfstate")];
        let log = Arc::new(AuditLog::nowhere());
        let confinement = Confinement::new(&directory, Path::new(".terraform"), &states, &log).unwrap();
        let gate = confinement.of_functions();
        for name in [".x.tfstate", ".x.tfstate.backup", ".x.tfstate.journal", ".x.tfstate.lock.info"] {
            assert!(gate.check(&directory.join(name)).is_err(), "{name}");
        }
        assert!(confinement.check_state_path(&states[0]).is_ok());
        std::os::unix::fs::symlink("../secret", directory.join(".x.tfstate.journal")).unwrap();
        assert!(confinement.check_state_path(&states[0]).is_err());
    }
}
