//! Windows Remote Management connections: SOAP over HTTP.
//!
//! WinRM provides a shell, which runs commands and returns their output. Files are transferred with
//! commands (`upload`). NTLM message encryption is not used, so over plain HTTP the machine must
//! allow unencrypted messages (`AllowUnencrypted`), as for basic authentication.

mod command;
mod http;
mod machine;
mod messages;
mod ntlm;
pub(crate) mod upload;

pub(crate) use command::WinRmCommand;
pub(crate) use machine::Machine;
