//! Synthesizes the least-privilege policy for a set of accesses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use wardian_access::{AccessRequest, FileOperation, ProtectedClass, ProtectedClasses, Scheme};
use wardian_address::ProviderAddress;

use crate::protected::ProtectedFiles;
use crate::suggest::{addresses, list, literal, string_literal, variables};

/// An access that a policy must allow.
#[derive(Clone, Debug)]
pub struct NeededAccess {
    pub plugin: ProviderAddress,
    pub request: AccessRequest,
    /// The address to which the host name resolved, if known.
    pub address: Option<IpAddr>,
}

/// A synthesized policy, and the accesses that it cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeastPrivilegePolicy {
    /// The content of a policy file.
    pub text: String,
    /// Accesses that no rule can match exactly: plugin and request.
    pub left_out: BTreeSet<String>,
}

/// Returns the policy that allows exactly these accesses, with rules merged if the result is
/// equivalent. Paths below `root_module` are written as relative paths. The cost is linear in the
/// number of accesses and the depth of their paths.
pub fn least_privilege_policy(
    root_module: &Path,
    uses: impl IntoIterator<Item = NeededAccess>,
) -> LeastPrivilegePolicy {
    let mut plugins: BTreeMap<String, PluginAccesses> = BTreeMap::new();
    let mut left_out = BTreeSet::new();
    let protected = ProtectedFiles::new(root_module);
    for one in uses {
        let plugin = one.plugin.for_display().to_string();
        let accesses = plugins.entry(plugin.clone()).or_default();
        if accesses.add(&one.request, one.address, &protected).is_none() {
            left_out.insert(format!("{plugin}: {}", one.request));
        }
    }
    let mut policy = String::from("# Allows exactly the accesses that plugins made in one run.\n");
    for (plugin, accesses) in plugins {
        let rules = accesses.rules(root_module);
        match string_literal(&plugin) {
            Some(plugin) if !rules.is_empty() => {
                let _ = write!(policy, "\nplugin {plugin} {{\n{}}}\n", rules.join(""));
            }
            _ => {}
        }
    }
    LeastPrivilegePolicy { text: policy, left_out }
}

/// The accesses of one plugin, as rendered values.
#[derive(Default)]
struct PluginAccesses {
    /// HTTP methods, by scheme, port, listed addresses, and host; `None` if a connection has no known
    /// method.
    network: BTreeMap<(NetworkKey, String), Option<BTreeSet<String>>>,
    files: BTreeMap<PathBuf, NeededFileAccess>,
    environment: BTreeSet<String>,
    /// Program, arguments, and variables, if there are any.
    processes: BTreeSet<(String, String, Option<String>)>,
    communicator: BTreeMap<(u16, Option<String>), BTreeSet<String>>,
}

/// The operations on a file, and the classes that a rule for it must name.
#[derive(Default)]
struct NeededFileAccess {
    operations: BTreeSet<FileOperation>,
    classes: ProtectedClasses,
}

/// Scheme, port and addresses, unless they are a rule's defaults.
type NetworkKey = (Option<String>, Option<u16>, Option<String>);

impl PluginAccesses {
    /// Adds an access. Returns `None` if no rule can match it exactly.
    fn add(
        &mut self,
        request: &AccessRequest,
        address: Option<IpAddr>,
        protected: &ProtectedFiles,
    ) -> Option<()> {
        match request {
            AccessRequest::Network(network) => {
                let host = string_literal(&network.host().to_string())?;
                let named = addresses(network.host(), address)?.into_iter().map(|(_, list)| list).next();
                let scheme = match network.scheme() {
                    Scheme::Https => None,
                    other => Some(list([other.word()])?),
                };
                let port = Some(network.port()).filter(|port| network.scheme().port() != Some(*port));
                let method =
                    network.method().map(|method| string_literal(method).ok_or(())).transpose().ok()?;
                let methods = self.network.entry(((scheme, port, named), host));
                let methods = methods.or_insert_with(|| Some(BTreeSet::new()));
                match (method, &mut *methods) {
                    (Some(method), Some(known)) => {
                        known.insert(method);
                    }
                    // A rule with methods does not allow a connection whose method is unknown.
                    (None, _) => *methods = None,
                    (Some(_), None) => {}
                }
            }
            // A rule for a connection also grants the lookup that precedes it.
            AccessRequest::LookUp(_) => {}
            AccessRequest::File(file) => {
                let path = file.path().to_str()?;
                // In a rule, `*` is a wildcard, so the path would also match other paths.
                if path.contains('*') {
                    return None;
                }
                string_literal(path)?;
                let classes = protected.classes(file).against(file.operation());
                // A rule in the root module's policy cannot name these classes.
                if classes.iter().any(ProtectedClass::belongs_to_machine) {
                    return None;
                }
                let needed = self.files.entry(file.path().to_owned()).or_default();
                needed.operations.insert(file.operation());
                needed.classes = needed.classes.union(classes);
            }
            AccessRequest::Environment(name) => {
                self.environment.insert(string_literal(literal(name.as_str())?)?);
            }
            AccessRequest::Process(start) => {
                let arguments =
                    start.arguments().iter().map(|argument| literal(argument)).collect::<Option<Vec<_>>>()?;
                if arguments.last() == Some(&"...") {
                    return None;
                }
                let program = string_literal(literal(start.program())?)?;
                self.processes.insert((program, list(arguments)?, variables(start)?.pop()));
            }
            AccessRequest::Communicator(connection) => {
                let host = string_literal(&connection.host().to_string())?;
                let named = addresses(connection.host(), address)?.into_iter().map(|(_, list)| list).next();
                self.communicator.entry((connection.port(), named)).or_default().insert(host);
            }
        }
        Some(())
    }

    fn rules(self, root_module: &Path) -> Vec<String> {
        let mut rules = Vec::new();
        let mut destinations: BTreeMap<(NetworkKey, Option<BTreeSet<String>>), Vec<String>> = BTreeMap::new();
        for ((key, host), methods) in self.network {
            destinations.entry((key, methods)).or_default().push(host);
        }
        for (((schemes, port, addresses), methods), hosts) in destinations {
            let mut arguments = vec![("hosts", list_literal(&hosts))];
            arguments.extend(schemes.map(|schemes| ("schemes", schemes)));
            arguments.extend(port.map(|port| ("ports", format!("[{port}]"))));
            let methods: Option<Vec<String>> = methods.map(|methods| methods.into_iter().collect());
            arguments.extend(methods.map(|methods| ("methods", list_literal(&methods))));
            arguments.extend(addresses.map(|addresses| ("addresses", addresses)));
            rules.push(rule("network", &arguments));
        }
        let mut directories: BTreeMap<(Vec<&'static str>, ProtectedClasses), Vec<String>> = BTreeMap::new();
        for (path, needed) in outermost(&self.files) {
            let words = needed.operations.iter().map(|operation| operation.word()).collect();
            directories.entry((words, needed.classes)).or_default().extend(quoted_path(path, root_module));
        }
        for ((access, classes), paths) in directories {
            let access: Vec<String> = access.into_iter().filter_map(string_literal).collect();
            let mut arguments =
                vec![("directories", list_literal(&paths)), ("access", list_literal(&access))];
            let classes: Vec<String> =
                classes.iter().filter_map(|class| string_literal(class.word())).collect();
            arguments.extend((!classes.is_empty()).then(|| ("protected", list_literal(&classes))));
            rules.push(rule("filesystem", &arguments));
        }
        if !self.environment.is_empty() {
            let names: Vec<String> = self.environment.into_iter().collect();
            rules.push(rule("environment", &[("names", list_literal(&names))]));
        }
        for (program, arguments, variables) in self.processes {
            let mut all = vec![("program", program), ("arguments", arguments)];
            all.extend(variables.map(|names| ("environment", names)));
            rules.push(rule("process", &all));
        }
        for ((port, addresses), hosts) in self.communicator {
            let hosts: Vec<String> = hosts.into_iter().collect();
            let mut arguments = vec![("hosts", list_literal(&hosts)), ("ports", format!("[{port}]"))];
            arguments.extend(addresses.map(|addresses| ("addresses", addresses)));
            rules.push(rule("communicator", &arguments));
        }
        rules
    }
}

/// Returns the paths, without paths below another path that has at least the same access.
fn outermost(files: &BTreeMap<PathBuf, NeededFileAccess>) -> Vec<(&Path, &NeededFileAccess)> {
    let is_covered = |path: &Path, needed: &NeededFileAccess| {
        path.ancestors().skip(1).filter_map(|above| files.get(above)).any(|granted| {
            needed.operations.is_subset(&granted.operations) && needed.classes.is_subset(granted.classes)
        })
    };
    let paths = files.iter().filter(|(path, needed)| !is_covered(path, needed));
    paths.map(|(path, needed)| (path.as_path(), needed)).collect()
}

fn quoted_path(path: &Path, root_module: &Path) -> Option<String> {
    match path.strip_prefix(root_module).ok().and_then(Path::to_str) {
        Some("") => string_literal("."),
        Some(relative) => string_literal(relative),
        None => string_literal(path.to_str()?),
    }
}

fn list_literal(items: &[String]) -> String {
    let line = format!("[{}]", items.join(", "));
    if line.len() <= 80 {
        return line;
    }
    format!("[\n      {},\n    ]", items.join(",\n      "))
}

fn rule(capability: &str, arguments: &[(&str, String)]) -> String {
    // Multi-line values are not aligned.
    let is_long = |value: &str| value.contains('\n');
    let short = arguments.iter().filter(|(_, value)| !is_long(value)).map(|(name, _)| name.len());
    let width = short.max().unwrap_or_default();
    let mut text = format!("  allow {capability} {{\n");
    for (name, value) in arguments {
        let width = if is_long(value) { 0 } else { width };
        let _ = writeln!(text, "    {name:width$} = {value}");
    }
    text.push_str("  }\n");
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wardian_access::{CommunicatorConnection, EnvironmentName, FileAccess, NetworkRequest, ProcessStart};
    use wardian_diagnostic::SourceFile;

    use super::*;
    use crate::level::Level;
    use crate::policy::{Policy, PolicyFile};

    const ROOT: &str = "/srv/project";

    fn network(scheme: &str, authority: &str, method: &str) -> AccessRequest {
        AccessRequest::Network(NetworkRequest::http(scheme, authority, method).unwrap())
    }

    fn file(path: &str, access: FileOperation) -> AccessRequest {
        AccessRequest::File(FileAccess::new(Path::new(ROOT), Path::new(path), access).unwrap())
    }

    fn needed(request: AccessRequest) -> NeededAccess {
        NeededAccess { plugin: ProviderAddress::parse("acme/cloud").unwrap(), request, address: None }
    }

    fn process(program: &str, arguments: &[&str]) -> AccessRequest {
        let arguments = arguments.iter().map(|one| (*one).to_owned());
        AccessRequest::Process(ProcessStart::new(program, arguments).unwrap())
    }

    fn with_variables(request: AccessRequest, names: &[&str]) -> AccessRequest {
        let AccessRequest::Process(start) = request else { panic!("{request}") };
        AccessRequest::Process(start.with_variables(names.iter().copied()).unwrap())
    }

    fn uses() -> Vec<NeededAccess> {
        let private = NeededAccess {
            address: Some("10.1.2.3".parse().unwrap()),
            ..needed(network("https", "inside.example.com", "GET"))
        };
        let mut uses: Vec<NeededAccess> = [
            network("https", "api.example.com", "GET"),
            network("https", "api.example.com", "POST"),
            network("https", "cdn.example.com", "GET"),
            network("https", "www.example.com", "GET"),
            network("http", "api.example.com:8080", "GET"),
            AccessRequest::Network(NetworkRequest::tcp("db.example.com", 5432).unwrap()),
            file("generated/a", FileOperation::Write),
            file("generated/a", FileOperation::Read),
            file("in", FileOperation::Read),
            file("in/deeper", FileOperation::Read),
            AccessRequest::Environment(EnvironmentName::new("ACME_REGION").unwrap()),
            process("git", &["clone", "https://example.com/${x}"]),
            with_variables(process("acme", &["sync"]), &["ACME_REGION", "LD_PRELOAD"]),
            AccessRequest::Communicator(CommunicatorConnection::new("web.example.com", 22).unwrap()),
        ]
        .map(needed)
        .into();
        uses.push(private);
        uses
    }

    fn policy(text: &str) -> Policy {
        let source: Arc<SourceFile> = SourceFile::new("least", text);
        let file = PolicyFile::parse(Level::RootModule, &source, Path::new(ROOT)).unwrap();
        Policy::new(Path::new(ROOT), [file], [])
    }

    #[test]
    fn allows_the_recorded_accesses() {
        let least = least_privilege_policy(Path::new(ROOT), uses());
        assert_eq!(least.left_out, BTreeSet::new());
        let policy = policy(&least.text);
        for one in uses() {
            let own = policy.for_plugin(&one.plugin);
            assert!(own.decide(&one.request).is_allowed(), "{}\n{}", one.request, least.text);
            if let Some(address) = one.address {
                assert!(own.decide_at(&one.request, address).is_allowed(), "{}", one.request);
            }
        }
        insta::assert_snapshot!(least.text);
    }

    #[test]
    fn allows_no_other_access() {
        let policy = policy(&least_privilege_policy(Path::new(ROOT), uses()).text);
        let own = policy.for_plugin(&ProviderAddress::parse("acme/cloud").unwrap());
        for other in [
            network("https", "cdn.example.com", "POST"),
            network("http", "api.example.com", "GET"),
            network("https", "api.example.com:8080", "GET"),
            file("generated/b", FileOperation::Read),
            file("generated", FileOperation::Read),
            file("in", FileOperation::Write),
            AccessRequest::Environment(EnvironmentName::new("ACME_REGIONS").unwrap()),
            process("git", &["clone"]),
            process("git", &["clone", "https://example.com/y"]),
            with_variables(process("git", &["clone", "https://example.com/${x}"]), &["ACME_REGION"]),
            with_variables(process("acme", &["sync"]), &["LD_AUDIT"]),
            AccessRequest::Communicator(CommunicatorConnection::new("web.example.com", 23).unwrap()),
        ] {
            assert!(!own.decide(&other).is_allowed(), "{other}");
        }
        let inside = network("https", "inside.example.com", "GET");
        assert!(!own.decide_at(&inside, "10.1.2.4".parse().unwrap()).is_allowed());
        let stranger = policy.for_plugin(&ProviderAddress::parse("acme/other").unwrap());
        assert!(!stranger.decide(&network("https", "api.example.com", "GET")).is_allowed());
    }

    #[test]
    fn connection_without_method_needs_rule_without_methods() {
        let connection = NetworkRequest::connection(Scheme::Https, "api.example.com", 443).unwrap();
        let connection = AccessRequest::Network(connection);
        let request = network("https", "api.example.com", "GET");
        for uses in [[connection.clone(), request.clone()], [request.clone(), connection.clone()]] {
            let least = least_privilege_policy(Path::new(ROOT), uses.clone().map(needed));
            let policy = policy(&least.text);
            let own = policy.for_plugin(&ProviderAddress::parse("acme/cloud").unwrap());
            for one in uses {
                assert!(own.decide(&one).is_allowed(), "{one}\n{}", least.text);
            }
        }
    }

    #[test]
    fn reports_accesses_that_no_rule_can_name() {
        let odd = [file("a*b", FileOperation::Read), process("git", &["log", "..."]), process("x", &["*"])];
        let least = least_privilege_policy(Path::new(ROOT), odd.map(needed));
        assert_eq!(least.left_out.len(), 3, "{:?}", least.left_out);
        assert_eq!(least.text, "# Allows exactly the accesses that plugins made in one run.\n");
    }
}
