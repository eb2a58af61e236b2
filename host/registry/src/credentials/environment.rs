//! Tokens in environment variables.
//!
//! The name of a variable is `TF_TOKEN_` and the host with `_` for each dot. A dash is unchanged or
//! written as `__`, because variable names cannot contain dashes in most shells. The host is in its
//! Unicode form or in Punycode.

use std::collections::BTreeMap;

use super::ConfiguredToken;
use crate::access_token::AccessToken;
use crate::service_host::ServiceHost;

const PREFIX: &str = "TF_TOKEN_";

pub(super) struct EnvironmentToken {
    pub(super) variable: String,
    pub(super) token: ConfiguredToken,
}

/// Returns the tokens by host. Variables whose names contain no valid host, or with an empty value,
/// are ignored.
pub(super) fn tokens(
    variables: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<ServiceHost, EnvironmentToken> {
    let mut tokens = BTreeMap::new();
    for (variable, value) in variables {
        let Some(rest) = variable.strip_prefix(PREFIX) else { continue };
        let value = value.trim();
        match ServiceHost::parse(&rest.replace("__", "-").replace('_', ".")) {
            Ok(host) if !value.is_empty() => {
                tokens.insert(host, EnvironmentToken { token: AccessToken::new(value), variable });
            }
            Ok(_) | Err(_) => {
                tracing::debug!(variable, "ignored a variable without a valid host or token");
            }
        }
    }
    tokens
}

/// Returns the name of the variable for the token of a host; `None` if the host has a port, which
/// most shells do not allow in variable names.
pub fn token_variable(host: &ServiceHost) -> Option<String> {
    let name = host.as_ascii();
    (!name.contains(':')).then(|| format!("{PREFIX}{}", name.replace('-', "__").replace('.', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let tokens = tokens(variables).into_iter();
        tokens
            .map(|(host, found)| (host.as_ascii().to_owned(), found.token.unwrap().reveal().to_owned()))
            .collect()
    }

    #[test]
    fn variable_names_contain_hosts() {
        for (variable, host) in [
            ("TF_TOKEN_app_example_com", "app.example.com"),
            ("TF_TOKEN_my__host_example", "my-host.example"),
            ("TF_TOKEN_my-host_example", "my-host.example"),
            ("TF_TOKEN_xn--bcher-kva_example", "xn--bcher-kva.example"),
            ("TF_TOKEN_xn____bcher__kva_example", "xn--bcher-kva.example"),
            ("TF_TOKEN_bücher_example", "xn--bcher-kva.example"),
            ("TF_TOKEN_LOCALHOST", "localhost"),
        ] {
            assert_eq!(
                found(&[(variable, " token\n")]),
                [(host.to_owned(), "token".to_owned())],
                "{variable}"
            );
            let host = ServiceHost::parse(host).unwrap();
            let name = token_variable(&host).unwrap();
            assert_eq!(found(&[(&name, "x")]), [(host.as_ascii().to_owned(), "x".to_owned())]);
        }
    }

    #[test]
    fn unrelated_variables_are_ignored() {
        for variable in ["TF_TOKEN", "TF_TOKEN_", "TF_TOKEN_a/b", "tf_token_a_b", "XTF_TOKEN_a", "TF_TOKEN__"]
        {
            assert!(found(&[(variable, "token")]).is_empty(), "{variable}");
        }
        assert!(found(&[("TF_TOKEN_a_b", " ")]).is_empty());
        assert_eq!(token_variable(&ServiceHost::parse("a.example:81").unwrap()), None);
    }
}
