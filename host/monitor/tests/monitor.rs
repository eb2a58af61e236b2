//! Access decisions, and their audit records.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use wardian_access::{
    AccessRequest, CommunicatorConnection, EnvironmentName, FileAccess, FileOperation, Host, NetworkRequest,
    ProcessStart,
};
use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_monitor::{AuditLog, Capability, Monitor, Outcome, PluginIdentity, Record, Summary};
use wardian_plugin::{CallContext, PluginCall};
use wardian_policy::{Level, Policy, PolicyFile};

const POLICY: &str = r#"plugin "acme/cloud" {
  allow network {
    hosts = ["api.example.com"]
  }
  allow network {
    hosts     = ["db.example.com"]
    schemes   = ["tcp"]
    ports     = [5432]
    addresses = ["192.168.7.0/24"]
  }
  allow filesystem {
    directories = ["/srv/in"]
  }
  allow environment {
    names = ["ACME_*"]
  }
  allow process {
    program   = "git"
    arguments = ["..."]
  }
  allow communicator {
    hosts     = ["**", "2001:db8::/32"]
    addresses = ["public", "2001:db8::/32"]
  }
}
"#;

fn address() -> ProviderAddress {
    ProviderAddress::parse("acme/cloud").unwrap()
}

fn monitor(log: &Arc<AuditLog>) -> Monitor {
    let root = Path::new("/srv/project");
    let file =
        PolicyFile::parse(Level::RootModule, &SourceFile::new("wardian.policy.hcl", POLICY), root).unwrap();
    let identity = PluginIdentity {
        address: address(),
        version: Some("1.2.3".into()),
        sha256: Some("c0ffee".into()),
        confinement: None,
    };
    Monitor::new(Policy::new(root, [file], []).for_plugin(&address()), identity, Arc::clone(log))
}

fn call() -> PluginCall {
    let mut call = PluginCall::outside_of_calls(&Arc::from("acme/cloud v1.2.3"));
    call.function = "read-resource";
    call.context = CallContext::new("cloud_vm.a");
    call
}

fn https(host: &str, method: &str) -> AccessRequest {
    AccessRequest::Network(NetworkRequest::http("https", host, method).unwrap())
}

fn records(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

struct Logged {
    directory: tempfile::TempDir,
    log: Arc<AuditLog>,
    monitor: Monitor,
}

impl Logged {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = Arc::new(AuditLog::open(&directory.path().join("audit.log")).unwrap());
        let monitor = monitor(&log);
        Self { directory, log, monitor }
    }

    fn records(&self) -> Vec<Record> {
        records(&self.directory.path().join("audit.log"))
    }
}

#[test]
fn allowed_access_is_recorded_when_dropped() {
    let logged = Logged::new();
    let mut used = logged.monitor.begin(&call(), https("api.example.com", "POST")).unwrap();
    assert_eq!(logged.records(), []);
    used.set_address("8.8.8.8".parse().unwrap());
    used.set_status(201);
    used.add_sent(10);
    used.add_sent(5);
    used.add_received(7);
    drop(used);
    let [record] = logged.records().try_into().unwrap();
    assert_eq!(record.plugin, "acme/cloud");
    assert_eq!((record.version.as_deref(), record.sha256.as_deref()), (Some("1.2.3"), Some("c0ffee")));
    assert_eq!((record.resource.as_deref(), &*record.call), (Some("cloud_vm.a"), "read-resource"));
    assert_eq!((record.capability, &*record.target), (Capability::Network, "https://api.example.com"));
    assert_eq!((record.access.as_deref(), record.status), (Some("POST"), Some(201)));
    assert_eq!((record.bytes_sent, record.bytes_received), (Some(15), Some(7)));
    assert_eq!((record.decision, record.rule.as_deref()), (Outcome::Allowed, Some("wardian.policy.hcl:2")));
    assert_eq!(record.address.as_deref(), Some("8.8.8.8"));
    assert!(record.microseconds.is_some() && record.reason.is_none());
    assert!(record.time.ends_with('Z') && record.time.len() == "2026-01-01T00:00:00.000Z".len());
}

#[test]
fn denial_is_recorded_with_missing_rule() {
    let logged = Logged::new();
    for _ in 0..3 {
        let denied = logged.monitor.begin(&call(), https("evil.example.com", "GET")).unwrap_err();
        assert!(denied.reason.contains("evil.example.com"), "{denied}");
        assert!(denied.rule_to_add.unwrap().contains("hosts   = [\"evil.example.com\"]"));
    }
    assert_eq!(logged.records().len(), 3);
    assert!(logged.records().iter().all(|record| record.decision == Outcome::Denied));
    let [denied] = logged.log.denials().try_into().unwrap();
    assert_eq!((denied.count, denied.record.target.as_str()), (3, "https://evil.example.com"));
}

#[test]
fn sensitive_values_are_redacted_in_records() {
    let logged = Logged::new();
    let call = call();
    call.sensitive_values().add_text("t0ken");
    let denied = logged.monitor.begin(&call, https("t0ken.example.com", "GET")).unwrap_err();
    assert!(denied.rule_to_add.is_some(), "who asked knows");
    let start = ProcessStart::new("/usr/bin/tool", ["-token=t0ken".to_owned()]).unwrap();
    logged.monitor.begin(&call, AccessRequest::Process(start)).unwrap_err();
    logged.monitor.reject(&call, Capability::Network, "t0ken".into(), "t0ken is no host");
    let [host, process, refused] = logged.records().try_into().unwrap();
    assert_eq!(host.target, "https://(sensitive value).example.com");
    assert_eq!(process.arguments.as_deref(), Some(&["-token=(sensitive value)".to_owned()][..]));
    assert_eq!(refused.target, "(sensitive value)");
    let all = format!("{:?}", (host, process, refused, logged.log.denials()));
    assert!(!all.contains("t0ken"), "{all}");
    assert!(logged.log.denials().iter().all(|denied| denied.remedy.is_none()));
}

#[test]
fn redacted_access_is_omitted_from_synthesized_policy() {
    let line = |target: &str| {
        format!(
            "{{\"time\":\"2026-01-01T00:00:00.000Z\",\"plugin\":\"acme/cloud\",\"call\":\"read-resource\",\"capability\":\"filesystem\",\"target\":\"{target}\",\"access\":\"read\",\"decision\":\"allowed\"}}\n"
        )
    };
    let log = [line("/srv/project/plain"), line("/srv/project/(sensitive value)")].concat();
    let least = Summary::read(log.as_bytes()).unwrap().least_privilege_policy(Path::new("/srv/project"));
    assert!(least.text.contains("plain") && !least.text.contains("sensitive"), "{}", least.text);
    let left_out: Vec<&String> = least.left_out.iter().collect();
    assert_eq!(left_out, ["acme/cloud: filesystem /srv/project/(sensitive value)"]);
}

#[test]
fn recorded_connection_is_allowed_by_synthesized_policy() {
    let line = |target: &str| {
        format!(
            "{{\"time\":\"2026-01-01T00:00:00.000Z\",\"plugin\":\"acme/cloud\",\"call\":\"read-resource\",\"capability\":\"network\",\"target\":\"{target}\",\"decision\":\"allowed\"}}\n"
        )
    };
    let targets =
        ["https://api.example.com", "https://[2001:db8::1]", "http://a.example.com:8080", "tcp://b:22"];
    let log: String = targets.iter().map(|target| line(target)).collect();
    let least = Summary::read(log.as_bytes()).unwrap().least_privilege_policy(Path::new("/srv/project"));
    assert!(least.left_out.is_empty() && !least.text.contains("methods"), "{}", least.text);
    for host in ["\"api.example.com\"", "\"2001:db8::1\"", "\"a.example.com\"", "\"b\""] {
        assert!(least.text.contains(host), "{host}\n{}", least.text);
    }
}

#[test]
fn granted_name_is_denied_at_other_addresses() {
    let logged = Logged::new();
    let metadata: IpAddr = "169.254.169.254".parse().unwrap();
    let used = logged.monitor.begin(&call(), https("api.example.com", "GET")).unwrap();
    logged.monitor.check_at(&call(), used.request(), "8.8.8.8".parse().unwrap()).unwrap();
    let denied = logged.monitor.check_at(&call(), used.request(), metadata).unwrap_err();
    assert!(denied.reason.contains("169.254.169.254"), "{denied}");
    let [record] = logged.records().try_into().unwrap();
    assert_eq!(record.address.as_deref(), Some("169.254.169.254"));
    let tcp = AccessRequest::Network(NetworkRequest::tcp("db.example.com", 5432).unwrap());
    assert!(logged.monitor.begin_at(&call(), tcp.clone(), "192.168.7.3".parse().unwrap()).is_ok());
    assert!(logged.monitor.begin_at(&call(), tcp, metadata).is_err());
}

#[test]
fn environment_variables_are_granted_by_name() {
    let monitor = monitor(&Arc::default());
    assert!(monitor.grants_variable("ACME_TOKEN"));
    for other in ["AWS_SECRET_ACCESS_KEY", "", "A=B"] {
        assert!(!monitor.grants_variable(other), "{other}");
    }
}

/// Verifies that an access that cannot be recorded is not performed if an audit log is requested.
#[cfg(target_os = "linux")]
#[test]
fn access_is_denied_if_log_is_full() {
    let log = Arc::new(AuditLog::open(Path::new("/dev/full")).unwrap());
    let monitor = monitor(&log);
    drop(monitor.begin(&call(), https("api.example.com", "GET")).unwrap());
    assert!(log.failure().is_some());
    let denied = monitor.begin(&call(), https("api.example.com", "GET")).unwrap_err();
    assert!(denied.reason.contains("/dev/full"), "{denied}");
}

#[test]
fn log_is_private_and_appended_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.log");
    for _ in 0..2 {
        let log = Arc::new(AuditLog::open(&path).unwrap());
        drop(monitor(&log).begin(&call(), https("api.example.com", "GET")).unwrap());
    }
    assert_eq!(records(&path).len(), 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn incomplete_line_does_not_break_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.log");
    std::fs::write(&path, "{\"time\":\"2026").unwrap();
    let log = Arc::new(AuditLog::open(&path).unwrap());
    drop(monitor(&log).begin(&call(), https("api.example.com", "GET")).unwrap());
    let summary = Summary::read(&*std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((summary.records, summary.unreadable), (1, vec![1]));
}

#[test]
fn concurrent_runs_write_complete_lines() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.log");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let log = Arc::new(AuditLog::open(path).unwrap());
                let monitor = monitor(&log);
                for _ in 0..500 {
                    drop(monitor.begin(&call(), https("api.example.com", "GET")).unwrap());
                }
            });
        }
    });
    assert_eq!(records(&path).len(), 2_000);
}

/// Verifies that a policy synthesized from one access of each kind allows exactly these accesses.
#[test]
fn synthesized_policy_allows_the_same_run() {
    let logged = Logged::new();
    let file = FileAccess::new(Path::new("/srv"), Path::new("/srv/in/a.txt"), FileOperation::Read).unwrap();
    let requests = [
        https("api.example.com", "GET"),
        AccessRequest::LookUp(Host::parse("db.example.com").unwrap()),
        AccessRequest::File(file),
        AccessRequest::Environment(EnvironmentName::new("ACME_TOKEN").unwrap()),
        AccessRequest::Process(ProcessStart::new("git", ["clone".to_owned(), "x y".to_owned()]).unwrap()),
        AccessRequest::Communicator(CommunicatorConnection::new("2001:db8::1", 22).unwrap()),
    ];
    for request in &requests {
        drop(logged.monitor.begin(&call(), request.clone()).unwrap());
    }
    let database = AccessRequest::Network(NetworkRequest::tcp("db.example.com", 5432).unwrap());
    let place: IpAddr = "192.168.7.3".parse().unwrap();
    drop(logged.monitor.begin_at(&call(), database.clone(), place).unwrap());
    logged.monitor.begin(&call(), https("evil.example.com", "GET")).unwrap_err();
    logged.monitor.reject(&call(), Capability::Network, "http://a b".into(), "it is no host");

    let text = std::fs::read(logged.directory.path().join("audit.log")).unwrap();
    let summary = Summary::read(&*text).unwrap();
    assert_eq!((summary.records, summary.unreadable.len()), (9, 0));
    let root = Path::new("/srv/project");
    let least = summary.least_privilege_policy(root);
    assert!(least.left_out.is_empty(), "{:?}", least.left_out);
    let file = PolicyFile::parse(Level::RootModule, &SourceFile::new("least", &*least.text), root).unwrap();
    let policy = Policy::new(root, [file], []).for_plugin(&address());
    for request in &requests {
        assert!(policy.decide(request).is_allowed(), "{request}\n{}", least.text);
    }
    assert!(policy.decide_at(&database, place).is_allowed());
    assert!(!policy.decide(&https("evil.example.com", "GET")).is_allowed());
    assert!(!policy.decide(&https("api.example.com", "DELETE")).is_allowed());
}

#[test]
fn summary_skips_and_reports_invalid_lines() {
    let logged = Logged::new();
    drop(logged.monitor.begin(&call(), https("api.example.com", "GET")).unwrap());
    let whole = std::fs::read_to_string(logged.directory.path().join("audit.log")).unwrap();
    let odd = format!("{whole}not json\n\n[1]\n{{\"plugin\":1}}\n{}{}", "x".repeat(100), &whole[..40]);
    let summary = Summary::read(odd.as_bytes()).unwrap();
    assert_eq!((summary.records, summary.unreadable), (1, vec![2, 4, 5, 6]));
    // A very long line is read with bounded memory.
    let endless = std::io::BufReader::new(std::io::Read::take(std::io::repeat(b'x'), 64 << 20));
    let summary = Summary::read(std::io::Read::chain(endless, whole.as_bytes())).unwrap();
    assert_eq!((summary.records, summary.unreadable.len()), (0, 1));
}
