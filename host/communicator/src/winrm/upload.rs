//! Uploads files with commands: the bytes are appended as base64 lines to a temporary file, and
//! PowerShell then decodes this file.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use tokio::sync::mpsc;
use wardian_access::ExitStatus;
use wardian_process::CommandEvent;

use super::command::WinRmCommand;
use super::machine::Machine;
use super::messages::new_message_id;
use super::ntlm::utf16le;
use crate::error::CommunicatorError;
use crate::source::{Source, SourceKind, Step};

/// Number of bytes per command. The shell accepts lines of at most 8191 characters, and base64
/// encodes three bytes as four characters. Each line is decoded separately.
const CHUNK_SIZE: usize = 5_700;
/// Maximum size of the retained output of a failed command.
const MAX_ERROR_OUTPUT: usize = 2 << 10;

pub(crate) async fn upload_content(
    machine: Arc<Machine>,
    path: &str,
    content: Bytes,
) -> Result<(), CommunicatorError> {
    let mut file = Transfer::new(machine, path.to_owned());
    file.push(&content).await?;
    file.finish().await
}

/// Copies a file, or the contents of a directory. As in other WinRM tools, the contents are copied
/// into `destination` regardless of whether the source ends with a slash.
pub(crate) async fn upload_source(
    machine: Arc<Machine>,
    source: &Source,
    destination: &str,
) -> Result<(), CommunicatorError> {
    let source = match source.kind {
        SourceKind::Directory => &source.contents(),
        SourceKind::File | SourceKind::Contents => source,
    };
    let mut steps: mpsc::Receiver<Step> = source.steps();
    let mut above = vec![destination.trim_end_matches(['/', '\\']).to_owned()];
    if source.kind == SourceKind::Contents {
        create_directory(&machine, &above.concat()).await?;
    }
    let mut file: Option<(Transfer, u64)> = None;
    while let Some(step) = steps.recv().await {
        match step {
            Step::Enter { name } => {
                above.push(format!("\\{name}"));
                create_directory(&machine, &above.concat()).await?;
            }
            Step::Leave => {
                above.pop();
            }
            Step::File { name, size } => {
                let path = match source.kind {
                    SourceKind::File => destination.to_owned(),
                    _ => format!("{}\\{name}", above.concat()),
                };
                file = Some((Transfer::new(Arc::clone(&machine), path), size));
            }
            Step::Piece(piece) => {
                if let Some((file, left)) = &mut file {
                    file.push(&piece).await?;
                    *left = left.saturating_sub(piece.len() as u64);
                }
            }
            Step::Failed(error) => return Err(error),
        }
        if let Some((finished, _)) = file.take_if(|(_, left)| *left == 0) {
            finished.finish().await?;
        }
    }
    Ok(())
}

/// Creates a directory and its parents unless they exist.
async fn create_directory(machine: &Arc<Machine>, path: &str) -> Result<(), CommunicatorError> {
    let script = format!("New-Item -ItemType Directory -Force -Path {} | Out-Null", powershell_literal(path));
    run_command(machine, path, &powershell_command(&script)).await
}

/// A file that is being transferred.
struct Transfer {
    machine: Arc<Machine>,
    path: String,
    /// Name of the temporary file with the base64 lines.
    temporary: String,
    /// Bytes of an incomplete chunk.
    held: Vec<u8>,
}

impl Transfer {
    fn new(machine: Arc<Machine>, path: String) -> Self {
        Self { machine, path, temporary: format!("wardian-{}.tmp", new_message_id()), held: Vec::new() }
    }

    async fn push(&mut self, bytes: &[u8]) -> Result<(), CommunicatorError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CHUNK_SIZE - self.held.len()));
            self.held.extend_from_slice(now);
            rest = later;
            if self.held.len() == CHUNK_SIZE {
                self.flush().await?;
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), CommunicatorError> {
        if self.held.is_empty() {
            return Ok(());
        }
        // Without the space, a trailing digit would be interpreted as a stream number.
        let line = format!("echo {} >> \"%TEMP%\\{}\"", STANDARD.encode(&self.held), self.temporary);
        self.held.clear();
        run_command(&self.machine, &self.path, &line).await
    }

    async fn finish(mut self) -> Result<(), CommunicatorError> {
        self.flush().await?;
        let script = format!(
            "$from = Join-Path $env:TEMP {from}\n\
             $to = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath({to})\n\
             $above = [IO.Path]::GetDirectoryName($to)\n\
             if ($above) {{ [void][IO.Directory]::CreateDirectory($above) }}\n\
             $file = [IO.File]::Create($to)\n\
             try {{\n\
             if (Test-Path -LiteralPath $from) {{\n\
             foreach ($line in [IO.File]::ReadLines($from)) {{\n\
             $bytes = [Convert]::FromBase64String($line.Trim())\n\
             $file.Write($bytes, 0, $bytes.Length)\n\
             }}\n\
             }}\n\
             }} finally {{\n\
             $file.Dispose()\n\
             Remove-Item -LiteralPath $from -Force -ErrorAction SilentlyContinue\n\
             }}",
            from = powershell_literal(&self.temporary),
            to = powershell_literal(&self.path),
        );
        run_command(&self.machine, &self.path, &powershell_command(&script)).await
    }
}

/// Quotes a string for PowerShell, in which several characters are quotation marks.
fn powershell_literal(text: &str) -> String {
    let mut powershell_literal = String::from("'");
    for character in text.chars() {
        powershell_literal.push(character);
        if matches!(character, '\'' | '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}') {
            powershell_literal.push(character);
        }
    }
    powershell_literal.push('\'');
    powershell_literal
}

/// Returns the command that runs a script and stops at its first error.
fn powershell_command(script: &str) -> String {
    let script =
        format!("$ErrorActionPreference = 'Stop'\n$ProgressPreference = 'SilentlyContinue'\n{script}");
    let encoded = STANDARD.encode(utf16le(&script));
    format!("powershell -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand {encoded}")
}

/// Runs a command that must succeed.
async fn run_command(machine: &Arc<Machine>, path: &str, command: &str) -> Result<(), CommunicatorError> {
    let mut command = WinRmCommand::start(Arc::clone(machine), command).await?;
    let mut output = Vec::new();
    loop {
        match command.next_event().await? {
            Some(CommandEvent::Stdout(bytes) | CommandEvent::Stderr(bytes)) => {
                let room = MAX_ERROR_OUTPUT.saturating_sub(output.len());
                output.extend(bytes.into_iter().take(room));
            }
            Some(CommandEvent::Exited(ExitStatus::Code(0))) => return Ok(()),
            Some(CommandEvent::Exited(status)) => {
                let code = match status {
                    ExitStatus::Code(code) => format!(" with exit code {code}"),
                    _ => String::new(),
                };
                let output = String::from_utf8_lossy(&output).trim().to_owned();
                let output = if output.is_empty() { String::new() } else { format!(": {output}") };
                return Err(CommunicatorError::Upload {
                    endpoint: machine.endpoint(),
                    path: path.to_owned(),
                    reason: format!("the upload command exited{code}{output}"),
                });
            }
            None => return Err(machine.protocol_error("a command ended without an exit code".into())),
        }
    }
}
