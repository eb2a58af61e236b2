//! The ways in which a program ends: it exits, the host kills it, or it is killed because the host ends.

use std::time::{Duration, Instant};

use wardian_access::ExitStatus;
use wardian_process::DescendantPolicy;

use crate::support::{finish, is_soon_gone, launcher, read_process_id, run, shell};

#[tokio::test]
async fn reports_exit_codes_and_signals() {
    assert_eq!(run(shell("exit 7")).await.status, Some(ExitStatus::Code(7)));
    assert_eq!(run(shell("kill -9 $$")).await.status, Some(ExitStatus::Signal(9)));
}

#[tokio::test]
async fn timeout_kills_process_and_descendants() {
    let began = Instant::now();
    let (launcher, records) = launcher();
    let mut command = shell("sleep 60 & echo $!; trap '' TERM INT; while :; do sleep 1; done");
    command.timeout = Some(Duration::from_millis(300));
    let mut running = launcher.start(command).await.unwrap();
    let child = read_process_id(&mut running).await;
    assert_eq!(finish(running).await.status, Some(ExitStatus::TimedOut));
    assert!(is_soon_gone(child).await);
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(records.ended.lock().unwrap()[0].status, Some(ExitStatus::TimedOut));
}

#[tokio::test]
async fn kill_and_drop_end_process_and_descendants() {
    let (launcher, records) = launcher();
    let script = "sleep 60 & echo $!; yes";
    let mut running = launcher.start(shell(script)).await.unwrap();
    let child = read_process_id(&mut running).await;
    running.kill();
    assert_eq!(finish(running).await.status, Some(ExitStatus::Signal(9)));
    assert!(is_soon_gone(child).await);

    let mut running = launcher.start(shell(script)).await.unwrap();
    let child = read_process_id(&mut running).await;
    drop(running);
    assert!(is_soon_gone(child).await);
    let began = Instant::now();
    while records.ended.lock().unwrap().len() < 2 && began.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(records.ended.lock().unwrap()[1].status, Some(ExitStatus::Signal(9)));
}

#[tokio::test]
async fn program_can_handle_interrupt() {
    let (launcher, _) = launcher();
    let mut running = launcher
        .start(shell("trap 'echo cleaned; exit 5' INT; echo $$; while :; do sleep 0.05; done"))
        .await
        .unwrap();
    read_process_id(&mut running).await;
    running.interrupt();
    let done = finish(running).await;
    assert_eq!((done.stdout.as_slice(), done.status), (b"cleaned\n".as_slice(), Some(ExitStatus::Code(5))));
}

#[tokio::test]
async fn descendant_policy_can_kill_remaining_processes() {
    let (launcher, _) = launcher();
    let mut command = shell("sleep 60 >/dev/null 2>&1 & echo $!");
    command.descendants = DescendantPolicy::Kill;
    let mut running = launcher.start(command).await.unwrap();
    let child = read_process_id(&mut running).await;
    assert_eq!(finish(running).await.status, Some(ExitStatus::Code(0)));
    assert!(is_soon_gone(child).await);
}

#[tokio::test]
async fn cancelled_start_leaves_no_process() {
    let directory = tempfile::tempdir().unwrap();
    let (launcher, _) = launcher();
    for delay in 0..40 {
        let mut command = shell(&format!("echo $$ > {delay}; sleep 60 & wait"));
        command.directory = directory.path().into();
        let starting = launcher.start(command);
        let _ = tokio::time::timeout(Duration::from_micros(delay * 50), starting).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for file in directory.path().read_dir().unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        if let Ok(id) = text.trim().parse() {
            assert!(is_soon_gone(id).await);
        }
    }
}

#[test]
fn runtime_shutdown_kills_all_processes() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (child, running) = runtime.block_on(async {
        let (launcher, _) = launcher();
        let mut running = launcher.start(shell("sleep 60 & echo $!; wait")).await.unwrap();
        (read_process_id(&mut running).await, running)
    });
    runtime.shutdown_background();
    drop(running);
    assert!(tokio::runtime::Runtime::new().unwrap().block_on(is_soon_gone(child)));
}

/// Runs in a separate process for `killed_host_leaves_no_process`.
#[test]
fn helper_host_waits_to_be_killed() {
    if std::env::var_os("WARDIAN_TEST_IS_KILLED").is_none() {
        return;
    }
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (launcher, _) = launcher();
        let mut running =
            launcher.start(shell("(trap '' TERM HUP INT; sleep 60) & echo $!; sleep 60; :")).await.unwrap();
        println!("child {}", read_process_id(&mut running).await);
        tokio::time::sleep(Duration::from_mins(1)).await;
    });
}

#[test]
fn killed_host_leaves_no_process() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let mut us = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends::helper_host_waits_to_be_killed", "--nocapture"])
        .env("WARDIAN_TEST_IS_KILLED", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(us.stdout.take().unwrap()).lines();
    let child = lines
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("child ")?.1.trim().parse::<i32>().unwrap()))
        .expect("the host, which ends after a minute, prints the ID of its child");
    assert!(crate::support::is_alive(child));
    us.kill().unwrap();
    us.wait().unwrap();
    assert!(tokio::runtime::Runtime::new().unwrap().block_on(is_soon_gone(child)));
}

/// Runs in a separate process for `programs_have_default_signal_dispositions`.
#[tokio::test]
async fn helper_host_ignores_signals() {
    if std::env::var_os("WARDIAN_TEST_IGNORES_SIGNALS").is_none() {
        return;
    }
    // A shell cannot change the disposition of a signal that was ignored when it started.
    let ignored = run(shell("grep SigIgn /proc/$$/status")).await;
    let ignored = String::from_utf8(ignored.stdout).unwrap();
    let mask = ignored.split_whitespace().last().unwrap();
    // The C library reserves some of the real-time signals.
    let standard = u64::from_str_radix(mask, 16).unwrap() & 0x7fff_ffff;
    assert_eq!(standard, 0, "{ignored}");
    assert_eq!(run(shell("kill -INT $$; echo survived")).await.status, Some(ExitStatus::Signal(2)));
    let (launcher, _) = launcher();
    let mut running = launcher
        .start(shell("trap 'echo cleaned; exit 5' INT; echo $$; while :; do sleep 0.05; done"))
        .await
        .unwrap();
    read_process_id(&mut running).await;
    running.interrupt();
    assert_eq!(finish(running).await.status, Some(ExitStatus::Code(5)));
    println!("dispositions are the default");
}

/// `nohup`, background jobs of scripts and some CI systems start programs with ignored signals.
#[test]
fn programs_have_default_signal_dispositions() {
    use std::process::Command;
    let output = Command::new("/bin/sh")
        .args(["-c", "trap '' INT QUIT HUP TERM USR1; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "ends::helper_host_ignores_signals", "--nocapture"])
        .env("WARDIAN_TEST_IGNORES_SIGNALS", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("dispositions are the default"), "{text}");
}
