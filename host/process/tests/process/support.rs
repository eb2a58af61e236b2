//! An authority that records requests, and functions that run a command to completion.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use wardian_access::{Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_process::{ChildProcess, Command, CommandEvent, Launcher};

#[derive(Default)]
pub struct Records {
    pub asked: Mutex<Vec<String>>,
    pub ended: Mutex<Vec<FinishedProgram>>,
    pub refuses: Mutex<bool>,
    pub executed: Mutex<Vec<PathBuf>>,
    pub refuses_files: Mutex<bool>,
}

impl ProcessAuthority for Records {
    fn may_start(&self, start: &ProgramLaunch<'_>) -> Result<(), Denied> {
        self.asked.lock().unwrap().push(start.program.to_owned());
        if *self.refuses.lock().unwrap() {
            return Err(Denied::new("no rule allows it"));
        }
        Ok(())
    }

    fn may_execute(&self, _start: &ProgramLaunch<'_>, executable: &Path) -> Result<(), Denied> {
        self.executed.lock().unwrap().push(executable.to_owned());
        if *self.refuses_files.lock().unwrap() {
            return Err(Denied::new("the file may be written"));
        }
        Ok(())
    }

    fn finished(&self, ended: &FinishedProgram) {
        self.ended.lock().unwrap().push(ended.clone());
    }
}

pub fn launcher() -> (Launcher, Arc<Records>) {
    let records = Arc::<Records>::default();
    (Launcher::new(records.clone(), "/usr/bin:/bin".into()), records)
}

/// Returns a command that runs a shell script with a usable search path.
pub fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh", vec!["-c".into(), script.into()], PathBuf::from("/"));
    command.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    command
}

pub struct Run {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub status: Option<ExitStatus>,
}

/// The maximum time that a test waits for one event.
const LIMIT: Duration = Duration::from_mins(1);

/// Returns the next event of a program.
///
/// # Panics
/// Panics if there is no event within the limit. The message contains `awaited`.
pub async fn next_event(running: &mut ChildProcess, awaited: &str) -> Option<CommandEvent> {
    within_limit(running.next_event(), awaited).await
}

/// Waits for a result. Fails after the limit, with a message that contains `awaited`.
pub async fn within_limit<T>(result: impl Future<Output = T>, awaited: &str) -> T {
    match tokio::time::timeout(LIMIT, result).await {
        Ok(result) => result,
        Err(elapsed) => panic!("waited {LIMIT:?} for {awaited}: {elapsed}"),
    }
}

pub async fn finish(mut running: ChildProcess) -> Run {
    let mut run = Run { stdout: Vec::new(), stderr: Vec::new(), status: None };
    while let Some(event) = next_event(&mut running, "output or the end of the program").await {
        assert!(run.status.is_none(), "nothing comes after the end");
        match event {
            CommandEvent::Stdout(bytes) => run.stdout.extend(bytes),
            CommandEvent::Stderr(bytes) => run.stderr.extend(bytes),
            CommandEvent::Exited(status) => run.status = Some(status),
        }
    }
    run
}

pub async fn run(command: Command) -> Run {
    let (launcher, _) = launcher();
    finish(within_limit(launcher.start(command), "the start of the program").await.unwrap()).await
}

/// Reads a process ID from a line of output.
pub async fn read_process_id(running: &mut ChildProcess) -> i32 {
    match next_event(running, "a process ID").await {
        // Other lines may have been received together with this line.
        Some(CommandEvent::Stdout(text)) => {
            str::from_utf8(&text).unwrap().lines().next().unwrap().parse().unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// Whether a process is running; a zombie is not.
pub fn is_alive(id: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

pub async fn is_soon_gone(id: i32) -> bool {
    let began = Instant::now();
    while is_alive(id) && began.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    !is_alive(id)
}
