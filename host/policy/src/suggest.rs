//! Suggests the rule that allows exactly one request.

use std::fmt::Write as _;
use std::net::IpAddr;

use wardian_access::{
    AccessRequest, AddressKind, Host, NetworkRequest, ProcessStart, ProtectedClass, ProtectedClasses, Scheme,
    canonical,
};
use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_lang::{parse_expression, quote_string};

use crate::glob::{Glob, MAX_TEXT_LENGTH};
use crate::policy::PluginPolicy;

impl PluginPolicy {
    /// Returns the source of a rule that allows exactly this request, if such a rule exists;
    /// `address` is the resolved address of the request's host, if the address was denied. No rule
    /// can exactly match names that contain `*` or characters that are invalid in policies.
    ///
    /// The rule may not be sufficient in every file, since it does not override a denial in another
    /// file.
    pub fn rule_for(&self, request: &AccessRequest, address: Option<IpAddr>) -> Option<String> {
        rule_for(self.plugin(), request, self.required_classes(request), address)
    }
}

fn rule_for(
    plugin: &ProviderAddress,
    request: &AccessRequest,
    protected: ProtectedClasses,
    address: Option<IpAddr>,
) -> Option<String> {
    let (capability, arguments) = match request {
        AccessRequest::Network(request) => ("network", network(request, address)?),
        // A lookup precedes a connection, whose port is not known yet.
        AccessRequest::LookUp(_) => return None,
        AccessRequest::File(access) => {
            let directory = access.path().to_str()?;
            if directory.contains('*') {
                return None;
            }
            // The root module's policy, to which a user would add the rule, cannot name these
            // classes.
            if protected.iter().any(ProtectedClass::belongs_to_machine) {
                return None;
            }
            let mut arguments =
                vec![("directories", list([directory])?), ("access", list([access.operation().word()])?)];
            if !protected.is_empty() {
                arguments.push(("protected", list(protected.iter().map(ProtectedClass::word))?));
            }
            ("filesystem", arguments)
        }
        AccessRequest::Environment(name) => {
            ("environment", vec![("names", list([literal(name.as_str())?])?)])
        }
        AccessRequest::Process(start) => {
            let arguments =
                start.arguments().iter().map(|argument| literal(argument)).collect::<Option<Vec<_>>>()?;
            if arguments.last() == Some(&"...") {
                return None;
            }
            // Only a rule that names the file allows the access.
            let program = match start.replaceable_file() {
                Some(file) => file.to_str()?,
                None => start.program(),
            };
            let mut rule =
                vec![("program", string_literal(literal(program)?)?), ("arguments", list(arguments)?)];
            rule.extend(variables(start)?.into_iter().map(|names| ("environment", names)));
            ("process", rule)
        }
        AccessRequest::Communicator(connection) => {
            let mut arguments = vec![
                ("hosts", list([&*connection.host().to_string()])?),
                ("ports", format!("[{}]", connection.port())),
            ];
            arguments.extend(addresses(connection.host(), address)?);
            ("communicator", arguments)
        }
    };
    let width = arguments.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut rule = format!(
        "plugin {} {{\n  allow {capability} {{\n",
        string_literal(&plugin.for_display().to_string())?
    );
    for (name, value) in arguments {
        let _ = writeln!(rule, "    {name:width$} = {value}");
    }
    rule.push_str("  }\n}\n");
    Some(rule)
}

fn network(request: &NetworkRequest, address: Option<IpAddr>) -> Option<Vec<(&'static str, String)>> {
    let mut arguments = vec![("hosts", list([&*request.host().to_string()])?)];
    if request.scheme() != Scheme::Https {
        arguments.push(("schemes", list([request.scheme().word()])?));
    }
    if request.scheme().port() != Some(request.port()) {
        arguments.push(("ports", format!("[{}]", request.port())));
    }
    if let Some(method) = request.method() {
        arguments.push(("methods", list([method])?));
    }
    arguments.extend(addresses(request.host(), address)?);
    Some(arguments)
}

/// Returns the `addresses` argument, if a rule does not match the address by default.
pub(crate) fn addresses(host: &Host, address: Option<IpAddr>) -> Option<Vec<(&'static str, String)>> {
    match (host, address) {
        (Host::Name(_), Some(address)) if AddressKind::from_address(address) != AddressKind::Public => {
            Some(vec![("addresses", list([&*canonical(address).to_string()])?)])
        }
        _ => Some(Vec::new()),
    }
}

/// Returns the `environment` argument, which is empty if a plugin sets no variables.
pub(crate) fn variables(start: &ProcessStart) -> Option<Vec<String>> {
    let names = start.variables().iter().map(|name| literal(name.as_str())).collect::<Option<Vec<_>>>()?;
    if names.is_empty() { Some(Vec::new()) } else { list(names).map(|list| vec![list]) }
}

/// Returns the string if it matches only itself as a pattern.
pub(crate) fn literal(text: &str) -> Option<&str> {
    let is_literal =
        text.len() <= MAX_TEXT_LENGTH && Glob::parse(text).is_ok_and(|glob| glob.literal().is_some());
    is_literal.then_some(text)
}

pub(crate) fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let quoted: Option<Vec<String>> = texts.into_iter().map(string_literal).collect();
    Some(format!("[{}]", quoted?.join(", ")))
}

/// Renders a string literal, if parsing it returns the same string. Parsing normalizes Unicode, so
/// some strings cannot be represented. Control characters are not allowed in a policy.
pub(crate) fn string_literal(text: &str) -> Option<String> {
    if text.chars().any(char::is_control) {
        return None;
    }
    let quoted = quote_string(text);
    let read = parse_expression(&SourceFile::new("", &*quoted)).ok()?;
    (read.as_quoted() == Some(text)).then_some(quoted)
}
