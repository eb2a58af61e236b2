//! Runs `git` and `hg`.
//!
//! A program receives no terminal, no input, and only the variables that it needs: the variables
//! for its own configuration, SSH, proxies, certificates, and the credential helpers that users
//! configure. Its output, its run time and the size of the fetched data are limited. Dropping the
//! future of a run kills the program and its descendants. Errors contain the end of the program's
//! messages, without credentials.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wardian_access::{Denied, ExitStatus, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_process::{Command, CommandEvent, DescendantPolicy, Launcher, ProcessError, variable_matches};

/// Time limit of one run of a program, unless the options set another limit.
pub const MAX_PROGRAM_TIME: Duration = Duration::from_mins(30);

/// The number of bytes at the end of a program's messages that are retained.
const MAX_MESSAGE_BYTES: usize = 8 << 10;
/// The number of message lines that an error contains.
const MAX_MESSAGE_LINES: usize = 6;
/// The interval between two checks of the size of the fetched data.
const SIZE_INTERVAL: Duration = Duration::from_millis(500);

/// The variables that a program receives. A name that ends with `*` is a prefix.
const PASSED_VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TZ",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "KRB5*",
    "GNUPGHOME",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_KEY_*",
    "GIT_CONFIG_VALUE_*",
    "GIT_EXEC_PATH",
    "GIT_SSL_*",
    "GIT_HTTP_*",
    "GIT_PROXY_*",
    "GIT_LFS_*",
    "HGRCPATH",
    "AWS_*",
    "AZURE_*",
    "GOOGLE_*",
    "CLOUDSDK_*",
    "GH_*",
    "GITHUB_*",
    "GITLAB_*",
    "CI_JOB_TOKEN",
    "BITBUCKET_*",
    "SYSTEM_ACCESSTOKEN",
    "GCM_*",
];

/// A program that getters run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleProgram {
    Git,
    Mercurial,
}

impl ModuleProgram {
    const ALL: [Self; 2] = [Self::Git, Self::Mercurial];

    pub fn name(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Mercurial => "hg",
        }
    }
}

/// A program that could not fetch a package.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    #[error("{program} was not found on PATH; install it, or use a source that does not need it")]
    NotFound { program: &'static str },
    #[error("{program} could not be run: {source}")]
    Start { program: &'static str, source: ProcessError },
    #[error("{program} {status}: {message}")]
    Failed {
        program: &'static str,
        /// The way in which the program ended, such as "exited with 128".
        status: String,
        /// The end of the messages of the program.
        message: String,
    },
    #[error("{program} was terminated, because it ran for more than {} seconds", limit.as_secs())]
    TimedOut { program: &'static str, limit: Duration },
    #[error("{program} was terminated, because it fetched more than {limit} bytes")]
    TooLarge { program: &'static str, limit: u64 },
    #[error("{program} printed more than {limit} bytes")]
    OutputTooLarge { program: &'static str, limit: usize },
    /// A path that cannot be an argument.
    #[error("the path {} is not valid UTF-8", .0.display())]
    Path(PathBuf),
}

pub(crate) struct ProgramRun<'a> {
    pub program: ModuleProgram,
    pub arguments: Vec<String>,
    pub directory: &'a Path,
    pub variables: Vec<(&'static str, OsString)>,
    /// Git settings that may contain secrets. They are not passed as arguments, because other users
    /// can see the arguments of a process.
    pub git_settings: Vec<(String, String)>,
    /// Strings that messages must not contain.
    pub secrets: &'a [String],
    /// Maximum size of the standard output.
    pub max_output: usize,
    /// A directory whose size is limited during the run.
    pub growing: Option<(&'a Path, u64)>,
}

pub(crate) struct ProgramRunner {
    launcher: Launcher,
    variables: BTreeMap<OsString, OsString>,
    time_limit: Duration,
}

impl ProgramRunner {
    /// `environment` is the environment of this process.
    pub(crate) fn new(environment: &[(OsString, OsString)], time_limit: Duration) -> Self {
        let variables: BTreeMap<OsString, OsString> =
            environment.iter().filter(|(name, _)| is_passed(name)).cloned().collect();
        let search_path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        Self { launcher: Launcher::new(Arc::new(RepositoryPrograms), search_path), variables, time_limit }
    }

    /// Runs a program. Returns its standard output if it succeeds.
    pub(crate) async fn run(&self, run: ProgramRun<'_>) -> Result<Vec<u8>, ProgramError> {
        let program = run.program.name();
        let mut command = Command::new(program, run.arguments, run.directory.to_owned());
        command.environment = self.environment(run.variables, run.git_settings);
        command.timeout = Some(self.time_limit);
        command.descendants = DescendantPolicy::Kill;
        let mut child = self.launcher.start(command).await.map_err(|source| match source {
            ProcessError::NotFound { .. } => ProgramError::NotFound { program },
            source => ProgramError::Start { program, source },
        })?;
        let mut output = Vec::new();
        let mut messages = MessageEnd::default();
        let mut ticks = tokio::time::interval(SIZE_INTERVAL);
        loop {
            let event = tokio::select! {
                event = child.next_event() => event,
                _ = ticks.tick(), if run.growing.is_some() => {
                    check_size(program, run.growing)?;
                    continue;
                }
            };
            match event {
                Some(CommandEvent::Stdout(bytes)) => {
                    if output.len() + bytes.len() > run.max_output {
                        return Err(ProgramError::OutputTooLarge { program, limit: run.max_output });
                    }
                    output.extend(bytes);
                }
                Some(CommandEvent::Stderr(bytes)) => messages.add(&bytes),
                Some(CommandEvent::Exited(ExitStatus::Code(0))) => {
                    check_size(program, run.growing)?;
                    return Ok(output);
                }
                Some(CommandEvent::Exited(ExitStatus::TimedOut)) => {
                    return Err(ProgramError::TimedOut { program, limit: self.time_limit });
                }
                Some(CommandEvent::Exited(status)) => {
                    let status = match status {
                        ExitStatus::Code(code) => format!("exited with {code}"),
                        ExitStatus::Signal(signal) => format!("was terminated by signal {signal}"),
                        ExitStatus::TimedOut => "was terminated".to_owned(),
                    };
                    return Err(ProgramError::Failed {
                        program,
                        status,
                        message: messages.shown(run.secrets),
                    });
                }
                None => {
                    let (status, message) =
                        ("did not report its exit status".to_owned(), messages.shown(run.secrets));
                    return Err(ProgramError::Failed { program, status, message });
                }
            }
        }
    }

    /// Returns the user's SSH command, which git runs.
    pub(crate) fn ssh_command(&self) -> Option<&OsString> {
        self.variables.get(OsStr::new("GIT_SSH_COMMAND"))
    }

    fn environment(
        &self,
        variables: Vec<(&'static str, OsString)>,
        git_settings: Vec<(String, String)>,
    ) -> Vec<(OsString, OsString)> {
        let mut environment = self.variables.clone();
        let mut set = |name: String, value: OsString| environment.insert(name.into(), value);
        // Program messages are compared with English text.
        set("LC_ALL".into(), "C".into());
        set("GIT_TERMINAL_PROMPT".into(), "0".into());
        set("HGPLAIN".into(), "1".into());
        for (name, value) in variables {
            set(name.into(), value);
        }
        let count = self.variables.get(OsStr::new("GIT_CONFIG_COUNT")).and_then(|count| count.to_str());
        let count: usize = count.and_then(|count| count.parse().ok()).unwrap_or_default();
        for (index, (name, value)) in git_settings.iter().enumerate() {
            set(format!("GIT_CONFIG_KEY_{}", count + index), name.into());
            set(format!("GIT_CONFIG_VALUE_{}", count + index), value.into());
        }
        set("GIT_CONFIG_COUNT".into(), (count + git_settings.len()).to_string().into());
        environment.into_iter().collect()
    }
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED_VARIABLES.iter().any(|pattern| variable_matches(pattern, name)))
}

/// An authority that allows only the programs of getters, by their names.
struct RepositoryPrograms;

impl RepositoryPrograms {
    fn check(launch: &ProgramLaunch<'_>) -> Result<(), Denied> {
        if ModuleProgram::ALL.iter().any(|program| program.name() == launch.program) {
            Ok(())
        } else {
            Err(Denied::new("modules are fetched only by git and hg"))
        }
    }
}

impl ProcessAuthority for RepositoryPrograms {
    fn may_start(&self, launch: &ProgramLaunch<'_>) -> Result<(), Denied> {
        Self::check(launch)
    }

    fn may_execute(&self, launch: &ProgramLaunch<'_>, _executable: &Path) -> Result<(), Denied> {
        Self::check(launch)
    }

    fn finished(&self, program: &FinishedProgram) {
        // The arguments may contain a URL with credentials.
        tracing::debug!(
            program = program.program,
            command = program.arguments.iter().find(|argument| !argument.starts_with('-')),
            status = ?program.status,
            duration = ?program.duration,
            "a program ended"
        );
    }
}

/// The end of the messages of a program.
#[derive(Default)]
struct MessageEnd(Vec<u8>);

impl MessageEnd {
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        let excess = self.0.len().saturating_sub(MAX_MESSAGE_BYTES);
        self.0.drain(..excess);
    }

    fn shown(&self, secrets: &[String]) -> String {
        let mut text = String::from_utf8_lossy(&self.0).into_owned();
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            text = text.replace(secret.as_str(), "redacted");
        }
        let is_shown = |line: &&str| !line.is_empty() && !line.starts_with("hint:");
        let lines: Vec<&str> = text.lines().map(str::trim).filter(is_shown).collect();
        let shown = lines.iter().skip(lines.len().saturating_sub(MAX_MESSAGE_LINES));
        let shown = shown.map(|line| line.chars().filter(|character| !character.is_control()).collect());
        let shown: Vec<String> = shown.collect();
        if shown.is_empty() { "it printed no message".to_owned() } else { shown.join("; ") }
    }
}

fn check_size(program: &'static str, growing: Option<(&Path, u64)>) -> Result<(), ProgramError> {
    match growing {
        Some((directory, limit)) if size_of(directory, limit) > limit => {
            Err(ProgramError::TooLarge { program, limit })
        }
        _ => Ok(()),
    }
}

/// Returns the size of the files in a directory, or a number above `limit` as soon as the limit is
/// exceeded. Files that are removed during the visit are ignored.
pub(crate) fn size_of(directory: &Path, limit: u64) -> u64 {
    let mut size = 0u64;
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(_) => size = size.saturating_add(entry.metadata().map_or(0, |metadata| metadata.len())),
                Err(_) => {}
            }
            if size > limit {
                return size;
            }
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(path: &Path, variables: &[(&str, &str)]) -> ProgramRunner {
        let path = std::env::join_paths([
            path,
            Path::new("/usr/local/bin"),
            Path::new("/usr/bin"),
            Path::new("/bin"),
        ]);
        let mut environment = vec![("PATH".into(), path.unwrap())];
        environment.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
        ProgramRunner::new(&environment, Duration::from_mins(1))
    }

    /// Creates a script that is started as `git`.
    fn script(text: &str) -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("git");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        directory
    }

    fn git<'a>(directory: &'a Path, secrets: &'a [String]) -> ProgramRun<'a> {
        ProgramRun {
            program: ModuleProgram::Git,
            arguments: vec!["fetch".into()],
            directory,
            variables: Vec::new(),
            git_settings: Vec::new(),
            secrets,
            max_output: 1 << 20,
            growing: None,
        }
    }

    #[tokio::test]
    async fn program_receives_only_listed_variables() {
        let place = script("env");
        let runner = runner(
            place.path(),
            &[
                ("MY_TOKEN", "s3cret"),
                ("TF_TOKEN_x", "s3cret"),
                ("GIT_DIR", "/elsewhere"),
                ("GIT_ALLOW_PROTOCOL", "ext"),
                ("LD_PRELOAD", "x"),
                ("SSH_AUTH_SOCK", "/agent"),
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "a.b"),
                ("GIT_CONFIG_VALUE_0", "c"),
            ],
        );
        let mut run = git(place.path(), &[]);
        run.git_settings.push(("remote.origin.url".into(), "https://u:p@h/r".into()));
        run.variables.push(("GIT_INDEX_FILE", "/index".into()));
        let output = String::from_utf8(runner.run(run).await.unwrap()).unwrap();
        for expected in [
            "SSH_AUTH_SOCK=/agent",
            "GIT_CONFIG_COUNT=2",
            "GIT_CONFIG_KEY_0=a.b",
            "GIT_CONFIG_KEY_1=remote.origin.url",
            "GIT_CONFIG_VALUE_1=https://u:p@h/r",
            "GIT_INDEX_FILE=/index",
            "GIT_TERMINAL_PROMPT=0",
            "LC_ALL=C",
        ] {
            assert!(output.lines().any(|line| line == expected), "{expected} is missing in {output}");
        }
        for hidden in ["s3cret", "GIT_DIR", "GIT_ALLOW_PROTOCOL", "LD_PRELOAD"] {
            assert!(!output.contains(hidden), "{output}");
        }
    }

    #[tokio::test]
    async fn messages_are_truncated_and_redacted() {
        let place =
            script("printf 'first\\n\\033[31mfatal: https://u:s3cret@h/r\\nhint: x\\n' >&2; exit 128");
        let secrets = ["u:s3cret".to_owned(), "s3cret".to_owned()];
        let error = runner(place.path(), &[]).run(git(place.path(), &secrets)).await.unwrap_err();
        assert_eq!(error.to_string(), "git exited with 128: first; [31mfatal: https://redacted@h/r");
        let place = script("yes 'a long line' | head -c 1000000 >&2; exit 1");
        let error = runner(place.path(), &[]).run(git(place.path(), &[])).await.unwrap_err().to_string();
        assert!(error.len() < 1_000, "{error}");
    }

    #[tokio::test]
    async fn output_size_and_time_are_limited() {
        let place = script("yes");
        let error = runner(place.path(), &[]).run(git(place.path(), &[])).await.unwrap_err();
        assert!(matches!(error, ProgramError::OutputTooLarge { .. }), "{error}");
        let place = script("dd if=/dev/zero of=big bs=65536 count=100 2>/dev/null; exec sleep 1000");
        let mut run = git(place.path(), &[]);
        run.growing = Some((place.path(), 1 << 20));
        let error = runner(place.path(), &[]).run(run).await.unwrap_err();
        assert!(matches!(error, ProgramError::TooLarge { .. }), "{error}");
        let place = script("exec sleep 1000");
        let mut runner = runner(place.path(), &[]);
        runner.time_limit = Duration::from_millis(1);
        let error = runner.run(git(place.path(), &[])).await.unwrap_err();
        assert!(matches!(error, ProgramError::TimedOut { .. }), "{error}");
    }

    #[tokio::test]
    async fn error_names_missing_program() {
        let empty = tempfile::tempdir().unwrap();
        let environment = vec![("PATH".into(), empty.path().into())];
        let runner = ProgramRunner::new(&environment, MAX_PROGRAM_TIME);
        let error = runner.run(git(empty.path(), &[])).await.unwrap_err();
        assert!(error.to_string().starts_with("git was not found"), "{error}");
    }
}
