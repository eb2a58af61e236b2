//! Addresses of modules in registries.
//!
//! | part | rule |
//! |---|---|
//! | host | a host name with a dot, optionally with a port; default `registry.terraform.io` |
//! | namespace, name | letters, digits, `-` and `_`, with a letter or digit at both ends, at most 64 |
//! | system | lower-case letters and digits, at most 64 |
//!
//! Repository hosts are never registry hosts, since `github.com/a/b/c` is a directory in a repository.

use std::fmt;
use std::sync::Arc;

use wardian_address::{DEFAULT_HOST, ProviderAddress};

use crate::address_syntax::split_subdirectory;
use crate::error::{ModuleSourceError, RegistryAddressProblem};
use crate::local::LocalModuleSource;
use crate::redaction::printable_address;
use crate::subdirectory::PackageSubdirectory;

const REPOSITORY_HOSTS: [&str; 2] = ["github.com", "bitbucket.org"];
const MAX_NAME_LENGTH: usize = 64;

/// A module in a registry, without a version. A clone copies four pointers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryModuleAddress {
    host: Arc<str>,
    namespace: Arc<str>,
    name: Arc<str>,
    system: Arc<str>,
}

impl RegistryModuleAddress {
    fn parse(address: &str) -> Result<Self, RegistryAddressProblem> {
        let parts: Vec<&str> = address.split('/').collect();
        let (host, namespace, name, system) = match *parts.as_slice() {
            [namespace, name, system] => (DEFAULT_HOST.to_owned(), namespace, name, system),
            [host, namespace, name, system] => (parse_host(host)?, namespace, name, system),
            _ => return Err(RegistryAddressProblem::Shape),
        };
        if REPOSITORY_HOSTS.contains(&host.as_str()) {
            return Err(RegistryAddressProblem::RepositoryHost(host));
        }
        for part in [namespace, name] {
            if !is_name(part) {
                return Err(RegistryAddressProblem::Name(part.to_owned()));
            }
        }
        if !is_system(system) {
            return Err(RegistryAddressProblem::System(system.to_owned()));
        }
        Ok(Self { host: host.into(), namespace: namespace.into(), name: name.into(), system: system.into() })
    }

    /// Returns the registry's host in its Unicode form, with the port unless it is 443.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the target system, such as `aws`.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Returns the address as it is displayed in messages, without the default host.
    pub fn for_display(&self) -> String {
        let address = format!("{}/{}/{}", self.namespace, self.name, self.system);
        if &*self.host == DEFAULT_HOST { address } else { format!("{}/{address}", self.host) }
    }
}

/// Parses a registry's host. The rules are the same as for the hosts of provider addresses; in
/// addition, the host must contain a dot.
fn parse_host(text: &str) -> Result<String, RegistryAddressProblem> {
    let wrong = || RegistryAddressProblem::Host(text.to_owned());
    let provider = ProviderAddress::parse(&format!("{text}/namespace/name")).map_err(|_| wrong())?;
    if provider.hostname().contains('.') { Ok(provider.hostname().to_owned()) } else { Err(wrong()) }
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let at_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= MAX_NAME_LENGTH
        && at_end(bytes.first())
        && at_end(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn is_system(text: &str) -> bool {
    (1..=MAX_NAME_LENGTH).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

impl fmt::Display for RegistryModuleAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}/{}", self.host, self.namespace, self.name, self.system)
    }
}

impl fmt::Debug for RegistryModuleAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RegistryModuleAddress({self})")
    }
}

/// A source that consists of the address of a module in a registry, and a directory in the module's
/// package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryModuleSource {
    pub module: RegistryModuleAddress,
    pub subdirectory: PackageSubdirectory,
}

impl RegistryModuleSource {
    /// Parses a source that must be an address in a registry.
    ///
    /// # Errors
    /// Returns an error with the component that is not valid.
    pub fn parse(source: &str) -> Result<Self, ModuleSourceError> {
        let wrong = |reason| ModuleSourceError::NotInRegistry { address: printable_address(source), reason };
        if LocalModuleSource::parse(source).is_some() {
            return Err(wrong(RegistryAddressProblem::LocalPath));
        }
        let (address, subdirectory) = split_subdirectory(source);
        let subdirectory = PackageSubdirectory::parse(subdirectory)?;
        Ok(Self { module: RegistryModuleAddress::parse(&address).map_err(wrong)?, subdirectory })
    }
}

impl fmt::Display for RegistryModuleSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.module, formatter)?;
        let subdirectory = self.subdirectory.as_str();
        if subdirectory.is_empty() { Ok(()) } else { write!(formatter, "//{subdirectory}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(source: &str) -> String {
        match RegistryModuleSource::parse(source) {
            Ok(address) => address.to_string(),
            Err(ModuleSourceError::NotInRegistry { reason, .. }) => format!("error: {reason}"),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn missing_address_components_are_added() {
        assert_eq!(full("a/b/c"), "registry.terraform.io/a/b/c");
        assert_eq!(full("A/B_x-y/c1//sub/./x"), "registry.terraform.io/A/B_x-y/c1//sub/x");
        assert_eq!(full("EXAMPLE.com:443/a/b/c"), "example.com/a/b/c");
        assert_eq!(full("example.com:8080/a/b/c//."), "example.com:8080/a/b/c//.");
        assert_eq!(full("Bücher.example/a/b/c"), "bücher.example/a/b/c");
        assert_eq!(full("gitlab.com/a/b/c"), "gitlab.com/a/b/c");
        assert_eq!(full("a/b/c//"), "registry.terraform.io/a/b/c");
        assert_eq!(full("www.googleapis.com/storage/v1/bucket"), "www.googleapis.com/storage/v1/bucket");
        let module = RegistryModuleSource::parse("a/b/c").unwrap().module;
        assert_eq!(module.for_display(), "a/b/c");
    }

    #[test]
    fn invalid_registry_addresses_are_rejected() {
        let long = "x".repeat(65);
        for bad in [
            "a/b",
            "a/b/c/d/e",
            "a/b/C",
            "a/b/c_d",
            "a/b/c-d",
            "-a/b/c",
            "a-/b/c",
            "_a/b/c",
            "a/b/c?x=1",
            "a/b/c//sub?x=1",
            "localhost/a/b/c",
            "localhost:80/a/b/c",
            "xn--bcher-kva.example/a/b/c",
            "github.com/a/b/c",
            "bitbucket.org/a/b/c",
            "a/b/c/",
            "/a/b/c",
            "",
            "./a/b",
            "../a",
            "git::https://x/y",
            "a/b/c//../x",
            "a b/c/d",
            "ä/b/c",
            "github.com:443/a/b/c",
            &format!("{long}/b/c"),
            &format!("a/b/{long}"),
        ] {
            assert!(full(bad).starts_with("error: "), "{bad}: {}", full(bad));
        }
    }
}
