//! Measures the connections of a confined program, for `cargo xtask bench`. Prints lines of a name, a
//! value and a unit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the measurement has failed")]

#[cfg(target_os = "linux")]
#[path = "../tests/support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::path::PathBuf;
    use std::thread;

    use wardian_access::Scheme;
    use wardian_confinement::{ConfinementLevel, supported_level};

    use super::support::{Allowing, Level, Run};

    const CONNECTIONS: f64 = 1_000.0;
    const RUNS: usize = 5;

    pub(super) fn main() {
        if supported_level().level < ConfinementLevel::Filtered {
            return;
        }
        let program = PathBuf::from(std::env::args_os().nth(1).expect("the program is an argument"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let mut bytes = [0; 64];
                let _ = stream.set_nonblocking(true);
                let _ = stream.read(&mut bytes).and_then(|_| stream.write(b"allowed"));
                // The program closes the connections at its end.
                std::mem::forget(stream);
            }
        });
        let allowing = Allowing::to_address(port, Scheme::Tcp);
        let port = format!("port={port}");
        let attack = ["many-connects", "address=127.0.0.1", port.as_str(), "n=1000"];
        let connect = |level: Level| -> f64 {
            let run = Run::new(&program, &attack);
            let seen = runtime.block_on(run.at_level(level, &allowing));
            let words: Vec<&str> = seen.stdout.split_ascii_whitespace().collect();
            assert!(seen.stdout.starts_with("succeeded: 1000 of 1000"), "{seen:?}");
            let at = words.iter().position(|word| *word == "ms").expect("the time is printed");
            words[at - 1].parse().unwrap()
        };
        let before = peak_bytes();
        let confined = (0..RUNS).map(|_| connect(Level::Filtered)).fold(f64::INFINITY, f64::min);
        let supervisor = peak_bytes() - before;
        let free = (0..RUNS).map(|_| connect(Level::None)).fold(f64::INFINITY, f64::min);
        println!("confinement: a connection, in addition\t{}\tms", (confined - free) / CONNECTIONS);
        println!("confinement: memory of the supervisor, 1,000 connections\t{}\tMB", supervisor / 1e6);
    }

    /// Returns the peak memory of this process.
    fn peak_bytes() -> f64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
    }
}
