//! Programs that run on this machine for somebody else: started, listened to, ended.
//!
//! A [`Runner`] starts what its [`Authority`] allows. The authority is asked before
//! anything is looked up, with the program as a bare name or as an absolute path without
//! `.` and `..`; a bare name is then looked up in the host's own list of directories,
//! never in one that the program's environment names. A relative path with a slash is
//! one below the directory that the program begins in.
//!
//! What always holds:
//! - the environment is exactly what was said, and nothing of ours;
//! - a program has a session of its own: no terminal's interrupt reaches it, none can stop
//!   it by asking for a password, and all of it can be killed at once;
//! - output comes in pieces of bounded size, whole lines where lines are written, and a
//!   program whose output nobody takes waits: a gigabyte never piles up;
//! - what a program left behind does not hold us up. Once it has ended, its output is read
//!   until nothing more comes for a moment, even where something it started still holds it.
//!   (Terraform waits until the last holder is gone, for ever if that is a daemon.)
//!   [`Leftovers`] says what becomes of those;
//! - no program outlives us, however we end ([`Spawner`] says how), and none remains as a
//!   zombie. What has left its session by itself is out of reach, as it is for everybody.
//!
//! A program can be held to some directories and ports by the kernel ([`Confinement`]).
//!
//! This crate knows no plugin and no policy, reads no environment, and writes no log.

#[cfg(not(unix))]
compile_error!("programs are run on Unix systems only: there is no port to this one yet");

mod authority;
mod command;
mod confinement;
mod lookup;
mod output;
mod run;
mod runner;
mod spawner;

pub use authority::{Authority, Denied, Ended, Start};
pub use command::{Command, Leftovers, Streams};
pub use confinement::{Confinement, ConfinementError, Prepared, TcpPorts};
pub use run::{Event, ExitStatus, Running};
pub use runner::{ProcessError, Runner};
pub use spawner::{Guarded, Spawner};
