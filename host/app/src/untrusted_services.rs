//! The services that the organisation's policy opens to an untrusted configuration: backends whose
//! states are read, and key providers.
//!
//! Every argument that the configuration sets must match a rule of the policy; all other settings are
//! those of the operator's environment. A relative path would name a file of the configuration, so
//! these services work in another directory. Nothing is created, locked or written.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_backend::{BackendAccess, BackendHost};
use wardian_builtin::{BackendRules, PermittedBackend};
use wardian_encryption::{EncryptionHost, KeyServiceRules};
use wardian_monitor::{AuditLog, HostRequests};
use wardian_policy::{Policy, ServiceArgument, ServiceKind, ServiceRule};
use wardian_value::{Type, Value, View, convert};

use crate::context::AppContext;
use crate::error::AppError;

/// The directory to which relative paths refer.
const DIRECTORY: &str = "/";

/// The text of a value without text. No pattern matches it.
const NO_TEXT: &str = "\0";

/// The rules of the organisation, and the environment of the services that they permit.
pub(crate) struct UntrustedServices {
    policy: Arc<Policy>,
    audit_log: Arc<AuditLog>,
    /// The environment of the backends that `terraform_remote_state` reads.
    host: BackendHost,
}

impl fmt::Debug for UntrustedServices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UntrustedServices").finish_non_exhaustive()
    }
}

impl UntrustedServices {
    fn rule(&self, kind: ServiceKind, type_name: &str, arguments: &Value) -> Result<ServiceRule, String> {
        matching_rule(&self.policy, kind, type_name, arguments)
    }
}

impl AppContext {
    /// Returns the services that an untrusted configuration may use.
    ///
    /// # Errors
    /// Returns the errors of the policies.
    pub(crate) fn untrusted_services(&self) -> Result<UntrustedServices, AppError> {
        Ok(UntrustedServices {
            policy: self.policy()?,
            audit_log: Arc::clone(&self.audit_log),
            host: self.backend_host(true),
        })
    }

    /// Returns the rule that permits the backend of an untrusted configuration, or the reason why none
    /// does.
    ///
    /// # Errors
    /// Returns the errors of the policies.
    pub(crate) fn untrusted_backend(
        &self,
        type_name: &str,
        arguments: &Value,
    ) -> Result<Result<ServiceRule, String>, AppError> {
        Ok(matching_rule(&*self.policy()?, ServiceKind::Backend, type_name, arguments))
    }

    /// Returns the environment of a backend of an untrusted configuration.
    pub(crate) fn untrusted_backend_host(
        &self,
        rule: &ServiceRule,
        needs_service_hosts: bool,
    ) -> BackendHost {
        restricted(self.backend_host(needs_service_hosts), rule, &self.audit_log)
    }
}

impl BackendRules for UntrustedServices {
    fn permit(&self, type_name: &str, arguments: &Value) -> Result<PermittedBackend, String> {
        let rule = self.rule(ServiceKind::Backend, type_name, arguments)?;
        let host = restricted(self.host.clone(), &rule, &self.audit_log);
        let workspaces = Arc::new(move |workspace: &str| rule.permits_workspace(workspace));
        Ok(PermittedBackend { host, workspaces })
    }
}

impl KeyServiceRules for UntrustedServices {
    fn permit(
        &self,
        type_name: &str,
        arguments: &Value,
        host: &EncryptionHost,
    ) -> Result<EncryptionHost, String> {
        let rule = self.rule(ServiceKind::KeyProvider, type_name, arguments)?;
        let mut host = host.clone();
        host.directory = PathBuf::from(DIRECTORY);
        host.http.authority = Arc::new(requests("encryption", &rule, &self.audit_log));
        Ok(host)
    }
}

fn requests(purpose: &'static str, rule: &ServiceRule, audit_log: &Arc<AuditLog>) -> HostRequests {
    HostRequests::new(purpose, Arc::clone(audit_log)).with_rule(&rule.location().to_string())
}

fn restricted(mut host: BackendHost, rule: &ServiceRule, audit_log: &Arc<AuditLog>) -> BackendHost {
    let requests = Arc::new(requests("backend", rule, audit_log));
    host.directory = PathBuf::from(DIRECTORY);
    host.access = BackendAccess::ReadOnly;
    host.connections = Some(Arc::clone(&requests) as _);
    host.http.authority = requests;
    host
}

fn matching_rule(
    policy: &Policy,
    kind: ServiceKind,
    type_name: &str,
    arguments: &Value,
) -> Result<ServiceRule, String> {
    let mut given = Vec::new();
    add_arguments(arguments, "", &mut given);
    policy.untrusted_service(kind, type_name, &given).cloned().map_err(|denial| denial.to_string())
}

/// Adds the arguments in a value that are set.
fn add_arguments(value: &Value, name: &str, given: &mut Vec<ServiceArgument>) {
    match value.view() {
        View::Null => {}
        View::Object(members) | View::Map(members) => {
            for (member, value) in members {
                let nested = if name.is_empty() { member.to_string() } else { format!("{name}.{member}") };
                add_arguments(value, &nested, given);
            }
        }
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
            for element in elements {
                add_arguments(element, name, given);
            }
        }
        _ => {
            let text = convert::convert(value, &Type::String).ok();
            let text = text.as_ref().and_then(Value::as_str).unwrap_or(NO_TEXT);
            given.push((name.to_owned(), text.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_argument_is_found() {
        let object = Value::object([
            ("bucket", Value::string("b")),
            ("unset", Value::null(Type::String)),
            ("encrypt", Value::bool(true)),
            ("unknown", Value::unknown(Type::String)),
            ("endpoints", Value::object([("s3", Value::string("https://x"))])),
            ("workspaces", Value::tuple([Value::object([("name", Value::string("w"))]), Value::string("y")])),
        ]);
        let mut given = Vec::new();
        add_arguments(&object, "", &mut given);
        given.sort();
        let given: Vec<(&str, &str)> = given.iter().map(|(name, text)| (&**name, &**text)).collect();
        assert_eq!(
            given,
            [
                ("bucket", "b"),
                ("encrypt", "true"),
                ("endpoints.s3", "https://x"),
                ("unknown", NO_TEXT),
                ("workspaces", "y"),
                ("workspaces.name", "w"),
            ]
        );
    }
}
