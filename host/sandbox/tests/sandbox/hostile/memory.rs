//! Attempts to read data that is retained after a call, or that leaks from one configuration to
//! another.

use std::fs;
use std::sync::Arc;

use wardian_monitor::AuditLog;
use wardian_plugin::CallContext;
use wardian_sandbox::Grants;

use super::{Attempt, answer, answer_for, is_well, limits};
use crate::guest::{allow, configure, granted_and_recorded, load, plan};
use crate::server::{Reaching, http_server};

pub(super) async fn attempts() -> Vec<Attempt> {
    let mut attempts = vec![between_configurations().await, between_plugins().await, past_a_crash().await];
    attempts.push(a_file_past_its_call().await);
    attempts.extend(requests_past_their_call().await);
    attempts
}

/// One configuration's values are not visible to another configuration of the same plugin.
async fn between_configurations() -> Attempt {
    let plugin = load(limits());
    let (one, other) = (plugin.provider(Grants::nothing()), plugin.provider(Grants::nothing()));
    let told = configure(&*one, "a secret").await;
    for _ in 0..3 {
        answer(&*one, "calls").await;
    }
    let got = format!("{} in call {}", answer(&*other, "configured").await, answer(&*other, "calls").await);
    let held = told.is_empty() && got == "not at all in call 2" && is_well(&*other).await;
    Attempt::new("memory", "state from one configuration to another", got, held)
}

/// Values of a plugin are not visible to another plugin with the same component.
async fn between_plugins() -> Attempt {
    let one = load(limits()).provider(Grants::nothing());
    let other = load(limits()).provider(Grants::nothing());
    let told = configure(&*one, "a secret").await;
    answer(&*one, "calls").await;
    let got = format!("{} in call {}", answer(&*other, "configured").await, answer(&*other, "calls").await);
    let held = told.is_empty() && got == "not at all in call 2" && is_well(&*one).await;
    Attempt::new("memory", "state from one plugin to another", got, held)
}

/// An instance whose call failed is never used again.
async fn past_a_crash() -> Attempt {
    let provider = load(limits()).provider(Grants::nothing());
    answer(&*provider, "calls").await;
    plan(&*provider, "hostile_trap").await;
    let got = answer(&*provider, "calls").await;
    let held = got == "1" && is_well(&*provider).await;
    Attempt::new("memory", "state past a crash", got, held)
}

/// Access through a file from an earlier call is checked as a new access of the current call, so a
/// grant for one resource is not silently used for another.
async fn a_file_past_its_call() -> Attempt {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file"), "content").unwrap();
    let path = place.path().join("audit");
    let log = Arc::new(AuditLog::open(&path).unwrap());
    let grants = granted_and_recorded(place.path(), &allow("read", &["."]), &log);
    let provider = load(limits()).provider(grants);
    answer_for(&CallContext::new("data.a.one"), &*provider, "hold:file").await;
    let got = answer_for(&CallContext::new("data.a.two"), &*provider, "held").await;
    let is_well = is_well(&*provider).await;
    drop(provider);
    let log = fs::read_to_string(&path).unwrap();
    let is_recorded = log.lines().any(|line| line.contains("data.a.two") && line.contains("bytes_received"));
    Attempt::new("memory", "a file held past its call", got, is_recorded && is_well)
}

async fn requests_past_their_call() -> Vec<Attempt> {
    let (port, _) = http_server().await;
    let reaching = Reaching::new(&format!(
        "allow network {{\n hosts = [\"api.example\"]\n schemes = [\"http\"]\n ports = [{port}]\n \
         addresses = [\"loopback\"]\n}}"
    ));
    let mut attempts = Vec::new();
    for (keeps, path, ends) in [
        ("keep-body", "endless", "then StreamError::LastOperationFailed"),
        ("keep-answer", "slow", "refused: ErrorCode::ConnectionTerminated"),
    ] {
        answer(&*reaching.provider, &format!("{keeps}:http://api.example:{port}/{path}")).await;
        let got = answer(&*reaching.provider, "kept").await;
        let held = got.contains(ends) && is_well(&*reaching.provider).await;
        attempts.push(Attempt::new("memory", format!("{keeps} past its call"), got, held));
    }
    attempts
}
