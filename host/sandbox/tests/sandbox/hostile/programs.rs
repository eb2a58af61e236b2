//! Attacks that run programs, with the real local-exec provisioner under a policy that allows one
//! program.

use std::path::Path;
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
use wardian_plugin::{CallContext, ProvisionRequest, Provisioner, SharedByObject};
use wardian_policy::{Level, Policy, PolicyFile};
use wardian_sandbox::ProvisionerGrants;
use wardian_value::{Type, Value};

use super::Attempt;
use crate::guest::{embedded, launcher, sandbox, short};

/// Allows only `touch -- allowed-*`.
const RULES: &str = r#"plugin "terraform.io/builtin/local-exec" {
  allow process {
    program   = "/usr/bin/touch"
    arguments = ["--", "allowed-*"]
  }
  allow process {
    program   = "/bin/echo"
    arguments = ["hello", "*"]
  }
}
"#;

/// The interpreter's arguments before the command, and the command.
const TRIES: &[(&[&str], &str)] = &[
    (&[], "touch marker"),
    (&["/bin/sh", "-c"], "touch marker"),
    (&["/usr/bin/env", "touch", "--"], "marker"),
    (&["/usr/bin/touch"], "marker"),
    (&["/usr/bin/touch", "--"], "marker"),
    (&["/usr/bin/touch", "--", "allowed-x"], "marker"),
    (&["/usr/bin/touch", "--"], "allowed-/../marker"),
    (&["/usr/bin/touch", "--"], "./allowed-x/../marker"),
    (&["/usr/bin/touch", "--", "marker"], "allowed-x"),
    (&["/usr/bin/touch", "-c", "--"], "allowed-x"),
    (&["/usr/bin/../bin/touch", "-a"], "marker"),
    (&["./touch", "--"], "allowed-x"),
    (&["touch", "--"], "allowed-x"),
    // A wildcard does not match options: `hello --upload-pack=...` does not match `hello *`.
    (&["/bin/echo", "hello"], "--option"),
    (&["/bin/echo", "hello"], "-n"),
];

/// Commands that do not name a program, and fail before a decision.
const NOT_DECIDED: &[(&[&str], &str)] = &[
    (&["/usr/bin/touch/../sh", "-c"], "touch marker"),
    (&["/usr/bin/touch\0", "--"], "allowed-x"),
    (&["/usr/bin/touch", "--"], "allowed-x\0"),
];

fn provisioner(directory: &Path, log: &Arc<AuditLog>) -> Arc<dyn Provisioner> {
    let address = ProviderAddress::built_in("local-exec");
    let source = SourceFile::new("/srv/policy.hcl", RULES);
    let file = PolicyFile::parse(Level::User, &source, directory).unwrap_or_else(|error| panic!("{error}"));
    let policy = Policy::new(directory, [file], []).for_plugin(&address);
    let identity = PluginIdentity { address, version: None, sha256: None, confinement: None };
    let grants = ProvisionerGrants {
        monitor: Monitor::new(policy, identity, Arc::clone(log)),
        runner: launcher("/usr/bin:/bin"),
        directory: directory.to_owned(),
        environment: vec![("SECRET".to_owned(), "s3cret".to_owned())],
        home: None,
        ssh_agent: None,
    };
    let loaded =
        sandbox(short()).load_provisioner("local-exec", &embedded("local-exec"), None, None, &|_| {});
    loaded.unwrap().provisioner(grants)
}

fn configuration(before: &[&str], command: &str) -> Value {
    let words = before.iter().map(|word| Value::from(*word));
    let interpreter = match before {
        [] => Value::null(Type::list(Type::String)),
        _ => Value::list(Type::String, words),
    };
    Value::object([
        ("command", Value::from(command)),
        ("environment", Value::null(Type::map(Type::String))),
        ("interpreter", interpreter),
        ("quiet", Value::null(Type::Bool)),
        ("working_dir", Value::null(Type::String)),
    ])
}

/// Returns the output that was shown, and the errors.
async fn provision(
    provisioner: &dyn Provisioner,
    before: &[&str],
    command: &str,
) -> (String, Option<String>) {
    let request = ProvisionRequest {
        config: configuration(before, command),
        connection: Value::null(Type::object([] as [(&str, Type); 0])),
        shared: SharedByObject::default(),
    };
    let mut shown = String::new();
    let diagnostics =
        provisioner.provision(&CallContext::default(), request, &mut |text: &str| shown.push_str(text)).await;
    (shown, diagnostics.iter().find(|one| one.is_error()).map(|one| one.detail.clone()))
}

pub(super) async fn attempts() -> Vec<Attempt> {
    let place = tempfile::tempdir().unwrap();
    let mut attempts = Vec::new();
    let tries = TRIES.iter().map(|attempt| (attempt, true));
    for ((before, command), is_decided) in tries.chain(NOT_DECIDED.iter().map(|attempt| (attempt, false))) {
        let log = Arc::new(AuditLog::disabled());
        let provisioner = provisioner(place.path(), &log);
        let (_, error) = provision(&*provisioner, before, command).await;
        let made = std::fs::read_dir(place.path()).unwrap().count();
        let is_recorded = !is_decided || !log.denials().is_empty();
        // The granted program still runs.
        let (shown, failed) = provision(&*provisioner, &["/bin/echo", "hello"], "world").await;
        let is_well = failed.is_none() && shown.contains("hello world");
        let held = error.is_some() && made == 0 && is_recorded && is_well;
        let tried = format!("{} {command}", before.join(" ")).replace('\0', "\\0");
        attempts.push(Attempt::new("programs", tried, error.unwrap_or_else(|| "it ran".into()), held));
    }
    attempts
}
