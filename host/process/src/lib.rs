//! Runs programs on this machine for plugins: starts them, reads their output, and terminates them.
//!
//! A [`Launcher`] starts the programs that its
//! [`ProcessAuthority`](wardian_access::ProcessAuthority) allows. The authority must allow the
//! program before any lookup, with either a bare name or an absolute path without `.` and `..`. A
//! bare name is then looked up in the host's own search path, never in the search path of the
//! program's environment. A relative path with a slash is relative to the program's working
//! directory.
//!
//! Invariants:
//! - the environment is exactly the given environment, without the host's variables;
//! - each program has a separate session: it does not receive interrupts from the terminal, cannot
//!   block on a password prompt on the terminal, and can be killed together with its descendants;
//! - output is returned in chunks of bounded size, as complete lines if the program writes lines,
//!   and a program's writes block until its output is read, so output does not accumulate;
//! - descendants do not delay the end of a command: when the program has exited, its output is read
//!   until no output is received for a short time, even if a descendant holds the output open
//!   (Terraform waits until the last descendant that holds the output exits, and a daemon never
//!   exits); [`DescendantPolicy`] determines whether they are killed;
//! - no program outlives the host, even if the host is killed (see [`Spawner`]), and no program
//!   remains as a zombie. As always on Unix, a process that leaves its session is an exception.
//!
//! This crate does not depend on plugins or policy, reads no environment variables, and logs
//! nothing.

#[cfg(not(unix))]
compile_error!("this crate supports Unix systems only");

mod child;
mod command;
mod cpu_time;
mod error;
mod event;
mod launcher;
mod line_buffer;
mod lookup;
mod output;
mod spawner;
mod variable_pattern;

pub use child::ChildProcess;
pub use command::{Command, DescendantPolicy, Streams};
pub use cpu_time::cpu_time_with_descendants;
pub use error::ProcessError;
pub use event::CommandEvent;
pub use launcher::Launcher;
pub use line_buffer::LineBuffer;
pub use spawner::{BeforeExecution, Guarded, Spawner};
pub use variable_pattern::variable_matches;
