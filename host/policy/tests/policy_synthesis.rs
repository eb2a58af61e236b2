//! The synthesized policy allows exactly the given accesses.

mod support;

use std::collections::BTreeSet;
use std::net::IpAddr;

use proptest::prelude::*;
use support::questions::{ADDRESSES, allows, any_request};
use support::{ROOT, plugin, policy, project};
use wardian_access::{AccessRequest, Host};
use wardian_policy::{NeededAccess, ObservedAccesses, extend_policy, least_privilege_policy};

/// A policy that grants everything.
const EVERYTHING: &str = r#"plugin "*" {
  allow network {
    hosts     = ["**"]
    schemes   = ["https", "http", "tcp", "udp"]
    ports     = ["*"]
    addresses = ["0.0.0.0/0", "::/0"]
  }
  allow filesystem {
    directories = [".", "/opt"]
    access      = ["read", "write"]
  }
  allow environment {
    names = ["*"]
  }
  allow process {
    program   = "**"
    arguments = ["..."]
  }
  allow communicator {
    hosts     = ["**"]
    ports     = ["*"]
    addresses = ["0.0.0.0/0", "::/0"]
  }
}
"#;

/// A request, and the address to which its name resolved.
type CapabilityRequest = (AccessRequest, Option<IpAddr>);

fn asked() -> impl Strategy<Value = CapabilityRequest> {
    let addresses: Vec<IpAddr> = ADDRESSES.iter().filter_map(|text| text.parse().ok()).collect();
    (any_request(), prop::option::of(prop::sample::select(addresses))).prop_map(|(request, address)| {
        let leads_somewhere = host(&request).is_some_and(|host| !matches!(host, Host::Address(_)));
        (request, address.filter(|_| leads_somewhere))
    })
}

/// Returns the host of a connection.
fn host(request: &AccessRequest) -> Option<&Host> {
    match request {
        AccessRequest::Network(network) => Some(network.host()),
        AccessRequest::Communicator(connection) => Some(connection.host()),
        _ => None,
    }
}

/// Returns whether a grant of one request includes the other request.
fn means((used, led): &CapabilityRequest, (request, address): &CapabilityRequest) -> bool {
    let names_it = match (used, request) {
        // A granted directory includes everything below it.
        (AccessRequest::File(used), AccessRequest::File(file)) => {
            used.operation() == file.operation() && file.path().starts_with(used.path())
        }
        (used, AccessRequest::LookUp(name)) => host(used) == Some(name),
        (used, request) => used == request,
    };
    let canonical = |address: &IpAddr| address.to_canonical();
    let is_public = |address: &IpAddr| *address == IpAddr::from([93, 184, 216, 34]);
    names_it
        && address.is_none_or(|address| {
            is_public(&address) || led.as_ref().map(canonical) == Some(canonical(&address))
        })
}

proptest! {
    #[test]
    fn synthesized_policy_allows_exactly_the_accesses(
        used in prop::collection::vec(asked(), 0..8),
        others in prop::collection::vec(asked(), 1..12),
    ) {
        let everything = project(EVERYTHING);
        let used: Vec<CapabilityRequest> =
            used.into_iter().filter(|(request, address)| allows(&everything, request, *address)).collect();
        let uses = used.iter().map(|(request, address)| NeededAccess {
            plugin: plugin("acme/dns"),
            request: request.clone(),
            address: *address,
            resources: BTreeSet::new(),
        });
        let observed = ObservedAccesses {
            root_module: ROOT.into(),
            needed: uses.collect(),
            ..ObservedAccesses::default()
        };
        let least = least_privilege_policy(&observed);
        let (suggested, nothing) = (project(&least.text), policy(&[]));
        for (request, address) in &used {
            let is_left_out = least.left_out.contains(&format!("acme/dns: {request}"));
            // A rule for a connection also grants the lookup that precedes it.
            if !is_left_out && !matches!(request, AccessRequest::LookUp(_)) {
                prop_assert!(
                    allows(&suggested, request, *address),
                    "{request} {address:?} was used\n{}", least.text
                );
            }
        }
        prop_assert_eq!(&extend_policy(&least.text, &observed).unwrap().text, &least.text);
        for other in &others {
            let (request, address) = other;
            if allows(&suggested, request, *address) && !allows(&nothing, request, *address) {
                prop_assert!(
                    used.iter().any(|used| means(used, other)),
                    "{request} {address:?} was not used: {used:?}\n{}", least.text
                );
            }
        }
    }
}
