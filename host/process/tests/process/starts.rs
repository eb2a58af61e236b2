//! The environment, arguments and input of a program, and programs that cannot be started.

use std::path::PathBuf;

use wardian_access::ExitStatus;
use wardian_process::{Command, ProcessError};

use crate::support::{finish, launcher, run, shell};

#[tokio::test]
async fn environment_contains_only_given_variables() {
    let (launcher, records) = launcher();
    let mut command = Command::new("env", vec![], PathBuf::from("/tmp"));
    command.environment = vec![("ONE".into(), "1".into()), ("TWO".into(), "a b".into())];
    let done = finish(launcher.start(command).await.unwrap()).await;
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "ONE=1\nTWO=a b\n");
    assert_eq!(done.status, Some(ExitStatus::Code(0)));
    let ended = records.ended.lock().unwrap();
    assert_eq!(*records.asked.lock().unwrap(), ["env"]);
    assert_eq!((ended.len(), &*ended[0].program, ended[0].written), (1, "env", 14));
    assert_eq!(ended[0].executable.as_deref(), Some("/usr/bin/env".as_ref()));
    assert_eq!(ended[0].status, Some(ExitStatus::Code(0)));
}

#[tokio::test]
async fn passes_directory_arguments_and_input() {
    let mut command = shell("pwd -P; printf '%s|' \"$@\"; cat");
    command.arguments.extend(["sh".into(), "a b".into(), String::new(), "*".into()]);
    command.input = b"x\0y".to_vec();
    command.directory = "/usr/bin".into();
    assert_eq!(run(command).await.stdout, b"/usr/bin\na b||*|x\0y");
    // More data than fits into a pipe, for a program that does not read it.
    let mut command = shell("exit 3");
    command.input = vec![0; 1 << 20];
    assert_eq!(run(command).await.status, Some(ExitStatus::Code(3)));
}

#[tokio::test]
async fn relative_program_is_resolved_against_the_working_directory() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    std::fs::create_dir(base.join("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/echo", base.join("bin/say")).unwrap();
    let (launcher, records) = launcher();
    let command = Command::new("./bin/say", vec!["hi".into()], base.clone());
    assert_eq!(finish(launcher.start(command).await.unwrap()).await.stdout, b"hi\n");
    assert_eq!(*records.asked.lock().unwrap(), [format!("{}/bin/say", base.display())]);
}

#[tokio::test]
async fn program_has_no_terminal() {
    let done =
        run(shell("(exec </dev/tty) 2>/dev/null && echo terminal; cut -d' ' -f1,5,6 /proc/self/stat")).await;
    let text = String::from_utf8(done.stdout).unwrap();
    let numbers: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(numbers.len(), 3, "{text}");
    assert_eq!(numbers[1], numbers[2], "its group is its session: {text}");
}

#[tokio::test]
async fn denied_program_is_not_looked_up() {
    let (launcher, records) = launcher();
    *records.refuses.lock().unwrap() = true;
    let error = launcher.start(Command::new("no-such-program", vec![], "/".into())).await.unwrap_err();
    assert!(matches!(error, ProcessError::Denied(_)), "{error}");
    assert!(records.ended.lock().unwrap().is_empty());
}

#[tokio::test]
async fn failed_start_reports_reason() {
    let base = tempfile::tempdir().unwrap();
    let script = base.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let plain = base.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let (launcher, records) = launcher();
    let start = async |program: &str, arguments: Vec<String>, directory: &str, variable: &str| {
        let mut command = Command::new(program, arguments, directory.into());
        command.environment = vec![(variable.into(), "secret".into())];
        launcher.start(command).await.unwrap_err()
    };
    let none = start("no-such-program", vec![], "/", "A").await;
    assert!(matches!(none, ProcessError::NotFound { .. }), "{none}");
    let none = start("/no/such/program", vec![], "/", "A").await;
    assert!(matches!(none, ProcessError::NotFound { .. }), "{none}");
    let none = start("true", vec![], "/no/such/directory", "A").await;
    assert!(matches!(none, ProcessError::Directory(_)), "{none}");
    let none = start("true", vec![], "relative", "A").await;
    assert!(matches!(none, ProcessError::Directory(_)), "{none}");
    let none = start(script.to_str().unwrap(), vec![], "/", "A").await;
    assert!(matches!(none, ProcessError::Start { .. }), "{none}");
    let none = start(plain.to_str().unwrap(), vec![], "/", "A").await;
    assert!(none.to_string().contains("ermission denied"), "{none}");
    let none = start("true", vec!["a".into(), "\0".into()], "/", "A").await;
    assert_eq!(none.to_string(), "argument 2 contains a NUL byte, which cannot be passed to a program");
    let none = start("true", vec![], "/", "A=B").await;
    assert!(matches!(none, ProcessError::InvalidVariable(_)), "{none}");
    let none = start("true", vec!["x".repeat(1 << 20)], "/", "A").await;
    assert!(matches!(none, ProcessError::Start { .. }), "{none}");
    // Each allowed start is recorded.
    assert_eq!(records.ended.lock().unwrap().len(), 6);
    assert_eq!(records.asked.lock().unwrap().len(), 6);
}
