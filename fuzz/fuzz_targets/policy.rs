//! Policies of two levels, and a request: `METHOD SCHEME AUTHORITY`.
//!
//! Properties: the displayed form of a host, a path or a string is parsed as the same value; the
//! suggested rule for a denied request allows it; no lower policy level grants an access that the
//! organisation's policy denies; explanations are finite and refer to lines of the files.

#![no_main]

use std::net::IpAddr;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use wardian_access::{AccessRequest, CommunicatorConnection, EnvironmentName, FileAccess, FileOperation, Host, NetworkRequest, ProcessStart};
use wardian_address::ProviderAddress;
use wardian_fuzz::{file, look_at_diagnostics};
use wardian_policy::{DefaultAction, Level, Policy, PolicyFile};

const ROOT: &str = "/srv/project";

fuzz_target!(|data: &[u8]| {
    let Some(whole) = file("input", data) else { return };
    let mut parts = whole.text().splitn(3, "\n---\n");
    let organisation = read(Level::Organisation, parts.next().unwrap_or_default());
    let root_module = read(Level::RootModule, parts.next().unwrap_or_default());
    let asked = requests(parts.next().unwrap_or_default());

    let Some(organisation) = organisation else { return };
    let Ok(plugin) = "acme/dns".parse::<ProviderAddress>() else { return };
    let together = |files: Vec<PolicyFile>| Policy::new(Path::new(ROOT), files, []).for_plugin(&plugin);
    let above = together(vec![organisation.clone()]);
    let both = together(std::iter::once(organisation).chain(root_module).collect());
    let explanation = both.explain();
    let first = explanation.files.first().map(|file| file.default_action);
    for request in &asked {
        for address in [None, Some(IpAddr::from([127, 0, 0, 1])), Some(IpAddr::from([93, 184, 216, 34]))] {
            let decide = |view: &wardian_policy::PluginPolicy| match address {
                Some(address) => view.decide_at(request, address),
                None => view.decide(request),
            };
            let (by_organisation, by_both) = (decide(&above), decide(&both));
            if first == Some(DefaultAction::Deny) && !by_organisation.is_allowed() {
                assert!(!by_both.is_allowed(), "a lower level granted {request}");
            }
        }
        if let Some(rule) = both.rule_for(request, None) {
            let granted = read(Level::RootModule, &rule).map(|file| together(vec![file]));
            let is_protected = matches!(request, AccessRequest::File(_));
            assert!(
                is_protected || granted.is_some_and(|view| view.decide(request).is_allowed()),
                "the rule for {request} does not allow it: {rule}"
            );
        }
    }
});

fn read(level: Level, text: &str) -> Option<PolicyFile> {
    let file = file("wardian.policy.hcl", text.as_bytes())?;
    match PolicyFile::parse(level, &file, Path::new(ROOT)) {
        Ok(policy) => Some(policy),
        Err(problems) => {
            assert!(problems.has_errors(), "a failure without an error");
            look_at_diagnostics(&problems);
            None
        }
    }
}

/// Returns all requests that the text can describe.
fn requests(text: &str) -> Vec<AccessRequest> {
    let mut found = Vec::new();
    let words: Vec<&str> = text.trim_end().splitn(3, ' ').collect();
    if let [method, scheme, authority] = words.as_slice() {
        found.extend(NetworkRequest::http(scheme, authority, method).map(AccessRequest::Network));
    }
    if let Ok(host) = Host::parse(text) {
        assert_eq!(Host::parse(&host.to_string()).as_ref(), Ok(&host), "two forms of a host");
        found.push(AccessRequest::LookUp(host));
    }
    found.extend(CommunicatorConnection::new(text, 22).map(AccessRequest::Communicator));
    found.extend(NetworkRequest::tcp(text, 22).map(AccessRequest::Network));
    found.extend(EnvironmentName::new(text).map(AccessRequest::Environment));
    for access in FileOperation::ALL {
        found.extend(FileAccess::new(Path::new(ROOT), Path::new(text), access).map(AccessRequest::File));
    }
    let arguments = words.iter().skip(1).map(|word| (*word).to_owned());
    found.extend(
        ProcessStart::new(words.first().copied().unwrap_or_default(), arguments).map(AccessRequest::Process),
    );
    found
}
