//! What native code is held to, where a policy has it confined: as much of the rules as a
//! kernel can be told.
//!
//! A kernel takes directories, each with all that is below it, and ports. So a directory
//! within which anything is denied or protected cannot be granted to native code, and of
//! `network` only the ports hold, for TCP. What cannot be told is an error, and nothing
//! runs: a rule that looks as if it held is worse than none.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::decision::{Decision, Denial};
use crate::explain::Granted;
use crate::policy::PluginPolicy;
use crate::request::{Access, Extent, FileAccess, Request, Scheme};

/// What of a policy holds native code that is confined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeConfinement {
    /// Directories to read.
    pub read: Vec<PathBuf>,
    /// Directories to write, and so to make and remove files in.
    pub write: Vec<PathBuf>,
    /// Ports to connect to by TCP, on whatever machine; [`None`] is any.
    pub ports: Option<Vec<RangeInclusive<u16>>>,
}

/// Ports that one rule grants.
pub(crate) struct GrantedPorts {
    scheme: Scheme,
    /// First and last of each range; [`None`] is any port.
    ranges: Option<Vec<(u16, u16)>>,
}

impl PluginPolicy {
    /// What the kernel is to be told of the plugin, if it is native code that is confined.
    ///
    /// # Errors
    /// The first directory of which a part is denied.
    pub fn native_confinement(&self) -> Result<NativeConfinement, Box<Denial>> {
        let mut confinement = NativeConfinement::default();
        for (path, access) in self.directories() {
            for access in access {
                let whole = FileAccess { path: path.clone(), access, extent: Extent::Tree };
                if let Decision::Denied(denial) = self.decide(&Request::File(whole)) {
                    return Err(Box::new(denial));
                }
                match access {
                    Access::Read => confinement.read.push(path.clone()),
                    Access::Write => confinement.write.push(path.clone()),
                }
            }
        }
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

impl Granted {
    /// The ports that something may be sent to.
    pub(crate) fn ports(&self) -> Option<GrantedPorts> {
        match self {
            Self::Network { scheme, at, .. } => {
                Some(GrantedPorts { scheme: *scheme, ranges: at.ports().map(<[_]>::to_vec) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;

    use super::*;
    use crate::policy::{Level, Policy, PolicyFile};

    fn confinement(rules: &str) -> Result<NativeConfinement, String> {
        let root = Path::new("/srv/project");
        let text = format!("plugin \"acme/dns\" {{\n  native = \"confine\"\n{rules}\n}}\n");
        let file = PolicyFile::parse(Level::User, &SourceFile::new("p.hcl", &*text), root).unwrap();
        let policy = Policy::new(root, [file], []);
        let address = ProviderAddress::parse("acme/dns").unwrap();
        policy.of(&address).native_confinement().map_err(|denial| denial.to_string())
    }

    #[test]
    fn nothing_is_granted_by_nothing() {
        let nothing = NativeConfinement { ports: Some(Vec::new()), ..NativeConfinement::default() };
        assert_eq!(confinement(""), Ok(nothing));
    }

    #[test]
    fn directories_and_ports_are_what_rules_grant() {
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
        assert_eq!(confinement(rules), Ok(NativeConfinement { read: both.clone(), write: both, ports }));
        let any = "allow network {\n hosts = [\"**\"]\n ports = [\"*\"]\n}";
        assert_eq!(confinement(any).map(|confinement| confinement.ports), Ok(None));
    }

    #[test]
    fn what_a_kernel_cannot_except_is_not_granted() {
        let rules = r#"
            allow filesystem {
              directories = ["/srv/shared"]
            }
            deny filesystem {
              directories = ["/srv/shared/keys"]
            }"#;
        let said = confinement(rules).unwrap_err();
        assert!(said.contains("/srv/shared") && said.contains("p.hcl:7 forbids it"), "{said}");
        let everything = "allow filesystem {\n directories = [\".\"]\n access = [\"write\"]\n}";
        let said = confinement(everything).unwrap_err();
        assert!(said.contains("none of them may write it"), "{said}");
        let reading = "allow filesystem {\n directories = [\".\"]\n}";
        assert_eq!(confinement(reading).map(|one| one.read), Ok(vec!["/srv/project".into()]));
    }
}
