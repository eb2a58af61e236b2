//! The accesses of a confined native plugin: hosts by name, programs, and their audit records.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "the test has failed")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use wardian_end_to_end::Project;

use crate::native_plugins::{
    CONFIGURATION, kernel_confines, make_executable, project_with_plugin, unwrapped,
};

/// A server that answers HTTP requests, and records their first lines.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let records = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let mut bytes = [0; 1024];
                let length = stream.read(&mut bytes).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                records.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        Self { port, seen }
    }
}

/// A project with the test plugin, which runs under a policy.
struct Confined {
    project: Project,
    search_path: String,
}

impl Confined {
    fn new() -> Option<Self> {
        let project = project_with_plugin()?;
        project.write("wardian.policy.hcl", "plugin \"*\" {\n  native = \"confine\"\n}\n");
        if !kernel_confines(&project) {
            return None;
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let search_path = format!("{}:{path}", project.path("tools").display());
        Some(Self { project, search_path })
    }

    fn policy(&self, rules: &str) {
        let text = format!("plugin \"example.com/acme/fake\" {{\n  native = \"confine\"\n{rules}\n}}\n");
        self.project.write("wardian.policy.hcl", text);
    }

    /// Returns the plugin's result of an operation, and the records of the run.
    fn attempt(&self, operation: &str) -> (String, Vec<Value>) {
        self.project.write(
            "main.tf",
            CONFIGURATION.replace("input = fake_thing.a.id", &format!("input = {operation:?}")),
        );
        let _ = std::fs::remove_file(self.project.path("audit.log"));
        let variables =
            [("WARDIAN_AUDIT", "audit.log"), ("PATH", &self.search_path), ("FAKE_TOKEN", "given")];
        self.project.run_with("apply -auto-approve", "", &variables).success();
        let output = self.project.state()["outputs"]["id"]["value"].as_str().unwrap_or_default().to_owned();
        let log = std::fs::read_to_string(self.project.path("audit.log")).unwrap_or_default();
        (output, log.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

fn find<'a>(records: &'a [Value], capability: &str, decision: &str) -> Option<&'a Value> {
    records.iter().find(|record| record["capability"] == capability && record["decision"] == decision)
}

#[test]
fn plugin_reaches_granted_hosts_only() {
    let Some(confined) = Confined::new() else { return };
    let (granted, other) = (Server::start(), Server::start());
    confined.policy(&format!(
        "  allow network {{\n    schemes   = [\"http\"]\n    hosts     = [\"localhost\"]\n    ports     = [{}]\n    \
         addresses = [\"loopback\"]\n  }}",
        granted.port
    ));
    let (output, records) = confined.attempt(&format!("get:localhost:{}", granted.port));
    assert_eq!(output, "HTTP/1.1 200 OK");
    let record = find(&records, "network", "allowed").expect("the connection is recorded");
    assert_eq!(record["target"], format!("http://localhost:{}", granted.port));
    assert_eq!(record["address"], "127.0.0.1");
    // Other calls of the process may be in flight at the same time.
    let resource = "data.fake_echo.e";
    let candidates = record["one_of"].as_array().into_iter().flatten();
    assert!(record["resource"] == resource || candidates.into_iter().any(|one| one == resource), "{record}");
    let level = record["confinement"].as_str().unwrap();
    assert!(["filtered", "full"].contains(&level), "{level}");
    assert!(record["bytes_sent"].as_u64() > Some(20) && record["bytes_received"].as_u64() > Some(20));
    assert_eq!(record["rule"], "wardian.policy.hcl:3");

    // A loopback address is treated as `localhost`, because many programs resolve that name themselves. The
    // host in the request must still be the granted name.
    let (output, records) = confined.attempt(&format!("get:127.0.0.1:{}", granted.port));
    assert_eq!(output, "");
    let record = find(&records, "network", "denied").expect("the denial is recorded");
    assert!(record["reason"].as_str().unwrap().contains("requested 127.0.0.1"), "{record}");

    for denied in [format!("get:localhost:{}", other.port), format!("get:127.0.0.1:{}", other.port)] {
        let (output, records) = confined.attempt(&denied);
        assert!(output.contains("Permission denied"), "{denied}: {output}");
        assert!(find(&records, "network", "denied").is_some(), "{records:?}");
    }
    let (output, records) = confined.attempt("get:secret.example.org:443");
    assert!(output.contains("failed to lookup address"), "{output}");
    let record = find(&records, "name-look-up", "denied").expect("the lookup is recorded");
    assert_eq!(record["target"], "secret.example.org");
    assert!(other.seen.lock().unwrap().is_empty());
    // The second connection was closed without a request.
    assert_eq!(granted.seen.lock().unwrap().iter().filter(|line| !line.is_empty()).count(), 1);
}

#[test]
fn plugin_runs_granted_programs_outside_of_its_confinement() {
    let Some(confined) = Confined::new() else { return };
    // A program for credentials, which opens a connection of its own.
    let server = Server::start();
    let script = format!(
        "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{} || exit 4\necho 'GET /token HTTP/1.0' >&3\nread -r line <&3\n\
         echo \"$1 $PROFILE $FAKE_TOKEN ${{line%?}}\"\necho problem >&2\nexit 3\n",
        server.port
    );
    confined.project.write("tools/token", script);
    make_executable(&confined.project.path("tools/token"));
    confined.policy(
        "  allow process {\n    program     = \"token\"\n    arguments   = [\"get\"]\n    environment = [\"PROFILE\"]\n  }",
    );
    let (output, records) = confined.attempt("run:PROFILE=admin token get");
    assert_eq!(output, "get admin given HTTP/1.1 200 OK problem Some(3)");
    let record = find(&records, "process", "allowed").expect("the program is recorded");
    assert_eq!((&record["target"], &record["status"]), (&"token".into(), &3.into()));
    assert_eq!(record["environment"], serde_json::json!(["PROFILE"]));
    assert_eq!(*server.seen.lock().unwrap(), ["GET /token HTTP/1.0"]);

    let absolute = format!("run:{} get", confined.project.path("tools/token").display());
    for (denied, expected) in [
        ("run:PROFILE=admin token put", "Some(126)"),
        ("run:LD_PRELOAD=/tmp/x.so token get", "Some(126)"),
        ("run:OTHER=1 token get", "Some(126)"),
        (absolute.as_str(), "Operation not permitted"),
        ("run:/bin/sh -c true", "Operation not permitted"),
    ] {
        let (output, records) = confined.attempt(denied);
        assert!(output.contains(expected), "{denied}: {output}");
        assert!(find(&records, "process", "denied").is_some(), "{denied}: {records:?}");
    }
    assert_eq!(server.seen.lock().unwrap().len(), 1);
}

#[test]
fn plugin_that_computes_too_long_is_killed() {
    let Some(confined) = Confined::new() else { return };
    confined.policy("  limits {\n    cpu_time = \"1s\"\n  }");
    let configuration =
        |input: &str| CONFIGURATION.replace("input = fake_thing.a.id", &format!("input = {input:?}"));
    confined.project.write("main.tf", configuration("compute:0"));
    confined.project.run("plan").success();
    confined.project.write("main.tf", configuration("compute:60"));
    let killed = confined.project.run("plan").ended_with(1);
    assert!(
        unwrapped(&killed.errors).contains("of data.fake_echo.e used more than 1 s of CPU time"),
        "{}",
        killed.text()
    );
}

/// A granted directory may contain protected files if the plugin has a mount namespace.
#[test]
fn plugin_sees_part_of_a_granted_directory() {
    let Some(confined) = Confined::new() else { return };
    confined.policy("  allow filesystem {\n    directories = [\".\"]\n  }");
    let explained = confined.project.run("init").success();
    if !explained.out.contains(": full") {
        println!("skipped: {}", explained.text());
        return;
    }
    let path = |name: &str| confined.project.path(name).canonicalize().unwrap().display().to_string();
    confined.project.write("note", "a note");
    let (output, _) = confined.attempt(&format!("read:{}", path("note")));
    assert_eq!(output, "a note");
    let (output, records) = confined.attempt(&format!("read:{}", path("terraform.tfstate")));
    assert!(output.contains("No such file"), "{output}");
    let record = find(&records, "filesystem", "denied").expect("the denial is recorded");
    assert_eq!(record["target"], path("terraform.tfstate"));
}
