//! `plan -untrusted` with a native plugin, which the organisation's policy confines.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use wardian_end_to_end::{Project, Seen, platform};

use crate::native_plugins::{CONFIGURATION, plugin};

const VERSION: &str = "example.com/acme/fake/1.2.3";
const DECLARED: &str = "  untrusted = \"read-only-credentials\"\n";

/// Starts a server that answers HTTP requests, and returns its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    port
}

fn write_program(project: &Project, directory: &str, program: &Path) {
    let file = format!("{directory}/{VERSION}/{}/terraform-provider-fake_v1.2.3", platform());
    project.write(&file, std::fs::read(program).unwrap());
    std::fs::set_permissions(project.path(&file), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Creates a configuration next to a mirror with the plugin. The configuration requests `input`.
fn project(input: &str) -> Option<Project> {
    let program = plugin()?;
    let head = CONFIGURATION.lines().take(7).collect::<Vec<_>>().join("\n");
    let data = format!("\ndata \"fake_echo\" \"e\" {{\n  input = {input:?}\n}}\n");
    let output = "output \"e\" {\n  value = data.fake_echo.e.output\n}\n";
    let project = Project::new(&[("configuration/main.tf", &*format!("{head}{data}{output}"))]);
    write_program(&project, "mirror", &program);
    let mirror = project.path("mirror").display().to_string();
    project.write(
        "home/.terraformrc",
        format!("provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n"),
    );
    project.run("-chdir=configuration init").success();
    Some(project)
}

fn plan(project: &Project, settings: &str, port: u16) -> Seen {
    let policy = format!(
        "plugin \"example.com/acme/fake\" {{\n  native = \"confine\"\n{settings}  allow network {{\n    schemes   = \
         [\"http\"]\n    hosts     = [\"127.0.0.1\"]\n    ports     = [{port}]\n    addresses = [\"loopback\"]\n  \
         }}\n}}\n"
    );
    project.write("organisation.hcl", policy);
    let policy = project.path("organisation.hcl").display().to_string();
    project.run_with("-chdir=configuration plan -untrusted", "", &[("WARDIAN_POLICY", &policy)])
}

#[test]
fn organisation_decides_whether_untrusted_plan_uses_native_plugin() {
    let (granted, other) = (server(), server());
    let Some(project) = project(&format!("get:127.0.0.1:{granted}")) else { return };
    let refused = plan(&project, "", granted).ended_with(1);
    assert!(refused.errors.contains("\"read-only-credentials\""), "{}", refused.text());
    let allowed = plan(&project, DECLARED, granted);
    if allowed.errors.contains("this machine supports the level") {
        println!("skipped: {}", allowed.errors);
        return;
    }
    assert!(allowed.success().out.contains("HTTP/1.1 200 OK"));

    // The configuration's own policy grants nothing.
    let own = format!(
        "plugin \"example.com/acme/fake\" {{\n  native = \"confine\"\n  allow network {{\n    schemes   = [\"http\"]\n    \
         hosts     = [\"127.0.0.1\"]\n    ports     = [{granted}, {other}]\n    addresses = [\"loopback\"]\n  }}\n}}\n"
    );
    project.write("configuration/wardian.policy.hcl", own);
    let denied = plan(&project, DECLARED, other).success();
    assert!(!denied.out.contains("200 OK"), "{}", denied.text());
    project.write(
        "configuration/wardian.policy.hcl",
        DECLARED.replace("  untrusted", "plugin \"*\" {\n  untrusted") + "}\n",
    );
    let invalid = plan(&project, DECLARED, granted).ended_with(1);
    assert!(invalid.errors.contains("Only a policy of the organisation"), "{}", invalid.text());
}

#[test]
fn untrusted_configuration_cannot_choose_the_native_program() {
    let port = server();
    let Some(project) = project(&format!("get:127.0.0.1:{port}")) else { return };
    let installed = format!("configuration/.terraform/providers/{VERSION}/{}", platform());
    std::fs::remove_file(project.path(&installed)).unwrap();
    let program = project.path(&format!("mirror/{VERSION}/{}/terraform-provider-fake_v1.2.3", platform()));
    write_program(&project, "configuration/.terraform/providers", &program);
    let refused = plan(&project, DECLARED, port).ended_with(1);
    assert!(refused.errors.contains("Native plugin is not trusted"), "{}", refused.text());
}
