//! The locations of protected files that file names do not identify: the data directory, states and
//! plans named by options, the host's keys, caches and settings, and the plugin directories.
//!
//! Each location is protected under its own path and under the path to which it resolves, whether
//! or not it exists.

use std::path::{Path, PathBuf};

use wardian_access::ProtectedClass;
use wardian_config::lexically_normalize;
use wardian_install::cli_config::CliConfig;
use wardian_install::sources::InstallationMethodKind;
use wardian_policy::Policy;

use crate::environment::ProcessEnvironment;
use crate::paths::resolve_symlinks;

/// A file named by one of the command's options. The path is relative to the configuration's
/// directory.
pub type NamedFile = (ProtectedClass, PathBuf);

/// The values that determine the locations.
pub(crate) struct Locations<'a> {
    /// The configuration's directory, absolute.
    pub(crate) directory: &'a Path,
    pub(crate) environment: &'a ProcessEnvironment,
    pub(crate) cli_config: &'a CliConfig,
    /// The state of the default workspace, and the directory of the other workspaces' states.
    pub(crate) states: &'a [PathBuf],
    pub(crate) named_files: &'a [NamedFile],
}

impl Locations<'_> {
    /// Protects all locations from plugins.
    pub(crate) fn protect(&self, policy: &mut Policy) {
        for (class, path) in self.all() {
            let path = lexically_normalize(&self.directory.join(path));
            let led = resolve_symlinks(&path).ok().filter(|led| *led != path);
            for path in std::iter::once(path).chain(led) {
                // A directory that contains the root module is not protected as a whole: file names
                // identify the protected files in it.
                if !self.directory.starts_with(&path) {
                    policy.protect(class, &path);
                }
            }
        }
    }

    fn all(&self) -> Vec<NamedFile> {
        use ProtectedClass as Class;
        let environment = self.environment;
        let mut all = vec![(Class::Data, environment.data_directory())];
        all.extend(self.states.iter().map(|path| (Class::States, path.clone())));
        all.extend(self.named_files.iter().cloned());
        all.extend(environment.private_directory().map(|path| (Class::Keys, path)));
        all.extend(environment.cache_directory().map(|path| (Class::Caches, path)));
        all.extend(environment.cli_config_file().map(|path| (Class::CliConfiguration, path)));
        let trust_root = self.cli_config.sigstore_trust_root.clone();
        all.extend(trust_root.map(|path| (Class::CliConfiguration, path)));
        if let Some(home) = environment.home() {
            all.extend([
                (Class::CliConfiguration, home.join(".terraformrc")),
                (Class::Credentials, home.join(".terraform.d/credentials.tfrc.json")),
                (Class::Plugins, home.join(".terraform.d")),
                (Class::Credentials, home.join(".netrc")),
                (Class::Credentials, home.join(".docker/config.json")),
                (Class::Credentials, home.join(".dockercfg")),
                (Class::Credentials, home.join(".config/containers/auth.json")),
                (Class::VersionControl, home.join(".gitconfig")),
                (Class::VersionControl, home.join(".config/git")),
            ]);
        }
        all.extend(environment.netrc().map(|path| (Class::Credentials, path)));
        all.extend(self.plugin_directories().map(|path| (Class::Plugins, path)));
        all
    }

    fn plugin_directories(&self) -> impl Iterator<Item = PathBuf> {
        let config = self.cli_config;
        let installation = config.provider_installation.iter();
        let overrides =
            installation.clone().flat_map(|installation| installation.overrides.values().cloned());
        let mirrors = installation.flat_map(|installation| &installation.methods);
        let mirrors = mirrors.filter_map(|method| match &method.kind {
            InstallationMethodKind::Filesystem(mirror) => Some(mirror.root().to_owned()),
            _ => None,
        });
        let implied = self.environment.plugin_directories().into_iter();
        let program = std::env::current_exe().ok();
        let caches = config.plugin_cache_dir.clone().into_iter().chain(self.environment.plugin_cache());
        implied.chain(caches).chain(overrides).chain(mirrors).chain(program)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use wardian_access::{AccessRequest, FileAccess, FileOperation};
    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;
    use wardian_policy::{Level, PolicyFile};

    use super::*;

    const EVERYTHING: &str = "plugin \"*\" {\n  allow filesystem {\n    directories = [\"/\"]\n    access = \
                              [\"read\", \"write\"]\n  }\n}\n";

    #[test]
    fn locations_are_protected_under_each_path() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let directory = root.join("project");
        fs::create_dir_all(&directory).unwrap();
        fs::create_dir_all(root.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", directory.join("link")).unwrap();
        let environment: ProcessEnvironment = [
            ("HOME", root.join("home").display().to_string()),
            ("TF_DATA_DIR", ".tfdata".to_owned()),
            ("TF_CLI_CONFIG_FILE", root.join("cli.hcl").display().to_string()),
            ("TF_PLUGIN_CACHE_DIR", root.join("other-cache").display().to_string()),
            ("NETRC", root.join("netrc").display().to_string()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let cli_config =
            CliConfig { plugin_cache_dir: Some(root.join("plugin-cache")), ..CliConfig::default() };
        let file = PolicyFile::parse(Level::User, &SourceFile::new("p.hcl", EVERYTHING), &directory).unwrap();
        let mut policy = Policy::new(&directory, [file], []);
        Locations {
            directory: &directory,
            environment: &environment,
            cli_config: &cli_config,
            states: &["link/prod.json".into(), ".".into()],
            named_files: &[(ProtectedClass::Plans, "out/release".into())],
        }
        .protect(&mut policy);
        let plugin = ProviderAddress::parse("acme/files").unwrap();
        let is_allowed = |path: &Path, operation| {
            let request = AccessRequest::File(FileAccess::from_normalized(path.to_owned(), operation));
            policy.decide(&plugin, &request).is_allowed()
        };
        for (name, is_readable) in [
            ("project/.tfdata/environment", true),
            ("project/link/prod.json", false),
            ("elsewhere/prod.json", false),
            ("elsewhere/prod.json.1700000000.backup", false),
            ("elsewhere/.prod.json.journal", false),
            ("project/out/release", false),
            ("home/.local/share/wardian/code.key", false),
            ("home/.cache/wardian/code/x", false),
            ("home/.terraform.d/plugins/x", true),
            ("home/.local/share/terraform/plugins/x", true),
            ("home/.config/git/config", true),
            ("cli.hcl", true),
            ("plugin-cache/x", true),
            ("other-cache/x", true),
            ("netrc", false),
            ("home/.docker/config.json", false),
        ] {
            let path = root.join(name);
            assert!(!is_allowed(&path, FileOperation::Write), "{name}");
            assert_eq!(is_allowed(&path, FileOperation::Read), is_readable, "{name}");
        }
        let program = std::env::current_exe().unwrap();
        assert!(!is_allowed(&program, FileOperation::Write));
        for name in ["project/a", "project/out/other", "elsewhere/other", "home/notes"] {
            assert!(is_allowed(&root.join(name), FileOperation::Write), "{name}");
        }
    }
}
