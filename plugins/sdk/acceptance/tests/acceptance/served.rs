//! A provider that is served for a debugger, and the hosts that attach to it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time after which a host is killed.
const LIMIT: Duration = Duration::from_mins(5);

const CONFIGURATION: &str = r#"
resource "random_id" "a" { byte_length = 8 }
resource "random_pet" "b" { keepers = { id = random_id.a.hex } }
output "hex" { value = random_id.a.hex }
"#;

/// Set in the process that serves the provider.
const SERVES: &str = "WARDIAN_TEST_SERVES";

/// Not a test: the process that [`Served`] starts.
#[test]
fn served_process() {
    if std::env::var_os(SERVES).is_some() {
        wardian_acceptance::serve_for_debugger(wardian_provider_random::provider, "hashicorp/random")
            .unwrap();
    }
}

/// The provider in a process of its own, which is this test program.
struct Served {
    process: Child,
    /// The value of `TF_REATTACH_PROVIDERS`.
    variable: String,
}

impl Served {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["served::served_process", "--exact", "--nocapture"])
            .env(SERVES, "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut variables = lines.map_while(Result::ok).filter_map(|line| {
            let value = line.trim().strip_prefix("export TF_REATTACH_PROVIDERS='")?.strip_suffix('\'')?;
            Some(value.to_owned())
        });
        let variable = variables.next().expect("the server prints the variable");
        Self { process, variable }
    }

    fn run(&self, program: &Path, directory: &Path, line: &str) -> String {
        let printed = directory.join("printed.txt");
        let file = std::fs::File::create(&printed).unwrap();
        let mut process = Command::new(program)
            .args(line.split(' '))
            .current_dir(directory)
            .env("TF_REATTACH_PROVIDERS", &self.variable)
            .env("TF_IN_AUTOMATION", "1")
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        let end = Instant::now() + LIMIT;
        let status = loop {
            match process.try_wait().unwrap() {
                Some(status) => break status.success(),
                None if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
                None => {
                    let _ = process.kill();
                    break process.wait().unwrap().success();
                }
            }
        };
        let text = std::fs::read_to_string(printed).unwrap();
        assert!(status, "{line}: {text}");
        text
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn attaches(program: &Path) {
    let served = Served::start();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("main.tf"), CONFIGURATION).unwrap();
    let run = |line: &str| served.run(program, directory.path(), line);
    run("init -no-color");
    let applied = run("apply -auto-approve -no-color");
    assert!(applied.contains("Apply complete! Resources: 2 added"), "{applied}");
    let planned = run("plan -no-color");
    assert!(planned.contains("No changes."), "{planned}");
    run("destroy -auto-approve -no-color");
}

#[test]
fn terraform_attaches() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join("terraform")).find(|path| path.is_file());
    match found {
        Some(program) => attaches(&program),
        None => println!("skipped: terraform is not on the PATH"),
    }
}

#[test]
fn wardian_attaches() {
    match std::env::var_os("WARDIAN_TEST_BINARY") {
        Some(program) => attaches(Path::new(&program)),
        None => println!("skipped: WARDIAN_TEST_BINARY does not name the program"),
    }
}

#[test]
fn invalid_address_is_rejected() {
    let error =
        wardian_acceptance::serve_for_debugger(wardian_provider_random::provider, "a/b/c/d").unwrap_err();
    assert!(error.to_string().contains("is not the address of a provider"), "{error}");
}
