//! Events of a running command.

use wardian_access::ExitStatus;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEvent {
    /// Output on standard output.
    Stdout(Vec<u8>),
    /// Output on standard error.
    Stderr(Vec<u8>),
    /// The command has ended; this is always the last event.
    Exited(ExitStatus),
}
