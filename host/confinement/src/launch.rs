//! Starts a program with its confinement.
//!
//! Between fork and exec, the child makes only system calls on data that was prepared before the
//! fork: it applies the Landlock rules and the filter, and sends the descriptor of the filter's
//! notifications to the host. From then on, the supervisor answers; the first answered call is the
//! `execve` of the program itself.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Once;
use std::thread;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::process::Command;
use tokio::runtime::Handle;
use wardian_process::{BeforeExecution, Spawner};

use crate::ConfinementError;
use crate::confinement::{ConfinedChild, Confinement};
use crate::filter::Filter;
use crate::kernel::{self, ResourceLimit};
use crate::landlock::{self, LandlockRules, PreparedRules};
use crate::programs::ProgramDirectory;
use crate::supervision::SupervisorOptions;
use crate::supervisor::{ProcessEnvironment, Supervisor};
use crate::system_calls::Architecture;

impl Confinement {
    /// Prepares the confinement of one process.
    ///
    /// # Errors
    /// Returns an error if the kernel does not support it, or if a path cannot be opened.
    pub fn prepare(&self) -> Result<PreparedConfinement, ConfinementError> {
        let mut rules = self.rules.clone();
        let supervised = match &self.supervision {
            None => None,
            Some(supervision) => {
                let programs = supervision.programs.as_ref().map(|access| {
                    let directory = ProgramDirectory::new(access, &supervision.own_directory);
                    directory.inspect(|directory| {
                        rules.execute.push(directory.path().to_owned());
                        rules.execute.push(access.host_program.clone());
                    })
                });
                let programs = programs.transpose().map_err(ConfinementError::Programs)?;
                let architecture = Architecture::CURRENT.ok_or_else(|| {
                    let name = std::env::consts::ARCH;
                    ConfinementError::Unsupported(format!("{name} processors are not supported"))
                })?;
                Some(Supervised {
                    architecture,
                    supervision: supervision.clone(),
                    programs,
                    rules: rules.clone(),
                })
            }
        };
        let rules = rules.prepare()?;
        Ok(PreparedConfinement {
            rules,
            supervised,
            max_memory: self.max_memory,
            max_file_size: self.max_file_size,
        })
    }
}

struct Supervised {
    architecture: Architecture,
    supervision: SupervisorOptions,
    programs: Option<ProgramDirectory>,
    rules: LandlockRules,
}

/// A confinement that is ready to be applied to one process.
pub struct PreparedConfinement {
    rules: PreparedRules,
    supervised: Option<Supervised>,
    max_memory: Option<u64>,
    max_file_size: Option<u64>,
}

/// Ends the supervision of a program when it is dropped. System calls that would need an answer then
/// fail.
#[derive(Debug)]
pub struct SupervisionHandle {
    _stop: OwnedFd,
    _programs: Option<ProgramDirectory>,
}

impl PreparedConfinement {
    /// Spawns the confined program. The command's program must be an absolute path.
    ///
    /// # Errors
    /// Returns an error if the system cannot start it, or cannot apply the confinement.
    pub async fn spawn(self, mut command: Command, spawner: &Spawner) -> io::Result<ConfinedChild> {
        let Self { rules, supervised, max_memory, max_file_size } = self;
        let (sender, supervision) = match supervised {
            None => (None, None),
            Some(supervised) => {
                let (receiver, sender) = UnixStream::pair()?;
                let architecture = supervised.architecture;
                let supervises_signals = !landlock::restricts_signals();
                let handle = start_supervisor(receiver, supervised, &mut command)?;
                let filter = Filter::new(architecture, supervises_signals);
                (Some((sender, filter)), Some(handle))
            }
        };
        let apply = move || {
            kernel::limit(ResourceLimit::CoreSize, 0)?;
            if let Some(most) = max_memory {
                kernel::limit(ResourceLimit::Data, most)?;
            }
            if let Some(most) = max_file_size {
                kernel::limit(ResourceLimit::FileSize, most)?;
            }
            kernel::forbid_new_privileges()?;
            kernel::drop_capabilities()?;
            kernel::restrict_self(rules.as_fd())?;
            kernel::close_others_on_execution()?;
            if let Some((sender, filter)) = &sender {
                let listener = kernel::install_filter(filter.instructions())?;
                kernel::send_descriptor(sender.as_raw_fd(), listener)?;
                kernel::close(listener);
            }
            Ok(())
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

/// Starts the thread that waits for the listener and answers its notifications. It must run before
/// the process is spawned, since spawning returns only after the first answer.
fn start_supervisor(
    receiver: UnixStream,
    supervised: Supervised,
    command: &mut Command,
) -> io::Result<SupervisionHandle> {
    let Supervised { architecture, supervision, programs, rules } = supervised;
    let program_directory = programs.as_ref().map(|programs| programs.path().to_owned());
    if let Some(directory) = &program_directory {
        let others = variable(command, "PATH").unwrap_or_default();
        let directories = std::iter::once(directory.clone()).chain(std::env::split_paths(&others));
        command.env("PATH", std::env::join_paths(directories).map_err(io::Error::other)?);
    }
    let variables = command.as_std().get_envs();
    let variables = variables.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let environment = ProcessEnvironment { variables: variables.collect(), rules, program_directory };
    static LIMIT: Once = Once::new();
    LIMIT.call_once(kernel::raise_descriptor_limit);
    let (stop, stopper) = pipe_with(PipeFlags::CLOEXEC)?;
    let runtime = Handle::current();
    thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
        // If no listener arrives, the program was not started.
        if let Ok(Some(listener)) = kernel::receive_descriptor(receiver.as_fd()) {
            drop(receiver);
            Supervisor::new(listener, architecture, supervision, environment).run(&stop, &runtime);
        }
    })?;
    Ok(SupervisionHandle { _stop: stopper, _programs: programs })
}

fn variable(command: &Command, name: &str) -> Option<OsString> {
    command.as_std().get_envs().find(|(known, _)| *known == name)?.1.map(ToOwned::to_owned)
}
