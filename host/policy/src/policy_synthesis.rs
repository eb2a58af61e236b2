//! Synthesizes the least-privilege policy for a set of accesses.

mod plugin_accesses;
mod widening;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;

use wardian_access::AccessRequest;
use wardian_address::ProviderAddress;
use wardian_diagnostic::{Diagnostics, SourceFile};
use wardian_printable::escape::{Extent, escape};

use crate::level::Level;
use crate::policy::{POLICY_FILE_NAME, Policy, PolicyFile};
use crate::policy_edit::add_rules;
use crate::protected::ProtectedFiles;
use crate::settings::NativePlugins;
use crate::suggest::string_literal;
use plugin_accesses::PluginAccesses;
use widening::Widening;

/// Maximum number of denials that are listed in a policy.
const MAX_LISTED_DENIALS: usize = 50;

/// An access that a policy must allow.
#[derive(Clone, Debug)]
pub struct NeededAccess {
    pub plugin: ProviderAddress,
    pub request: AccessRequest,
    /// The address to which the host name resolved, if known.
    pub address: Option<IpAddr>,
    /// The resources that needed it, if known.
    pub resources: BTreeSet<String>,
}

/// The accesses from which a policy is synthesized.
#[derive(Clone, Debug, Default)]
pub struct ObservedAccesses {
    /// Paths below this directory are written as relative paths.
    pub root_module: PathBuf,
    pub needed: Vec<NeededAccess>,
    /// The native plugins, which are confined to the rules.
    pub native: BTreeSet<ProviderAddress>,
    /// Descriptions of the denied accesses, which are listed in comments.
    pub denied: BTreeSet<String>,
    /// The command that made the accesses, for the reasons of rules.
    pub command: Option<String>,
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
/// equivalent; for native plugins with a template, also the accesses to other hosts of the same
/// services. The cost is linear in the number of accesses and the depth of their
/// paths.
pub fn least_privilege_policy(observed: &ObservedAccesses) -> LeastPrivilegePolicy {
    let (plugins, left_out) = group(observed, |_| true);
    let mut text = String::from("# Allows the accesses that plugins made in recorded runs.\n");
    for (plugin, accesses) in plugins {
        let is_native = observed.native.contains(&plugin);
        let rules = accesses.rules(observed);
        if is_native || !rules.is_empty() {
            text.extend(block(&plugin, is_native, &rules));
        }
    }
    text.push_str(&denials(&observed.denied));
    LeastPrivilegePolicy { text, left_out }
}

/// Adds the rules to a policy that it needs to allow these accesses. If it already allows them, the
/// text is unchanged.
///
/// # Errors
/// Returns an error if the text is not a valid policy.
pub fn extend_policy(old: &str, observed: &ObservedAccesses) -> Result<LeastPrivilegePolicy, Diagnostics> {
    let root_module = &observed.root_module;
    let file = PolicyFile::parse(Level::RootModule, &SourceFile::new(POLICY_FILE_NAME, old), root_module)?;
    let policy = Policy::new(root_module, [file], []);
    let is_missing = |needed: &NeededAccess| {
        let own = policy.for_plugin(&needed.plugin);
        let decision = match needed.address {
            Some(address) => own.decide_at(&needed.request, address),
            None => own.decide(&needed.request),
        };
        !decision.is_allowed() && !matches!(needed.request, AccessRequest::LookUp(_))
    };
    let (plugins, left_out) = group(observed, is_missing);
    let mut text = old.to_owned();
    for (plugin, accesses) in plugins {
        let is_unconfined = observed.native.contains(&plugin)
            && policy.for_plugin(&plugin).native() != NativePlugins::Confine;
        let rules = accesses.rules(observed);
        if is_unconfined {
            text.extend(block(&plugin, true, &rules).map(|block| block_after(&text, &block)));
        } else if !rules.is_empty() {
            text = add_rules(&text, &plugin, &rules.join("\n"), root_module)?;
        }
    }
    Ok(LeastPrivilegePolicy { text, left_out })
}

/// Groups the accesses that a condition selects by plugin, and returns the accesses that no rule can
/// match.
fn group(
    observed: &ObservedAccesses,
    is_selected: impl Fn(&NeededAccess) -> bool,
) -> (BTreeMap<ProviderAddress, PluginAccesses>, BTreeSet<String>) {
    let new = |plugin: &ProviderAddress| {
        PluginAccesses::new(observed.native.contains(plugin).then(|| Widening::for_plugin(plugin)))
    };
    let mut plugins: BTreeMap<ProviderAddress, PluginAccesses> =
        observed.native.iter().map(|plugin| (plugin.clone(), new(plugin))).collect();
    let mut left_out = BTreeSet::new();
    let protected = ProtectedFiles::new(&observed.root_module);
    for one in observed.needed.iter().filter(|one| is_selected(one)) {
        let accesses = plugins.entry(one.plugin.clone()).or_insert_with(|| new(&one.plugin));
        if accesses.add(one, &protected).is_none() {
            left_out.insert(format!("{}: {}", one.plugin.for_display(), one.request));
        }
    }
    (plugins, left_out)
}

/// Renders a block, after an empty line.
fn block(plugin: &ProviderAddress, is_native: bool, rules: &[String]) -> Option<String> {
    let plugin = string_literal(&plugin.for_display().to_string())?;
    let native = match (is_native, rules.is_empty()) {
        (true, true) => "  native = \"confine\"\n",
        (true, false) => "  native = \"confine\"\n\n",
        (false, _) => "",
    };
    Some(format!("\nplugin {plugin} {{\n{native}{}}}\n", rules.join("\n")))
}

fn block_after(text: &str, block: &str) -> String {
    let gap = if text.ends_with('\n') { "" } else { "\n" };
    format!("{gap}{block}")
}

/// Renders denials as comments. They contain text of plugins, which must not end a comment.
fn denials(denied: &BTreeSet<String>) -> String {
    if denied.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("\n# These accesses were denied. Add rules for those that the plugins need:\n");
    for one in denied.iter().take(MAX_LISTED_DENIALS) {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "# - {}", escape(one, Extent::Line));
    }
    if let Some(more) = denied.len().checked_sub(MAX_LISTED_DENIALS).filter(|more| *more > 0) {
        let _ = writeln!(text, "# - and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use wardian_access::{
        CommunicatorConnection, EnvironmentName, FileAccess, FileOperation, NetworkRequest, ProcessStart,
        Scheme,
    };

    use super::*;

    const ROOT: &str = "/srv/project";

    fn network(scheme: &str, authority: &str, method: &str) -> AccessRequest {
        AccessRequest::Network(NetworkRequest::http(scheme, authority, method).unwrap())
    }

    fn file(path: &str, access: FileOperation) -> AccessRequest {
        AccessRequest::File(FileAccess::new(Path::new(ROOT), Path::new(path), access).unwrap())
    }

    fn needed(request: AccessRequest) -> NeededAccess {
        NeededAccess {
            plugin: ProviderAddress::parse("acme/cloud").unwrap(),
            request,
            address: None,
            resources: BTreeSet::new(),
        }
    }

    fn observed(needed: impl IntoIterator<Item = NeededAccess>) -> ObservedAccesses {
        ObservedAccesses {
            root_module: ROOT.into(),
            needed: needed.into_iter().collect(),
            ..ObservedAccesses::default()
        }
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
        let least = least_privilege_policy(&observed(uses()));
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
        let policy = policy(&least_privilege_policy(&observed(uses())).text);
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
            let least = least_privilege_policy(&observed(uses.clone().map(needed)));
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
        let least = least_privilege_policy(&observed(odd.map(needed)));
        assert_eq!(least.left_out.len(), 3, "{:?}", least.left_out);
        assert_eq!(least.text, "# Allows the accesses that plugins made in recorded runs.\n");
    }

    /// Returns a connection of the AWS provider.
    fn aws(host: &str, port: u16, resource: &str) -> NeededAccess {
        NeededAccess {
            plugin: ProviderAddress::parse("hashicorp/aws").unwrap(),
            request: AccessRequest::Network(NetworkRequest::connection(Scheme::Https, host, port).unwrap()),
            address: Some("52.1.2.3".parse().unwrap()),
            resources: BTreeSet::from([resource.to_owned()]),
        }
    }

    fn learnt(needed: impl IntoIterator<Item = NeededAccess>) -> ObservedAccesses {
        let native = ["hashicorp/aws", "hashicorp/tls"].map(|one| ProviderAddress::parse(one).unwrap());
        ObservedAccesses {
            native: native.into(),
            command: Some("plan".to_owned()),
            denied: BTreeSet::from(["acme/cloud wants more\nplugin \"*\" {}".to_owned()]),
            ..observed(needed)
        }
    }

    #[test]
    fn native_plugins_are_confined_to_services_with_reasons() {
        let uses = [
            aws("ec2.eu-west-1.amazonaws.com", 443, "aws_vpc.main"),
            aws("sts.eu-west-1.amazonaws.com", 443, "provider.aws"),
            aws("sqs.eu-west-1.amazonaws.com", 443, "aws_sqs_queue.b"),
            aws("s3.eu-west-1.amazonaws.com", 443, "aws_s3_bucket.c"),
            aws("iam.amazonaws.com", 443, "aws_iam_role.r"),
            aws("ec2.eu-west-1.amazonaws.com", 8443, "aws_vpc.main"),
            aws("api.other.example", 443, "aws_vpc.main"),
            needed(network("https", "api.example.com", "GET")),
        ];
        let least = least_privilege_policy(&learnt(uses));
        assert_eq!(policy(&least.text).files()[0].contradictions().len(), 0, "{}", least.text);
        insta::assert_snapshot!(least.text);
    }

    #[test]
    fn extended_policy_keeps_its_text_and_gains_only_missing_rules() {
        let first = [aws("ec2.eu-west-1.amazonaws.com", 443, "aws_vpc.main")];
        let old = format!("# mine\n{}", least_privilege_policy(&learnt(first.clone())).text);
        assert_eq!(extend_policy(&old, &learnt(first.clone())).unwrap().text, old);
        let other =
            [aws("iam.amazonaws.com", 443, "aws_iam_role.r"), needed(network("https", "a.example", "GET"))];
        let all = first.into_iter().chain(other).chain([aws("ecs.eu-west-1.amazonaws.com", 443, "aws_x.y")]);
        let new = extend_policy(&old, &learnt(all.clone())).unwrap().text;
        let kept: Vec<&str> = new.lines().filter(|line| old.lines().any(|known| known == *line)).collect();
        assert!(kept.len() >= old.lines().count(), "{new}");
        assert_eq!(extend_policy(&new, &learnt(all)).unwrap().text, new);
        insta::assert_snapshot!(new);
        assert!(extend_policy("plugin {", &learnt([])).is_err());
    }

    #[test]
    fn extended_policy_confines_native_plugins() {
        let old = "otherwise = \"defer\"\nplugin \"hashicorp/tls\" {\n  native = \"warn\"\n}";
        let new = extend_policy(old, &learnt([])).unwrap().text;
        let policy = policy(&new);
        for plugin in ["hashicorp/aws", "hashicorp/tls"] {
            let plugin = ProviderAddress::parse(plugin).unwrap();
            assert_eq!(policy.for_plugin(&plugin).native(), NativePlugins::Confine, "{new}");
        }
    }
}
