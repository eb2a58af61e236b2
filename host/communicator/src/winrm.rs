//! Machines that are reached by Windows Remote Management: SOAP over HTTP.
//!
//! What WinRM knows is a shell, commands in it, and what they write. Files go as commands,
//! too (`upload`). Messages are not encrypted by NTLM: over plain HTTP the machine has to
//! allow that (`AllowUnencrypted`), as it does for basic authentication.

mod command;
mod http;
mod machine;
mod messages;
mod ntlm;
pub(crate) mod upload;

pub(crate) use command::WinRmCommand;
pub(crate) use machine::Machine;
