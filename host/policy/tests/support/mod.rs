//! Shared helpers: policies from text, and requests written on one line.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test whose own input is wrong ends here")]

pub mod questions;

use std::path::Path;

use wardian_access::{
    AccessRequest, CommunicatorConnection, EnvironmentName, FileAccess, FileOperation, NetworkRequest,
    ProcessStart, Scheme,
};
use wardian_address::ProviderAddress;
use wardian_diagnostic::{Diagnostics, NoStyle, SourceFile};
use wardian_policy::{Level, Policy, PolicyFile};

/// Directory of the root module.
pub const ROOT: &str = "/srv/project";

/// Parses one file.
pub fn parse(level: Level, text: &str) -> Result<PolicyFile, Diagnostics> {
    let name = match level {
        Level::Organisation => "/etc/wardian/wardian.policy.hcl",
        Level::User => "/home/ada/.config/wardian/wardian.policy.hcl",
        Level::RootModule => "wardian.policy.hcl",
        Level::Host => "the host",
    };
    PolicyFile::parse(level, &SourceFile::new(name, text), Path::new(ROOT))
}

/// Combines files.
#[track_caller]
pub fn policy(files: &[(Level, &str)]) -> Policy {
    let files = files.iter().map(|(level, text)| match parse(*level, text) {
        Ok(file) => file,
        Err(problems) => panic!("{problems}"),
    });
    Policy::new(Path::new(ROOT), files.collect::<Vec<_>>(), [])
}

/// Builds a policy that consists of the root module's file.
#[track_caller]
pub fn project(text: &str) -> Policy {
    policy(&[(Level::RootModule, text)])
}

pub fn plugin(address: &str) -> ProviderAddress {
    ProviderAddress::parse(address).unwrap()
}

/// Parses a request: `GET https://a.example`, `tcp://a.example:5432`, `open https://a.example:443`,
/// `lookup a.example`, `read a/b`, `write a/b`, `socket a/b`, `env NAME`, `run [VARIABLE=] PROGRAM ARGUMENTS`,
/// `connect HOST PORT`.
pub fn request(text: &str) -> AccessRequest {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let file =
        |access| AccessRequest::File(FileAccess::new(Path::new(ROOT), Path::new(rest), access).unwrap());
    if let Some(authority) = verb.strip_prefix("tcp://") {
        let (host, port) = authority.rsplit_once(':').unwrap();
        return AccessRequest::Network(NetworkRequest::tcp(host, port.parse().unwrap()).unwrap());
    }
    match verb {
        "open" => {
            let (scheme, authority) = rest.split_once("://").unwrap();
            let scheme = Scheme::ALL.into_iter().find(|known| known.word() == scheme).unwrap();
            let (host, port) = authority.rsplit_once(':').unwrap();
            let port = port.parse().unwrap();
            AccessRequest::Network(NetworkRequest::connection(scheme, host, port).unwrap())
        }
        "lookup" => AccessRequest::LookUp(wardian_access::Host::parse(rest).unwrap()),
        "read" => file(FileOperation::Read),
        "write" => file(FileOperation::Write),
        "socket" => file(FileOperation::Connect),
        "env" => AccessRequest::Environment(EnvironmentName::new(rest).unwrap()),
        "run" => {
            let mut words = rest.split(' ').map(str::to_owned).peekable();
            let mut variables = Vec::new();
            while let Some(variable) = words.next_if(|word| word.ends_with('=')) {
                variables.push(variable.trim_end_matches('=').to_owned());
            }
            let start = ProcessStart::new(&words.next().unwrap(), words).unwrap();
            AccessRequest::Process(start.with_variables(variables.iter().map(String::as_str)).unwrap())
        }
        "connect" => {
            let (host, port) = rest.split_once(' ').unwrap();
            AccessRequest::Communicator(CommunicatorConnection::new(host, port.parse().unwrap()).unwrap())
        }
        method => {
            let (scheme, authority) = rest.split_once("://").unwrap();
            AccessRequest::Network(NetworkRequest::http(scheme, authority, method).unwrap())
        }
    }
}

/// Renders problems in the form in which they are displayed to the user.
pub fn shown(problems: &Diagnostics) -> String {
    problems.iter().map(|problem| problem.to_text(80, &NoStyle).into_string()).collect()
}
