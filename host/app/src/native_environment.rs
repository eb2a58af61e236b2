//! The environment variables that a native plugin receives.
//!
//! A native plugin runs outside of the sandbox, with all permissions of its user. The environment,
//! which contains secrets for other programs, is withheld from it, except for these variables:
//!
//! | variables | reason |
//! |---|---|
//! | `HOME`, `PATH`, the user's name, locale, time zone, directories for temporary and user files | the plugin needs them to start programs and to find files |
//! | proxies and certificate authorities for TLS | it reaches remote systems |
//! | `TF_LOG*`, `TF_APPEND_USER_AGENT` | every plugin's library reads them |
//! | `TYPE_*`, and the variables of the cloud's own tools (`AWS_*` for `aws`) | its credentials |
//! | the variables that `WARDIAN_NATIVE_ENVIRONMENT` lists | the user chose them |
//! | the variables that a policy grants | the policy's author chose them; variables that a rule denies are withheld |

use std::collections::BTreeMap;
use std::ffi::OsString;

use wardian_access::{AccessRequest, EnvironmentName};
use wardian_address::{ProviderAddress, provisioner_name};
use wardian_policy::{Decision, Denial, DenialReason, PluginPolicy};

use crate::environment::ProcessEnvironment;

/// The variables that every native plugin receives.
const COMMON_VARIABLES: &[&str] = &[
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
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "TF_LOG",
    "TF_LOG_*",
    "TF_APPEND_USER_AGENT",
    "TF_ACC",
];

/// The variables that a supervised plugin receives only if policy grants them, and every other native
/// plugin always. The host uses the user's proxies for a supervised plugin, and the others name sockets
/// or change how the plugin runs.
const UNSUPERVISED_VARIABLES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSH_AUTH_SOCK",
    "GODEBUG",
];

/// The variables of providers that have variables with a prefix other than their type.
const PROVIDER_FAMILIES: &[(&[&str], &[&str])] = &[
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

/// Returns the environment of a native plugin's process.
pub(crate) fn variables(
    address: &ProviderAddress,
    policy: &PluginPolicy,
    environment: &ProcessEnvironment,
    is_supervised: bool,
) -> Vec<(OsString, OsString)> {
    let own = provisioner_name(address).unwrap_or_else(|| address.type_name());
    let unsupervised = if is_supervised { &[] } else { UNSUPERVISED_VARIABLES };
    let common = COMMON_VARIABLES.iter().chain(unsupervised);
    let mut patterns: Vec<String> = common.map(|pattern| (*pattern).to_owned()).collect();
    patterns.push(format!("{}_*", own.to_uppercase().replace('-', "_")));
    let families = PROVIDER_FAMILIES.iter().filter(|(members, _)| members.contains(&own));
    patterns.extend(families.flat_map(|(_, patterns)| *patterns).map(|pattern| (*pattern).to_owned()));
    patterns.extend(environment.native_plugin_patterns());
    let listed = environment.matching(&patterns).filter(|(name, _)| !forbids_variable(policy, name));
    let mut given: BTreeMap<&str, &str> = listed.collect();
    given.extend(environment.all().filter(|(name, _)| grants_variable(policy, name)));
    given.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn grants_variable(policy: &PluginPolicy, name: &str) -> bool {
    variable_decision(policy, name).is_some_and(|decision| decision.is_allowed())
}

/// Returns whether a rule denies a variable. A variable is not withheld only because no rule grants
/// it: a native plugin can also read files that contain more secrets.
fn forbids_variable(policy: &PluginPolicy, name: &str) -> bool {
    matches!(
        variable_decision(policy, name),
        Some(Decision::Denied(Denial { reason: DenialReason::Rule { .. }, .. }))
    )
}

fn variable_decision(policy: &PluginPolicy, name: &str) -> Option<Decision> {
    EnvironmentName::new(name).ok().map(|name| policy.decide(&AccessRequest::Environment(name)))
}

#[cfg(test)]
mod tests {
    use wardian_policy::Policy;

    use super::*;

    #[test]
    fn native_plugin_receives_no_unrelated_secrets() {
        let names = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME", "MY_TOKEN", "GOOGLE_CREDENTIALS"];
        let all = names.map(|name| (name.to_owned(), "secret".to_owned()));
        let seen = |address: &str, more: &str| {
            let more = ("WARDIAN_NATIVE_ENVIRONMENT".to_owned(), more.to_owned());
            let environment: ProcessEnvironment = all.iter().cloned().chain([more]).collect();
            let address = ProviderAddress::parse(address).unwrap();
            let policy = Policy::default().for_plugin(&address);
            let given = variables(&address, &policy, &environment, false);
            given.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(seen("hashicorp/aws", ""), ["AWS_SECRET_ACCESS_KEY", "HOME"]);
        assert_eq!(seen("hashicorp/google-beta", ""), ["GOOGLE_CREDENTIALS", "HOME"]);
        assert_eq!(seen("integrations/github", "MY_*"), ["GITHUB_TOKEN", "HOME", "MY_TOKEN"]);
    }
}
