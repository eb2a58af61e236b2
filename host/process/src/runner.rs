//! From a command to a program that runs.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::unix::pipe::Receiver;

use crate::authority::{Authority, Denied, Ended, Start};
use crate::command::{Command, Streams};
use crate::lookup;
use crate::run::{Outputs, Program, Running};
use crate::spawner::{Guarded, Spawner};

/// How often a file that somebody is still writing is tried again, and when.
const BUSY_ATTEMPTS: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Starts programs.
pub struct Runner {
    authority: Arc<dyn Authority>,
    search_path: OsString,
    spawner: Arc<Spawner>,
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// It is not allowed.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// What it is called is no name of a program.
    #[error("{0:?} names no program")]
    Name(String),
    /// There is no such program.
    #[error("there is no program {program:?}; a bare name is looked for in the directories of PATH")]
    NotFound {
        /// What was asked for.
        program: String,
    },
    /// There is no such directory to begin in.
    #[error("there is no directory {} to run the program in", .0.display())]
    Directory(PathBuf),
    /// A directory on the way could not be read.
    #[error("could not look at {}: {error}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// An argument or a variable cannot be handed to a program.
    #[error("{0} holds a zero byte, which no program can be given")]
    Zero(String),
    /// A variable has a name that none can have.
    #[error("a variable of the program's environment cannot be called {0:?}")]
    Variable(String),
    /// The system would not run it.
    #[error("could not run {}: {error}", executable.display())]
    Start {
        /// The file.
        executable: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl Runner {
    /// Starts what `authority` allows. `search_path` is the host's `PATH`.
    pub fn new(authority: Arc<dyn Authority>, search_path: OsString) -> Self {
        Self { authority, search_path, spawner: Arc::default() }
    }

    /// Another authority's runner, with the same look-up and the same thread beneath.
    pub fn for_authority(&self, authority: Arc<dyn Authority>) -> Self {
        Self { authority, search_path: self.search_path.clone(), spawner: Arc::clone(&self.spawner) }
    }

    /// Starts a program.
    ///
    /// # Errors
    /// Where it is not allowed, is not there, or the system does not start it.
    pub async fn start(&self, command: Command) -> Result<Running, ProcessError> {
        check(&command)?;
        let program = lookup::named(&command.program, &command.directory)?;
        self.authority.may_start(&Start {
            program: &program,
            arguments: &command.arguments,
            directory: &command.directory,
            environment: &command.environment,
        })?;
        let mut record = Ended {
            program,
            executable: None,
            arguments: command.arguments.clone(),
            status: None,
            written: 0,
            duration: Duration::ZERO,
        };
        let began = Instant::now();
        match self.launch(&command, &mut record).await {
            Ok((child, guarded, outputs)) => {
                let program = Program {
                    child,
                    guarded,
                    spawner: Arc::clone(&self.spawner),
                    authority: Arc::clone(&self.authority),
                    record,
                    began,
                    timeout: command.timeout,
                    leftovers: command.leftovers,
                };
                Ok(Running::begin(program, outputs, command.input))
            }
            Err(error) => {
                record.duration = began.elapsed();
                self.authority.ended(&record);
                Err(error)
            }
        }
    }

    async fn launch(
        &self,
        command: &Command,
        record: &mut Ended,
    ) -> Result<(tokio::process::Child, Guarded, Outputs), ProcessError> {
        if !command.directory.is_dir() {
            return Err(ProcessError::Directory(command.directory.clone()));
        }
        let executable = lookup::find(&record.program, &self.search_path)?;
        record.executable = Some(executable.clone());
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.spawn(command, &executable).await {
                Ok(started) => return Ok(started),
                Err(error)
                    if error.kind() == io::ErrorKind::ExecutableFileBusy && attempt < BUSY_ATTEMPTS =>
                {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(error) => return Err(not_started(error, command, executable)),
            }
        }
    }

    async fn spawn(
        &self,
        command: &Command,
        executable: &Path,
    ) -> io::Result<(tokio::process::Child, Guarded, Outputs)> {
        let mut system = tokio::process::Command::new(executable);
        // What the configuration calls it is what it sees as its own name.
        system
            .arg0(&command.program)
            .args(&command.arguments)
            .current_dir(&command.directory)
            .env_clear()
            .envs(command.environment.iter().map(|(name, value)| (name, value)))
            .stdin(if command.input.is_empty() { Stdio::null() } else { Stdio::piped() });
        let (first, writer) = io::pipe()?;
        let mut outputs = Outputs { stdout: Receiver::from_owned_fd(first.into())?, stderr: None };
        match command.streams {
            Streams::Together => system.stderr(writer.try_clone()?),
            Streams::Apart => {
                let (second, writer) = io::pipe()?;
                outputs.stderr = Some(Receiver::from_owned_fd(second.into())?);
                system.stderr(writer)
            }
        };
        system.stdout(writer);
        let (child, guarded) = self.spawner.spawn_guarded(system).await?;
        Ok((child, guarded, outputs))
    }
}

fn check(command: &Command) -> Result<(), ProcessError> {
    use std::os::unix::ffi::OsStrExt as _;
    if let Some(index) = command.arguments.iter().position(|argument| argument.contains('\0')) {
        return Err(ProcessError::Zero(format!("argument {}", index + 1)));
    }
    for (name, value) in &command.environment {
        let shown = name.to_string_lossy();
        if name.is_empty() || name.as_bytes().iter().any(|byte| matches!(byte, b'=' | 0)) {
            return Err(ProcessError::Variable(shown.into_owned()));
        }
        if value.as_bytes().contains(&0) {
            return Err(ProcessError::Zero(format!("the variable {shown}")));
        }
    }
    if !command.directory.is_absolute() {
        return Err(ProcessError::Directory(command.directory.clone()));
    }
    Ok(())
}

fn not_started(error: io::Error, command: &Command, executable: PathBuf) -> ProcessError {
    // A script whose interpreter is missing is not found either, and is there.
    if error.kind() == io::ErrorKind::NotFound && !executable.exists() {
        return ProcessError::NotFound { program: command.program.clone() };
    }
    ProcessError::Start { executable, error }
}
