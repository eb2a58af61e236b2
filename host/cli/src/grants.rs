//! What each plugin may touch, and why.
//!
//! A plugin has nothing but clocks and randomness unless a line here says
//! otherwise. Policy files will be read in this place; until then the table is
//! the policy.
//!
//! | plugin | has | because |
//! |---|---|---|
//! | `hashicorp/local`, embedded or a development override | the root module's directory, to read and write | it reads and writes files of the configuration; relative paths start there |
//! | `hashicorp/tfcoremock`, the same | the same | its resources are files there, and what types it has stands in one |
//!
//! A grant is for code, not for a name: whoever can put a file into a mirror, or a
//! repository under test, can call it `hashicorp/local`. A component from there has
//! nothing. A development override has, since the person named the file themselves.
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

use std::ffi::OsString;
use std::path::Path;

use wardian_install::package::Origin;
use wardian_plugin::address::ProviderAddress;
use wardian_sandbox::{Access, Grants};

use crate::environment::Environment;

/// What a provider may touch in a run in `working_directory`, which is absolute.
pub(crate) fn of(address: &ProviderAddress, origin: &Origin, working_directory: &Path) -> Grants {
    if !matches!(origin, Origin::Embedded | Origin::DevelopmentOverride(_)) {
        return Grants::nothing();
    }
    match (address.is_on_default_host(), address.namespace(), address.type_name()) {
        (true, "hashicorp", "local" | "tfcoremock") => {
            Grants::nothing().with_working_directory(working_directory, Access::ReadWrite)
        }
        _ => Grants::nothing(),
    }
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
    environment: &Environment,
) -> Vec<(OsString, OsString)> {
    let own = address.type_name();
    let mut patterns: Vec<String> = OF_EVERYBODY.iter().map(|pattern| (*pattern).to_owned()).collect();
    patterns.push(format!("{}_*", own.to_uppercase().replace('-', "_")));
    let families = OF_FAMILIES.iter().filter(|(members, _)| members.contains(&own));
    patterns.extend(families.flat_map(|(_, patterns)| *patterns).map(|pattern| (*pattern).to_owned()));
    patterns.extend(environment.for_native_plugins());
    environment.fitting(&patterns).map(|(name, value)| (name.into(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(address: &str) -> Grants {
        of(&ProviderAddress::parse(address).unwrap(), &Origin::Embedded, Path::new("/srv"))
    }

    #[test]
    fn a_name_alone_is_granted_nothing() {
        let address = ProviderAddress::parse("hashicorp/local").unwrap();
        let installed = Origin::Installed("terraform-provider-local.wasm".into());
        assert_eq!(of(&address, &installed, Path::new("/srv")), Grants::nothing());
    }

    #[test]
    fn a_native_plugin_sees_no_secrets_of_others() {
        let names = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME", "MY_TOKEN", "GOOGLE_CREDENTIALS"];
        let all = names.map(|name| (name.to_owned(), "secret".to_owned()));
        let seen = |address: &str, more: &str| {
            let more = ("WARDIAN_NATIVE_ENVIRONMENT".to_owned(), more.to_owned());
            let environment: Environment = all.iter().cloned().chain([more]).collect();
            let address = ProviderAddress::parse(address).unwrap();
            let given = environment_of(&address, &environment);
            given.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(seen("hashicorp/aws", ""), ["AWS_SECRET_ACCESS_KEY", "HOME"]);
        assert_eq!(seen("hashicorp/google-beta", ""), ["GOOGLE_CREDENTIALS", "HOME"]);
        assert_eq!(seen("integrations/github", "MY_*"), ["GITHUB_TOKEN", "HOME", "MY_TOKEN"]);
    }

    #[test]
    fn only_the_file_providers_of_the_default_host_reach_files() {
        for one in ["hashicorp/local", "hashicorp/tfcoremock"] {
            assert_eq!(grants(one).directories.len(), 2, "{one}");
        }
        for other in ["hashicorp/random", "acme/local", "acme/tfcoremock", "example.com/hashicorp/local"] {
            assert_eq!(grants(other), Grants::nothing(), "{other}");
        }
    }
}
