//! Runs other programs. Errors contain the command.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::progress::say;

/// Runs a command that inherits the terminal. Returns an error if the command fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(())
}

pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("could not start `{}`", line(command)))
}

/// Runs a command and returns its standard output. If the command fails, returns an error that
/// contains its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start `{}`", line(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` ended with {}\n{}",
            line(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of `{}` is not UTF-8", line(command)))
}

/// Runs a command. Prints each line of its standard output, and passes the line to a function.
pub(crate) fn each_line(command: &mut Command, mut act: impl FnMut(&str)) -> Result<ExitStatus> {
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("could not start `{}`", line(command)))?;
    let out = child.stdout.take().context("the command has no output")?;
    for line in BufReader::new(out).split(b'\n') {
        let line = line.context("could not read the output of the command")?;
        let line = String::from_utf8_lossy(&line);
        say(&line);
        act(&line);
    }
    Ok(child.wait()?)
}

/// Runs a command like [`run`], but kills it after `limit`.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("could not start `{}`", line(command)))?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("`{}` ended with {status}", line(command));
            }
            return Ok(());
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("`{}` took over {} s", line(command), limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Runs a command whose output is appended to a file. Kills the command, and all processes in its
/// process group, after `limit`.
///
/// The standard input of the command has no data, and is closed when this process ends. This
/// project's programs exit when their standard input is closed.
pub(crate) fn logged_within(command: &mut Command, log: &Path, limit: Duration) -> Result<ExitStatus> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    let file = file.with_context(|| format!("could not open {}", log.display()))?;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(file.try_clone()?)
        .stderr(file)
        .process_group(0)
        .spawn()
        .with_context(|| format!("could not start `{}`", line(command)))?;
    let input = child.stdin.take();
    let group = format!("-{}", child.id());
    let started = Instant::now();
    let result = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if started.elapsed() > limit => {
                break Err(anyhow::anyhow!("`{}` took over {} s", line(command), limit.as_secs()));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => break Err(error.into()),
        }
    };
    // The group may contain processes that the command started and did not stop.
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    child.wait()?;
    drop(input);
    result
}

/// Returns whether this process runs and may be signalled.
pub(crate) fn is_running(id: u32) -> bool {
    let mut command = Command::new("kill");
    command.args(["-0", &id.to_string()]).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Removes the environment variables with which the user configures Terraform and Wardian, such as
/// `TF_VAR_...` or `TF_CLI_ARGS`. Also disables Terraform's version check.
pub(crate) fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TF_") {
            command.env_remove(name);
        }
    }
    command.env("CHECKPOINT_DISABLE", "1")
}

/// Returns the path of the program with this name on PATH; `None` if it is missing.
pub(crate) fn on_path(name: &str) -> Option<std::path::PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|directory| directory.join(&file))
        .find(|candidate| candidate.is_file())
}

pub(crate) fn line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn hanging_program_is_killed() {
        let error = run_within(Command::new("sleep").arg("60"), Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.to_string(), "`sleep 60` took over 0 s");
    }

    #[test]
    fn process_group_is_killed() {
        let directory = std::env::temp_dir().join(format!("xtask-process-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let log = directory.join("log");
        let limit = Duration::from_millis(300);
        let mut command = Command::new("sh");
        let error = logged_within(command.args(["-c", "sleep 60 & echo $!; wait"]), &log, limit).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c sleep 60 & echo $!; wait` took over 0 s");
        let child = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        let started = Instant::now();
        while is_running(child.trim().parse().unwrap()) {
            assert!(started.elapsed() < Duration::from_secs(20), "{child} was not killed");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn output_lines_are_forwarded() {
        let mut lines = Vec::new();
        let status = each_line(Command::new("sh").args(["-c", "echo a; echo b; exit 3"]), |line| {
            lines.push(line.to_owned());
        });
        assert_eq!(status.unwrap().code(), Some(3));
        assert_eq!(lines, ["a", "b"]);
    }

    #[test]
    fn error_shows_command_and_stderr() {
        let error = output(Command::new("sh").args(["-c", "echo no >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo no >&2; exit 3` ended with exit status: 3\nno");
    }
}
