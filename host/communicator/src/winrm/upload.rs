//! Files by commands: their bytes as text, line by line into a file of the user's, which
//! PowerShell then makes the file of.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use tokio::sync::mpsc;
use wardian_process::{Event, ExitStatus};

use super::command::WinRmCommand;
use super::machine::Machine;
use super::messages::identifier;
use super::ntlm::wide;
use crate::error::CommunicatorError;
use crate::source::{Source, SourceKind, Step};

/// How many bytes go with one command. The shell takes lines of 8191 characters, and
/// three bytes are four of these; each line is whole by itself.
const PIECE: usize = 5_700;
/// How much of what a failed command says is kept.
const MOST_SAID: usize = 2 << 10;

/// Writes a file.
pub(crate) async fn content(
    machine: Arc<Machine>,
    path: &str,
    content: Bytes,
) -> Result<(), CommunicatorError> {
    let mut file = Transfer::new(machine, path.to_owned());
    file.push(&content).await?;
    file.finish().await
}

/// Copies a file, or what is in a directory: WinRM's tools put that into `destination`
/// whether or not the source ends with a slash.
pub(crate) async fn source(
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
        directory(&machine, &above.concat()).await?;
    }
    let mut file: Option<(Transfer, u64)> = None;
    while let Some(step) = steps.recv().await {
        match step {
            Step::Enter { name } => {
                above.push(format!("\\{name}"));
                directory(&machine, &above.concat()).await?;
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

/// Makes a directory and those above it, unless they are there.
async fn directory(machine: &Arc<Machine>, path: &str) -> Result<(), CommunicatorError> {
    let script = format!("New-Item -ItemType Directory -Force -Path {} | Out-Null", literal(path));
    run(machine, path, &power_shell(&script)).await
}

/// A file under way.
struct Transfer {
    machine: Arc<Machine>,
    path: String,
    /// The file of text, in the directory for such.
    temporary: String,
    /// What is no whole piece yet.
    held: Vec<u8>,
}

impl Transfer {
    fn new(machine: Arc<Machine>, path: String) -> Self {
        Self { machine, path, temporary: format!("wardian-{}.tmp", identifier()), held: Vec::new() }
    }

    async fn push(&mut self, bytes: &[u8]) -> Result<(), CommunicatorError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(PIECE - self.held.len()));
            self.held.extend_from_slice(now);
            rest = later;
            if self.held.len() == PIECE {
                self.flush().await?;
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), CommunicatorError> {
        if self.held.is_empty() {
            return Ok(());
        }
        // Without the space, a digit at the end would be the number of a stream.
        let line = format!("echo {} >> \"%TEMP%\\{}\"", STANDARD.encode(&self.held), self.temporary);
        self.held.clear();
        run(&self.machine, &self.path, &line).await
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
            from = literal(&self.temporary),
            to = literal(&self.path),
        );
        run(&self.machine, &self.path, &power_shell(&script)).await
    }
}

/// Text that PowerShell takes as it is. It knows several signs as quotation marks.
fn literal(text: &str) -> String {
    let mut literal = String::from("'");
    for character in text.chars() {
        literal.push(character);
        if matches!(character, '\'' | '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}') {
            literal.push(character);
        }
    }
    literal.push('\'');
    literal
}

/// A command that runs a script which ends with its first error.
fn power_shell(script: &str) -> String {
    let script =
        format!("$ErrorActionPreference = 'Stop'\n$ProgressPreference = 'SilentlyContinue'\n{script}");
    let encoded = STANDARD.encode(wide(&script));
    format!("powershell -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand {encoded}")
}

/// Runs a command that has to succeed.
async fn run(machine: &Arc<Machine>, path: &str, command: &str) -> Result<(), CommunicatorError> {
    let mut command = WinRmCommand::start(Arc::clone(machine), command).await?;
    let mut said = Vec::new();
    loop {
        match command.next_event().await? {
            Some(Event::Stdout(bytes) | Event::Stderr(bytes)) => {
                let room = MOST_SAID.saturating_sub(said.len());
                said.extend(bytes.into_iter().take(room));
            }
            Some(Event::Exited(ExitStatus::Code(0))) => return Ok(()),
            Some(Event::Exited(status)) => {
                let code = match status {
                    ExitStatus::Code(code) => format!(" with exit code {code}"),
                    _ => String::new(),
                };
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                let said = if said.is_empty() { String::new() } else { format!(" and said: {said}") };
                return Err(CommunicatorError::Upload {
                    place: machine.place(),
                    path: path.to_owned(),
                    reason: format!("the command for it ended{code}{said}"),
                });
            }
            None => return Err(machine.protocol("a command has no end".into())),
        }
    }
}
