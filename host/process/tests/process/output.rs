//! Checks that output is complete and in order, with at most a few chunks in memory.

use std::time::{Duration, Instant};

use wardian_access::ExitStatus;
use wardian_process::{CommandEvent, Streams};

use crate::support::{finish, launcher, next_event, run, shell};

#[tokio::test]
async fn output_is_delivered_as_lines_or_chunks() {
    let (launcher, _) = launcher();
    let mut running = launcher
        .start(shell("printf a; sleep 0.2; printf 'b\\nc'; sleep 0.2; head -c 100000 /dev/zero"))
        .await
        .unwrap();
    assert_eq!(
        next_event(&mut running, "the first line").await,
        Some(CommandEvent::Stdout(b"ab\n".to_vec()))
    );
    let mut total = 0;
    loop {
        match next_event(&mut running, "100000 bytes").await {
            Some(CommandEvent::Stdout(piece)) => {
                assert!(piece.len() <= 32 << 10);
                total += piece.len();
            }
            Some(CommandEvent::Exited(status)) => break assert_eq!(status, ExitStatus::Code(0)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(total, 100_001);
}

#[tokio::test]
async fn outputs_are_separate_or_combined() {
    let script = "i=0; while [ $i -lt 200 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done";
    let apart = run(shell(script)).await;
    assert_eq!(apart.stdout.split(|byte| *byte == b'o').count() - 1, 200);
    assert_eq!(apart.stderr.split(|byte| *byte == b'e').count() - 1, 200);
    let mut command = shell(script);
    command.streams = Streams::Combined;
    let together = run(command).await;
    let expected: Vec<String> = (0..200).map(|number| format!("o{number}\ne{number}\n")).collect();
    assert_eq!(String::from_utf8(together.stdout).unwrap(), expected.concat());
    assert!(together.stderr.is_empty());
}

fn memory_in_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn unread_output_does_not_accumulate() {
    let (launcher, _) = launcher();
    let mut running = launcher.start(shell("head -c 1073741824 /dev/zero; echo done >&2")).await.unwrap();
    let before = memory_in_kilobytes();
    // The test does not read the output for a while.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (mut total, mut most) = (0, 0);
    while let Some(event) = next_event(&mut running, "a gigabyte of output").await {
        if let CommandEvent::Stdout(piece) = event {
            total += piece.len();
            if total % (64 << 20) < 32 << 10 {
                most = most.max(memory_in_kilobytes());
            }
        }
    }
    assert_eq!(total, 1 << 30);
    assert!(most < before + 32_000, "{before} kB became {most} kB");
}

#[tokio::test]
async fn daemon_with_open_output_does_not_block() {
    let began = Instant::now();
    let (launcher, _) = launcher();
    let mut running = launcher.start(shell("sleep 60 & echo $!")).await.unwrap();
    let daemon = crate::support::read_process_id(&mut running).await;
    let done = finish(running).await;
    assert_eq!(done.status, Some(ExitStatus::Code(0)));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(crate::support::is_alive(daemon), "it was started on purpose");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(daemon).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    // A descendant writes output endlessly.
    let mut command = shell("yes & echo");
    command.descendants = wardian_process::DescendantPolicy::Kill;
    assert_eq!(run(command).await.status, Some(ExitStatus::Code(0)));
}

#[tokio::test]
async fn reads_output_of_pipeline_after_exit() {
    let done = run(shell("(sleep 0.3; echo late) & exit 4")).await;
    assert_eq!((done.stdout.as_slice(), done.status), (b"late\n".as_slice(), Some(ExitStatus::Code(4))));
}
