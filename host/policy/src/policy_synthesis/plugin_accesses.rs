//! The accesses of one plugin, and the rules that allow them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use wardian_access::{
    AccessRequest, AddressKind, FileOperation, NetworkRequest, ProtectedClass, ProtectedClasses, Scheme,
};
use wardian_printable::escape::{Extent, escape};

use super::widening::Widening;
use super::{NeededAccess, ObservedAccesses};
use crate::protected::ProtectedFiles;
use crate::suggest::{addresses, list, literal, string_literal, variables};

/// Maximum number of resources in the reason of a rule.
const MAX_RESOURCES: usize = 3;

/// Maximum length of the address of a resource in a reason, in characters.
const MAX_RESOURCE_LENGTH: usize = 100;

/// The accesses of one plugin, as rendered values.
#[derive(Default)]
pub(super) struct PluginAccesses {
    /// The wider patterns of hosts, for a native plugin.
    widening: Option<Widening>,
    network: BTreeMap<(NetworkKey, String), NeededConnection>,
    files: BTreeMap<PathBuf, NeededFileAccess>,
    environment: BTreeMap<String, Resources>,
    /// Program, arguments, and variables, if there are any.
    processes: BTreeMap<(String, String, Option<String>), Resources>,
    /// Hosts, by port and listed addresses.
    communicator: BTreeMap<(u16, Option<String>), BTreeMap<String, Resources>>,
}

/// The resources that needed an access.
type Resources = BTreeSet<String>;

/// The connections and requests to a host.
struct NeededConnection {
    /// HTTP methods; [`None`] if a connection has no known method.
    methods: Option<BTreeSet<String>>,
    resources: Resources,
}

/// The operations on a file, and the classes that a rule for it must name.
#[derive(Default)]
struct NeededFileAccess {
    operations: BTreeSet<FileOperation>,
    classes: ProtectedClasses,
    resources: Resources,
}

/// Scheme, port and addresses, unless they are a rule's defaults.
type NetworkKey = (Option<String>, Option<u16>, Option<String>);

/// The hosts or directories of rules whose other arguments are equal, with the resources that needed
/// them.
type JoinedRules<K> = BTreeMap<K, (Vec<String>, Resources)>;

impl PluginAccesses {
    pub(super) fn new(widening: Option<Widening>) -> Self {
        Self { widening, ..Self::default() }
    }

    /// Adds an access. Returns `None` if no rule can match it exactly.
    pub(super) fn add(&mut self, needed: &NeededAccess, protected: &ProtectedFiles) -> Option<()> {
        let (address, resources) = (needed.address, &needed.resources);
        match &needed.request {
            AccessRequest::Network(network) => {
                let host = self.host_pattern(network, address);
                let host = string_literal(&host)?;
                let named = addresses(network.host(), address)?.into_iter().map(|(_, list)| list).next();
                let scheme = match network.scheme() {
                    Scheme::Https => None,
                    other => Some(list([other.word()])?),
                };
                let port = Some(network.port()).filter(|port| network.scheme().port() != Some(*port));
                let method =
                    network.method().map(|method| string_literal(method).ok_or(())).transpose().ok()?;
                let connection = self.network.entry(((scheme, port, named), host));
                let connection = connection.or_insert_with(|| NeededConnection {
                    methods: Some(BTreeSet::new()),
                    resources: Resources::new(),
                });
                connection.resources.extend(resources.iter().cloned());
                match (method, &mut connection.methods) {
                    (Some(method), Some(known)) => {
                        known.insert(method);
                    }
                    // A rule with methods does not allow a connection whose method is unknown.
                    (None, _) => connection.methods = None,
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
                needed.resources.extend(resources.iter().cloned());
            }
            AccessRequest::Environment(name) => {
                let name = string_literal(literal(name.as_str())?)?;
                self.environment.entry(name).or_default().extend(resources.iter().cloned());
            }
            AccessRequest::Process(start) => {
                let arguments =
                    start.arguments().iter().map(|argument| literal(argument)).collect::<Option<Vec<_>>>()?;
                if arguments.last() == Some(&"...") {
                    return None;
                }
                let program = string_literal(literal(start.program())?)?;
                let key = (program, list(arguments)?, variables(start)?.pop());
                self.processes.entry(key).or_default().extend(resources.iter().cloned());
            }
            AccessRequest::Communicator(connection) => {
                let host = string_literal(&connection.host().to_string())?;
                let named = addresses(connection.host(), address)?.into_iter().map(|(_, list)| list).next();
                let hosts = self.communicator.entry((connection.port(), named)).or_default();
                hosts.entry(host).or_default().extend(resources.iter().cloned());
            }
        }
        Some(())
    }

    /// Returns the pattern of a host: the host itself, unless other hosts of the same service are
    /// included.
    fn host_pattern(&self, request: &NetworkRequest, address: Option<IpAddr>) -> String {
        let is_public = address.is_none_or(|one| AddressKind::from_address(one) == AddressKind::Public);
        let is_https = request.scheme() == Scheme::Https && Scheme::Https.port() == Some(request.port());
        let wider = self.widening.as_ref().filter(|_| is_public && is_https);
        let wider = wider.and_then(|widening| widening.pattern_for(request.host()));
        wider.unwrap_or_else(|| request.host().to_string())
    }

    /// Renders the rules, indented for a `plugin` block.
    pub(super) fn rules(self, observed: &ObservedAccesses) -> Vec<String> {
        let command = observed.command.as_deref();
        let mut rules = Vec::new();
        let mut destinations: JoinedRules<(NetworkKey, Option<BTreeSet<String>>)> = BTreeMap::new();
        for ((key, host), needed) in self.network {
            let (hosts, resources) = destinations.entry((key, needed.methods)).or_default();
            hosts.push(host);
            resources.extend(needed.resources);
        }
        for (((schemes, port, addresses), methods), (hosts, resources)) in destinations {
            let mut arguments = vec![("hosts", list_literal(&hosts))];
            arguments.extend(schemes.map(|schemes| ("schemes", schemes)));
            arguments.extend(port.map(|port| ("ports", format!("[{port}]"))));
            let methods: Option<Vec<String>> = methods.map(|methods| methods.into_iter().collect());
            arguments.extend(methods.map(|methods| ("methods", list_literal(&methods))));
            arguments.extend(addresses.map(|addresses| ("addresses", addresses)));
            arguments.extend(reason(command, &resources));
            rules.push(rule("network", &arguments));
        }
        let mut directories: JoinedRules<(Vec<&'static str>, ProtectedClasses)> = BTreeMap::new();
        for (path, needed) in outermost(&self.files) {
            let words = needed.operations.iter().map(|operation| operation.word()).collect();
            let (paths, resources) = directories.entry((words, needed.classes)).or_default();
            paths.extend(quoted_path(path, &observed.root_module));
            resources.extend(needed.resources.iter().cloned());
        }
        for ((access, classes), (paths, resources)) in directories {
            let access: Vec<String> = access.into_iter().filter_map(string_literal).collect();
            let mut arguments =
                vec![("directories", list_literal(&paths)), ("access", list_literal(&access))];
            let classes: Vec<String> =
                classes.iter().filter_map(|class| string_literal(class.word())).collect();
            arguments.extend((!classes.is_empty()).then(|| ("protected", list_literal(&classes))));
            arguments.extend(reason(command, &resources));
            rules.push(rule("filesystem", &arguments));
        }
        if !self.environment.is_empty() {
            let resources = self.environment.values().flatten().cloned().collect();
            let names: Vec<String> = self.environment.into_keys().collect();
            let mut arguments = vec![("names", list_literal(&names))];
            arguments.extend(reason(command, &resources));
            rules.push(rule("environment", &arguments));
        }
        for ((program, program_arguments, variables), resources) in self.processes {
            let mut arguments = vec![("program", program), ("arguments", program_arguments)];
            arguments.extend(variables.map(|names| ("environment", names)));
            arguments.extend(reason(command, &resources));
            rules.push(rule("process", &arguments));
        }
        for ((port, addresses), hosts) in self.communicator {
            let resources = hosts.values().flatten().cloned().collect();
            let hosts: Vec<String> = hosts.into_keys().collect();
            let mut arguments = vec![("hosts", list_literal(&hosts)), ("ports", format!("[{port}]"))];
            arguments.extend(addresses.map(|addresses| ("addresses", addresses)));
            arguments.extend(reason(command, &resources));
            rules.push(rule("communicator", &arguments));
        }
        rules
    }
}

/// Returns the `reason` argument: the command and the first resources.
fn reason(command: Option<&str>, resources: &Resources) -> Option<(&'static str, String)> {
    let shown = |resource: &String| {
        let short: String = resource.chars().take(MAX_RESOURCE_LENGTH).collect();
        escape(&short, Extent::Line).into_owned()
    };
    let mut listed: Vec<String> = resources.iter().take(MAX_RESOURCES).map(shown).collect();
    if resources.len() > MAX_RESOURCES {
        listed.push("and others".to_owned());
    }
    let parts = command.map(str::to_owned).into_iter().chain((!listed.is_empty()).then(|| listed.join(", ")));
    let text = parts.collect::<Vec<_>>().join(": ");
    Some(("reason", string_literal(&text).filter(|_| !text.is_empty())?))
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
