//! The host names that a confined native plugin may resolve.
//!
//! A component asks for connections, and the host resolves their names. A native plugin resolves names
//! itself before it connects, so every name to which it may connect must be resolvable, whatever the
//! protocol.

use wardian_access::{AccessRequest, Host, NetworkRequest, Scheme};

use crate::policy::PluginPolicy;

impl PluginPolicy {
    /// Whether policy grants a connection to this name over HTTP or TCP, on any port, or the run may
    /// learn it.
    pub fn grants_name_to_native_code(&self, name: &Host) -> bool {
        if self.may_learn_name(name) {
            return true;
        }
        let name = name.to_string();
        let is_granted = |scheme: Scheme, port: u16| {
            NetworkRequest::connection(scheme, &name, port)
                .is_ok_and(|request| self.decide(&AccessRequest::Network(request)).is_allowed())
        };
        self.granted_ports().into_iter().filter(|granted| granted.scheme != Scheme::Udp).any(|granted| {
            let scheme = granted.scheme;
            match granted.ranges {
                // Every port is granted, so it is sufficient to check one of them.
                None => is_granted(scheme, scheme.port().unwrap_or(443)),
                Some(ranges) => {
                    ranges.iter().any(|(first, last)| is_granted(scheme, *first) || is_granted(scheme, *last))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;

    use super::*;
    use crate::level::Level;
    use crate::policy::{Policy, PolicyFile};

    #[test]
    fn names_of_all_schemes_are_granted() {
        let text = r#"plugin "acme/dns" {
  allow network {
    hosts = ["*.api.example"]
  }
  allow network {
    hosts   = ["db.example"]
    schemes = ["tcp"]
    ports   = ["5000-5010"]
  }
  allow network {
    hosts   = ["udp.example"]
    schemes = ["udp"]
    ports   = [53]
  }
  deny network {
    hosts = ["secret.api.example"]
  }
}
"#;
        let root = Path::new("/srv/project");
        let file = PolicyFile::parse(Level::User, &SourceFile::new("p.hcl", text), root).unwrap();
        let policy = Policy::new(root, [file], []).for_plugin(&ProviderAddress::parse("acme/dns").unwrap());
        let grants = |name: &str| policy.grants_name_to_native_code(&Host::parse(name).unwrap());
        assert!(grants("a.api.example") && grants("db.example"));
        for name in ["api.example", "secret.api.example", "udp.example", "other.example"] {
            assert!(!grants(name), "{name}");
        }
    }
}
