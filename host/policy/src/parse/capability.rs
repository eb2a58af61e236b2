//! Parses `allow` and `deny` blocks.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use wardian_access::{
    AddressKind, FileOperation, ProtectedClass, ProtectedClasses, Scheme, is_token_byte, normalize,
    parse_port,
};
use wardian_lang::{Attribute, Block};

use super::Reader;
use super::values::reject_control_characters;
use crate::address_pattern::{AddressPattern, AddressRange};
use crate::glob::Glob;
use crate::host_pattern::HostPattern;
use crate::level::Level;
use crate::rule::{
    Arguments, CommunicatorRule, Conditions, Destination, Effect, EnvironmentRule, FilesystemRule, HostSet,
    NetworkRule, Ports, ProcessRule, ProgramVariables, grants_all_programs, is_controlling,
};

#[derive(Clone, Copy)]
enum Capability {
    Network,
    Filesystem,
    Environment,
    Process,
    Communicator,
}

const CAPABILITIES: [(&str, Capability); 5] = [
    ("network", Capability::Network),
    ("filesystem", Capability::Filesystem),
    ("environment", Capability::Environment),
    ("process", Capability::Process),
    ("communicator", Capability::Communicator),
];

/// The pattern for any additional arguments.
const ANY_FURTHER_ARGUMENTS: &str = "...";

const HOSTS_EXAMPLE: &str = "hosts = [\"api.example.com\"]";

impl Capability {
    const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Network => &["hosts", "schemes", "ports", "methods", "addresses", "reason"],
            Self::Filesystem => &["directories", "access", "protected", "reason"],
            Self::Environment => &["names", "reason"],
            Self::Process => &["program", "arguments", "environment", "reason"],
            Self::Communicator => &["hosts", "ports", "addresses", "reason"],
        }
    }
}

impl Reader<'_> {
    pub(super) fn conditions(
        &mut self,
        block: &Block,
        effect: Effect,
    ) -> Option<(Option<Arc<str>>, Conditions)> {
        let verb = match effect {
            Effect::Allow => "allow",
            Effect::Deny => "deny",
        };
        let [label] = block.labels.as_slice() else {
            let detail = format!(
                "The block must have one label, the capability: {verb} network, {verb} filesystem, {verb} \
                 environment, {verb} process or {verb} communicator."
            );
            self.problem("Capability required", detail, &block.header_span);
            return None;
        };
        let capability = self.one_of(&label.text, &CAPABILITIES, verb, &label.span)?;
        let noun = format!("\"{verb} {}\"", label.text);
        self.reject_unknown(&block.body, &noun, capability.arguments(), &[]);
        let reason =
            match block.body.attribute("reason") {
                Some(attribute) => Some(self.one(attribute, "Invalid reason", |text| {
                    reject_control_characters(text).map(Arc::from)
                })?),
                None => None,
            };
        let conditions = match capability {
            Capability::Network => Conditions::Network(self.network(block, effect)?),
            Capability::Filesystem => Conditions::Filesystem(self.filesystem(block, effect)?),
            Capability::Environment => Conditions::Environment(self.environment(block, effect)?),
            Capability::Process => Conditions::Process(self.process(block, effect)?),
            Capability::Communicator => {
                let default = Ports::Any;
                Conditions::Communicator(CommunicatorRule {
                    destination: self.destination(block, effect, default)?,
                })
            }
        };
        Some((reason, conditions))
    }

    fn network(&mut self, block: &Block, effect: Effect) -> Option<NetworkRule> {
        let (default_schemes, default_ports): (&[Scheme], _) = match effect {
            Effect::Allow => (&[Scheme::Https], Ports::SchemeDefault),
            Effect::Deny => (&Scheme::ALL, Ports::Any),
        };
        let schemes = self.schemes(block, &Scheme::ALL, default_schemes);
        let ports = block.body.attribute("ports");
        let methods = block.body.attribute("methods");
        let destination = self.destination(block, effect, default_ports);
        let method_names = methods.map(|attribute| self.each(attribute, "Invalid method", method));
        let schemes = schemes?;
        let has_sockets =
            block.body.attribute("schemes").is_some() && schemes.iter().any(|scheme| scheme.port().is_none());
        if effect == Effect::Allow && has_sockets && ports.is_none() {
            self.missing(
                "ports",
                block,
                "tcp and udp have no default port, so list the ports: ports = [5432]",
            );
            return None;
        }
        if let Some(methods) = methods.filter(|_| has_sockets) {
            self.problem(
                "Methods without HTTP",
                "Only http and https have methods. Use a separate rule for tcp and udp.",
                &methods.name_span,
            );
            return None;
        }
        let methods = match method_names {
            Some(names) => Some(names?.into_iter().collect()),
            None => None,
        };
        Some(NetworkRule { schemes, destination: destination?, methods })
    }

    /// Parses `schemes` as a subset of `known`, with a default.
    pub(super) fn schemes(
        &mut self,
        block: &Block,
        known: &[Scheme],
        default: &[Scheme],
    ) -> Option<BTreeSet<Scheme>> {
        let Some(attribute) = block.body.attribute("schemes") else {
            return Some(default.iter().copied().collect());
        };
        let words: Vec<(&str, Scheme)> = known.iter().map(|scheme| (scheme.word(), *scheme)).collect();
        Some(self.keywords(attribute, &words)?.into_iter().collect())
    }

    /// Parses `hosts`, `ports` and `addresses`.
    pub(super) fn destination(
        &mut self,
        block: &Block,
        effect: Effect,
        default_ports: Ports,
    ) -> Option<Destination> {
        let body = &block.body;
        let hosts = match (body.attribute("hosts"), effect) {
            (Some(attribute), _) => self.each(attribute, "Invalid host", HostPattern::parse).map(Some),
            (None, Effect::Deny) => Some(None),
            (None, Effect::Allow) => {
                self.missing("hosts", block, HOSTS_EXAMPLE);
                None
            }
        };
        let ports = match body.attribute("ports") {
            Some(attribute) => self.ports(attribute),
            None => Some(default_ports),
        };
        let addresses = match body.attribute("addresses") {
            Some(attribute) => {
                self.each(attribute, "Invalid address", address).map(|listed| Some(listed.into()))
            }
            None => Some(None),
        };
        Some(Destination { hosts: hosts?.map(HostSet::new), ports: ports?, addresses: addresses? })
    }

    fn ports(&mut self, attribute: &Attribute) -> Option<Ports> {
        let items = self.items(attribute)?;
        let mut ranges = Vec::with_capacity(items.len());
        let mut any = false;
        for item in &items {
            let text = item.as_quoted().unwrap_or_else(|| item.span().text());
            match port_range(text) {
                Some(range) => ranges.push(range),
                None if text == "*" => any = true,
                None => {
                    let problem =
                        "a port is a number from 1 to 65535, a range \"8000-8999\", or \"*\" for all";
                    self.invalid_value("Invalid port", text, &problem, item.span());
                }
            }
        }
        if any {
            return Some(Ports::Any);
        }
        (ranges.len() == items.len()).then(|| Ports::Listed(ranges.into()))
    }

    fn filesystem(&mut self, block: &Block, effect: Effect) -> Option<FilesystemRule> {
        let root_module = self.root_module;
        let directories = match (block.body.attribute("directories"), effect) {
            (Some(attribute), _) => {
                let read = |text: &str| directory(root_module, text);
                self.each(attribute, "Invalid directory", read).map(|listed| Some(listed.into()))
            }
            (None, Effect::Deny) => Some(None),
            (None, Effect::Allow) => {
                let example = "directories = [\".\"] is the root module's directory and everything below it";
                self.missing("directories", block, example);
                None
            }
        };
        let words = FileOperation::ALL.map(|access| (access.word(), access));
        let access = match (block.body.attribute("access"), effect) {
            (Some(attribute), _) => self.keywords(attribute, &words)?.into_iter().collect(),
            (None, Effect::Allow) => BTreeSet::from([FileOperation::Read]),
            (None, Effect::Deny) => BTreeSet::from(FileOperation::ALL),
        };
        let protected = match block.body.attribute("protected") {
            Some(attribute) => self.protected(attribute, effect)?,
            None => ProtectedClasses::NONE,
        };
        Some(FilesystemRule { directories: directories?, access, protected })
    }

    fn protected(&mut self, attribute: &Attribute, effect: Effect) -> Option<ProtectedClasses> {
        let words = ProtectedClass::ALL.map(|class| (class.word(), class));
        let classes: ProtectedClasses = self.keywords(attribute, &words)?.into_iter().collect();
        let of_machine = classes.iter().find(|class| class.belongs_to_machine());
        if let Some(class) = of_machine.filter(|_| self.level == Level::RootModule && effect == Effect::Allow)
        {
            let detail = format!(
                "Files of the class \"{class}\" affect every configuration on this machine, so only the \
                 policies of the user and the organisation can grant access to them."
            );
            self.problem("Class of protected files not allowed", detail, attribute.expression.span());
            return None;
        }
        Some(classes)
    }

    fn environment(&mut self, block: &Block, effect: Effect) -> Option<EnvironmentRule> {
        let names = match (block.body.attribute("names"), effect) {
            (Some(attribute), _) => self.each(attribute, "Invalid name", variable)?,
            (None, Effect::Deny) => vec![Glob::parse("**").ok()?],
            (None, Effect::Allow) => {
                self.missing("names", block, "names = [\"AWS_REGION\"]");
                return None;
            }
        };
        Some(EnvironmentRule { names: names.into() })
    }

    fn process(&mut self, block: &Block, effect: Effect) -> Option<ProcessRule> {
        let program = self.program(block, effect);
        let arguments = match (block.body.attribute("arguments"), effect) {
            (Some(attribute), _) => self.arguments(attribute).map(Some),
            (None, Effect::Deny) => Some(None),
            (None, Effect::Allow) => {
                let example = "arguments = [\"version\"] allows this one argument; \"*\" matches one \
                    argument, and \"...\" at the end matches any number of additional arguments";
                self.missing("arguments", block, example);
                None
            }
        };
        let (program, arguments) = (program?, arguments?);
        let is_full = grants_all_programs(&program, arguments.as_ref());
        let environment = match (block.body.attribute("environment"), effect) {
            (Some(attribute), Effect::Deny) => {
                Some(ProgramVariables::denied(self.each(attribute, "Invalid name", variable)?))
            }
            (None, Effect::Deny) => None,
            (Some(attribute), Effect::Allow) => {
                let names = self.granted_variables(attribute, is_full)?;
                Some(ProgramVariables::granted(names, is_full))
            }
            (None, Effect::Allow) => Some(ProgramVariables::granted(Vec::new(), is_full)),
        };
        Some(ProcessRule { program, arguments, environment })
    }

    /// Parses the variables that a plugin may set for a program. An empty list means no variables.
    fn granted_variables(&mut self, attribute: &Attribute, is_full: bool) -> Option<Vec<Glob>> {
        if attribute.expression.as_tuple_items().is_some_and(|items| items.is_empty()) {
            return Some(Vec::new());
        }
        let granted = |text: &str| {
            let pattern = variable(text)?;
            let without_stars = text.replace('*', "");
            if !is_full && pattern.literal().is_none() && is_controlling(&without_stars) {
                return Err(
                    "such variables change the code that a program executes, and a wildcard does not \
                            grant them; name each variable"
                        .to_owned(),
                );
            }
            Ok(pattern)
        };
        self.each(attribute, "Invalid name", granted)
    }

    fn arguments(&mut self, attribute: &Attribute) -> Option<Arguments> {
        // An empty list is valid here: it means a program without arguments.
        if attribute.expression.as_tuple_items().is_some_and(|items| items.is_empty()) {
            return Some(Arguments { patterns: Box::default(), allows_more: false });
        }
        let mut patterns = self.each(attribute, "Invalid argument pattern", Glob::parse)?;
        let open = patterns.last().is_some_and(|last| last.as_str() == ANY_FURTHER_ARGUMENTS);
        if open {
            patterns.pop();
        }
        if patterns.iter().any(|pattern| pattern.as_str() == ANY_FURTHER_ARGUMENTS) {
            self.problem(
                "Invalid argument pattern",
                "\"...\" matches any additional arguments, so it must be at the end.",
                attribute.expression.span(),
            );
            return None;
        }
        Some(Arguments { patterns: patterns.into(), allows_more: open })
    }

    fn program(&mut self, block: &Block, effect: Effect) -> Option<Glob> {
        match (block.body.attribute("program"), effect) {
            (Some(attribute), _) => self.one(attribute, "Invalid program", program),
            (None, Effect::Deny) => Glob::parse("**").ok(),
            (None, Effect::Allow) => {
                self.missing("program", block, "program = \"git\", or an absolute path");
                None
            }
        }
    }
}

fn method(text: &str) -> Result<Box<str>, String> {
    if text.is_empty() || !text.bytes().all(is_token_byte) {
        return Err("it is not an HTTP method such as \"GET\"".to_owned());
    }
    let capitals = text.to_ascii_uppercase();
    if capitals == text { Ok(text.into()) } else { Err(format!("methods are upper case: \"{capitals}\"")) }
}

fn address(text: &str) -> Result<AddressPattern, String> {
    if let Some(kind) = AddressKind::NAMED.into_iter().find(|kind| kind.word() == text) {
        return Ok(AddressPattern::Kind(kind));
    }
    AddressRange::parse(text).map(AddressPattern::Range).map_err(|problem| {
        let kinds = AddressKind::NAMED.map(|kind| format!("\"{}\"", kind.word())).join(", ");
        format!("{problem}, nor one of {kinds}")
    })
}

fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    match text.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (parse_port(first)?, parse_port(last)?);
            (first <= last).then_some(first..=last)
        }
        None => parse_port(text).map(|port| port..=port),
    }
}

fn directory(root_module: &Path, text: &str) -> Result<std::path::PathBuf, String> {
    if text.contains('*') {
        return Err("a directory includes everything below it, so wildcards are not supported".to_owned());
    }
    if text.starts_with('~') {
        return Err("\"~\" is not supported; use an absolute path".to_owned());
    }
    reject_control_characters(text)?;
    normalize(root_module, Path::new(text)).map_err(|problem| format!("{problem}; use an absolute path"))
}

fn variable(text: &str) -> Result<Glob, String> {
    if text.contains('=') {
        return Err("a name cannot contain an equals sign; values are not matched".to_owned());
    }
    Glob::parse(text).map_err(|problem| problem.to_string())
}

fn program(text: &str) -> Result<Glob, String> {
    let is_path = text.contains('/');
    if is_path && !text.starts_with(['/', '*']) {
        return Err("use a bare name, which is looked up in the search path, or an absolute path".to_owned());
    }
    if text.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) {
        return Err("the path has an empty component, \".\" or \"..\"".to_owned());
    }
    Glob::parse(text).map_err(|problem| problem.to_string())
}
