//! The provisioners `file` and `remote-exec` on machines that are accessed over WinRM, or over SSH
//! through a proxy.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use wardian_end_to_end::Project;
use wardian_winrm_machine::{Certified, PASSWORD, Proof, Server, State};

use crate::sshd::Sshd;

/// Allows access only to this machine and to the files of the project.
const POLICY: &str = r#"
otherwise = "deny"

plugin "terraform.io/builtin/*" {
  allow communicator {
    hosts = ["127.0.0.1"]
  }
  allow filesystem {
    directories = ["."]
    access      = ["read"]
  }
}
"#;

fn project(server: &Server, connection: &str, provisioners: &str) -> Project {
    let configuration = format!(
        r#"resource "terraform_data" "a" {{
  connection {{
    type     = "winrm"
    host     = "127.0.0.1"
    port     = {}
    password = "{PASSWORD}"
    timeout  = "20s"
    {connection}
  }}
  {provisioners}
}}
"#,
        server.port
    );
    let project = Project::new(&[("main.tf", &configuration), ("wardian.policy.hcl", POLICY)]);
    project.write("sources/a.txt", "a\n");
    project.write("sources/deep/er/b.bin", (0..20_000_u32).map(|n| n.to_le_bytes()[0]).collect::<Vec<u8>>());
    project.write("sources/one.cmd", "echo one\r\nexit /b 0\r\necho never\r\n");
    project
}

/// Returns the files on the machine with their sizes.
fn there(state: &State) -> Vec<(&str, usize)> {
    state.files.iter().map(|(path, content)| (path.as_str(), content.len())).collect()
}

const ALL: &str = r#"
  provisioner "file" {
    source      = "sources/a.txt"
    destination = "C:/Temp/a.txt"
  }
  provisioner "file" {
    content     = "é${self.id == "" ? 1 : 2}"
    destination = "C:/Temp/content"
  }
  provisioner "file" {
    source      = "sources"
    destination = "C:/all"
  }
  provisioner "remote-exec" { inline = ["echo in line", "echo and more"] }
  provisioner "remote-exec" { script = "sources/one.cmd" }"#;

#[test]
fn winrm_copies_files_and_runs_scripts() {
    let certified = Certified::new();
    let basic = "user = \"Operator\"";
    let ntlm = "user = \"CORP\\\\Operator\"\nuse_ntlm = true";
    let https = format!("{ntlm}\nhttps = true\ncacert = file(\"cert.pem\")");
    for (proof, tls, connection) in [
        (Proof::Basic, None, basic),
        (Proof::Ntlm, None, ntlm),
        (Proof::Ntlm, Some(certified.acceptor.clone()), &*https),
    ] {
        let server = Server::start_in_thread(proof, tls);
        let project = project(&server, connection, ALL);
        project.write("cert.pem", &certified.certificate);
        let seen = project.run("apply -auto-approve").success().text();
        let shown: Vec<&str> = seen
            .lines()
            .filter_map(|line| line.split_once("(remote-exec): ").map(|(_, shown)| shown))
            .filter(|shown| !shown.starts_with(' ') && !shown.starts_with("Connect"))
            .collect();
        assert_eq!(shown, ["in line", "and more", "one"], "{seen}");
        let state = server.state.lock().unwrap();
        assert_eq!(
            there(&state),
            [
                ("C:/Temp/a.txt", 2),
                ("C:/Temp/content", 3),
                ("C:/all\\a.txt", 2),
                ("C:/all\\deep\\er\\b.bin", 20_000),
                ("C:/all\\one.cmd", 33),
            ],
            "and no script is left"
        );
        assert!(
            state.files["C:/all\\deep\\er\\b.bin"].iter().zip(0_u32..).all(|(b, n)| *b == n.to_le_bytes()[0])
        );
        assert_eq!(state.directories, ["C:/all", "C:/all\\deep", "C:/all\\deep\\er"]);
        assert_eq!((state.connections, state.shells.len()), (1, 1), "all share it: {:?}", state.commands);
        assert_eq!(state.deleted, state.shells, "and nothing of it is left");
    }
}

#[test]
fn failed_winrm_script_taints_object_and_is_removed() {
    let server = Server::start_in_thread(Proof::Basic, None);
    let failing = r#"provisioner "remote-exec" { inline = ["echo before", "exit /b 3", "echo after"] }"#;
    let project = project(&server, "user = \"Operator\"", failing);
    let seen = project.run("apply -auto-approve").ended_with(1).text();
    let seen = seen.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    for part in ["(remote-exec): before", "remote-exec provisioner error", "failed with exit status 3"] {
        assert!(seen.contains(part), "{part:?} is not in:\n{seen}");
    }
    assert!(!seen.contains("(remote-exec): after"), "{seen}");
    assert_eq!(project.state()["resources"][0]["instances"][0]["status"], "tainted");
    let state = server.state.lock().unwrap();
    assert_eq!(there(&state), [], "no script is left");
    assert_eq!(state.deleted, state.shells, "and no shell");
}

/// Starts an HTTP proxy that connects to one port of this machine for every target. Returns its
/// port and the requests that it receives.
fn proxy(port: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (here, asked) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
    let told = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let told = Arc::clone(&told);
            std::thread::spawn(move || pass(stream, port, &told));
        }
    });
    (here, asked)
}

fn pass(client: TcpStream, port: u16, asked: &Mutex<Vec<String>>) {
    let mut reading = BufReader::new(client.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reading.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    let is_proven = head.contains("\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n");
    let line = head.lines().next().unwrap_or_default();
    asked.lock().unwrap().push(format!("{line}{}", if is_proven { " by me" } else { "" }));
    let (mut writing, server) = (client, TcpStream::connect(("127.0.0.1", port)).unwrap());
    writing.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    let mut to_server = server.try_clone().unwrap();
    let upwards = std::thread::spawn(move || {
        let _ = std::io::copy(&mut reading, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut &server, &mut writing);
    let _ = writing.shutdown(Shutdown::Both);
    let _ = upwards.join();
}

#[test]
fn file_and_remote_exec_provisioners_use_proxy() {
    let Some(sshd) = Sshd::start() else { return };
    let (port, asked) = proxy(sshd.port());
    let project = sshd.project(&format!(
        r#"resource "terraform_data" "a" {{
  connection {{
    host                = "machine.example"
    port                = 2222
    private_key         = file("keys/id")
    agent               = false
    timeout             = "20s"
    proxy_scheme        = "http"
    proxy_host          = "127.0.0.1"
    proxy_port          = {port}
    proxy_user_name     = "me"
    proxy_user_password = "secret"
  }}
  provisioner "file" {{
    source      = "sources/"
    destination = "THERE"
  }}
  provisioner "remote-exec" {{ inline = ["cat THERE/deep/b.txt"] }}
}}
"#
    ));
    project.write("sources/deep/b.txt", "it came through\n");
    let seen = project.run("apply -auto-approve").success().text();
    assert!(seen.contains("terraform_data.a (remote-exec): it came through\n"), "{seen}");
    assert!(!seen.contains("secret"), "{seen}");
    assert_eq!(*asked.lock().unwrap(), ["CONNECT machine.example:2222 HTTP/1.1 by me"]);
    assert_eq!(sshd.logins(), 1);
}
