//! What the kernel holds a program to: Landlock, of Linux.
//!
//! A program that is confined reads and writes below the directories that are named, runs
//! programs from where it may execute, and connects by TCP to the ports that are named,
//! with all that it starts; and it gains no privileges by starting something. The kernel
//! takes lists of what is allowed and nothing else: there is no exception below a
//! directory, and of a connection it knows the port alone. It says nothing of UDP, of
//! sockets with a path, or of what was open before.
//!
//! The rules are given to the kernel before the program is forked ([`Confinement::prepare`]).
//! What is left to do between fork and exec are two system calls.

use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// What a program may reach. What is not there is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directories and files to read.
    pub read: Vec<PathBuf>,
    /// Directories and files to read, and to run as programs.
    pub execute: Vec<PathBuf>,
    /// Directories and files to read and to change; in directories also what they hold.
    pub write: Vec<PathBuf>,
    /// Where it may connect to by TCP.
    pub tcp: TcpPorts,
}

/// Ports of other machines, and of this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TcpPorts {
    /// All.
    #[default]
    Any,
    /// These.
    Only(Vec<RangeInclusive<u16>>),
}

/// Why a program cannot be confined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfinementError {
    /// The kernel has no Landlock, or not enough of it.
    #[error("the kernel cannot hold it to that: {0}")]
    Unsupported(String),
    /// A path that is there cannot be opened.
    #[error("{} cannot be granted to it: {reason}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What the kernel was told already.
#[derive(Debug)]
pub struct Prepared {
    #[cfg(target_os = "linux")]
    rules: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Confinement {
    /// Gives the rules to the kernel, which holds nobody to them yet.
    ///
    /// # Errors
    /// Where the kernel cannot hold a program to all of them, or a path cannot be opened.
    pub fn prepare(&self) -> Result<Prepared, ConfinementError> {
        use landlock::{
            ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, Ruleset,
            RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
        };
        let unsupported = |error: RulesetError| {
            let needed = match self.tcp {
                TcpPorts::Any => "Landlock as of Linux 6.2",
                TcpPorts::Only(_) => "Landlock as of Linux 6.7",
            };
            ConfinementError::Unsupported(format!("it needs {needed} ({error})"))
        };
        let files = AccessFs::from_all(ABI::V3);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(files)
            .map_err(unsupported)?;
        if let TcpPorts::Only(_) = self.tcp {
            rules = rules.handle_access(AccessNet::from_all(ABI::V4)).map_err(unsupported)?;
        }
        let mut rules = rules
            .set_compatibility(CompatLevel::BestEffort)
            // Signals to others and sockets without a path; of newer kernels.
            .scope(Scope::from_all(ABI::V6))
            .and_then(Ruleset::create)
            .map_err(unsupported)?
            .set_compatibility(CompatLevel::HardRequirement);
        let reading = AccessFs::ReadFile | AccessFs::ReadDir;
        let granted = [
            (&self.read, reading),
            (&self.execute, reading | AccessFs::Execute),
            // What is written there is not run.
            (&self.write, AccessFs::from_all(ABI::V3) & !AccessFs::Execute),
        ];
        for (paths, access) in granted {
            for path in paths {
                rules = allow(rules, path, access)?;
            }
        }
        if let TcpPorts::Only(ranges) = &self.tcp {
            for port in ranges.iter().cloned().flatten() {
                rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(unsupported)?;
            }
        }
        let rules: Option<std::os::fd::OwnedFd> = rules.into();
        let rules = rules.ok_or_else(|| ConfinementError::Unsupported("it has no Landlock".into()))?;
        Ok(Prepared { rules })
    }
}

#[cfg(target_os = "linux")]
fn allow(
    rules: landlock::RulesetCreated,
    path: &std::path::Path,
    access: landlock::BitFlags<landlock::AccessFs>,
) -> Result<landlock::RulesetCreated, ConfinementError> {
    use landlock::{ABI, AccessFs, PathBeneath, PathFd, RulesetCreatedAttr as _};
    let failed = |reason: String| ConfinementError::Path { path: path.to_owned(), reason };
    let is_directory = match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_dir(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(rules),
        Err(error) => return Err(failed(error.to_string())),
    };
    let access = if is_directory { access } else { access & AccessFs::from_file(ABI::V3) };
    let opened = PathFd::new(path).map_err(|error| failed(error.to_string()))?;
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| failed(error.to_string()))
}

#[cfg(not(target_os = "linux"))]
impl Confinement {
    /// Gives the rules to the kernel, which holds nobody to them yet.
    ///
    /// # Errors
    /// Always: only Linux has what is needed.
    pub fn prepare(&self) -> Result<Prepared, ConfinementError> {
        Err(ConfinementError::Unsupported("only Linux can".into()))
    }
}

impl Prepared {
    /// Has a command begin under the rules.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold(self, command: &mut tokio::process::Command) {
        use std::os::fd::AsRawFd as _;
        let before_it_becomes_the_program = move || {
            let rules = self.rules.as_raw_fd();
            let none: libc::c_ulong = 0;
            #[allow(
                unsafe_code,
                reason = "two system calls with numbers and a descriptor that is open; the library's own \
                          function for both allocates where it fails, which a child of many threads must not"
            )]
            let held = unsafe {
                let one: libc::c_ulong = 1;
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == 0
                    && libc::syscall(libc::SYS_landlock_restrict_self, rules, none) == 0
            };
            if held { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        #[allow(
            unsafe_code,
            reason = "what runs between fork and exec must be async-signal-safe; it makes system calls and \
                      nothing else"
        )]
        unsafe {
            command.pre_exec(before_it_becomes_the_program);
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn hold(self, _command: &mut tokio::process::Command) {}
}
