//! Every end: by itself, by us, with us.

use std::time::{Duration, Instant};

use wardian_process::{ExitStatus, Leftovers};

use crate::support::{finish, is_soon_gone, run, runner, shell, told};

#[tokio::test]
async fn codes_and_signals_are_told() {
    assert_eq!(run(shell("exit 7")).await.status, Some(ExitStatus::Code(7)));
    assert_eq!(run(shell("kill -9 $$")).await.status, Some(ExitStatus::Signal(9)));
}

#[tokio::test]
async fn all_of_it_is_killed_when_its_time_is_over() {
    let began = Instant::now();
    let (runner, records) = runner();
    let mut command = shell("sleep 60 & echo $!; trap '' TERM INT; while :; do sleep 1; done");
    command.timeout = Some(Duration::from_millis(300));
    let mut running = runner.start(command).await.unwrap();
    let child = told(&mut running).await;
    assert_eq!(finish(running).await.status, Some(ExitStatus::TimedOut));
    assert!(is_soon_gone(child).await);
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(records.ended.lock().unwrap()[0].status, Some(ExitStatus::TimedOut));
}

#[tokio::test]
async fn kill_and_drop_end_all_of_it() {
    let (runner, records) = runner();
    let script = "sleep 60 & echo $!; yes";
    let mut running = runner.start(shell(script)).await.unwrap();
    let child = told(&mut running).await;
    running.kill();
    assert_eq!(finish(running).await.status, Some(ExitStatus::Signal(9)));
    assert!(is_soon_gone(child).await);

    let mut running = runner.start(shell(script)).await.unwrap();
    let child = told(&mut running).await;
    drop(running);
    assert!(is_soon_gone(child).await);
    let began = Instant::now();
    while records.ended.lock().unwrap().len() < 2 && began.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(records.ended.lock().unwrap()[1].status, Some(ExitStatus::Signal(9)));
}

#[tokio::test]
async fn an_interrupt_can_be_answered() {
    let (runner, _) = runner();
    let mut running = runner
        .start(shell("trap 'echo cleaned; exit 5' INT; echo $$; while :; do sleep 0.05; done"))
        .await
        .unwrap();
    told(&mut running).await;
    running.interrupt();
    let done = finish(running).await;
    assert_eq!((done.stdout.as_slice(), done.status), (b"cleaned\n".as_slice(), Some(ExitStatus::Code(5))));
}

#[tokio::test]
async fn what_was_left_behind_can_be_killed() {
    let (runner, _) = runner();
    let mut command = shell("sleep 60 >/dev/null 2>&1 & echo $!");
    command.leftovers = Leftovers::Killed;
    let mut running = runner.start(command).await.unwrap();
    let child = told(&mut running).await;
    assert_eq!(finish(running).await.status, Some(ExitStatus::Code(0)));
    assert!(is_soon_gone(child).await);
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (runner, _) = runner();
    for delay in 0..40 {
        let mut command = shell(&format!("echo $$ > {delay}; sleep 60 & wait"));
        command.directory = directory.path().into();
        let starting = runner.start(command);
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
fn a_runtime_that_stops_takes_all_of_it_along() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (child, running) = runtime.block_on(async {
        let (runner, _) = runner();
        let mut running = runner.start(shell("sleep 60 & echo $!; wait")).await.unwrap();
        (told(&mut running).await, running)
    });
    runtime.shutdown_background();
    drop(running);
    assert!(tokio::runtime::Runtime::new().unwrap().block_on(is_soon_gone(child)));
}

/// What `we_are_killed` runs in a process of its own.
#[test]
fn somebody_who_is_killed() {
    if std::env::var_os("WARDIAN_TEST_IS_KILLED").is_none() {
        return;
    }
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (runner, _) = runner();
        let mut running =
            runner.start(shell("(trap '' TERM HUP INT; sleep 60) & echo $!; sleep 60; :")).await.unwrap();
        println!("child {}", told(&mut running).await);
        tokio::time::sleep(Duration::from_mins(1)).await;
    });
}

#[test]
fn nothing_is_left_when_we_are_killed() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let mut us = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends::somebody_who_is_killed", "--nocapture"])
        .env("WARDIAN_TEST_IS_KILLED", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(us.stdout.take().unwrap()).lines();
    let child = lines
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("child ")?.1.trim().parse::<i32>().unwrap()))
        .unwrap();
    assert!(crate::support::is_alive(child));
    us.kill().unwrap();
    us.wait().unwrap();
    assert!(tokio::runtime::Runtime::new().unwrap().block_on(is_soon_gone(child)));
}
