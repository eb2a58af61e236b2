//! Shared helpers: policies from text, and one-line requests.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test whose own input is wrong ends here")]

pub mod questions;

use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_diagnostic::{Diagnostics, NoStyle, SourceFile};
use wardian_policy::{
    Access, CommunicatorConnection, EnvironmentName, FileAccess, Level, NetworkRequest, Policy, PolicyFile,
    ProcessStart, Request,
};

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

/// Builds a policy with the root module's file only.
#[track_caller]
pub fn project(text: &str) -> Policy {
    policy(&[(Level::RootModule, text)])
}

pub fn plugin(address: &str) -> ProviderAddress {
    ProviderAddress::parse(address).unwrap()
}

/// `GET https://a.example`, `tcp://a.example:5432`, `lookup a.example`, `read a/b`,
/// `write a/b`, `env NAME`, `run PROGRAM ARGUMENTS`, `connect HOST PORT`.
pub fn request(text: &str) -> Request {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let file = |access| Request::File(FileAccess::new(Path::new(ROOT), Path::new(rest), access).unwrap());
    if let Some(authority) = verb.strip_prefix("tcp://") {
        let (host, port) = authority.rsplit_once(':').unwrap();
        return Request::Network(NetworkRequest::tcp(host, port.parse().unwrap()).unwrap());
    }
    match verb {
        "lookup" => Request::LookUp(wardian_policy::Host::parse(rest).unwrap()),
        "read" => file(Access::Read),
        "write" => file(Access::Write),
        "env" => Request::Environment(EnvironmentName::new(rest).unwrap()),
        "run" => {
            let mut words = rest.split(' ').map(str::to_owned);
            Request::Process(ProcessStart::new(&words.next().unwrap(), words).unwrap())
        }
        "connect" => {
            let (host, port) = rest.split_once(' ').unwrap();
            Request::Communicator(CommunicatorConnection::new(host, port.parse().unwrap()).unwrap())
        }
        method => {
            let (scheme, authority) = rest.split_once("://").unwrap();
            Request::Network(NetworkRequest::http(scheme, authority, method).unwrap())
        }
    }
}

/// Renders problems as the user sees them.
pub fn shown(problems: &Diagnostics) -> String {
    problems.iter().map(|problem| problem.to_text(80, &NoStyle)).collect()
}
