//! What each plugin may touch, and why.
//!
//! A component has nothing but clocks and randomness unless a policy grants it. What
//! the host grants by itself, where no policy says otherwise, stands in
//! `wardian-policy`, and is granted to code, not to a name: whoever can put a file into
//! a mirror, or a repository under test, can call it `hashicorp/local`. A component from
//! there has nothing. A development override has, since the person named the file
//! themselves.
//!
//! A native plugin is outside of the sandbox, and may touch what its user may. What
//! is kept from it is the environment, where secrets of others lie: it is given
//!
//! | variables | because |
//! |---|---|
//! | `HOME`, `PATH`, the user's name, locale, time zone, directories for temporary and user files | what it starts and reads depends on them |
//! | proxies and authorities for TLS | it reaches remote systems |
//! | `TF_LOG*`, `TF_APPEND_USER_AGENT` | every plugin's library reads them |
//! | `TYPE_*`, and what clouds' own tools read (`AWS_*` for `aws`) | its credentials |
//! | what `WARDIAN_NATIVE_ENVIRONMENT` lists | the person says so |
//! | what a policy grants it | the same; and what a line of a policy forbids is kept from it |

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use wardian_address::{ProviderAddress, provisioner_name};
use wardian_install::package::{ComponentArtifact, PluginOrigin};
use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
use wardian_policy::{Decision, Denial, DenialReason, EnvironmentName, PluginPolicy, Policy, Request};

use crate::environment::Environment;

/// What policies say of a plugin whose code comes from there.
pub(crate) fn policy_of(policy: &Policy, address: &ProviderAddress, origin: &PluginOrigin) -> PluginPolicy {
    match origin {
        PluginOrigin::Embedded | PluginOrigin::DevelopmentOverride(_) => policy.of_trusted_code(address),
        PluginOrigin::Mirror(_) | PluginOrigin::Installed(_) => policy.of(address),
    }
}

/// Who decides on what a component asks for.
pub(crate) fn monitor_of(policy: &Policy, component: &ComponentArtifact, log: &Arc<AuditLog>) -> Monitor {
    let address = &component.address;
    let identity = PluginIdentity {
        address: address.clone(),
        version: component.version.as_ref().map(ToString::to_string),
        sha256: Some(component.sha256.to_string()),
    };
    Monitor::new(policy_of(policy, address, &component.origin), identity, Arc::clone(log))
}

/// What every native plugin is given.
const OF_EVERYBODY: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSH_AUTH_SOCK",
    "TF_LOG",
    "TF_LOG_*",
    "TF_APPEND_USER_AGENT",
    "TF_ACC",
    "GODEBUG",
];

/// What is named otherwise than the provider.
const OF_FAMILIES: &[(&[&str], &[&str])] = &[
    (&["aws", "awscc"], &["AWS_*"]),
    (&["azurerm", "azuread", "azapi", "azuredevops"], &["ARM_*", "AZURE_*", "AZDO_*"]),
    (&["google", "google-beta"], &["GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*", "GCE_*"]),
    (&["kubernetes", "helm", "kubectl"], &["KUBE*", "HELM_*"]),
    (&["docker"], &["DOCKER_*"]),
    (&["postgresql"], &["PG*"]),
    (&["digitalocean"], &["DIGITALOCEAN_*", "SPACES_*"]),
    (&["openstack"], &["OS_*"]),
    (&["oci"], &["OCI_*", "TF_VAR_*"]),
    (&["hcloud"], &["HCLOUD_*"]),
    (&["datadog"], &["DD_*"]),
];

/// The environment of a native plugin's process.
pub(crate) fn environment_of(
    address: &ProviderAddress,
    policy: &PluginPolicy,
    environment: &Environment,
) -> Vec<(OsString, OsString)> {
    let own = provisioner_name(address).unwrap_or_else(|| address.type_name());
    let mut patterns: Vec<String> = OF_EVERYBODY.iter().map(|pattern| (*pattern).to_owned()).collect();
    patterns.push(format!("{}_*", own.to_uppercase().replace('-', "_")));
    let families = OF_FAMILIES.iter().filter(|(members, _)| members.contains(&own));
    patterns.extend(families.flat_map(|(_, patterns)| *patterns).map(|pattern| (*pattern).to_owned()));
    patterns.extend(environment.for_native_plugins());
    let listed = environment.fitting(&patterns).filter(|(name, _)| !forbids_variable(policy, name));
    let mut given: BTreeMap<&str, &str> = listed.collect();
    given.extend(environment.all().filter(|(name, _)| grants_variable(policy, name)));
    given.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn grants_variable(policy: &PluginPolicy, name: &str) -> bool {
    variable_decision(policy, name).is_some_and(|decision| decision.is_allowed())
}

/// Whether a line forbids a variable. That none grants it takes nothing from a native
/// plugin: it reads files that hold more.
fn forbids_variable(policy: &PluginPolicy, name: &str) -> bool {
    matches!(
        variable_decision(policy, name),
        Some(Decision::Denied(Denial { reason: DenialReason::Rule { .. }, .. }))
    )
}

fn variable_decision(policy: &PluginPolicy, name: &str) -> Option<Decision> {
    EnvironmentName::new(name).ok().map(|name| policy.decide(&Request::Environment(name)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn directories(address: &str, origin: &PluginOrigin) -> usize {
        let policy = Policy::new(Path::new("/srv"), [], []);
        policy_of(&policy, &ProviderAddress::parse(address).unwrap(), origin).directories().len()
    }

    #[test]
    fn a_name_alone_is_granted_nothing() {
        let installed = PluginOrigin::Installed("terraform-provider-local.wasm".into());
        assert_eq!(directories("hashicorp/local", &installed), 0);
    }

    #[test]
    fn a_native_plugin_sees_no_secrets_of_others() {
        let names = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME", "MY_TOKEN", "GOOGLE_CREDENTIALS"];
        let all = names.map(|name| (name.to_owned(), "secret".to_owned()));
        let seen = |address: &str, more: &str| {
            let more = ("WARDIAN_NATIVE_ENVIRONMENT".to_owned(), more.to_owned());
            let environment: Environment = all.iter().cloned().chain([more]).collect();
            let address = ProviderAddress::parse(address).unwrap();
            let policy = Policy::default().of(&address);
            let given = environment_of(&address, &policy, &environment);
            given.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(seen("hashicorp/aws", ""), ["AWS_SECRET_ACCESS_KEY", "HOME"]);
        assert_eq!(seen("hashicorp/google-beta", ""), ["GOOGLE_CREDENTIALS", "HOME"]);
        assert_eq!(seen("integrations/github", "MY_*"), ["GITHUB_TOKEN", "HOME", "MY_TOKEN"]);
    }

    #[test]
    fn only_the_file_providers_of_the_default_host_reach_files() {
        for one in ["hashicorp/local", "hashicorp/tfcoremock"] {
            assert_eq!(directories(one, &PluginOrigin::Embedded), 1, "{one}");
        }
        for other in ["hashicorp/random", "acme/local", "acme/tfcoremock", "example.com/hashicorp/local"] {
            assert_eq!(directories(other, &PluginOrigin::Embedded), 0, "{other}");
        }
    }
}
