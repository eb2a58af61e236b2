//! An authority that writes down, and how a run is taken to its end.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use wardian_process::{Authority, Command, Denied, Ended, Event, ExitStatus, Runner, Running, Start};

#[derive(Default)]
pub struct Records {
    pub asked: Mutex<Vec<String>>,
    pub ended: Mutex<Vec<Ended>>,
    pub refuses: Mutex<bool>,
}

impl Authority for Records {
    fn may_start(&self, start: &Start<'_>) -> Result<(), Denied> {
        self.asked.lock().unwrap().push(start.program.to_owned());
        if *self.refuses.lock().unwrap() {
            return Err(Denied("no rule allows it".into()));
        }
        Ok(())
    }

    fn ended(&self, ended: &Ended) {
        self.ended.lock().unwrap().push(ended.clone());
    }
}

pub fn runner() -> (Runner, Arc<Records>) {
    let records = Arc::<Records>::default();
    (Runner::new(records.clone(), "/usr/bin:/bin".into()), records)
}

/// A script of the shell, which finds its programs.
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

pub async fn finish(mut running: Running) -> Run {
    let mut run = Run { stdout: Vec::new(), stderr: Vec::new(), status: None };
    while let Some(event) = running.next_event().await {
        assert!(run.status.is_none(), "nothing comes after the end");
        match event {
            Event::Stdout(bytes) => run.stdout.extend(bytes),
            Event::Stderr(bytes) => run.stderr.extend(bytes),
            Event::Exited(status) => run.status = Some(status),
        }
    }
    run
}

pub async fn run(command: Command) -> Run {
    let (runner, _) = runner();
    finish(runner.start(command).await.unwrap()).await
}

/// The number of a process that a line of output says.
pub async fn told(running: &mut Running) -> i32 {
    match running.next_event().await {
        // More may have been read with it.
        Some(Event::Stdout(text)) => str::from_utf8(&text).unwrap().lines().next().unwrap().parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Whether a process runs; a zombie does not.
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
