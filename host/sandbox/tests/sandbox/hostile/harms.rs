//! Denial-of-service attacks. The call must fail or its output must be truncated, and at most its
//! instance may be lost.

use std::time::Duration;

use wardian_monitor::{AuditLog, Outcome};
use wardian_plugin::{
    ApplyRequest, CallContext, ClientCapabilities, ConfigKind, ImportRequest, ImportTarget, PlanRequest,
    PluginDiagnostics, PrivateBytes, Provider, RawState, ReadResourceRequest, UpgradeStateRequest,
    ValidateConfigRequest,
};
use wardian_sandbox::{Grants, SandboxLimits};
use wardian_value::Value;

use super::{Attempt, answer, is_well, limits};
use crate::guest::{allow, configure, granted, load, object, object_type, provider, short};
use crate::server::{Reaching, datagram_server, echo_server, giving_server, http_server};

/// Resource types whose plans are attacks: the call must fail, or its output must be truncated.
const PLANS: &[&str] = &[
    "hostile_trap",
    "hostile_panic",
    "hostile_exit",
    "hostile_loop",
    "hostile_sleep",
    "hostile_recursion",
    "hostile_frames",
    "hostile_memory",
    "hostile_handles",
    "hostile_garbage",
    "hostile_wrong_type",
    "hostile_deep",
    "hostile_length",
    "hostile_text",
    "hostile_no_text",
    "hostile_gigabyte",
];

/// Grants the whole loopback network.
const LOOPBACK: &str = r#"allow network {
  hosts     = ["127.0.0.1"]
  schemes   = ["http", "tcp", "udp"]
  ports     = ["*"]
  addresses = ["loopback"]
}"#;

pub(super) async fn attempts() -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let provider = load(limits()).provider(Grants::nothing());
    for type_name in PLANS {
        attempts.push(plan(&*provider, type_name).await);
    }
    let roomy = SandboxLimits { computation: Duration::from_secs(10), ..short() };
    attempts.push(plan(&*crate::guest::provider(roomy), "hostile_huge").await);
    attempts.extend(panics().await);
    attempts.extend(handles().await);
    attempts.extend(sockets().await);
    attempts.push(flood().await);
    attempts
}

async fn plan(provider: &dyn Provider, type_name: &str) -> Attempt {
    let request = PlanRequest {
        type_name: type_name.into(),
        prior_state: Value::null(object_type()),
        proposed_new_state: object("x"),
        config: object("x"),
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = provider.plan_resource_change(&CallContext::default(), request).await;
    let got = diagnostic_text(&response.diagnostics);
    let failed = response.planned_state.is_none() && got.starts_with("Plugin");
    Attempt::new("limits", type_name, got, failed && is_well(provider).await)
}

fn diagnostic_text(diagnostics: &PluginDiagnostics) -> String {
    let error = diagnostics.iter().find(|diagnostic| diagnostic.is_error());
    error.map_or("no error".to_owned(), |error| error.summary.clone())
}

/// Panics in every kind of call.
async fn panics() -> Vec<Attempt> {
    let provider = &*provider(limits());
    let type_name = || "hostile_panic".into();
    let capabilities = ClientCapabilities::default;
    let config =
        ValidateConfigRequest { type_name: type_name(), config: object("x"), capabilities: capabilities() };
    let upgrade =
        UpgradeStateRequest { type_name: type_name(), version: 0, raw: RawState::Json("{}".into()) };
    let read = ReadResourceRequest {
        type_name: type_name(),
        current_state: object("x"),
        private: PrivateBytes::default(),
        provider_meta: None,
        current_identity: None,
        capabilities: capabilities(),
    };
    let apply = ApplyRequest {
        type_name: type_name(),
        prior_state: Value::null(object_type()),
        planned_state: object("x"),
        config: object("x"),
        planned_private: PrivateBytes::default(),
        provider_meta: None,
        planned_identity: None,
    };
    let import = ImportRequest {
        type_name: type_name(),
        target: ImportTarget::Id("x".to_owned()),
        capabilities: capabilities(),
    };
    let mut all = vec![
        (
            "validate-provider-config",
            diagnostic_text(
                &provider.validate_provider_config(&CallContext::default(), object("panic")).await,
            ),
        ),
        ("configure-provider", diagnostic_text(&configure(provider, "panic").await)),
        (
            "validate-resource-config",
            diagnostic_text(
                &provider.validate_config(&CallContext::default(), ConfigKind::Resource, config).await,
            ),
        ),
        (
            "upgrade-resource-state",
            diagnostic_text(
                &provider.upgrade_resource_state(&CallContext::default(), upgrade).await.diagnostics,
            ),
        ),
        (
            "read-resource",
            diagnostic_text(&provider.read_resource(&CallContext::default(), read).await.diagnostics),
        ),
        (
            "apply-resource-change",
            diagnostic_text(
                &provider.apply_resource_change(&CallContext::default(), apply).await.diagnostics,
            ),
        ),
        (
            "import-resource-state",
            diagnostic_text(
                &provider.import_resource_state(&CallContext::default(), import).await.diagnostics,
            ),
        ),
        ("read-data-source", answer(provider, "tell:panic|x").await),
    ];
    let function = provider.call_function(&CallContext::default(), "panic".into(), vec![object("x")]).await;
    all.push(("call-function", function.map_or_else(|error| format!("{error:?}"), |_| "a value".into())));
    let mut attempts = Vec::new();
    for (call, got) in all {
        let held = got.contains("Plugin crashed") || got.contains("panic");
        attempts.push(Attempt::new(
            "limits",
            format!("panic in {call}"),
            got,
            held && is_well(provider).await,
        ));
    }
    attempts
}

/// Requests an excessive number of handles, of each kind that the host provides.
async fn handles() -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("file"), "").unwrap();
    for probe in ["open-many:file", "create-many:file"] {
        let provider = load(short()).provider(granted(place.path(), &allow("read write", &["."])));
        let got = answer(&*provider, probe).await;
        let held = got.contains("then") || got.contains("Plugin crashed");
        attempts.push(Attempt::new("limits", probe, got, held && is_well(&*provider).await));
    }
    let (port, heard) = http_server().await;
    let reaching = Reaching::new(LOOPBACK);
    let got = answer(&*reaching.provider, &format!("many:10000|http://127.0.0.1:{port}/")).await;
    let held = got.contains("Plugin crashed") && heard.connections() <= 32;
    attempts.push(Attempt::new("limits", "10,000 requests", got, held && is_well(&*reaching.provider).await));
    let (port, heard) = echo_server().await;
    let got = answer(&*reaching.provider, &format!("connect-many:10000|127.0.0.1:{port}")).await;
    let held = got.contains("then") && heard.connections() <= 32;
    attempts.push(Attempt::new(
        "limits",
        "10,000 connections",
        got,
        held && is_well(&*reaching.provider).await,
    ));
    let (port, _) = http_server().await;
    let got = answer(&*reaching.provider, &format!("http:GET|http://127.0.0.1:{port}/endless")).await;
    let held = got.to_lowercase().contains("body size");
    attempts.push(Attempt::new(
        "limits",
        "an answer without an end",
        got,
        held && is_well(&*reaching.provider).await,
    ));
    attempts
}

/// The limits for requests apply to a plugin that opens its own connections.
async fn sockets() -> Vec<Attempt> {
    let (port, heard) = echo_server().await;
    let (endless, datagrams) = (giving_server(None).await, datagram_server().await);
    let bounded = format!("limits {{\n concurrent_requests = 2\n response_size = \"1 KiB\"\n}}\n{LOOPBACK}");
    let mut attempts = Vec::new();
    for (tried, probe, got_before) in [
        ("more connections than requests", format!("connect-many:100|127.0.0.1:{port}"), "2 open, then"),
        ("a connection without an end", format!("drain:127.0.0.1:{endless}"), "bytes, then refused"),
        (
            "an answer in datagrams",
            format!("datagrams:300|127.0.0.1:{datagrams}"),
            "256 answered, then refused",
        ),
    ] {
        let reaching = Reaching::with(&bounded, limits(), Vec::new());
        let got = answer(&*reaching.provider, &probe).await;
        let is_small = got
            .split(' ')
            .next()
            .and_then(|bytes| bytes.parse().ok())
            .is_some_and(|bytes: u64| bytes <= 1 << 10);
        let is_recorded = reaching.records().iter().any(|record| record.decision == Outcome::Denied);
        let held = got.contains(got_before)
            && is_small
            && is_recorded
            && heard.connections() <= 2
            && is_well(&*reaching.provider).await;
        attempts.push(Attempt::new("limits", tried, got, held));
    }
    attempts
}

/// If a plugin logs too many lines, the lines are dropped and the call continues.
async fn flood() -> Attempt {
    let limits = SandboxLimits {
        computation: Duration::from_mins(1),
        local_call: Duration::from_mins(2),
        remote_call: Duration::from_mins(2),
        ..short()
    };
    let place = tempfile::tempdir().unwrap();
    let log = std::sync::Arc::new(AuditLog::disabled());
    let provider = load(limits).provider(crate::guest::granted_and_recorded(place.path(), "", &log));
    let response = crate::guest::plan(&*provider, "hostile_flood").await;
    let held = response.diagnostics.is_empty() && is_well(&*provider).await;
    Attempt::new("limits", "300,000 lines of output", diagnostic_text(&response.diagnostics), held)
}
