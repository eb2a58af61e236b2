//! Confines programs with the Linux kernel's Landlock.
//!
//! A confined program and its descendants can read and write only below the listed directories, run
//! programs only from the listed directories, and open TCP connections only to the listed ports;
//! they cannot gain privileges by executing a program. Landlock supports only allow lists, so a
//! directory cannot have exceptions, and it identifies a connection only by its port. It does not
//! restrict UDP, Unix sockets, or files that are already open.
//!
//! The rules are passed to the kernel before the fork ([`LandlockRules::prepare`]). Only two system
//! calls are then needed between fork and exec.

use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The files and ports that a program may use. Missing paths are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandlockRules {
    /// Files and directories that can be read.
    pub read: Vec<PathBuf>,
    /// Files and directories that can be read and executed.
    pub execute: Vec<PathBuf>,
    /// Files and directories that can be read and written, including everything in the directories.
    pub write: Vec<PathBuf>,
    /// Like `read`, but a path with a symbolic link is an error: the path is the real one, and other
    /// processes may be able to replace a directory with a link.
    pub real_read: Vec<PathBuf>,
    /// Like `write`, but a path with a symbolic link is an error.
    pub real_write: Vec<PathBuf>,
    /// TCP ports to which connections can be opened.
    pub tcp: TcpPorts,
}

/// TCP ports on any machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TcpPorts {
    #[default]
    Any,
    Only(Vec<RangeInclusive<u16>>),
    /// No port, if the kernel can restrict ports. A supervisor restricts sockets in any case.
    NoneIfSupported,
}

/// The reason why a program cannot be confined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfinementError {
    /// The kernel does not support Landlock, or supports only an older version of it.
    #[error("the kernel cannot confine it: {0}")]
    Unsupported(String),
    /// A path cannot be opened.
    #[error("{} cannot be granted to it: {reason}", path.display())]
    Path { path: PathBuf, reason: String },
    /// The scripts that represent granted programs cannot be written.
    #[error("the directory for its programs cannot be created: {0}")]
    Programs(io::Error),
    /// The files that are mounted in its namespaces cannot be created.
    #[error("the files of its mount namespace cannot be created: {0}")]
    Namespaces(io::Error),
}

/// Rules that have been passed to the kernel.
#[derive(Debug)]
pub(crate) struct PreparedRules {
    #[cfg(target_os = "linux")]
    rules: std::os::fd::OwnedFd,
}

impl LandlockRules {
    /// Checks whether the rules can be applied.
    ///
    /// # Errors
    /// Returns an error if the kernel does not support all rules, or if a path cannot be opened.
    pub fn check(&self) -> Result<(), ConfinementError> {
        self.prepare().map(drop)
    }
}

#[cfg(target_os = "linux")]
impl LandlockRules {
    /// Passes the rules to the kernel, without applying them to a process.
    ///
    /// # Errors
    /// Returns an error if the kernel does not support all rules, or if a path cannot be opened.
    pub(crate) fn prepare(&self) -> Result<PreparedRules, ConfinementError> {
        use landlock::{
            ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, Ruleset,
            RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
        };
        let unsupported = |error: RulesetError| {
            let needed = match self.tcp {
                TcpPorts::Any | TcpPorts::NoneIfSupported => "Landlock of Linux 6.2 or later",
                TcpPorts::Only(_) => "Landlock of Linux 6.7 or later",
            };
            ConfinementError::Unsupported(format!("it needs {needed} ({error})"))
        };
        let files = AccessFs::from_all(ABI::V3);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(files)
            .map_err(unsupported)?;
        if self.tcp != TcpPorts::Any {
            if self.tcp == TcpPorts::NoneIfSupported {
                rules = rules.set_compatibility(CompatLevel::BestEffort);
            }
            rules = rules.handle_access(AccessNet::from_all(ABI::V4)).map_err(unsupported)?;
        }
        let mut rules = rules
            .set_compatibility(CompatLevel::BestEffort)
            // Newer kernels also restrict signals to other processes, and abstract Unix sockets.
            .scope(Scope::from_all(ABI::V6))
            .and_then(Ruleset::create)
            .map_err(unsupported)?
            .set_compatibility(CompatLevel::HardRequirement);
        let not_in_writable = AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock;
        let reading = AccessFs::ReadFile | AccessFs::ReadDir;
        let writing = AccessFs::from_all(ABI::V3) & !not_in_writable;
        let granted = [
            (&self.read, reading, Links::Followed),
            (&self.execute, reading | AccessFs::Execute, Links::Followed),
            // Files in writable directories cannot be executed, and devices cannot be created in them.
            (&self.write, writing, Links::Followed),
            (&self.real_read, reading, Links::Refused),
            (&self.real_write, writing, Links::Refused),
        ];
        for (paths, access, links) in granted {
            for path in paths {
                rules = add_path_rule(rules, path, access, links)?;
            }
        }
        if let TcpPorts::Only(ranges) = &self.tcp {
            for port in ranges.iter().cloned().flatten() {
                rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(unsupported)?;
            }
        }
        let rules: Option<std::os::fd::OwnedFd> = rules.into();
        let rules = rules.ok_or_else(|| ConfinementError::Unsupported("Landlock is not enabled".into()))?;
        Ok(PreparedRules { rules })
    }
}

/// The treatment of symbolic links in a path.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    Followed,
    Refused,
}

#[cfg(target_os = "linux")]
fn add_path_rule(
    rules: landlock::RulesetCreated,
    path: &std::path::Path,
    access: landlock::BitFlags<landlock::AccessFs>,
    links: Links,
) -> Result<landlock::RulesetCreated, ConfinementError> {
    use landlock::{ABI, AccessFs, PathBeneath, RulesetCreatedAttr as _};
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
    use rustix::io::Errno;
    let failed = |reason: String| ConfinementError::Path { path: path.to_owned(), reason };
    let resolve = match links {
        Links::Followed => ResolveFlags::empty(),
        Links::Refused => ResolveFlags::NO_SYMLINKS,
    };
    let opened = match openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(rules),
        Err(Errno::LOOP) => {
            return Err(failed("a directory in it was replaced with a symbolic link".to_owned()));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    let stat = fstat(&opened).map_err(|error| failed(error.to_string()))?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let access = if is_directory { access } else { access & AccessFs::from_file(ABI::V3) };
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| failed(error.to_string()))
}

#[cfg(not(target_os = "linux"))]
impl LandlockRules {
    /// Returns an error.
    ///
    /// # Errors
    /// Always returns an error, since only Linux supports confinement.
    pub(crate) fn prepare(&self) -> Result<PreparedRules, ConfinementError> {
        Err(ConfinementError::Unsupported("only Linux supports confinement".into()))
    }
}

/// Whether the rules restrict signals to processes outside of the confinement. Linux does since 6.12.
#[cfg(target_os = "linux")]
pub(crate) fn restricts_signals() -> bool {
    use landlock::{CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, Scope};
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal).is_ok()
}

impl PreparedRules {
    #[cfg(target_os = "linux")]
    pub(crate) fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        use std::os::fd::AsFd as _;
        self.rules.as_fd()
    }
}
