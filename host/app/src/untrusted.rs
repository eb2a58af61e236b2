//! `-untrusted`: a configuration from an untrusted source, such as a pull request.
//!
//! `wardian-policy` limits the plugins of such a configuration. This module limits the files that
//! the host itself reads for such a configuration: its files and modules, the files that functions
//! read, and other states. All of these files must be in the configuration's directory, and must
//! not be states. The monitor authorizes each access, and records it in the audit log as an access
//! of `terraform.io/builtin/configuration`.
//!
//! Symbolic links are resolved before the access to a path is authorized, and the file that is
//! opened is the file that was authorized. Its content is checked as well: states and plans are
//! never read, regardless of their names.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_access::{AccessRequest, FileAccess, FileOperation};
use wardian_address::ProviderAddress;
use wardian_builtin::TYPE_NAME;
use wardian_config::{Files, GatedFiles, lexically_normalize};
use wardian_diagnostic::{Diagnostics, SourceFile};
use wardian_files::FileScope;
use wardian_monitor::{AuditLog, Capability, Monitor, PluginIdentity};
use wardian_plugin::{CallContext, FileGate, PluginCall};
use wardian_policy::{Level, POLICY_FILE_NAME, Policy, PolicyFile, recognize_content};
use wardian_state::Sidecars;

use crate::error::AppError;
use crate::paths::resolve_symlinks;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationTrust {
    /// The user's own configuration. It can refer to any file that the user can read.
    Trusted,
    /// A configuration from an untrusted source.
    Untrusted,
}

/// The provider name under which the host's own accesses are recorded.
const CONFIGURATION: &str = "configuration";

const POLICY: &str = r#"otherwise = "defer"

plugin "terraform.io/builtin/configuration" {
  allow filesystem {
    directories = ["."]
  }
}
"#;

/// Directories that are not part of a configuration, in addition to [`HOST_FILES`].
const OTHER_DIRECTORIES: [&str; 2] = [".terraform", ".git"];

/// Files that commands read implicitly, without an option. Error messages can quote their content.
const IMPLICIT_FILES: [&str; 3] = [POLICY_FILE_NAME, ".terraform.lock.hcl", ".wardian.lock.hcl"];

/// Files that commands read and write implicitly. They must not be symbolic links to paths outside
/// of the configuration's directory, or be in a directory that is such a link. `.git` is not one of
/// these files.
const HOST_FILES: [&str; 3] = [DEFAULT_STATE, "terraform.tfstate.d", "errored.tfstate"];

/// The state file of the default workspace.
const DEFAULT_STATE: &str = "terraform.tfstate";

/// Like [`HOST_FILES`], for files in the data directory. The data directory is `.terraform` unless
/// the user chooses another.
const HOST_DATA_FILES: [&str; 5] =
    ["environment", "terraform.tfstate", "modules/modules.json", "providers", "plugins"];

/// Confines the host's accesses to a directory. Clones are equivalent.
#[derive(Clone)]
pub struct HostConfinement {
    directory: PathBuf,
    data_directory: PathBuf,
    scope: FileScope,
    configuration: Monitor,
    /// Authorizes the files of installed modules, which are in the data directory.
    installed_modules: Monitor,
    states: Monitor,
}

impl HostConfinement {
    /// Returns the confinement of the configuration in a directory, with its data directory and
    /// states.
    ///
    /// # Errors
    /// Returns an error if the directory does not exist.
    pub fn new(
        directory: &Path,
        data_directory: &Path,
        states: &[PathBuf],
        audit_log: &Arc<AuditLog>,
    ) -> Result<Self, AppError> {
        let failed = |error: io::Error| {
            let detail = format!("The directory {} cannot be found: {error}.", directory.display());
            AppError::new("No working directory", detail)
        };
        let scope = FileScope::confined(directory).map_err(failed)?;
        let directory = scope.directory().to_owned();
        let source = SourceFile::new("-untrusted", POLICY);
        let file = PolicyFile::parse(Level::Host, &source, &directory)?;
        let monitor = |policy: Policy, name| {
            let address = ProviderAddress::built_in(name);
            let identity =
                PluginIdentity { address: address.clone(), version: None, sha256: None, confinement: None };
            Monitor::new(policy.for_plugin(&address), identity, Arc::clone(audit_log))
        };
        let mut modules = Policy::new(&directory, [file.clone()], []);
        let installed = lexically_normalize(&directory.join(data_directory).join("modules"));
        modules.distrust_except(hidden_files(&directory, states), installed);
        let mut readable = Policy::new(&directory, [file], []);
        readable.distrust(hidden_paths(&directory, data_directory, states));
        let mut nothing = Policy::new(&directory, [], []);
        nothing.distrust([PathBuf::from("/")]);
        Ok(Self {
            configuration: monitor(readable, CONFIGURATION),
            installed_modules: monitor(modules, CONFIGURATION),
            states: monitor(nothing, TYPE_NAME),
            data_directory: data_directory.to_owned(),
            scope,
            directory,
        })
    }

    /// Checks that no file that the host reads or writes implicitly is a symbolic link that points
    /// outside of the configuration's directory. The check precedes the first read, because error
    /// messages can quote the files.
    ///
    /// # Errors
    /// Returns an error if a file is such a link.
    pub fn check_implicit_files(&self) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_read = IMPLICIT_FILES.contains(&&*name)
                || name.ends_with(".tfvars")
                || name.ends_with(".tfvars.json");
            if is_read
                && let Err(reason) =
                    self.check(&CallContext::default(), &self.configuration, "read-file", &entry.path())
            {
                problems.error("File not permitted", format!("{name} cannot be used: {reason}."));
            }
        }
        let data = HOST_DATA_FILES.map(|name| self.data_directory.join(name));
        for name in host_files().into_iter().chain(data) {
            let path = lexically_normalize(&self.directory.join(&name));
            // A data directory that the user chose outside of the configuration's directory is
            // trusted.
            if self.passes_through(&path)
                && let Err(reason) = self.check_host_file(&path)
            {
                problems.error("File not permitted", format!("{} cannot be used: {reason}.", name.display()));
            }
        }
        problems.into_result(())
    }

    /// Returns whether a path contains the configuration's directory, under any of the directory's names.
    fn passes_through(&self, path: &Path) -> bool {
        path.ancestors().any(|above| above.canonicalize().is_ok_and(|above| above == self.directory))
    }

    /// Checks that an implicit file is in the configuration's directory.
    fn check_host_file(&self, path: &Path) -> Result<(), String> {
        match resolve_symlinks(path) {
            Ok(led) if led.starts_with(&self.directory) => Ok(()),
            Ok(led) => Err(self.refuse(&led, &"it is outside the configuration's directory")),
            Err(reason) => Err(self.refuse(path, &reason)),
        }
    }

    fn refuse(&self, path: &Path, reason: &dyn std::fmt::Display) -> String {
        let call =
            PluginCall::new(&Arc::from("the configuration"), "read-file", None, &CallContext::default());
        let target = path.to_string_lossy().into_owned();
        self.configuration.reject(&call, Capability::Filesystem, target, reason).reason
    }

    /// Checks that a state file to which the configuration refers, and its sidecar files, are in
    /// the configuration's directory.
    ///
    /// # Errors
    /// Returns an error if a file is not in the directory.
    pub fn check_state_path(&self, path: &Path) -> Result<(), AppError> {
        let state = self.directory.join(path);
        let sidecars = Sidecars::for_state(&state).into_paths();
        let all_within = [state].iter().chain(&sidecars).try_for_each(|path| self.check_host_file(path));
        let Err(reason) = all_within else { return Ok(()) };
        let detail = format!(
            "The configuration stores its state in {}, outside its directory, which -untrusted does not \
             allow: {reason}. If that location is correct, specify it with -state.",
            path.display()
        );
        Err(AppError::new("State file not permitted", detail))
    }

    /// Returns the files that functions of the language may read.
    pub fn function_files(&self) -> GatedFiles {
        self.files_for("function")
    }

    fn files_for(&self, function: &'static str) -> GatedFiles {
        GatedFiles::new(self.scope.clone(), self.gate_for(function))
    }

    /// Returns the files of modules. Installed modules are in the data directory, which is otherwise
    /// hidden.
    fn module_files(&self) -> GatedFiles {
        const FUNCTION: &str = "load-module";
        let this = self.clone();
        let modules = lexically_normalize(&self.directory.join(&self.data_directory).join("modules"));
        let gate = FileGate::new(move |context, path| {
            let path = lexically_normalize(&this.directory.join(path));
            let monitor =
                if path.starts_with(&modules) { &this.installed_modules } else { &this.configuration };
            this.check(context, monitor, FUNCTION, &path)
        });
        GatedFiles::new(self.scope.clone(), self.with_content_check(gate, FUNCTION))
    }

    fn gate_for(&self, function: &'static str) -> FileGate {
        let this = self.clone();
        let gate =
            FileGate::new(move |context, path| this.check(context, &this.configuration, function, path));
        self.with_content_check(gate, function)
    }

    fn with_content_check(&self, gate: FileGate, function: &'static str) -> FileGate {
        let this = self.clone();
        gate.with_content(move |context, path, content| {
            let Some(class) = recognize_content(content) else { return Ok(()) };
            let call = PluginCall::new(&Arc::from("the configuration"), function, None, context);
            let target = path.to_string_lossy().into_owned();
            let reason = format!(
                "-untrusted denies it, because its content identifies it as a file of the class {}",
                class.word()
            );
            Err(this.configuration.reject(&call, Capability::Filesystem, target, &reason).reason)
        })
    }

    /// Returns the gate for the files that the host's own data sources read. It is necessary
    /// because other states contain sensitive values.
    pub fn state_gate(&self) -> FileGate {
        let this = self.clone();
        FileGate::new(move |context, path| this.check(context, &this.states, "read-data-source", path))
    }

    fn check(
        &self,
        context: &CallContext,
        monitor: &Monitor,
        function: &'static str,
        path: &Path,
    ) -> Result<(), String> {
        let call = PluginCall::new(&Arc::from("the configuration"), function, None, context);
        let refuse = |reason: &dyn std::fmt::Display| {
            monitor.reject(&call, Capability::Filesystem, path.to_string_lossy().into_owned(), reason).reason
        };
        let led = resolve_symlinks(&self.directory.join(path)).map_err(|error| refuse(&error))?;
        let file =
            FileAccess::new(&self.directory, &led, FileOperation::Read).map_err(|error| refuse(&error))?;
        monitor.begin(&call, AccessRequest::File(file)).map(drop).map_err(|denied| denied.reason)
    }
}

impl Files for HostConfinement {
    fn list(&self, directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
        self.module_files().list(directory)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.module_files().read(path)
    }
}

/// Checks that the files that commands read or write implicitly are inside the untrusted
/// configuration's directory, which is the process's working directory.
///
/// # Errors
/// Returns an error if a file is outside of the directory.
pub fn check_directory(
    trust: ConfigurationTrust,
    data_directory: &Path,
    audit_log: &Arc<AuditLog>,
) -> Result<(), AppError> {
    if trust == ConfigurationTrust::Untrusted {
        HostConfinement::new(Path::new("."), data_directory, &[], audit_log)?.check_implicit_files()?;
    }
    Ok(())
}

/// Checks that a file named by the user is not written through a symbolic link that an untrusted
/// configuration has created in the process's working directory.
///
/// # Errors
/// Returns an error if the file would be written through such a link.
pub fn check_written(path: &Path) -> Result<(), AppError> {
    let led = || {
        let directory = std::env::current_dir()?;
        let path = lexically_normalize(&std::path::absolute(path)?);
        let leads_out = path.starts_with(&directory)
            && !resolve_symlinks(&path)?.starts_with(resolve_symlinks(&directory)?);
        Ok(leads_out)
    };
    let problem = match led() {
        Ok(false) => return Ok(()),
        Ok(true) => "a link in the configuration's directory points outside".to_owned(),
        Err(error) => io::Error::to_string(&error),
    };
    let detail = format!(
        "{} is not written: {problem}. Under -untrusted, choose a path outside the configuration's \
         directory.",
        path.display()
    );
    Err(AppError::new("File not permitted", detail))
}

/// Returns additional paths that plugins of an untrusted configuration cannot read.
pub fn hidden_paths(directory: &Path, data_directory: &Path, states: &[PathBuf]) -> Vec<PathBuf> {
    let directories = OTHER_DIRECTORIES.map(PathBuf::from).into_iter().chain([data_directory.to_owned()]);
    let directories = directories.map(|name| directory.join(name));
    directories.chain(hidden_files(directory, states)).collect()
}

/// Returns the paths of states and of their sidecar files.
fn hidden_files(directory: &Path, states: &[PathBuf]) -> Vec<PathBuf> {
    let own = host_files().into_iter().map(|name| directory.join(name));
    let state_gate = states.iter().flat_map(|state| {
        let state = directory.join(state);
        Sidecars::for_state(&state).into_paths().into_iter().chain([state])
    });
    own.chain(state_gate).collect()
}

/// Returns the implicit files in a configuration's directory: [`HOST_FILES`] and the sidecar files
/// of the default state.
fn host_files() -> Vec<PathBuf> {
    let sidecars = Sidecars::for_state(Path::new(DEFAULT_STATE)).into_paths();
    HOST_FILES.into_iter().map(PathBuf::from).chain(sidecars).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        root: tempfile::TempDir,
        log: Arc<AuditLog>,
        confinement: HostConfinement,
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
        let log = Arc::new(AuditLog::disabled());
        let states = [PathBuf::from("states/own.tfstate")];
        let confinement = HostConfinement::new(&directory, Path::new(data_directory), &states, &log).unwrap();
        Place { root, log, confinement }
    }

    #[test]
    fn functions_can_read_files_in_configuration_directory() {
        let place = place();
        let gate = place.confinement.gate_for("function");
        let directory = place.root.path().join("project");
        for name in [".", "main.tf", "module/a.txt", "module/../main.tf", "module/absent.txt", "absent/x"] {
            assert_eq!(gate.check(&CallContext::default(), &directory.join(name)), Ok(()), "{name}");
        }
        assert_eq!(place.log.denials(), []);
    }

    #[cfg(unix)]
    #[test]
    fn confinement_denies_other_files_under_any_name() {
        let place = place();
        let directory = place.root.path().join("project");
        std::os::unix::fs::symlink(place.root.path().join("secret"), directory.join("link")).unwrap();
        std::os::unix::fs::symlink("terraform.tfstate", directory.join("harmless")).unwrap();
        std::os::unix::fs::symlink(place.root.path(), directory.join("up")).unwrap();
        let gate = place.confinement.gate_for("function");
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
            assert!(gate.check(&CallContext::default(), &directory.join(name)).is_err(), "{name}");
            assert!(place.confinement.read(&directory.join(name)).is_err(), "{name}");
        }
        assert!(
            place
                .confinement
                .state_gate()
                .check(&CallContext::default(), &directory.join("other.tfstate"))
                .is_err()
        );
        let recorded: u64 = place.log.denials().iter().map(|denied| denied.count).sum();
        assert_eq!(recorded, 2 * denied.len() as u64 + 1, "each is in the log");
    }

    /// A link must not reveal whether its target exists.
    #[cfg(unix)]
    #[test]
    fn denial_does_not_reveal_existence() {
        let place = place();
        let directory = place.root.path().join("project");
        let gate = place.confinement.gate_for("function");
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
            assert!(gate.check(&CallContext::default(), &directory.join(name)).is_err(), "{name}");
            assert!(
                gate.check(&CallContext::default(), &directory.join(name).join("below")).is_err(),
                "{name}/below"
            );
        }
        let denial = |name: &str| {
            gate.check(&CallContext::default(), &directory.join(name))
                .unwrap_err()
                .replace("absent", "secret")
        };
        assert_eq!(denial("there"), denial("absent"));
        assert_eq!(denial("../secret/x"), denial("../absent/x"));
        std::os::unix::fs::symlink("module/new", directory.join("inside")).unwrap();
        assert_eq!(gate.check(&CallContext::default(), &directory.join("inside")), Ok(()));
    }

    #[cfg(unix)]
    #[test]
    fn implicit_files_must_not_be_links_to_files_outside() {
        for name in ["x.auto.tfvars", "terraform.tfvars.json", ".terraform.lock.hcl", "wardian.policy.hcl"] {
            let place = place();
            let directory = place.root.path().join("project");
            std::os::unix::fs::symlink("main.tf", directory.join("a.tfvars")).unwrap();
            assert!(place.confinement.check_implicit_files().is_ok());
            std::os::unix::fs::symlink("/proc/self/environ", directory.join(name)).unwrap();
            assert!(place.confinement.check_implicit_files().is_err(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn data_and_sidecar_files_must_not_be_links_to_files_outside() {
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
            assert!(place.confinement.check_implicit_files().is_ok(), "{}", link.display());
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert!(place.confinement.check_implicit_files().is_err(), "{}", link.display());
            assert!(!place.log.denials().is_empty(), "{}", link.display());
        }
    }

    /// A data directory that the user has chosen can be anywhere, and can be a symbolic link.
    #[cfg(unix)]
    #[test]
    fn data_directory_outside_the_configuration_is_trusted() {
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
            let log = Arc::new(AuditLog::disabled());
            let confinement = HostConfinement::new(&directory, &data, &[], &log).unwrap();
            assert_eq!(confinement.check_implicit_files().is_ok(), is_fine, "{}", data.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn state_must_be_in_configuration_directory() {
        let place = place();
        let directory = place.root.path().join("project");
        assert!(place.confinement.check_state_path(Path::new("states/x.tfstate")).is_ok());
        for outside in ["../x.tfstate", "/srv/x.tfstate"] {
            assert!(place.confinement.check_state_path(Path::new(outside)).is_err(), "{outside}");
        }
        std::os::unix::fs::symlink("../secret", directory.join(".x.tfstate.journal")).unwrap();
        assert!(place.confinement.check_state_path(Path::new("x.tfstate")).is_err());
    }

    #[test]
    fn installed_modules_can_be_read_and_other_data_cannot() {
        let place = place();
        let data = place.root.path().join("project/.terraform");
        for name in ["modules/net/main.tf", "modules/net/terraform.tfstate", "providers/notes"] {
            fs::create_dir_all(data.join(name).parent().unwrap()).unwrap();
            fs::write(data.join(name), "# text\n").unwrap();
        }
        let log = Arc::new(AuditLog::disabled());
        let directory = place.root.path().join("project");
        let confinement = HostConfinement::new(&directory, Path::new(".terraform"), &[], &log).unwrap();
        assert!(confinement.list(Path::new(".terraform/modules/net")).is_ok());
        assert!(confinement.read(Path::new(".terraform/modules/net/main.tf")).is_ok());
        assert!(confinement.read(Path::new(".terraform/providers/notes")).is_err());
        let gate = confinement.gate_for("function");
        let module = directory.join(".terraform/modules/net/main.tf");
        assert!(gate.check(&CallContext::default(), &module).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn dotted_state_sidecars_are_confined() {
        let place = place();
        let directory = place.root.path().join("project");
        let states = [PathBuf::from(".x.tfstate")];
        let log = Arc::new(AuditLog::disabled());
        let confinement = HostConfinement::new(&directory, Path::new(".terraform"), &states, &log).unwrap();
        let gate = confinement.gate_for("function");
        for name in [".x.tfstate", ".x.tfstate.backup", ".x.tfstate.journal", ".x.tfstate.lock.info"] {
            assert!(gate.check(&CallContext::default(), &directory.join(name)).is_err(), "{name}");
        }
        assert!(confinement.check_state_path(&states[0]).is_ok());
        std::os::unix::fs::symlink("../secret", directory.join(".x.tfstate.journal")).unwrap();
        assert!(confinement.check_state_path(&states[0]).is_err());
    }
}
