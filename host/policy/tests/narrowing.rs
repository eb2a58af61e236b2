//! Relations between levels and decisions: a lower level never grants an access that a higher level
//! denies, and every granted request is listed as granted by the explanation.

mod support;

use std::net::IpAddr;

use proptest::prelude::*;
use support::questions::{ADDRESSES, REQUESTS, allows, any_request, file, questions, settings};
use support::{parse, plugin, policy, request};
use wardian_access::AccessRequest;
use wardian_policy::{Level, NativePlugins};

proptest! {
    #[test]
    fn lower_level_never_grants_more(
        organisation in file(), user in file(), root_module in file(), further in file(),
    ) {
        let files = [
            (Level::Organisation, &*organisation),
            (Level::User, &*user),
            (Level::RootModule, &*root_module),
            (Level::RootModule, &*further),
        ];
        for count in 1..files.len() {
            let (higher, all) = (policy(&files[..count]), policy(&files[..=count]));
            let defers = files[..count].iter().all(|(_, text)| text.contains("defer"));
            for (request, address) in questions() {
                // Undecided requests may be granted; all others remain denied.
                if !defers && !allows(&higher, &request, address) {
                    prop_assert!(!allows(&all, &request, address), "{request} {address:?}\n{files:#?}");
                }
                // An access that is not allowed by a file without `defer` remains denied,
                // regardless of the other files.
                for (level, text) in &files[..=count] {
                    if !text.contains("defer") && !allows(&policy(&[(*level, text)]), &request, address) {
                        prop_assert!(!allows(&all, &request, address), "{request} {address:?}\n{files:#?}");
                    }
                }
            }
        }
    }

    /// Checks the same relations for arbitrary requests, including the restrictions for untrusted
    /// configurations.
    #[test]
    fn lower_level_never_grants_more_for_any_request(
        files in prop::collection::vec(file(), 2..4),
        asked in prop::collection::vec(any_request(), 1..12),
    ) {
        let levels = [Level::Organisation, Level::User, Level::RootModule];
        let files: Vec<(Level, &str)> = levels.into_iter().zip(files.iter().map(String::as_str)).collect();
        let (higher, all) = (policy(&files[..files.len() - 1]), policy(&files));
        let mut distrusted = all.clone();
        distrusted.distrust([std::path::PathBuf::from(support::ROOT).join("a/b")]);
        let defers = files[..files.len() - 1].iter().all(|(_, text)| text.contains("defer"));
        for request in asked {
            let addresses = std::iter::once(None).chain(ADDRESSES.iter().map(|text| text.parse().ok()));
            let is_network = matches!(request, AccessRequest::Network(_) | AccessRequest::Communicator(_));
            for address in addresses.filter(|address| address.is_none() || is_network) {
                if !defers && !allows(&higher, &request, address) {
                    prop_assert!(!allows(&all, &request, address), "{request} {address:?}\n{files:#?}");
                }
                if !allows(&all, &request, address) {
                    prop_assert!(!allows(&distrusted, &request, address), "{request} {address:?}\n{files:#?}");
                }
            }
        }
    }

    #[test]
    fn lower_level_never_raises_limits(files in prop::collection::vec(settings(), 2..4)) {
        let levels = [Level::Organisation, Level::User, Level::RootModule];
        let files: Vec<(Level, &str)> = levels.into_iter().zip(files.iter().map(String::as_str)).collect();
        let view = |count: usize| policy(&files[..count]).for_plugin(&plugin("acme/dns"));
        let (higher, all) = (view(files.len() - 1), view(files.len()));
        let is_kept = |before: Option<u128>, after: Option<u128>| {
            before.is_none_or(|before| after.is_some_and(|after| after <= before))
        };
        let limits = |view: &wardian_policy::PluginPolicy| {
            let limits = &view.settings().limits;
            [
                limits.memory.as_ref().map(|set| u128::from(set.value)),
                limits.cpu_time.as_ref().map(|set| set.value.as_nanos()),
                limits.wall_time.as_ref().map(|set| set.value.as_nanos()),
                limits.concurrent_requests.as_ref().map(|set| u128::from(set.value)),
                limits.response_size.as_ref().map(|set| u128::from(set.value)),
                limits.bytes_written.as_ref().map(|set| u128::from(set.value)),
            ]
        };
        for (before, after) in limits(&higher).into_iter().zip(limits(&all)) {
            prop_assert!(is_kept(before, after), "{before:?} {after:?}\n{files:#?}");
        }
        let is_set = |view: &wardian_policy::PluginPolicy| {
            view.settings().deterministic.as_ref().is_some_and(|set| set.value)
        };
        prop_assert!(!is_set(&higher) || is_set(&all), "{files:#?}");
        // If `native` is not set, native plugins cause a warning, and a lower level may allow them.
        let is_open = higher.settings().native.is_none() && higher.native() != NativePlugins::Deny;
        prop_assert!(is_open || all.native() >= higher.native(), "{files:#?}");
    }

    #[test]
    fn denial_is_final(organisation in file(), root_module in file()) {
        // The file contains the same denials and allows everything else.
        let all = "plugin \"*\" {\n allow network {\n hosts = [\"**\", \"0.0.0.0/0\"]\n schemes = [\"http\", \"https\"]\n \
                   ports = [\"*\"]\n addresses = [\"public\", \"private\", \"loopback\", \"0.0.0.0/0\"]\n }\n}\n";
        let open = policy(&[(Level::Organisation, &format!("{organisation}{all}"))]);
        let both = policy(&[(Level::Organisation, &organisation), (Level::RootModule, &root_module)]);
        for (request, address) in questions() {
            let is_network = matches!(request, AccessRequest::Network(_));
            let is_metadata = address.is_some_and(|address| address.to_string() == "169.254.169.254");
            if is_network && !is_metadata && !allows(&open, &request, address) {
                prop_assert!(!allows(&both, &request, address), "{request} {address:?}\n{organisation}\n{root_module}");
            }
        }
    }

    #[test]
    fn explanation_matches_decisions(organisation in file(), root_module in file()) {
        let policy = policy(&[(Level::Organisation, &organisation), (Level::RootModule, &root_module)]);
        let explanation = policy.for_plugin(&plugin("acme/dns")).explain();
        for (request, address) in questions() {
            // The explanation includes resolved addresses.
            let view = policy.for_plugin(&plugin("acme/dns"));
            let decision = match address {
                Some(address) => view.decide_at(&request, address),
                None if matches!(request, AccessRequest::Network(_) | AccessRequest::Communicator(_)) => continue,
                None => view.decide(&request),
            };
            if let wardian_policy::Decision::Allowed(grant) = decision {
                let is_explained = explanation
                    .allowed
                    .iter()
                    .any(|explained| grant.rules.iter().any(|place| explained.rules.contains(place)));
                prop_assert!(is_explained, "{request} by {grant:?}\n{explanation:#?}\n{organisation}\n{root_module}");
            }
        }
        if explanation.allowed.is_empty() {
            for (request, address) in questions().into_iter().filter(|(_, address)| address.is_some()) {
                prop_assert!(!allows(&policy, &request, address), "{request} {address:?}");
            }
        }
    }

    #[test]
    fn suggested_rule_allows_the_request(index in 0..REQUESTS.len(), at in 0..ADDRESSES.len()) {
        let request = request(REQUESTS[index]);
        let address: Option<IpAddr> = ADDRESSES[at].parse().ok();
        let view = policy(&[]).for_plugin(&plugin("acme/dns"));
        let is_network = matches!(request, AccessRequest::Network(_) | AccessRequest::Communicator(_));
        let by_address = address.filter(|_| is_network && !REQUESTS[index].contains(".1"));
        let rule = view.rule_for(&request, by_address);
        let granted = policy(&[(Level::RootModule, &rule.clone().unwrap_or_default())]);
        prop_assert!(rule.is_some());
        prop_assert!(allows(&granted, &request, by_address), "{request} {by_address:?}\n{rule:?}");
        prop_assert!(!granted.for_plugin(&plugin("acme/other")).decide(&request).is_allowed());
    }

    #[test]
    fn request_text_is_preserved_in_the_rule(name in "[^=\u{0}]{1,12}", argument in "\\PC{0,12}") {
        for request in [
            AccessRequest::Environment(wardian_access::EnvironmentName::new(&name).unwrap()),
            AccessRequest::Process(wardian_access::ProcessStart::new("git", [argument.clone()]).unwrap()),
        ] {
            let view = policy(&[]).for_plugin(&plugin("acme/dns"));
            if let Some(rule) = view.rule_for(&request, None) {
                prop_assert!(parse(Level::RootModule, &rule).is_ok(), "{rule}");
                let granted = policy(&[(Level::RootModule, &rule)]);
                prop_assert!(allows(&granted, &request, None), "{rule}");
            }
        }
    }
}
