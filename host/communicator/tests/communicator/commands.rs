//! Commands on the remote machine: output, exit codes, concurrency and cancellation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_access::ExitStatus;
use wardian_communicator::CommandEvent;

use crate::sshd::{Records, Sshd, recorded, run};

#[tokio::test]
async fn commands_return_output_and_exit_codes() {
    let Some(sshd) = Sshd::start("") else { return };
    let connection = sshd.connection();
    let done = run(&connection, "echo one; echo two >&2; exit 7").await.unwrap();
    assert_eq!((done.text().as_str(), done.status), ("one\ntwo\n", Some(ExitStatus::Code(7))));
    let done = run(&connection, "kill -9 $$").await.unwrap();
    assert_eq!(done.status, Some(ExitStatus::Signal(9)));
    let done = run(&connection, "no-such-program 2>/dev/null").await.unwrap();
    assert_eq!(done.status, Some(ExitStatus::Code(127)));
}

#[tokio::test]
async fn terminal_preserves_output_bytes() {
    let Some(sshd) = Sshd::start("") else { return };
    let connection = sshd.connection();
    let done = run(&connection, "test -t 0 && test -t 1 && echo $TERM").await.unwrap();
    assert_eq!(done.text(), "xterm\n");
    // Prints all byte values.
    let all = "i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done";
    let done = run(&connection, all).await.unwrap();
    assert_eq!(done.stdout, (0..=255).collect::<Vec<u8>>());
}

#[tokio::test]
async fn commands_run_without_a_terminal() {
    let Some(sshd) = Sshd::start("PermitTTY no") else { return };
    let done = run(&sshd.connection(), "echo one; echo two >&2; exit 3").await.unwrap();
    assert_eq!((done.stdout.as_slice(), done.stderr.as_slice()), (b"one\n".as_slice(), b"two\n".as_slice()));
    assert_eq!(done.status, Some(ExitStatus::Code(3)));
}

#[tokio::test]
async fn twenty_commands_use_one_connection() {
    let Some(sshd) = Sshd::start("") else { return };
    let records = Arc::<Records>::default();
    let connection = recorded(&sshd.values(), &records);
    let began = Instant::now();
    for number in 0..20 {
        let done = run(&connection, &format!("echo {number}")).await.unwrap();
        assert_eq!(done.text(), format!("{number}\n"));
    }
    println!("20 commands on one connection: {:?}", began.elapsed());
    connection.close().await;
    drop(connection);
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
    let endpoint = format!("127.0.0.1 {}", sshd.port);
    assert_eq!(*records.asked.lock().unwrap(), [endpoint, "127.0.0.1 at 127.0.0.1".into()]);
    let ended = records.ended.lock().unwrap();
    assert_eq!((ended.len(), ended[0].port), (1, sshd.port));
    assert_eq!(ended[0].address, Some([127, 0, 0, 1].into()));
    assert!(ended[0].sent > 1000 && ended[0].received > 1000, "{ended:?}");
}

#[tokio::test]
async fn several_commands_run_concurrently() {
    let Some(sshd) = Sshd::start("") else { return };
    let connection = sshd.connection();
    // The first command exits when the second has started.
    let file = sshd.path("begun").display().to_string();
    let waiting = format!("while [ ! -e {file} ]; do sleep 0.05; done; echo a");
    let touching = format!("touch {file}; echo b");
    let (one, two) = tokio::join!(run(&connection, &waiting), run(&connection, &touching));
    assert_eq!((one.unwrap().text(), two.unwrap().text()), ("a\n".into(), "b\n".into()));
}

fn memory_in_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_output_does_not_accumulate() {
    let Some(sshd) = Sshd::start("PermitTTY no") else { return };
    let connection = sshd.connection();
    let mut command = connection.execute("head -c 1073741824 /dev/zero; exit 4").await.unwrap();
    let before = memory_in_kilobytes();
    // The test leaves the output unread for a while.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (mut total, mut most, mut status) = (0, 0, None);
    while let Some(event) = command.next_event().await.unwrap() {
        match event {
            CommandEvent::Stdout(piece) => {
                assert!(piece.len() <= 64 << 10);
                total += piece.len();
                if total % (64 << 20) < 64 << 10 {
                    most = most.max(memory_in_kilobytes());
                }
            }
            CommandEvent::Stderr(_) => {}
            CommandEvent::Exited(ended) => status = Some(ended),
        }
    }
    assert_eq!((total, status), (1 << 30, Some(ExitStatus::Code(4))));
    assert!(most < before + 64_000, "{before} kB became {most} kB");
}

/// Whether a process has this marker in its command line.
fn is_running(marker: &str) -> bool {
    std::process::Command::new("pgrep").args(["-f", marker]).output().unwrap().status.success()
}

#[tokio::test]
async fn dropped_command_is_terminated() {
    let Some(sshd) = Sshd::start("") else { return };
    let connection = sshd.connection();
    let marker = format!("sleep 61.{}", sshd.port);
    let mut command = connection.execute(&format!("echo begun; {marker}; yes")).await.unwrap();
    assert_eq!(command.next_event().await.unwrap(), Some(CommandEvent::Stdout(b"begun\n".to_vec())));
    assert!(is_running(&marker));
    drop(command);
    let began = Instant::now();
    while is_running(&marker) {
        assert!(began.elapsed() < Duration::from_secs(5), "the command is still running");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The connection remains usable, even after a command that never stops writing.
    let mut endless = connection.execute("yes").await.unwrap();
    for _ in 0..10 {
        assert!(matches!(endless.next_event().await.unwrap(), Some(CommandEvent::Stdout(_))));
    }
    drop(endless);
    assert_eq!(run(&connection, "echo on").await.unwrap().text(), "on\n");
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
}

#[tokio::test]
async fn daemon_with_open_output_does_not_block() {
    let Some(sshd) = Sshd::start("PermitTTY no") else { return };
    let began = Instant::now();
    let done = run(&sshd.connection(), "sleep 8 & echo on").await.unwrap();
    assert_eq!((done.text().as_str(), done.status), ("on\n", Some(ExitStatus::Code(0))));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn user_without_command_rights_is_reported() {
    let Some(sshd) = Sshd::start("ForceCommand internal-sftp\nMaxSessions 1") else { return };
    let connection = sshd.connection();
    let _first = connection.execute("true").await.unwrap();
    let error = connection.execute("true").await.err().unwrap();
    assert!(error.to_string().contains("did not open another channel"), "{error}");
}
