//! The commands of the machine: shell commands, the commands of an upload, and commands with known
//! output.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{Part, State, between};

/// Returns a path without quotation marks and with uniform slashes.
fn slashed(path: &str) -> String {
    path.trim_matches('"').replace('\\', "/")
}

/// Runs an uploaded script, which writes output and exits with a code.
fn batch(script: &str) -> Part {
    let (mut stdout, mut stderr, mut code) = (String::new(), String::new(), 0);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(text) = line.strip_prefix("echo ") {
            stdout.extend([text, "\r\n"]);
        } else if let Some(number) = line.strip_prefix("exit /b ") {
            code = number.parse().unwrap();
            break;
        } else {
            stderr.extend(["'", line, "' is not recognized as a command.\r\n"]);
            code = 1;
        }
    }
    Part::Output { stdout: stdout.into(), stderr: stderr.into(), code: Some(code) }
}

impl State {
    pub(crate) fn perform(&mut self, command: &str) -> Vec<Part> {
        let done = |code: u32, stdout: &str, stderr: &str| {
            vec![Part::Output { stdout: stdout.into(), stderr: stderr.into(), code: Some(code) }]
        };
        assert!(command.len() <= 8191, "longer than a line of the shell");
        if let Some(rest) = command.strip_prefix("echo ") {
            let (line, name) = rest.split_once(" >> ").unwrap();
            let name = name.strip_prefix("\"%TEMP%\\").unwrap().strip_suffix('"').unwrap();
            let file = self.temporary.entry(name.to_owned()).or_default();
            *file += line;
            *file += " \r\n";
            return done(0, "", "");
        }
        if let Some((_, encoded)) = command.split_once("-EncodedCommand ") {
            let bytes = STANDARD.decode(encoded).unwrap();
            let units: Vec<u16> =
                bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            return self.script(&String::from_utf16(&units).unwrap());
        }
        match command {
            "several parts" => vec![
                Part::TimedOut,
                Part::Output { stdout: b"on".to_vec(), stderr: vec![], code: None },
                Part::Output { stdout: b"e\r\nt".to_vec(), stderr: b"oops\r\n".to_vec(), code: None },
                Part::Output { stdout: b"wo".to_vec(), stderr: vec![], code: Some(3) },
            ],
            "binary" => {
                vec![Part::Output { stdout: (0..=255).collect(), stderr: vec![], code: Some(u32::MAX) }]
            }
            "endless" => vec![],
            "lost" => {
                vec![Part::Output { stdout: b"begun\n".to_vec(), stderr: vec![], code: None }, Part::Lost]
            }
            other => match other.strip_prefix("del /q ") {
                Some(path) => {
                    self.files.remove(&slashed(path));
                    done(0, "", "")
                }
                None => match self.files.get(&slashed(other)) {
                    Some(script) => vec![batch(&String::from_utf8_lossy(script))],
                    None => done(0, &format!("ran {other}\n"), ""),
                },
            },
        }
    }

    /// Runs the PowerShell scripts of an upload.
    fn script(&mut self, script: &str) -> Vec<Part> {
        let done = |code: u32, stderr: &str| {
            vec![Part::Output { stdout: vec![], stderr: stderr.into(), code: Some(code) }]
        };
        assert!(script.starts_with("$ErrorActionPreference = 'Stop'\n"));
        let unquoted = |text: &str| text.replace("''", "'").replace("\u{2019}\u{2019}", "\u{2019}");
        if let Some((_, rest)) = script.split_once("New-Item -ItemType Directory -Force -Path '") {
            self.directories.push(unquoted(rest.split_once("' |").unwrap().0));
            return done(0, "");
        }
        let name = between(script, "Join-Path $env:TEMP '", "'\n");
        let path = unquoted(between(script, "GetUnresolvedProviderPathFromPSPath('", "')\n"));
        let lines = self.temporary.remove(name).unwrap_or_default();
        if path.starts_with("Z:") {
            return done(1, "Cannot find drive.\r\n");
        }
        let content = lines.lines().flat_map(|line| STANDARD.decode(line.trim()).unwrap()).collect();
        self.files.insert(path, content);
        done(0, "")
    }
}
