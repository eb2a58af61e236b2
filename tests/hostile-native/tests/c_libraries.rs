//! Name resolution of programs that are linked with different C libraries.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]

mod support;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use support::{Allowing, Level, Run};
use wardian_access::Scheme;

/// Resolves a name and connects to it.
const PROGRAM: &str = r#"
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int main(int count, char **arguments) {
    struct addrinfo hints, *found;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    if (count < 3 || getaddrinfo(arguments[1], arguments[2], &hints, &found) != 0) {
        puts("not resolved");
        return 0;
    }
    for (; found; found = found->ai_next) {
        int descriptor = socket(found->ai_family, SOCK_STREAM, 0);
        if (connect(descriptor, found->ai_addr, found->ai_addrlen) == 0) {
            puts("connected");
            return 0;
        }
    }
    puts("not connected");
    return 0;
}
"#;

/// Compiles the program; prints a message if there is no such compiler.
fn compiled(compiler: &str, options: &[&str], directory: &std::path::Path) -> Option<PathBuf> {
    let (source, program) = (directory.join("program.c"), directory.join(format!("program-{compiler}")));
    std::fs::write(&source, PROGRAM).unwrap();
    let status = Command::new(compiler).args(options).arg("-o").args([&program, &source]).status();
    if !status.is_ok_and(|status| status.success()) {
        println!("skipped: the program cannot be compiled with {compiler}");
        return None;
    }
    Some(program)
}

async fn run(program: &std::path::Path, host: &str, level: Level) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let allowing = match host.parse::<std::net::IpAddr>() {
        Ok(_) => Allowing::to_address(port, Scheme::Tcp),
        Err(_) => Allowing::new(host, port, Scheme::Tcp),
    };
    let seen = Run::new(program, &[host, &port.to_string()]).at_level(level, &allowing).await;
    println!("{seen:?} {:?}", allowing.records());
    seen.stdout.trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_with_glibc_resolve_names() {
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = compiled("cc", &[], directory.path()) else { return };
    for level in
        [Level::Namespaced, Level::Filtered, Level::Full].into_iter().filter(|level| level.is_supported())
    {
        assert_eq!(run(&program, "allowed.test", level).await, "connected", "{level:?}");
        assert_eq!(run(&program, "127.0.0.1", level).await, "connected", "{level:?}");
    }
}

/// The documentation states at which levels names are resolved. If this changes, the documentation
/// must change.
#[tokio::test(flavor = "multi_thread")]
async fn programs_with_musl_resolve_names_only_in_a_network_namespace() {
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = compiled("musl-gcc", &["-static"], directory.path()) else { return };
    for (level, by_name) in
        [(Level::Namespaced, "connected"), (Level::Filtered, "not resolved"), (Level::Full, "connected")]
    {
        if level.is_supported() {
            assert_eq!(run(&program, "127.0.0.1", level).await, "connected", "{level:?}");
            assert_eq!(run(&program, "allowed.test", level).await, by_name, "{level:?}");
        }
    }
}
