//! Starts granted programs for a confined program, outside of its confinement.
//!
//! The confined program finds each granted program as a script in a directory at the head of its
//! `PATH`. The script's interpreter is the host's program in the mode [`crate::linux::shim`]. It runs
//! within the confinement, sends the arguments, the environment and the standard input to the supervisor, and
//! forwards the output. The supervisor decides on its copy of the request and starts the program itself,
//! so the confined program cannot change the checked values.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use wardian_access::{ExitStatus, NativeAuthority};
use wardian_process::{ChildProcess, Command, CommandEvent, DescendantPolicy, Streams};

use crate::linux::shim::{FrameKind, MAX_REQUEST_BYTES, ProgramRequest, SHIM_ARGUMENT, SOCKET_NAME};
use crate::supervision::{ProgramAccess, SupervisorOptions};

/// Maximum number of programs that run at the same time. Additional starts wait.
const MAX_CONCURRENT_PROGRAMS: usize = 16;
/// Exit code if the program could not be started; shells use it as well.
const NOT_STARTED: i32 = 126;

/// A directory with a script for each granted program.
#[derive(Debug)]
pub struct ProgramDirectory(TempDir);

impl ProgramDirectory {
    /// Creates the scripts. `own_directory` is the directory of the socket at which the supervisor
    /// listens.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written.
    pub fn new(access: &ProgramAccess, own_directory: &Path) -> io::Result<Self> {
        // The first line of a script cannot contain spaces in a path, but the directory can.
        let directory = tempfile::Builder::new().prefix("wardian-programs-").tempdir()?;
        let host = directory.path().join(".host");
        std::os::unix::fs::symlink(&access.host_program, &host)?;
        let text = |program: &str| {
            let socket = own_directory.join(SOCKET_NAME);
            format!("#!{} {SHIM_ARGUMENT}\n{}\n{program}\n", host.display(), socket.display())
        };
        for program in &access.programs {
            let Some(name) = Path::new(program).file_name() else { continue };
            let script = directory.path().join(name);
            std::fs::write(&script, text(program))?;
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o555))?;
        }
        Ok(Self(directory))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Listens for requests to start programs.
pub(crate) struct ProgramServer {
    access: ProgramAccess,
    authority: Arc<dyn NativeAuthority>,
    /// The directory of the confined program, which contains the socket.
    own_directory: PathBuf,
    /// The environment of the confined program.
    own_environment: Vec<(OsString, OsString)>,
    running: Arc<Semaphore>,
}

impl ProgramServer {
    /// Creates the server of a program; `None` if it may not start programs.
    pub(crate) fn new(
        options: &SupervisorOptions,
        own_environment: Vec<(OsString, OsString)>,
    ) -> Option<Self> {
        Some(Self {
            access: options.programs.clone()?,
            authority: Arc::clone(&options.authority),
            own_directory: options.own_directory.clone(),
            own_environment,
            running: Arc::new(Semaphore::new(MAX_CONCURRENT_PROGRAMS)),
        })
    }

    /// Serves requests until the future is dropped.
    pub(crate) async fn serve(self) -> io::Result<()> {
        let socket = self.own_directory.join(SOCKET_NAME);
        // An earlier attempt to start the program may have left it.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        let server = Arc::new(self);
        let mut tasks = tokio::task::JoinSet::new();
        loop {
            // Waiting programs occupy no descriptor of the host. The semaphore is never closed.
            let permit = Arc::clone(&server.running).acquire_owned().await.map_err(io::Error::other)?;
            let (stream, _) = listener.accept().await?;
            while tasks.try_join_next().is_some() {}
            let server = Arc::clone(&server);
            tasks.spawn(async move {
                // An error means that the connection has ended, so the program is killed.
                let _ = server.run(stream).await;
                drop(permit);
            });
        }
    }

    async fn run(&self, mut stream: UnixStream) -> io::Result<()> {
        let request = read_request(&mut stream).await?;
        match self.start(request).await {
            Ok(process) => forward(process, stream).await,
            Err(reason) => {
                write_frame(&mut stream, FrameKind::Stderr, format!("wardian: {reason}\n").as_bytes())
                    .await?;
                write_frame(&mut stream, FrameKind::Exit, &NOT_STARTED.to_be_bytes()).await
            }
        }
    }

    async fn start(&self, request: ProgramRequest) -> Result<ChildProcess, String> {
        let ProgramAccess { programs, launcher, environment, .. } = &self.access;
        let ProgramRequest { program, arguments, environment: requested, directory: started_in, input } =
            request;
        if !programs.contains(&program) {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            self.authority.refuse_program(Path::new(&program), &arguments);
            return Err(format!("{program} is not a program that a rule allows by name"));
        }
        // Policy decides on the directory by its real path.
        if started_in.canonicalize().ok().as_ref() != Some(&started_in) {
            return Err(format!("{} is not the real path of a directory", started_in.display()));
        }
        // Variables that the program inherited unchanged were composed by the host.
        let set: Vec<(OsString, OsString)> = requested
            .into_iter()
            .filter(|variable| !self.own_environment.contains(variable))
            .filter(|(name, _)| name != "PATH")
            .collect();
        let names = set.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        let kept = environment.iter().filter(|(name, _)| set.iter().all(|(other, _)| other != name));
        let environment = kept.chain(&set).cloned().collect();
        let command = Command {
            environment,
            input,
            streams: Streams::Separate,
            descendants: DescendantPolicy::Kill,
            ..Command::new(program, arguments, started_in)
        };
        let authority = self.authority.program_authority(names);
        launcher.for_authority(authority).start(command).await.map_err(|error| error.to_string())
    }
}

async fn read_request(stream: &mut UnixStream) -> io::Result<ProgramRequest> {
    let length = usize::try_from(stream.read_u32().await?).unwrap_or(usize::MAX);
    if length > MAX_REQUEST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    ProgramRequest::decode(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Forwards the output until the program exits. If the shim ends, the program is killed.
async fn forward(mut process: ChildProcess, mut stream: UnixStream) -> io::Result<()> {
    while let Some(event) = process.next_event().await {
        match event {
            CommandEvent::Stdout(bytes) => write_frame(&mut stream, FrameKind::Stdout, &bytes).await?,
            CommandEvent::Stderr(bytes) => write_frame(&mut stream, FrameKind::Stderr, &bytes).await?,
            CommandEvent::Exited(status) => {
                let code = match status {
                    ExitStatus::Code(code) => code,
                    ExitStatus::Signal(signal) => 128 + signal,
                    ExitStatus::TimedOut => NOT_STARTED,
                };
                write_frame(&mut stream, FrameKind::Exit, &code.to_be_bytes()).await?;
            }
        }
    }
    Ok(())
}

async fn write_frame(stream: &mut UnixStream, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
    stream.write_u8(kind as u8).await?;
    stream.write_u32(u32::try_from(bytes.len()).map_err(io::Error::other)?).await?;
    stream.write_all(bytes).await
}

/// Converts bytes of a request.
pub(crate) fn os_string(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}
