//! Starts a program with its confinement.
//!
//! Between fork and exec, the child makes only system calls on data that was prepared before the
//! fork: it enters its namespaces, applies the Landlock rules and the filter, and sends the descriptor of the
//! filter's notifications to the host. From then on, the supervisor answers; the first answered call is
//! the `execve` of the program itself.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Once;
use std::thread;

use rustix::pipe::{PipeFlags, pipe_with};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::runtime::Handle;
use wardian_process::{BeforeExecution, Spawner};

use crate::ConfinementError;
use crate::confinement::{ConfinedChild, Confinement};
use crate::landlock::{self, LandlockRules, PreparedRules};
use crate::linux::filter::{Filter, FilterOptions};
use crate::linux::isolation::{self, Isolation};
use crate::linux::kernel::{self, ResourceLimit};
use crate::linux::namespaces::{MountedFiles, Namespaces};
use crate::linux::programs::{ProgramDirectory, ProgramServer};
use crate::linux::servers::Servers;
use crate::linux::supervisor::{ProcessEnvironment, Supervisor};
use crate::linux::system_calls::Architecture;
use crate::supervision::{NamespaceRole, SupervisorOptions};
use crate::view::DirectoryView;

impl Confinement {
    /// Prepares the confinement of one process.
    ///
    /// # Errors
    /// Returns an error if the kernel does not support it, or if a path cannot be opened.
    pub fn prepare(&self) -> Result<PreparedConfinement, ConfinementError> {
        let limits = [
            (ResourceLimit::CoreSize, Some(0)),
            (ResourceLimit::Data, self.max_memory),
            (ResourceLimit::FileSize, self.max_file_size),
        ];
        let limits = limits.into_iter().filter_map(|(limit, value)| Some((limit, value?))).collect();
        let Some(options) = &self.supervision else {
            return Ok(PreparedConfinement { limits, kind: Prepared::Rules(self.rules.prepare()?) });
        };
        let architecture = Architecture::CURRENT.ok_or_else(|| {
            let name = std::env::consts::ARCH;
            ConfinementError::Unsupported(format!("{name} processors are not supported"))
        })?;
        let mut rules = self.rules.clone();
        let programs = options.programs.as_ref().map(|access| {
            let directory = ProgramDirectory::new(access, &options.own_directory);
            directory.inspect(|directory| {
                rules.execute.push(directory.path().to_owned());
                rules.execute.push(access.host_program.clone());
            })
        });
        let programs = programs.transpose().map_err(ConfinementError::Programs)?;
        let views = self.namespaces.as_ref().map(|namespaces| namespaces.views.clone()).unwrap_or_default();
        let host = HostSide { options: options.clone(), programs, rules: rules.clone(), views };
        let kind = match self.namespaces.as_ref().map(|namespaces| &namespaces.role) {
            Some(NamespaceRole::Alone { ports, working_directory }) => {
                let isolation =
                    Isolation::prepare(architecture, &rules, &host.views, ports, working_directory);
                let (isolation, mounted) = isolation.map_err(ConfinementError::Namespaces)?;
                Prepared::Isolated { isolation, mounted, host }
            }
            role => {
                let namespaces = role.map(|_| Namespaces::prepare(&host.views)).transpose();
                let (namespaces, mounted) = namespaces.map_err(ConfinementError::Namespaces)?.unzip();
                let mounted = mounted.map(|MountedFiles { directory, readable }| {
                    rules.real_read.extend(readable);
                    directory
                });
                let options = FilterOptions {
                    supervises_signals: !landlock::restricts_signals(),
                    allows_datagrams: namespaces.is_some(),
                    ..FilterOptions::default()
                };
                let filter = Filter::new(architecture, options);
                let rules = rules.prepare()?;
                Prepared::Supervised { architecture, rules, filter, namespaces, mounted, host }
            }
        };
        Ok(PreparedConfinement { limits, kind })
    }
}

/// A confinement that is ready to be applied to one process.
pub struct PreparedConfinement {
    limits: Vec<(ResourceLimit, u64)>,
    kind: Prepared,
}

enum Prepared {
    Rules(PreparedRules),
    Supervised {
        architecture: Architecture,
        rules: PreparedRules,
        filter: Filter,
        namespaces: Option<Namespaces>,
        /// The files that are mounted.
        mounted: Option<TempDir>,
        host: HostSide,
    },
    Isolated {
        isolation: Isolation,
        mounted: TempDir,
        host: HostSide,
    },
}

/// The host's data for answering a program.
struct HostSide {
    options: SupervisorOptions,
    programs: Option<ProgramDirectory>,
    /// The rules that the kernel enforces.
    rules: LandlockRules,
    views: Vec<DirectoryView>,
}

/// Ends the supervision of a program when it is dropped. System calls that would need an answer then
/// fail.
#[derive(Debug)]
pub struct SupervisionHandle {
    _stop: OwnedFd,
    _programs: Option<ProgramDirectory>,
    /// The files that are mounted in the program's namespaces.
    _mounted: Option<TempDir>,
}

impl PreparedConfinement {
    /// Spawns the confined program. The command's program must be an absolute path.
    ///
    /// # Errors
    /// Returns an error if the system cannot start it, or cannot apply the confinement.
    pub async fn spawn(self, mut command: Command, spawner: &Spawner) -> io::Result<ConfinedChild> {
        let Self { limits, kind } = self;
        let (restrictions, supervision) = match kind {
            Prepared::Rules(rules) => (Restrictions::Rules(rules), None),
            Prepared::Supervised { architecture, rules, filter, namespaces, mounted, host } => {
                let (receiver, sender) = UnixStream::pair()?;
                let handle = start_supervisor(receiver, architecture, host, mounted, &mut command)?;
                (Restrictions::Supervised { rules, filter, namespaces, sender }, Some(handle))
            }
            Prepared::Isolated { isolation, mounted, host } => {
                let (receiver, sender) = UnixStream::pair()?;
                let handle = start_serving(receiver, &isolation, host, mounted, &mut command)?;
                (Restrictions::Isolated { isolation, sender }, Some(handle))
            }
        };
        let apply = move || {
            limits.iter().try_for_each(|(limit, value)| kernel::limit(*limit, *value))?;
            restrictions.apply()
        };
        #[allow(
            unsafe_code,
            reason = "the closure makes only system calls on prepared data: it neither allocates nor locks"
        )]
        let before = unsafe { BeforeExecution::new(apply) };
        let (child, guarded) = spawner.spawn_confined(command, before).await?;
        Ok(ConfinedChild { child, guarded, supervision })
    }
}

/// The restrictions that the new process applies to itself before it executes the program.
enum Restrictions {
    Rules(PreparedRules),
    Supervised {
        rules: PreparedRules,
        filter: Filter,
        namespaces: Option<Namespaces>,
        /// The socket at which the host waits for descriptors.
        sender: UnixStream,
    },
    Isolated {
        isolation: Isolation,
        sender: UnixStream,
    },
}

impl Restrictions {
    /// Async-signal-safe.
    fn apply(&self) -> io::Result<()> {
        match self {
            Self::Rules(_) => {}
            Self::Supervised { namespaces, sender, .. } => {
                if let Some(namespaces) = namespaces {
                    let queries = namespaces.enter()?;
                    kernel::send_descriptor(sender.as_raw_fd(), queries)?;
                    kernel::close(queries);
                }
            }
            Self::Isolated { isolation, sender } => {
                isolation.enter(|socket| kernel::send_descriptor(sender.as_raw_fd(), socket))?;
            }
        }
        kernel::forbid_new_privileges()?;
        kernel::drop_capabilities()?;
        if let Self::Rules(rules) | Self::Supervised { rules, .. } = self {
            kernel::restrict_self(rules.as_fd())?;
        }
        kernel::close_others_on_execution()?;
        match self {
            Self::Rules(_) => Ok(()),
            Self::Supervised { filter, sender, .. } => {
                let listener = kernel::install_filter(filter.instructions())?;
                kernel::send_descriptor(sender.as_raw_fd(), listener)?;
                kernel::close(listener);
                Ok(())
            }
            Self::Isolated { isolation, .. } => isolation.forbid_system_calls(),
        }
    }
}

/// Starts the thread that waits for the listener and answers its notifications. It must run before
/// the process is spawned, since spawning returns only after the first answer.
fn start_supervisor(
    receiver: UnixStream,
    architecture: Architecture,
    host: HostSide,
    mounted: Option<TempDir>,
    command: &mut Command,
) -> io::Result<SupervisionHandle> {
    let variables = variables_of(command, host.programs.as_ref())?;
    let HostSide { options, programs, rules, views } = host;
    let has_namespaces = mounted.is_some();
    let environment = ProcessEnvironment {
        variables,
        rules,
        program_directory: programs.as_ref().map(|programs| programs.path().to_owned()),
        has_own_network: has_namespaces,
        views,
    };
    let (stop, stopper) = stop_pipe()?;
    let runtime = Handle::current();
    thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
        // If a descriptor is missing, the program was not started.
        let receive = || kernel::receive_descriptor(receiver.as_fd()).ok().flatten();
        let queries = if has_namespaces { receive() } else { None };
        let Some(listener) = receive().filter(|_| queries.is_some() == has_namespaces) else { return };
        drop(receiver);
        let supervisor = Supervisor::new(listener, architecture, options, environment);
        supervisor.run(queries, &stop, &runtime);
    })?;
    Ok(SupervisionHandle { _stop: stopper, _programs: programs, _mounted: mounted })
}

/// Starts to serve an isolated program, after a thread has received its sockets.
fn start_serving(
    receiver: UnixStream,
    isolation: &Isolation,
    host: HostSide,
    mounted: TempDir,
    command: &mut Command,
) -> io::Result<SupervisionHandle> {
    let variables = variables_of(command, host.programs.as_ref())?;
    let HostSide { options, programs, .. } = host;
    let count = isolation.descriptors();
    let (stop, stopper) = stop_pipe()?;
    let runtime = Handle::current();
    thread::Builder::new().name("receiver".to_owned()).spawn(move || {
        let receive = || kernel::receive_descriptor(receiver.as_fd()).ok().flatten();
        // If a descriptor is missing, the program was not started.
        let Some(queries) = receive() else { return };
        let Some(listeners) = (1..count).map(|_| receive()).collect::<Option<Vec<_>>>() else { return };
        drop(receiver);
        runtime.spawn(async move {
            let servers = Servers::new(&options, true);
            let serve_programs = async {
                match ProgramServer::new(&options, variables) {
                    Some(server) => drop(server.serve().await),
                    None => std::future::pending().await,
                }
            };
            let stopped = async {
                match tokio::net::unix::pipe::Receiver::from_owned_fd(stop) {
                    Ok(stop) => drop(stop.readable().await),
                    Err(_) => std::future::pending().await,
                }
            };
            tokio::select! {
                () = isolation::serve(queries, listeners, servers) => {}
                () = serve_programs => {}
                () = stopped => {}
            }
        });
    })?;
    Ok(SupervisionHandle { _stop: stopper, _programs: programs, _mounted: Some(mounted) })
}

/// Creates the pipe that is closed to end the supervision of a program.
fn stop_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    static LIMIT: Once = Once::new();
    LIMIT.call_once(kernel::raise_descriptor_limit);
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Adds granted programs to a command's search path, and returns the command's variables.
fn variables_of(
    command: &mut Command,
    programs: Option<&ProgramDirectory>,
) -> io::Result<Vec<(OsString, OsString)>> {
    if let Some(programs) = programs {
        let others = variable(command, "PATH").unwrap_or_default();
        let directories = std::iter::once(programs.path().to_owned()).chain(std::env::split_paths(&others));
        command.env("PATH", std::env::join_paths(directories).map_err(io::Error::other)?);
    }
    let variables = command.as_std().get_envs();
    Ok(variables.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect())
}

fn variable(command: &Command, name: &str) -> Option<OsString> {
    command.as_std().get_envs().find(|(known, _)| *known == name)?.1.map(ToOwned::to_owned)
}
