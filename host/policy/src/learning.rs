//! Learning: a run in which plugins may use access that no rule grants and no rule denies.
//!
//! The accesses are recorded, and a policy is synthesized from them. Learning allows only accesses
//! that cannot change anything and that reveal no keys:
//!
//! | access | learnt |
//! |---|---|
//! | network | connections and requests to public addresses, and to the kinds of addresses that the user names; never to metadata addresses |
//! | files | reading, except protected files, directories that contain the home directory or the root module, and places in which programs keep keys |
//! | other accesses | never |
//!
//! Only the root module's policy is learnt, so an access that a policy of the user or of the
//! organisation does not grant stays denied, unless that policy defers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use wardian_access::{
    AccessRequest, AddressKind, FileAccess, FileOperation, Host, NetworkRequest, Scheme, is_within,
};
use wardian_address::ProviderAddress;

use crate::decision::Decision;
use crate::policy::{PluginPolicy, Policy};

/// The places in which programs keep keys, passwords and sessions: names of files and directories, at
/// any depth, in lower case. A place with two names is a directory in another one.
const KEY_PLACES: &[&[&str]] = &[
    &[".ssh"],
    &[".gnupg"],
    &[".pki"],
    &[".password-store"],
    &[".netrc"],
    &[".git-credentials"],
    &[".pgpass"],
    &[".my.cnf"],
    &[".npmrc"],
    &[".pypirc"],
    &[".cargo"],
    &[".gem"],
    &[".m2"],
    &[".vault-token"],
    &[".aws"],
    &[".azure"],
    &[".oci"],
    &[".kube"],
    &[".docker"],
    &[".terraform.d"],
    &[".bitcoin"],
    &[".ethereum"],
    &[".mozilla"],
    &[".thunderbird"],
    &[".config", "gcloud"],
    &[".config", "gh"],
    &[".config", "hub"],
    &[".config", "git"],
    &[".config", "doctl"],
    &[".config", "op"],
    &[".config", "rclone"],
    &[".config", "sops"],
    &[".config", "helm"],
    &[".config", "containers"],
    &[".config", "google-chrome"],
    &[".config", "chromium"],
    &[".config", "microsoft-edge"],
    &[".config", "bravesoftware"],
    &[".config", "vivaldi"],
    &[".config", "opera"],
    &[".local", "share"],
    &["snap", "firefox"],
    &["snap", "chromium"],
    &[".var", "app"],
    &["library", "keychains"],
    &["library", "cookies"],
    &["library", "safari"],
    &["library", "application support"],
];

/// The directories of the system that contain keys, or the state of other processes.
const SYSTEM_PLACES: &[&str] = &[
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/var/run",
    "/var/lib",
    "/var/spool",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/wireguard",
    "/etc/NetworkManager",
];

/// The accesses that a run may learn.
#[derive(Clone, Debug, Default)]
pub struct Learning {
    /// The kinds of addresses other than public ones.
    pub addresses: BTreeSet<AddressKind>,
    pub root_module: PathBuf,
    pub home: Option<PathBuf>,
    /// The readable files in the templates of native plugins. The kernel's rules are fixed when a native
    /// plugin starts, so it can read only these files and those that rules grant.
    pub template_files: BTreeMap<ProviderAddress, Vec<PathBuf>>,
}

impl Learning {
    /// The kinds of addresses that a user can name.
    pub const ADDRESSES: [AddressKind; 3] =
        [AddressKind::Private, AddressKind::Loopback, AddressKind::LinkLocal];

    /// Whether an access that no rule grants is allowed. `address` is the resolved address of the
    /// request's host, if known.
    pub(crate) fn allows(
        &self,
        plugin: &ProviderAddress,
        request: &AccessRequest,
        address: Option<IpAddr>,
    ) -> bool {
        match request {
            AccessRequest::Network(request) => self.allows_host(request.host(), address),
            AccessRequest::LookUp(host) => self.allows_host(host, address),
            AccessRequest::File(file) => {
                file.operation() == FileOperation::Read && self.allows_reading(plugin, file)
            }
            AccessRequest::Environment(_) | AccessRequest::Process(_) | AccessRequest::Communicator(_) => {
                false
            }
        }
    }

    fn allows_host(&self, host: &Host, address: Option<IpAddr>) -> bool {
        // A name without an address is checked again when it has been resolved.
        host.address().or(address).is_none_or(|address| {
            let kind = AddressKind::from_address(address);
            kind == AddressKind::Public || Self::ADDRESSES.contains(&kind) && self.addresses.contains(&kind)
        })
    }

    fn allows_reading(&self, plugin: &ProviderAddress, file: &FileAccess) -> bool {
        let path = file.path();
        self.template_files(plugin).iter().any(|listed| is_within(path, listed))
            || !self.is_never_learnt(path)
    }

    pub(crate) fn template_files(&self, plugin: &ProviderAddress) -> &[PathBuf] {
        self.template_files.get(plugin).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether no rule for a path is learnt. A rule for a directory grants everything in it, so
    /// directories that contain unrelated files are never learnt.
    fn is_never_learnt(&self, path: &Path) -> bool {
        let contains = |inner: &Path| inner != path && inner.starts_with(path);
        let is_wide = path.components().count() <= 2
            || contains(&self.root_module)
            || self.home.as_deref().is_some_and(|home| home == path || contains(home))
            || SYSTEM_PLACES.iter().any(|place| contains(Path::new(place)));
        is_wide
            || SYSTEM_PLACES.iter().any(|place| is_within(path, Path::new(place)))
            || is_key_place(path.strip_prefix(&self.root_module).unwrap_or(path))
    }
}

/// Whether a path is in a place in which programs keep keys.
fn is_key_place(path: &Path) -> bool {
    let names: Vec<String> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(OsStr::to_string_lossy(name).to_lowercase()),
            _ => None,
        })
        .collect();
    KEY_PLACES.iter().any(|place| names.windows(place.len()).any(|window| window == *place))
}

impl Policy {
    /// Allows accesses that no rule grants and no rule denies, if they can be learnt. Has no effect
    /// on an untrusted configuration.
    pub fn learn(&mut self, learning: Learning) {
        self.learning = Some(learning.into());
    }
}

impl PluginPolicy {
    /// Whether accesses that no rule grants may be allowed.
    pub fn is_learning(&self) -> bool {
        self.learning.is_some() && !self.is_untrusted()
    }

    pub(crate) fn may_learn(&self, request: &AccessRequest, address: Option<IpAddr>) -> bool {
        let learning = self.learning.as_ref().filter(|_| !self.is_untrusted());
        learning.is_some_and(|learning| learning.allows(self.plugin(), request, address))
    }

    /// Whether a name that no rule grants may be resolved by native code.
    pub(crate) fn may_learn_name(&self, name: &Host) -> bool {
        let name = name.to_string();
        self.is_learning()
            && [Scheme::Https, Scheme::Http, Scheme::Tcp].into_iter().any(|scheme| {
                NetworkRequest::connection(scheme, &name, scheme.port().unwrap_or(443))
                    .is_ok_and(|request| self.decide(&AccessRequest::Network(request)).is_allowed())
            })
    }

    /// Returns the directories that a component can open, in addition to each access being decided
    /// separately. While learning, these are all directories.
    pub fn component_directories(&self) -> Vec<(PathBuf, BTreeSet<FileOperation>)> {
        let mut directories = self.directories();
        if self.is_learning() {
            let all = directories.iter_mut().find(|(path, _)| path == Path::new("/"));
            match all {
                Some((_, access)) => {
                    access.insert(FileOperation::Read);
                }
                None => directories.push(("/".into(), BTreeSet::from([FileOperation::Read]))),
            }
        }
        directories
    }

    /// Whether an attempt of native code to open a file is recorded. `is_reachable` is whether the kernel
    /// allows it. Files that every program needs are granted by no policy, and are not recorded.
    pub fn records_opening(&self, request: &AccessRequest, is_reachable: bool) -> bool {
        let is_in_template = || match request {
            AccessRequest::File(file) => {
                self.learnt_template_files().iter().any(|listed| is_within(file.path(), listed))
            }
            _ => false,
        };
        match self.decide(request) {
            _ if !is_reachable => true,
            Decision::Allowed(grant) => !grant.rules.is_empty() || is_in_template(),
            Decision::Denied(_) => false,
        }
    }

    /// Returns the files that a native plugin can read only because the run learns.
    pub(crate) fn learnt_template_files(&self) -> Vec<PathBuf> {
        let learning = self.learning.as_ref().filter(|_| !self.is_untrusted());
        let listed = learning.map(|learning| learning.template_files(self.plugin())).unwrap_or_default();
        let is_allowed = |path: &&PathBuf| {
            let whole = FileAccess::from_normalized((*path).clone(), FileOperation::Read).with_descendants();
            self.decide(&AccessRequest::File(whole)).is_allowed()
        };
        listed.iter().filter(is_allowed).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use wardian_access::{EnvironmentName, ProcessStart};
    use wardian_diagnostic::SourceFile;

    use super::*;
    use crate::level::Level;
    use crate::policy::PolicyFile;
    use crate::settings::NativePlugins;

    const ROOT: &str = "/srv/project";

    fn learning() -> Learning {
        let aws = ProviderAddress::parse("hashicorp/aws").unwrap();
        Learning {
            root_module: ROOT.into(),
            home: Some("/home/me".into()),
            template_files: BTreeMap::from([(aws, vec!["/home/me/.aws/config".into()])]),
            ..Learning::default()
        }
    }

    fn policy_for(plugin: &str, learning: Learning, files: &[(Level, &str)]) -> PluginPolicy {
        let root = Path::new(ROOT);
        let files = files
            .iter()
            .map(|(level, text)| PolicyFile::parse(*level, &SourceFile::new("p.hcl", *text), root).unwrap());
        let mut policy = Policy::new(root, files, []);
        policy.learn(learning);
        policy.for_plugin(&ProviderAddress::parse(plugin).unwrap())
    }

    fn network(host: &str) -> AccessRequest {
        AccessRequest::Network(NetworkRequest::connection(Scheme::Https, host, 443).unwrap())
    }

    fn file(path: &str, operation: FileOperation) -> AccessRequest {
        AccessRequest::File(FileAccess::new(Path::new(ROOT), Path::new(path), operation).unwrap())
    }

    #[test]
    fn learns_public_hosts_and_named_kinds_of_addresses() {
        let policy = policy_for("acme/dns", learning(), &[]);
        let at = |policy: &PluginPolicy, host: &str, address: &str| {
            policy.decide_at(&network(host), address.parse().unwrap()).is_allowed()
        };
        assert!(policy.decide(&network("api.example.com")).is_allowed());
        assert!(at(&policy, "api.example.com", "8.8.8.8") && at(&policy, "8.8.8.8", "8.8.8.8"));
        let hidden = ["127.0.0.1", "10.1.2.3", "169.254.1.1", "169.254.169.254", "fd00:ec2::254"];
        for address in hidden {
            assert!(!at(&policy, "api.example.com", address), "{address}");
        }
        assert!(!policy.decide(&network("169.254.169.254")).is_allowed());
        let all = Learning { addresses: AddressKind::NAMED.into(), ..learning() };
        let policy = policy_for("acme/dns", all, &[]);
        for address in hidden {
            let is_metadata = address.contains("254.169") || address.contains("ec2");
            assert_eq!(at(&policy, "api.example.com", address), !is_metadata, "{address}");
        }
    }

    #[test]
    fn learns_file_reads_except_keys_and_wide_directories() {
        let policy = policy_for("acme/dns", learning(), &[]);
        let reads = |path: &str| policy.decide(&file(path, FileOperation::Read)).is_allowed();
        for path in ["zones/a.zone", "/srv/shared/list", "/home/me/notes", "/etc/hosts", "."] {
            assert!(reads(path), "{path}");
        }
        for path in [
            "/",
            "/etc",
            "/home",
            "/home/me",
            "/srv",
            "/home/me/.ssh/id_rsa",
            "/home/you/.SSH/config",
            "/home/me/.gnupg",
            "/home/me/.aws/config",
            "/home/me/.config/google-chrome/Default/Cookies",
            "/home/me/.mozilla/firefox",
            "/proc/1/environ",
            "/etc/shadow",
            "terraform.tfstate",
            ".ssh/id_rsa",
        ] {
            assert!(!reads(path), "{path}");
        }
        for operation in [FileOperation::Write, FileOperation::Connect] {
            assert!(!policy.decide(&file("/srv/shared/list", operation)).is_allowed());
        }
        let directories = policy.component_directories();
        assert_eq!(directories, [(PathBuf::from("/"), BTreeSet::from([FileOperation::Read]))]);
        assert_eq!(policy.native_confinement().unwrap().read, Vec::<PathBuf>::new());
    }

    #[test]
    fn native_plugin_reads_files_of_its_template() {
        let policy = policy_for("hashicorp/aws", learning(), &[]);
        assert_eq!(policy.native_confinement().unwrap().read, [PathBuf::from("/home/me/.aws/config")]);
        let is_recorded = |path: &str, is_reachable: bool| {
            policy.records_opening(&file(path, FileOperation::Read), is_reachable)
        };
        assert!(is_recorded("/home/me/.aws/config", true) && is_recorded("/home/me/notes", false));
        assert!(is_recorded("/home/me/.ssh/config", false) && !is_recorded("/etc/ssl/cert.pem", true));
        let denied = "otherwise = \"defer\"\nplugin \"*\" {\n  deny filesystem {\n    directories = \
                      [\"/home/me\"]\n  }\n}\n";
        let policy = policy_for("hashicorp/aws", learning(), &[(Level::User, denied)]);
        assert_eq!(policy.native_confinement().unwrap().read, Vec::<PathBuf>::new());
    }

    #[test]
    fn programs_and_variables_are_never_learnt() {
        let policy = policy_for("acme/dns", learning(), &[]);
        let name = EnvironmentName::new("ACME_TOKEN").unwrap();
        assert!(!policy.decide(&AccessRequest::Environment(name)).is_allowed());
        let program = ProcessStart::new("git", ["log".to_owned()]).unwrap();
        assert!(!policy.decide(&AccessRequest::Process(program)).is_allowed());
    }

    #[test]
    fn denials_and_strict_policies_of_higher_levels_stay_in_force() {
        let deny = "otherwise = \"defer\"\nplugin \"*\" {\n  deny network {\n    hosts = \
                    [\"**.internal.example\"]\n  }\n}\n";
        let strict = "plugin \"acme/other\" {\n  native = \"warn\"\n}\n";
        let host = network("a.internal.example");
        let other = network("api.example.com");
        for level in [Level::Organisation, Level::User, Level::RootModule] {
            let policy = policy_for("acme/dns", learning(), &[(level, deny)]);
            assert!(!policy.decide(&host).is_allowed(), "{level:?}");
            assert!(policy.decide(&other).is_allowed(), "{level:?}");
            assert!(policy.may_learn_name(&Host::parse("api.example.com").unwrap()));
            assert!(!policy.may_learn_name(&Host::parse("a.internal.example").unwrap()));
            let policy = policy_for("acme/dns", learning(), &[(level, strict)]);
            assert_eq!(policy.decide(&other).is_allowed(), level == Level::RootModule, "{level:?}");
            let native =
                if level == Level::RootModule { NativePlugins::Confine } else { NativePlugins::Deny };
            assert_eq!(policy.native(), native, "{level:?}");
        }
    }

    #[test]
    fn native_plugins_are_confined_while_learning() {
        for (setting, treatment) in [
            ("allow", NativePlugins::Confine),
            ("confine-files", NativePlugins::Confine),
            ("deny", NativePlugins::Deny),
        ] {
            let text = format!("otherwise = \"defer\"\nplugin \"*\" {{\n  native = \"{setting}\"\n}}\n");
            let policy = policy_for("acme/dns", learning(), &[(Level::User, &text)]);
            assert_eq!(policy.native(), treatment, "{setting}");
        }
    }

    #[test]
    fn untrusted_configuration_learns_nothing() {
        let mut policy = Policy::new(Path::new(ROOT), [], []);
        policy.learn(learning());
        policy.distrust([]);
        let policy = policy.for_plugin(&ProviderAddress::parse("acme/dns").unwrap());
        assert!(!policy.decide(&network("api.example.com")).is_allowed());
        assert_eq!(policy.native(), NativePlugins::Deny);
    }
}
