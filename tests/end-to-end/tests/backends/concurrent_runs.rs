//! Runs of two processes on one state in the backend `postgres`: at the same time, killed and
//! suspended at random times.
//!
//! Each object is a file whose name contains a random ID that is stored in the state, so an object that
//! was created twice leaves two files, and a lost object a file that is not in the state. The sum
//! depends on all files: it is correct only if the runs had the same effect as if they had run one
//! after the other.
//!
//! The full size (`cargo xtask interop postgres`) is set with environment variables.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use wardian_end_to_end::Project;
use wardian_state_server::Postgres;

static POSTGRES: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);

/// The number of objects.
const OBJECTS: u64 = 8;

/// The lease of the runs.
const LEASE: Duration = Duration::from_secs(2);

/// A pseudorandom number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// Returns a number from the environment.
fn size(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| u64::from(now.subsec_nanos()));
    let seed = size("WARDIAN_TEST_SEED", 0);
    let seed = if seed == 0 { now() | 1 } else { seed };
    println!("WARDIAN_TEST_SEED={seed}");
    seed
}

/// A user with an own data directory in the shared project.
#[derive(Clone, Copy)]
struct User {
    name: &'static str,
    number: u64,
}

const USERS: [User; 2] = [User { name: "alpha", number: 0 }, User { name: "beta", number: 1 }];

/// A project that both users share.
struct Shared<'a> {
    project: Project,
    postgres: &'a Postgres,
    schema: &'static str,
}

impl<'a> Shared<'a> {
    fn new(postgres: &'a Postgres, schema: &'static str) -> Self {
        let mut main = format!(
            "variable \"user\" {{}}\nterraform {{\n  backend \"postgres\" {{\n    conn_str = \"{}\"\n    schema_name = \"{schema}\"\n    \
             lease_seconds = {}\n  }}\n}}\n",
            postgres.connection_string(),
            LEASE.as_secs()
        );
        let mut files = Vec::new();
        for number in 0..OBJECTS {
            let _ = write!(
                main,
                "resource \"random_id\" \"n{number}\" {{\n  byte_length = 4\n  keepers = {{ token = \
                 file(\"tokens-${{var.user}}/{number}\") }}\n}}\nresource \"local_file\" \"f{number}\" {{\n  filename = \
                 \"files/{number}-${{random_id.n{number}.hex}}\"\n  content = random_id.n{number}.keepers.token\n}}\n"
            );
            files.push(format!("local_file.f{number}.content"));
        }
        let _ = write!(
            main,
            "resource \"terraform_data\" \"sum\" {{\n  input = join(\",\", [{}])\n}}\n",
            files.join(", ")
        );
        let project = Project::new(&[("main.tf", &main)]);
        let shared = Self { project, postgres, schema };
        shared.set_tokens("first");
        for user in USERS {
            shared.succeed(user, &["init"]);
        }
        shared.succeed(USERS[0], &["apply", "-auto-approve"]);
        shared
    }

    /// Sets the tokens of all objects for both users.
    fn set_tokens(&self, token: &str) {
        for user in USERS {
            for number in 0..OBJECTS {
                self.project.write(&format!("tokens-{}/{number}", user.name), token);
            }
        }
    }

    fn command(&self, user: User, arguments: &[&str]) -> Command {
        let mut command = self.project.command(&arguments.join(" "));
        command
            .env("TF_DATA_DIR", format!(".data-{}", user.name))
            .env("USER", user.name)
            .env("TF_VAR_user", user.name);
        command.stdin(Stdio::null());
        command
    }

    fn succeed(&self, user: User, arguments: &[&str]) {
        let (code, text) = self.run(user, arguments);
        assert_eq!(code, Some(0), "{}: {arguments:?}: {text}", user.name);
    }

    fn run(&self, user: User, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(user, arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    fn start(&self, user: User, arguments: &[&str]) -> Child {
        self.command(user, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn query(&self, sql: &str) -> String {
        self.postgres.execute(&sql.replace("SCHEMA", self.schema))
    }

    /// Chooses the objects of a run, and changes their tokens. Half of the runs use only objects that the
    /// other user's do not.
    fn choose(&self, user: User, random: &mut Random, token: &str) -> (u64, String) {
        let number = if random.below(2) == 0 {
            user.number * OBJECTS / 2 + random.below(OBJECTS / 2)
        } else {
            random.below(OBJECTS)
        };
        self.project.write(&format!("tokens-{}/{number}", user.name), token);
        (number, format!("-target=local_file.f{number}"))
    }

    /// Returns the duration of a run that changes all objects, in microseconds.
    fn measure(&self) -> u64 {
        self.set_tokens("measured");
        let started = Instant::now();
        self.succeed(USERS[0], &["apply", "-auto-approve"]);
        u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Completes all changes, and checks that no object was lost or created twice.
    fn check(&self) {
        self.set_tokens("last");
        for user in USERS {
            self.succeed(user, &["apply", "-auto-approve", "-lock-timeout=60s"]);
        }
        for user in USERS {
            self.succeed(user, &["plan", "-detailed-exitcode", "-lock-timeout=60s"]);
        }
        let (_, text) = self.run(USERS[0], &["state", "pull"]);
        let state: Value = serde_json::from_str(&text).unwrap();
        let mut stored = BTreeSet::new();
        for resource in state["resources"].as_array().unwrap() {
            for instance in resource["instances"].as_array().unwrap() {
                assert!(instance.get("deposed").is_none(), "an object was left over: {instance}");
                if resource["type"] == "local_file" {
                    stored.insert(instance["attributes"]["filename"].as_str().unwrap().to_owned());
                }
            }
        }
        let present: BTreeSet<String> = fs::read_dir(self.project.path("files"))
            .unwrap()
            .map(|entry| format!("files/{}", entry.unwrap().file_name().to_str().unwrap()))
            .collect();
        assert_eq!(present, stored);
        assert_eq!(self.query("SELECT count(*) FROM SCHEMA.locks"), "0");
        assert_eq!(self.query("SELECT count(*) FROM SCHEMA.runs WHERE status = 'lost'"), "0");
        for user in USERS {
            let journals = self.project.path(&format!(".data-{}/journals", user.name));
            let left = fs::read_dir(journals).into_iter().flatten().map(|entry| entry.unwrap().file_name());
            // Files that show that a process exists are removed later.
            let left: Vec<_> =
                left.filter(|name| Path::new(name).extension().is_none_or(|end| end != "alive")).collect();
            assert!(left.is_empty(), "journals are left: {left:?}");
        }
        self.check_versions();
    }

    /// Checks each version in which the sum changed: it must consist of the contents in that version.
    fn check_versions(&self) {
        let wrong = self.query(
            "SELECT count(*) FROM SCHEMA.rows s WHERE s.name = 'terraform_data.sum' AND (s.content::json -> 0 -> \
             'attributes' -> 'input' ->> 'value') <> (SELECT string_agg(f.content::json -> 0 -> 'attributes' ->> 'content', \
             ',' ORDER BY f.name) FROM SCHEMA.rows f WHERE f.name LIKE 'local_file.f%' AND f.since <= s.since AND (f.until \
             IS NULL OR f.until > s.since))",
        );
        assert_eq!(wrong, "0", "sums that no serial order explains");
        let sums = self.query("SELECT count(*) FROM SCHEMA.rows WHERE name = 'terraform_data.sum'");
        let overlaps = self.query(
            "SELECT count(DISTINCT a.run_id) FROM SCHEMA.versions a JOIN SCHEMA.versions b ON b.run_id <> a.run_id AND \
             b.serial > a.serial JOIN SCHEMA.versions c ON c.run_id = a.run_id AND c.serial > b.serial",
        );
        println!("{sums} sums were checked; {overlaps} runs stored changes while another run did");
    }
}

#[test]
fn concurrent_applies_equal_some_serial_order() {
    let Some(postgres) = &*POSTGRES else { return };
    let shared = Shared::new(postgres, "concurrent");
    let (count, seed) = (size("WARDIAN_CONCURRENT_APPLIES", 16), seed());
    let succeeded: Vec<Vec<(u64, String)>> = thread::scope(|scope| {
        let users = USERS.map(|user| {
            let shared = &shared;
            scope.spawn(move || {
                let mut random = Random((seed ^ (user.number + 1)).wrapping_mul(0x9E37_79B9) | 1);
                let mut succeeded = Vec::new();
                for step in 0..count / 2 {
                    let token = format!("{}-{step}", user.name);
                    let (number, mut target) = shared.choose(user, &mut random, &token);
                    let is_sum = random.below(4) == 0;
                    if is_sum {
                        "-target=terraform_data.sum".clone_into(&mut target);
                    }
                    let arguments = ["apply", "-auto-approve", "-lock-timeout=120s", &target];
                    let (code, text) = shared.run(user, &arguments);
                    assert_eq!(code, Some(0), "{}: {text}", user.name);
                    if !is_sum {
                        succeeded.push((number, token));
                    }
                }
                succeeded
            })
        });
        users.map(|user| user.join().unwrap()).into()
    });
    for (number, token) in succeeded.iter().flatten() {
        let sql = format!(
            "SELECT count(*) FROM SCHEMA.rows WHERE name = 'local_file.f{number}' AND content LIKE '%\"{token}\"%'"
        );
        assert_ne!(shared.query(&sql), "0", "the result of {token} is lost");
    }
    shared.check();
}

#[test]
fn killed_runs_neither_lose_nor_duplicate_objects() {
    let Some(postgres) = &*POSTGRES else { return };
    let shared = Shared::new(postgres, "killed");
    let (kills, seed) = (size("WARDIAN_KILLED_RUNS", 10), seed());
    let whole = shared.measure();
    thread::scope(|scope| {
        for user in USERS {
            let shared = &shared;
            scope.spawn(move || {
                let mut random = Random((seed ^ (user.number + 7)).wrapping_mul(0x9E37_79B9) | 1);
                for step in 0..kills / 2 {
                    let (_, target) = shared.choose(user, &mut random, &format!("{}-{step}", user.name));
                    let mut run =
                        shared.start(user, &["apply", "-auto-approve", "-lock-timeout=5s", &target]);
                    thread::sleep(Duration::from_micros(random.below(whole)));
                    run.kill().unwrap();
                    run.wait().unwrap();
                    // A file that was created and not recorded gets the same name, if its ID is not lost.
                    shared.succeed(user, &["apply", "-auto-approve", "-lock-timeout=120s", &target]);
                }
            });
        }
    });
    shared.check();
}

/// Sends a signal to a process.
fn signal(process: &Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_child(process);
    rustix::process::kill_process(id, signal).unwrap();
}

#[test]
fn suspended_runs_cannot_write() {
    let Some(postgres) = &*POSTGRES else { return };
    let shared = Shared::new(postgres, "suspended");
    let (pauses, seed) = (size("WARDIAN_SUSPENDED_RUNS", 2), seed());
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9) | 1);
    let mut suspended = 0;
    let whole = shared.measure();
    let [alpha, beta] = USERS;
    for step in 0..pauses {
        shared.set_tokens(&format!("alpha-{step}"));
        let mut run = shared.start(alpha, &["apply", "-auto-approve"]);
        thread::sleep(Duration::from_micros(random.below(whole)));
        signal(&run, rustix::process::Signal::STOP);
        let id = shared.query("SELECT id FROM SCHEMA.runs WHERE who LIKE 'alpha@%' AND status = 'active'");
        thread::sleep(LEASE + Duration::from_millis(200));
        // The other user continues with everything that the suspended run has not begun to change.
        let target = format!("-target=local_file.f{}", random.below(OBJECTS));
        let (code, text) = shared.run(beta, &["apply", "-auto-approve", &target]);
        assert!(code == Some(0) || text.contains("Objects of an interrupted run"), "{text}");
        let resumed = shared.query("SELECT clock_timestamp()");
        signal(&run, rustix::process::Signal::CONT);
        let is_successful = run.wait().unwrap().success();
        if !id.is_empty() {
            let written = shared.query(&format!(
                "SELECT count(*) FROM SCHEMA.versions WHERE run_id = {id} AND created_at > '{resumed}'"
            ));
            assert_eq!(written, "0", "run {id} has written after its lease had ended");
            suspended += u64::from(!is_successful);
        }
        shared.succeed(alpha, &["apply", "-auto-approve"]);
    }
    println!("{suspended} of {pauses} runs were suspended before their end");
    shared.check();
}
