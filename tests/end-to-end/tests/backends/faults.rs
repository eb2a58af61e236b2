//! Faults of every backend: the exit code, the error and the state afterwards. No change is lost.
//!
//! Each case is a fault of one backend, on which the binary runs with a new storage. With
//! `WARDIAN_RECORD=1`, the test writes `docs/state-faults.md`; otherwise, it compares the cells of the
//! backends that this machine can run with that file. `WARDIAN_FAULTS=s3` selects the cases whose names
//! (`FAULT/BACKEND`) contain a text, and prints or records them. Cases that wait for the time limit of a request
//! run only with `WARDIAN_SLOW_FAULTS=1` (`cargo xtask interop backends`).

mod peers;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use wardian_end_to_end::{Project, Running, Seen};
use wardian_state_server::{Fault, Response};

use peers::{NAMES, Operation, Peer, peer};

const LIMIT: Duration = Duration::from_mins(2);

/// More than the retries of any backend.
const ALWAYS: usize = 60;

/// The number of cases that run at the same time. Most of their time is spent between retries.
const WORKERS: usize = 12;

/// With another value of `v`, an apply creates `terraform_data.new`, which must not be lost. The padding
/// exceeds the limit on the size of files that simulates a full disk.
const MAIN: &str = r#"variable "v" {
  default = "1"
}

resource "terraform_data" "padding" {
  input = join("", [for number in range(1000) : format("%064d", number)])
}

resource "terraform_data" "new" {
  count = var.v == "1" ? 0 : 1
  input = var.v
}

output "v" {
  value = var.v
}
"#;

/// Waits before it changes an object, so that the state and its lock can be changed meanwhile.
const WAITING: &str = r#"
resource "terraform_data" "wait" {
  count      = var.v == "2" ? 1 : 0
  depends_on = [terraform_data.new]
  provisioner "local-exec" {
    command = "touch started; for i in $(seq 900); do test -e finish && exit 0; sleep 0.1; done; exit 1"
  }
}
"#;

/// A fault. The order is that of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    Credentials,
    Missing,
    HeldLock,
    LostLock,
    CutBefore,
    CutDuring,
    CutAfter,
    WriteFails,
    ReadHangs,
    WriteHangs,
    Changed,
    Lineage,
    Serial,
    Newer,
    NotAState,
    TooLarge,
    ReadOnly,
    FullDisk,
}

const CASES: [(Case, &str); 18] = [
    (Case::Credentials, "wrong credentials"),
    (Case::Missing, "no such bucket, container, organization, namespace or database"),
    (Case::HeldLock, "another process holds the lock"),
    (Case::LostLock, "the lock is lost during an apply, and another process changes the state"),
    (Case::CutBefore, "the connection is cut before a write is processed"),
    (Case::CutDuring, "the connection is cut during a write"),
    (Case::CutAfter, "the connection is cut after a write, before the response"),
    (Case::WriteFails, "every write fails"),
    (Case::ReadHangs, "the server never responds to a read"),
    (Case::WriteHangs, "the server never responds to a write"),
    (Case::Changed, "another process changes the state without the lock during an apply"),
    (Case::Lineage, "`state push` of another lineage"),
    (Case::Serial, "`state push` of an older serial"),
    (Case::Newer, "the stored state has a newer format"),
    (Case::NotAState, "the stored object is not a state"),
    (Case::TooLarge, "the service rejects the state because it is too large"),
    (Case::ReadOnly, "the storage is read-only"),
    (Case::FullDisk, "the disk of this machine is full, so the journal cannot be completed before the write"),
];

impl Case {
    fn is_slow(self) -> bool {
        matches!(self, Self::ReadHangs | Self::WriteHangs)
    }
}

/// The result of a case, as shown in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The exit code and the summary of the first error.
    pub(crate) result: String,
    /// The files, the lock and the place of the changes.
    pub(crate) left: String,
}

/// A project that uses a backend.
struct User<'a> {
    peer: &'a Peer,
    project: Project,
}

impl<'a> User<'a> {
    fn new(peer: &'a Peer, main: &str) -> Self {
        let project = Project::new(&[("main.tf", main), ("backend.tf", &peer.block)]);
        let user = Self { peer, project };
        user.run("init").success();
        user
    }

    fn run(&self, line: &str) -> Seen {
        let variables: Vec<_> =
            self.peer.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.project.run_with(line, "", &variables)
    }

    /// Runs a command whose output is not filtered. With a limit on the size of files, in blocks of 512
    /// bytes, the disk is full.
    fn run_raw(&self, line: &str, limit: Option<u32>) -> Seen {
        let plain = self.project.command(line);
        let mut command = match limit {
            None => Command::new(plain.get_program()),
            Some(blocks) => {
                let mut shell = Command::new("sh");
                let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
                shell.arg("-c").arg(script).arg(plain.get_program());
                shell
            }
        };
        command.args(plain.get_args()).current_dir(self.project.path("")).stdin(Stdio::null());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.envs(self.peer.variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Seen {
            line: line.to_owned(),
            code: output.status.code(),
            out: text(&output.stdout),
            errors: text(&output.stderr),
        }
    }

    fn start(&self, line: &str) -> Running {
        let mut command = self.project.command(line);
        command.envs(self.peer.variables.iter().map(|(name, value)| (name, value)));
        Running::new(
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
        )
    }

    /// Starts an apply, and returns when it waits.
    fn start_waiting(&self) -> Running {
        let running = self.start("apply -auto-approve -no-color -var v=2");
        let deadline = Instant::now() + LIMIT;
        while !self.project.has("started") {
            assert!(Instant::now() < deadline, "{}: the apply did not reach its provisioner", self.peer.name);
            thread::sleep(Duration::from_millis(20));
        }
        running
    }

    /// Returns the state in the backend.
    fn stored(&self) -> String {
        self.run("state pull").success().out
    }

    /// Returns the ID of the lock that is held; [`None`] if none is held.
    fn lock_id(&self) -> Option<String> {
        let seen = self.run_raw("plan -no-color -lock-timeout=0s", None);
        if !seen.errors.contains("Error acquiring the state lock") {
            return None;
        }
        let (_, after) = seen.errors.split_once("ID:")?;
        after.split_whitespace().next().map(str::to_owned)
    }

    fn journals(&self) -> usize {
        let remote = fs::read_dir(self.project.path(".terraform/journals")).map_or(0, Iterator::count);
        // The journal of a local state is next to its file.
        let beside = self.peer.files.path();
        let local = fs::read_dir(beside).into_iter().flatten().flatten();
        let local = local.filter(|entry| entry.file_name().to_string_lossy().ends_with(".journal"));
        remote + local.count()
    }
}

/// Returns the summary of the first error.
fn summary(seen: &Seen) -> String {
    let line = seen.errors.lines().find_map(|line| line.split_once("Error: ").map(|(_, summary)| summary));
    match (seen.code, line) {
        (Some(code), Some(line)) => format!("{code}: {}", line.trim()),
        (Some(code), None) => code.to_string(),
        (None, _) => "no exit code".to_owned(),
    }
}

/// Returns the ID of the object that an apply created.
fn created(out: &str) -> Option<String> {
    let line = out.lines().find(|line| line.contains("terraform_data.new[0]: Creation complete"))?;
    let (_, after) = line.split_once("[id=")?;
    Some(after.trim_end_matches(']').to_owned())
}

/// Returns the ID of `terraform_data.new` in a state.
fn object_in(state: &str) -> Option<String> {
    let state: Value = serde_json::from_str(state).ok()?;
    let resources = state["resources"].as_array()?;
    let new = resources.iter().find(|resource| resource["name"] == "new")?;
    new["instances"][0]["attributes"]["id"].as_str().map(str::to_owned)
}

/// An apply that failed or succeeded, and its object.
struct Applied {
    seen: Seen,
    /// [`None`] if the object was not created.
    id: Option<String>,
}

/// Runs an apply that creates an object. The output is not filtered, because it contains the ID.
fn apply(user: &User<'_>, limit: Option<u32>) -> Applied {
    let line = "apply -auto-approve -no-color -var v=2";
    let seen = user.run_raw(line, limit);
    let id = created(&seen.out);
    Applied { seen, id }
}

/// Describes what an apply has left, and checks that its object was not lost: it is in the stored state,
/// or the next apply stores it, or it is in a file or in the output.
fn after_apply(user: &User<'_>, other: &User<'_>, applied: &Applied) -> Cell {
    let Applied { seen, id } = applied;
    let pending = (user.peer.pending)();
    assert!(pending == 0 || (2..ALWAYS).contains(&pending), "{}: the fault did not occur", user.peer.name);
    (user.peer.clear)();
    let mut left = Vec::new();
    let has_errored = user.project.has("errored.tfstate");
    if has_errored {
        left.push("`errored.tfstate`");
    }
    if user.journals() > 0 {
        left.push("journal");
    }
    let lock = other.lock_id();
    left.extend(lock.as_ref().map(|_| "lock"));
    let errored = fs::read_to_string(user.project.path("errored.tfstate")).unwrap_or_default();
    let stored = raw_stored(other);
    let Some(raw_id) = id else {
        assert!(!seen.out.contains("Creating..."), "{}: {}", user.peer.name, seen.text());
        return Cell { result: summary(seen), left: description(&left, "were not made") };
    };
    let kept = if stored.contains(raw_id.as_str()) {
        "stored"
    } else {
        // The locks of databases end with their sessions.
        if let Some(id) = lock.filter(|id| id != "session") {
            user.run(&format!("force-unlock -force {id}")).success();
        }
        let next = user.run("apply -auto-approve -no-color -var v=2");
        let is_stored = raw_stored(user).contains(raw_id.as_str());
        match (is_stored, next.code) {
            (true, Some(0)) => "stored by the next command",
            _ if errored.contains(raw_id.as_str()) => "in `errored.tfstate`",
            _ if seen.out.contains(raw_id.as_str()) && seen.out.contains("\"version\": 4") => {
                // The state was printed, because no file could be written.
                "printed"
            }
            _ => panic!("{}: the object {raw_id} is lost:\n{}\n{}", user.peer.name, seen.text(), next.text()),
        }
    };
    Cell { result: summary(seen), left: description(&left, kept) }
}

fn description(left: &[&str], kept: &str) -> String {
    let left = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
    format!("{left}; changes {kept}")
}

/// Returns the stored state, without replaced IDs.
fn raw_stored(user: &User<'_>) -> String {
    user.run_raw("state pull", None).out
}

/// Returns the cell of a command that reads or pushes a state and must not change it.
fn unchanged(seen: &Seen, left: &str) -> Cell {
    Cell { result: summary(seen), left: left.to_owned() }
}

/// Runs a case; [`None`] if the backend does not have the fault.
fn run(case: Case, peer: &Peer) -> Option<Cell> {
    if case == Case::Missing {
        let block = peer.missing.as_ref()?;
        let project = Project::new(&[("main.tf", MAIN), ("backend.tf", block)]);
        let user = User { peer, project };
        let first = user.run("init -no-color");
        let seen = if first.code == Some(0) { user.run("apply -auto-approve -no-color") } else { first };
        assert_eq!(user.journals(), 0);
        return Some(unchanged(&seen, "nothing was created"));
    }
    let is_waiting = matches!(case, Case::HeldLock | Case::LostLock | Case::Changed);
    let main = if is_waiting { format!("{MAIN}{WAITING}") } else { MAIN.to_owned() };
    let user = User::new(peer, &main);
    user.run("apply -auto-approve").success();
    let other = User::new(peer, MAIN);
    let fail = |operation, fault: &Fault, count| peer.fail.as_ref().map(|fail| fail(operation, fault, count));
    match case {
        Case::Missing => None,
        Case::Credentials => {
            peer.deny.as_ref()?();
            let seen = user.run("plan -no-color").ended_with(1);
            Some(unchanged(&seen, "the state is unchanged"))
        }
        Case::HeldLock => {
            let running = user.start_waiting();
            let seen = other.run("apply -auto-approve -no-color -var v=3");
            user.project.write("finish", "");
            let (status, text) = running.finish(LIMIT);
            assert!(status.success(), "{}: {text}", peer.name);
            assert!(object_in(&user.stored()).is_some(), "{}", peer.name);
            Some(unchanged(&seen, "nothing was changed; the holder completes"))
        }
        Case::LostLock | Case::Changed => interrupted(case, &user, &other),
        Case::CutBefore | Case::CutDuring | Case::CutAfter => {
            let fault = match case {
                Case::CutBefore => Fault::CutBefore,
                Case::CutDuring => Fault::CutDuring,
                _ => Fault::CutAfter,
            };
            fail(Operation::Write, &fault, 1)?;
            let applied = apply(&user, None);
            Some(after_apply(&user, &other, &applied))
        }
        Case::WriteFails => {
            fail(Operation::Write, &unavailable(peer), ALWAYS)?;
            let applied = apply(&user, None);
            Some(after_apply(&user, &other, &applied))
        }
        Case::FullDisk => {
            let applied = apply(&user, Some(40));
            Some(after_apply(&user, &other, &applied))
        }
        Case::WriteHangs => {
            fail(Operation::Write, &Fault::Hang, ALWAYS)?;
            let applied = apply(&user, None);
            Some(after_apply(&user, &other, &applied))
        }
        Case::ReadHangs => {
            fail(Operation::Read, &Fault::Hang, ALWAYS)?;
            let seen = user.run("plan -no-color").ended_with(1);
            assert!((peer.pending)() < ALWAYS, "{}: the fault did not occur", peer.name);
            (peer.clear)();
            Some(unchanged(&seen, "the state is unchanged"))
        }
        Case::Lineage | Case::Serial => {
            let before = user.stored();
            let mut state: Value = serde_json::from_str(&before).unwrap();
            if case == Case::Lineage {
                state["lineage"] = "00000000-0000-0000-0000-000000000000".into();
                state["serial"] = 99.into();
            } else {
                state["serial"] = 0.into();
            }
            user.project.write("pushed.tfstate", state.to_string());
            let seen = user.run("state push pushed.tfstate").ended_with(1);
            assert_eq!(user.stored(), before, "{}", peer.name);
            Some(unchanged(&seen, "the state is unchanged"))
        }
        Case::Newer | Case::NotAState => {
            let put = peer.put.as_ref()?;
            put(if case == Case::Newer { "{\"version\": 99}" } else { "this is not a state" });
            let seen = user.run("apply -auto-approve -no-color -var v=2").ended_with(1);
            assert!(!seen.out.contains("Creating..."), "{}: {}", peer.name, seen.text());
            assert!(!user.project.has("errored.tfstate"));
            // The same error again: the object was not replaced.
            assert_eq!(summary(&user.run("plan -no-color")), summary(&seen), "{}", peer.name);
            Some(unchanged(&seen, "the stored object is unchanged"))
        }
        Case::TooLarge => {
            if matches!(peer.name, "pg" | "postgres") {
                return None;
            }
            let answer = Response::new(413, "the body is too large");
            fail(Operation::Write, &Fault::Answer(answer), ALWAYS)?;
            let applied = apply(&user, None);
            Some(after_apply(&user, &other, &applied))
        }
        Case::ReadOnly => {
            if let Some(make_read_only) = &peer.make_read_only {
                make_read_only(true);
                let before = user.run("plan -no-color -lock=false");
                let seen = user.run("apply -auto-approve -no-color -var v=2").ended_with(1);
                make_read_only(false);
                assert!(!seen.out.contains("Creation complete"), "{}: {}", peer.name, seen.text());
                let plan =
                    if before.code == Some(0) { "`plan -lock=false` succeeds" } else { "plans fail, too" };
                return Some(unchanged(&seen, &format!("nothing was changed; {plan}")));
            }
            fail(Operation::Write, &Fault::Answer(Response::new(403, "you may not write")), ALWAYS)?;
            let applied = apply(&user, None);
            Some(after_apply(&user, &other, &applied))
        }
    }
}

/// Returns the fault of a service that does not process writes.
fn unavailable(peer: &Peer) -> Fault {
    match peer.name {
        "pg" | "postgres" => Fault::CutBefore,
        _ => Fault::Answer(Response::new(500, "no space left")),
    }
}

/// Another process changes the state while an apply waits, after the lock was taken from the apply or
/// without a lock.
fn interrupted(case: Case, user: &User<'_>, other: &User<'_>) -> Option<Cell> {
    let peer = user.peer;
    // The lock of the operating system cannot be lost, and a process that ignores it reads the journal.
    if peer.name == "local" {
        return None;
    }
    let mut running = user.start_waiting();
    let changing = if case == Case::LostLock {
        let id = other.lock_id();
        match (&peer.end_lock, id) {
            (Some(end_lock), _) => end_lock(),
            (None, Some(id)) => drop(other.run(&format!("force-unlock -force {id}")).success()),
            // The rows of `postgres` are locked; only a lease can be ended, which needs the run's ID.
            (None, None) => {
                running.kill();
                return None;
            }
        }
        "apply -auto-approve -no-color -var v=3"
    } else {
        "apply -auto-approve -no-color -lock=false -var v=3"
    };
    let changed = other.run_raw(changing, None);
    if changed.code != Some(0) {
        user.project.write("finish", "");
        let (status, text) = running.finish(LIMIT);
        assert!(status.success(), "{}: {text}", peer.name);
        return Some(Cell {
            result: format!("0, and the other process fails with {}", summary(&changed)),
            left: "nothing; changes stored".to_owned(),
        });
    }
    let theirs = created(&changed.out).unwrap();
    user.project.write("finish", "");
    let (status, text) = running.finish(LIMIT);
    let ours = created(&text).unwrap_or_else(|| panic!("{}: {text}", peer.name));
    let seen = Seen { line: String::new(), code: status.code(), out: text.clone(), errors: text };
    let stored = raw_stored(other);
    let errored = fs::read_to_string(user.project.path("errored.tfstate")).unwrap_or_default();
    let mut left = Vec::new();
    if !errored.is_empty() {
        left.push("`errored.tfstate`");
    }
    if user.journals() > 0 {
        left.push("journal");
    }
    if other.lock_id().is_some() {
        left.push("lock");
    }
    let left = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
    let kept = if stored.contains(&theirs) && stored.contains(&ours) {
        "the changes of both processes are stored"
    } else if stored.contains(&theirs) {
        assert!(errored.contains(&ours), "{}: the object {ours} is lost: {}", peer.name, seen.text());
        "the other process's changes are stored, this one's are in `errored.tfstate`"
    } else {
        panic!("{}: the other process's changes are lost: {}", peer.name, seen.text());
    };
    Some(Cell { result: summary(&seen), left: format!("{left}; {kept}") })
}

#[test]
fn faults_are_explained_and_lose_no_change() {
    let selected = std::env::var("WARDIAN_FAULTS").ok();
    let is_slow = std::env::var_os("WARDIAN_SLOW_FAULTS").is_some();
    let name = |case: Case, peer: &str| format!("{case:?}/{peer}");
    let mut jobs: Vec<(Case, &'static str)> =
        CASES.iter().flat_map(|(case, _)| NAMES.iter().map(|peer| (*case, *peer))).collect();
    jobs.retain(|(case, peer)| selected.as_ref().is_none_or(|text| name(*case, peer).contains(text)));
    jobs.retain(|(case, _)| is_slow || !case.is_slow());
    // The cases that wait are started first.
    jobs.sort_by_key(|(case, _)| !case.is_slow());
    let available: Vec<&str> = NAMES.into_iter().filter(|name| peer(name).is_some()).collect();
    jobs.retain(|(_, peer)| available.contains(peer));
    let queue = Mutex::new(jobs.into_iter());
    let cells = Mutex::new(BTreeMap::new());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some((case, peer_name)) = queue.lock().unwrap().next() else { return };
                    let begun = Instant::now();
                    let result = std::panic::catch_unwind(|| run(case, &peer(peer_name).unwrap()));
                    if selected.is_some() {
                        println!("{} took {} s", name(case, peer_name), begun.elapsed().as_secs());
                    }
                    match result {
                        Ok(cell) => drop(cells.lock().unwrap().insert((case, peer_name), cell)),
                        Err(panic) => {
                            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                            failures.lock().unwrap().push(format!("==== {}: {text}", name(case, peer_name)));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let cells = cells.into_inner().unwrap();
    let records = std::env::var_os("WARDIAN_RECORD").is_some();
    if selected.is_some() && !records {
        for ((case, peer), cell) in &cells {
            println!("{}: {cell:?}", name(*case, peer));
        }
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/state-faults.md");
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let found: BTreeMap<(&str, &str), Option<Cell>> = cells
        .into_iter()
        .map(|((case, peer), cell)| {
            let title = CASES.iter().find(|(one, _)| *one == case).map(|(_, title)| *title).unwrap();
            ((title, peer), cell)
        })
        .collect();
    let titles = CASES.map(|(_, title)| title);
    let text = table::text(&titles, &NAMES, &found, &table::parse(&recorded));
    if records {
        fs::write(&path, text).unwrap();
    } else {
        assert!(recorded == text, "docs/state-faults.md is outdated; record it again. It should be:\n{text}");
    }
}
