//! Confines native plugins, if a policy requires it, with the rules that the kernel can enforce.
//!
//! The kernel can restrict access to directories, each including everything below it, and to TCP
//! ports. Therefore, a directory that contains a denied or protected path cannot be granted to
//! native code for writing, and for reading only if the plugin has a mount namespace. For a `network` rule, only the ports are enforced, and only for TCP. A rule that
//! cannot be enforced causes an error, and the plugin does not run: a rule that only appears to be
//! enforced is worse than no rule.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use wardian_access::{AccessRequest, FileAccess, FileOperation, Scheme};

use crate::decision::{Decision, Denial};
use crate::level::Level;
use crate::policy::{DefaultAction, FileView, PluginPolicy};
use crate::settings::{NativePlugins, PolicySetting, UntrustedNative};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeConfinement {
    /// Readable directories.
    pub read: Vec<PathBuf>,
    /// Readable directories that contain denied paths, with the first denial.
    pub partly_readable: Vec<(PathBuf, Box<Denial>)>,
    /// Directories in which files can be written, created and removed.
    pub write: Vec<PathBuf>,
    /// TCP ports on any machine to which connections are allowed; [`None`] means all ports.
    pub ports: Option<Vec<RangeInclusive<u16>>>,
}

impl PluginPolicy {
    /// Returns the treatment of the plugin if it is a native plugin. A file that neither defers nor
    /// has the setting denies the plugin, since no other rule restricts native plugins. If no file
    /// has the setting, the plugin runs with a warning. While learning, the root module's file does
    /// not deny it, and the plugin is confined even if the files do not require it.
    ///
    /// Under an untrusted configuration, a plugin runs only if it is confined and the organisation's
    /// policy declares that its credentials allow only reading.
    pub fn native(&self) -> NativePlugins {
        match self.native_for_trusted() {
            NativePlugins::Confine if self.is_untrusted() && self.has_read_only_credentials() => {
                NativePlugins::Confine
            }
            _ if self.is_untrusted() => NativePlugins::Deny,
            native => native,
        }
    }

    /// Whether the organisation's policy confines the plugin and declares that its credentials allow
    /// only reading.
    fn has_read_only_credentials(&self) -> bool {
        let declares = |file: &FileView| {
            let confines = |set: &PolicySetting<_>| set.value == NativePlugins::Confine;
            file.level == Level::Organisation && file.settings.native.as_ref().is_some_and(confines)
        };
        let untrusted = self.settings.untrusted.as_ref().map(|set| set.value);
        untrusted == Some(UntrustedNative::ReadOnlyCredentials)
            && self.files.iter().filter(|file| file.settings.untrusted.is_some()).any(declares)
    }

    fn native_for_trusted(&self) -> NativePlugins {
        let denies_by_default = self.files.iter().any(|file| {
            file.default_action == DefaultAction::Deny
                && file.settings.native.is_none()
                && !(self.is_learning() && file.level == Level::RootModule)
        });
        let least = if self.is_learning() { NativePlugins::Confine } else { NativePlugins::Allow };
        match &self.settings.native {
            _ if denies_by_default => NativePlugins::Deny,
            Some(native) => native.value.max(least),
            None => NativePlugins::Warn.max(least),
        }
    }

    /// Returns the confinement of the plugin, for use if it is a native plugin that must be
    /// confined.
    ///
    /// # Errors
    /// Returns the denial for the first directory that is granted for writing and contains a denied path.
    pub fn native_confinement(&self) -> Result<NativeConfinement, Box<Denial>> {
        let mut confinement = NativeConfinement::default();
        for (path, access) in self.directories() {
            // The kernel does not restrict connections to sockets.
            for access in access.into_iter().filter(|access| *access != FileOperation::Connect) {
                let whole = FileAccess::from_normalized(path.clone(), access).with_descendants();
                match (access, self.decide(&AccessRequest::File(whole))) {
                    (FileOperation::Connect, _) => {}
                    (FileOperation::Read, Decision::Denied(denial)) => {
                        confinement.partly_readable.push((path.clone(), Box::new(denial)));
                    }
                    (FileOperation::Write, Decision::Denied(denial)) => return Err(Box::new(denial)),
                    (FileOperation::Read, _) => confinement.read.push(path.clone()),
                    (FileOperation::Write, _) => confinement.write.push(path.clone()),
                }
            }
        }
        confinement.read.extend(self.learnt_template_files());
        confinement.ports = self.tcp_ports();
        Ok(confinement)
    }

    fn tcp_ports(&self) -> Option<Vec<RangeInclusive<u16>>> {
        let mut all = Vec::new();
        for granted in self.granted_ports() {
            if granted.scheme != Scheme::Udp {
                all.extend(granted.ranges?);
            }
        }
        all.sort_unstable();
        let mut joined: Vec<(u16, u16)> = Vec::new();
        for (first, last) in all {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = (*end).max(last),
                _ => joined.push((first, last)),
            }
        }
        Some(joined.into_iter().map(|(first, last)| first..=last).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;

    use super::*;
    use crate::policy::{Policy, PolicyFile};

    fn confinement(rules: &str) -> Result<NativeConfinement, String> {
        let root = Path::new("/srv/project");
        let text = format!("plugin \"acme/dns\" {{\n  native = \"confine\"\n{rules}\n}}\n");
        let file = PolicyFile::parse(Level::User, &SourceFile::new("p.hcl", &*text), root).unwrap();
        let policy = Policy::new(root, [file], []);
        let address = ProviderAddress::parse("acme/dns").unwrap();
        policy.for_plugin(&address).native_confinement().map_err(|denial| denial.to_string())
    }

    #[test]
    fn empty_policy_grants_no_access() {
        let nothing = NativeConfinement { ports: Some(Vec::new()), ..NativeConfinement::default() };
        assert_eq!(confinement(""), Ok(nothing));
    }

    #[test]
    fn grants_directories_and_ports_from_rules() {
        let rules = r#"
            allow filesystem {
              directories = ["data", "/srv/shared"]
              access      = ["read", "write"]
            }
            allow network {
              hosts = ["api.example.com"]
            }
            allow network {
              schemes = ["tcp"]
              hosts   = ["db.example.com"]
              ports   = [444, "5000-5002", 5003]
            }
            allow network {
              schemes = ["udp"]
              hosts   = ["dns.example.com"]
              ports   = [53]
            }"#;
        let both: Vec<PathBuf> = vec!["/srv/project/data".into(), "/srv/shared".into()];
        let ports = Some(vec![443..=444, 5000..=5003]);
        assert_eq!(
            confinement(rules),
            Ok(NativeConfinement { read: both.clone(), write: both, ports, ..NativeConfinement::default() })
        );
        let any = "allow network {\n hosts = [\"**\"]\n ports = [\"*\"]\n}";
        assert_eq!(confinement(any).map(|confinement| confinement.ports), Ok(None));
    }

    #[test]
    fn organisation_lets_untrusted_configurations_use_confined_plugins() {
        const DECLARED: &str = "native = \"confine\"\n  untrusted = \"read-only-credentials\"";
        let root = Path::new("/srv/project");
        let native = |settings: &[(Level, &str)], is_untrusted: bool| {
            let files = settings.iter().map(|(level, settings)| {
                let text = format!("otherwise = \"defer\"\nplugin \"acme/*\" {{\n  {settings}\n}}\n");
                PolicyFile::parse(*level, &SourceFile::new("p.hcl", text), root).unwrap()
            });
            let mut policy = Policy::new(root, files, []);
            if is_untrusted {
                policy.distrust([]);
            }
            policy.for_plugin(&ProviderAddress::parse("acme/dns").unwrap()).native()
        };
        let organisation = [(Level::Organisation, DECLARED)];
        assert_eq!(native(&organisation, true), NativePlugins::Confine);
        assert_eq!(native(&organisation, false), NativePlugins::Confine);
        for settings in [
            vec![(Level::Organisation, "native = \"confine\"")],
            vec![(Level::Organisation, "untrusted = \"read-only-credentials\"")],
            vec![
                (Level::Organisation, "untrusted = \"read-only-credentials\""),
                (Level::User, "native = \"confine\""),
            ],
            vec![(
                Level::Organisation,
                "native = \"confine-files\"\n  untrusted = \"read-only-credentials\"",
            )],
            vec![(Level::Organisation, "native = \"warn\"\n  untrusted = \"read-only-credentials\"")],
            vec![(Level::Organisation, DECLARED), (Level::Organisation, "untrusted = \"deny\"")],
            vec![(Level::Organisation, DECLARED), (Level::User, "native = \"deny\"")],
            vec![(Level::Organisation, DECLARED), (Level::RootModule, "native = \"deny\"")],
        ] {
            assert_eq!(native(&settings, true), NativePlugins::Deny, "{settings:?}");
        }
        let text = format!("plugin \"acme/dns\" {{\n  {DECLARED}\n}}\n");
        for level in [Level::User, Level::RootModule] {
            let problems = PolicyFile::parse(level, &SourceFile::new("p.hcl", &*text), root).unwrap_err();
            assert!(problems.to_string().contains("Only a policy of the organisation"), "{problems}");
        }
    }

    #[test]
    fn untrusted_configuration_grants_its_plugin_nothing() {
        let root = Path::new("/srv/project");
        let organisation = "plugin \"acme/dns\" {\n  native = \"confine\"\n  untrusted = \
                            \"read-only-credentials\"\n  allow network {\n    hosts = \
                            [\"api.example.com\"]\n  }\n  allow filesystem {\n    directories = [\"/srv/zones\", \
                            \"/srv/shared\"]\n    access = [\"read\", \"write\"]\n  }\n}\n";
        let own = "plugin \"acme/dns\" {\n  native = \"confine\"\n  allow network {\n    hosts = \
                   [\"**\"]\n  }\n  allow filesystem {\n    directories = [\"/srv\"]\n    access = [\"read\", \
                   \"write\"]\n  }\n}\n";
        let files = [(Level::Organisation, organisation), (Level::RootModule, own)]
            .map(|(level, text)| PolicyFile::parse(level, &SourceFile::new("p.hcl", text), root).unwrap());
        let mut policy = Policy::new(root, files, []);
        policy.distrust([]);
        let policy = policy.for_plugin(&ProviderAddress::parse("acme/dns").unwrap());
        let confinement = policy.native_confinement().unwrap();
        assert_eq!(confinement.read, ["/srv/shared", "/srv/zones"].map(PathBuf::from));
        assert_eq!(confinement.write, Vec::<PathBuf>::new());
        let may_resolve =
            |name: &str| policy.grants_name_to_native_code(&wardian_access::Host::parse(name).unwrap());
        assert!(may_resolve("api.example.com") && !may_resolve("evil.example"));
    }

    #[test]
    fn sockets_are_not_readable() {
        let rules = "allow filesystem {\n directories = [\"/run/a.sock\"]\n access = [\"connect\"]\n}";
        let nothing = NativeConfinement { ports: Some(Vec::new()), ..NativeConfinement::default() };
        assert_eq!(confinement(rules), Ok(nothing));
    }

    #[test]
    fn directory_with_denied_file_is_partly_readable_and_not_writable() {
        let rules = |access: &str| {
            format!(
                "allow filesystem {{\n directories = [\"/srv/shared\"]\n access = [\"{access}\"]\n}}\n\
                 deny filesystem {{\n directories = [\"/srv/shared/keys\"]\n access = [\"{access}\"]\n}}"
            )
        };
        let found = confinement(&rules("read")).unwrap();
        assert_eq!(found.read, Vec::<PathBuf>::new());
        let [(directory, denial)] = &found.partly_readable[..] else { panic!("{found:?}") };
        assert_eq!(directory, Path::new("/srv/shared"));
        assert!(denial.to_string().contains("p.hcl:7 denies it"), "{denial}");
        let denial = confinement(&rules("write")).unwrap_err();
        assert!(denial.contains("/srv/shared") && denial.contains("p.hcl:7 denies it"), "{denial}");
        let everything = "allow filesystem {\n directories = [\".\"]\n access = [\"write\"]\n}";
        let denial = confinement(everything).unwrap_err();
        assert!(denial.contains("p.hcl:3 grants the directory, but not its protected files"), "{denial}");
        let reading = "allow filesystem {\n directories = [\".\"]\n}";
        assert_eq!(confinement(reading).map(|one| one.read), Ok(vec!["/srv/project".into()]));
    }
}
