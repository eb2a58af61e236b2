//! Starts the commands that an authority allows.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use tokio::net::unix::pipe::Receiver;

use wardian_access::{FinishedProgram, ProcessAuthority, ProgramLaunch};

use crate::child::{ChildProcess, ChildSupervisor, Outputs};
use crate::command::{Command, Streams};
use crate::error::ProcessError;
use crate::lookup;
use crate::spawner::{Guarded, Spawner};

/// Number of retries if the executable is still being written, and the interval between them.
const BUSY_ATTEMPTS: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

pub struct Launcher {
    authority: Arc<dyn ProcessAuthority>,
    search_path: OsString,
    spawner: Arc<Spawner>,
}

impl Launcher {
    /// Creates a launcher. `search_path` is the host's `PATH`.
    pub fn new(authority: Arc<dyn ProcessAuthority>, search_path: OsString) -> Self {
        Self { authority, search_path, spawner: Arc::default() }
    }

    /// Returns a launcher with another authority, and with the same search path and spawner
    /// threads.
    pub fn for_authority(&self, authority: Arc<dyn ProcessAuthority>) -> Self {
        Self { authority, search_path: self.search_path.clone(), spawner: Arc::clone(&self.spawner) }
    }

    /// Starts a command.
    ///
    /// # Errors
    /// Returns an error if the program is not allowed or does not exist, or if the system cannot
    /// start it.
    pub async fn start(&self, command: Command) -> Result<ChildProcess, ProcessError> {
        validate(&command)?;
        let program = lookup::resolve_name(&command.program, &command.directory)?;
        self.authority.may_start(&as_launch(&command, &program))?;
        let mut record = FinishedProgram {
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
                let program = ChildSupervisor {
                    child,
                    guarded,
                    spawner: Arc::clone(&self.spawner),
                    authority: Arc::clone(&self.authority),
                    record,
                    began,
                    timeout: command.timeout,
                    descendants: command.descendants,
                };
                Ok(ChildProcess::start(program, outputs, command.input))
            }
            Err(error) => {
                record.duration = began.elapsed();
                self.authority.finished(&record);
                Err(error)
            }
        }
    }

    async fn launch(
        &self,
        command: &Command,
        record: &mut FinishedProgram,
    ) -> Result<(tokio::process::Child, Guarded, Outputs), ProcessError> {
        let directory = match &command.open_directory {
            Some(open) => Arc::clone(open),
            None => open_directory(&command.directory)?,
        };
        let executable = lookup::find_executable(&record.program, &self.search_path)?;
        self.authority.may_execute(&as_launch(command, &record.program), &executable)?;
        record.executable = Some(executable.clone());
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.spawn(command, &executable, &directory).await {
                Ok(started) => return Ok(started),
                Err(error)
                    if error.kind() == io::ErrorKind::ExecutableFileBusy && attempt < BUSY_ATTEMPTS =>
                {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(error) => return Err(start_error(error, command, executable)),
            }
        }
    }

    async fn spawn(
        &self,
        command: &Command,
        executable: &Path,
        directory: &Arc<OwnedFd>,
    ) -> io::Result<(tokio::process::Child, Guarded, Outputs)> {
        let mut system = tokio::process::Command::new(executable);
        // The program receives the configured name as its first argument.
        system
            .arg0(&command.program)
            .args(&command.arguments)
            .env_clear()
            .envs(command.environment.iter().map(|(name, value)| (name, value)))
            .stdin(if command.input.is_empty() { Stdio::null() } else { Stdio::piped() });
        let (first, writer) = io::pipe()?;
        let mut outputs = Outputs { stdout: Receiver::from_owned_fd(first.into())?, stderr: None };
        match command.streams {
            Streams::Combined => system.stderr(writer.try_clone()?),
            Streams::Separate => {
                let (second, writer) = io::pipe()?;
                outputs.stderr = Some(Receiver::from_owned_fd(second.into())?);
                system.stderr(writer)
            }
        };
        system.stdout(writer);
        let (child, guarded) = self.spawner.spawn_guarded(system, Arc::clone(directory)).await?;
        Ok((child, guarded, outputs))
    }
}

fn as_launch<'a>(command: &'a Command, program: &'a str) -> ProgramLaunch<'a> {
    ProgramLaunch {
        program,
        arguments: &command.arguments,
        directory: &command.directory,
        environment: &command.environment,
    }
}

fn open_directory(path: &Path) -> Result<Arc<OwnedFd>, ProcessError> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let flags = flags | OFlags::PATH;
    match open(path, flags, Mode::empty()) {
        Ok(directory) => Ok(Arc::new(directory)),
        Err(Errno::NOENT | Errno::NOTDIR) => Err(ProcessError::Directory(path.to_owned())),
        Err(error) => Err(ProcessError::Unreadable { path: path.to_owned(), error: error.into() }),
    }
}

fn validate(command: &Command) -> Result<(), ProcessError> {
    use std::os::unix::ffi::OsStrExt as _;
    if let Some(index) = command.arguments.iter().position(|argument| argument.contains('\0')) {
        return Err(ProcessError::NulByte(format!("argument {}", index + 1)));
    }
    for (name, value) in &command.environment {
        let shown = name.to_string_lossy();
        if name.is_empty() || name.as_bytes().iter().any(|byte| matches!(byte, b'=' | 0)) {
            return Err(ProcessError::InvalidVariable(shown.into_owned()));
        }
        if value.as_bytes().contains(&0) {
            return Err(ProcessError::NulByte(format!("the variable {shown}")));
        }
    }
    if !command.directory.is_absolute() {
        return Err(ProcessError::Directory(command.directory.clone()));
    }
    Ok(())
}

fn start_error(error: io::Error, command: &Command, executable: PathBuf) -> ProcessError {
    // The system also returns "not found" if a script exists but its interpreter does not.
    if error.kind() == io::ErrorKind::NotFound && !executable.exists() {
        return ProcessError::NotFound { program: command.program.clone() };
    }
    ProcessError::Start { executable, error }
}
