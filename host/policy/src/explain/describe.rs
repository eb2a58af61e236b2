//! Describes the conditions of rules as text.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use wardian_access::{FileOperation, ProtectedClasses};

use crate::glob::Glob;
use crate::rule::{Arguments, Conditions, Destination, Ports, ProgramVariables};

/// Returns the name of a rule's capability.
pub(super) fn capability(conditions: &Conditions) -> &'static str {
    match conditions {
        Conditions::Network(_) => "network",
        Conditions::Filesystem(_) => "filesystem",
        Conditions::Environment(_) => "environment",
        Conditions::Process(_) => "process",
        Conditions::Communicator(_) => "communicator",
    }
}

pub(crate) fn conditions(conditions: &Conditions) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = match conditions {
        Conditions::Network(rule) => {
            let _ = write!(text, "{} to ", join_with_commas(&rule.schemes));
            let _ = destination(&rule.destination, &mut text);
            methods(rule.methods.as_ref(), &mut text)
        }
        Conditions::Filesystem(rule) => {
            let _ = write!(text, "{} ", accesses(&rule.access));
            let _ = match &rule.directories {
                None => text.write_str("anything"),
                Some(directories) => {
                    text.write_str(&join_with_commas(directories.iter().map(|directory| directory.display())))
                }
            };
            protected(rule.protected, &mut text)
        }
        Conditions::Environment(rule) => {
            text.write_str(&join_with_commas(rule.names.iter().map(|name| name.as_str())))
        }
        Conditions::Process(rule) => {
            text.push_str(rule.program.as_str());
            let _ = match &rule.arguments {
                Some(patterns) => arguments(patterns, &mut text),
                None => text.write_str(" with any arguments"),
            };
            rule.environment.as_ref().map_or(Ok(()), |names| variables(names, &mut text))
        }
        Conditions::Communicator(rule) => destination(&rule.destination, &mut text),
    };
    text
}

fn destination(destination: &Destination, to: &mut impl Write) -> fmt::Result {
    match &destination.hosts {
        None => to.write_str("any host")?,
        Some(hosts) => to.write_str(&join_with_commas(hosts.patterns()))?,
    }
    match &destination.ports {
        Ports::SchemeDefault => to.write_str(", the scheme's port")?,
        Ports::Any => ports(None, to)?,
        Ports::Listed(ranges) => {
            let ranges: Vec<(u16, u16)> = ranges.iter().map(|range| (*range.start(), *range.end())).collect();
            ports(Some(&ranges), to)?;
        }
    }
    match &destination.addresses {
        Some(addresses) => write!(to, ", at addresses {}", join_with_commas(addresses)),
        None => Ok(()),
    }
}

pub(super) fn methods(methods: Option<&BTreeSet<Box<str>>>, to: &mut impl Write) -> fmt::Result {
    match methods {
        Some(methods) => write!(to, ", methods {}", join_with_commas(methods)),
        None => Ok(()),
    }
}

pub(super) fn ports(ports: Option<&[(u16, u16)]>, to: &mut impl Write) -> fmt::Result {
    let Some(ports) = ports else { return to.write_str(", any port") };
    to.write_str(if ports.len() == 1 { ", port" } else { ", ports" })?;
    for (index, (first, last)) in ports.iter().enumerate() {
        to.write_str(if index > 0 { ", " } else { " " })?;
        if first == last { write!(to, "{first}")? } else { write!(to, "{first}-{last}")? }
    }
    Ok(())
}

pub(super) fn accesses(access: &BTreeSet<FileOperation>) -> String {
    access.iter().map(|access| access.word()).collect::<Vec<_>>().join(", ")
}

pub(super) fn protected(classes: ProtectedClasses, to: &mut impl Write) -> fmt::Result {
    if classes.is_empty() { Ok(()) } else { write!(to, ", protected files: {classes}") }
}

pub(super) fn arguments(arguments: &Arguments, to: &mut impl Write) -> fmt::Result {
    for pattern in &arguments.patterns {
        write!(to, " {}", pattern.as_str())?;
    }
    to.write_str(if arguments.allows_more { " ..." } else { "" })
}

pub(super) fn variables(variables: &ProgramVariables, to: &mut impl Write) -> fmt::Result {
    match variables.patterns() {
        [] => Ok(()),
        names => write!(to, ", setting {}", join_with_commas(names.iter().map(Glob::as_str))),
    }
}

pub(super) fn join_with_commas<T: fmt::Display>(things: impl IntoIterator<Item = T>) -> String {
    things.into_iter().map(|thing| thing.to_string()).collect::<Vec<_>>().join(", ")
}

/// Joins patterns that must all match.
pub(super) fn join_with_and<P>(patterns: &[P], text: impl Fn(&P) -> String) -> String {
    patterns.iter().map(text).collect::<Vec<_>>().join(" and ")
}
