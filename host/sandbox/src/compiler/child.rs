//! The code that runs in the compiler process.
//!
//! It reads a component and the functions of an earlier compilation from its input, and writes native code
//! and changed functions to its output. Before it reads any
//! input, it drops the privileges that it does not need: it sets resource limits, and prevents
//! itself from opening files or connections. The host keeps the input open; at the end of the
//! input, the process exits.

use std::ffi::OsString;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use super::CompileError;
use crate::engine::EngineSettings;

/// The first argument of a program that acts as the compiler. The next arguments are the limits:
/// time in milliseconds and memory in bytes.
pub const COMPILER_ARGUMENT: &str = "--compile-component-from-input";

/// The argument after the limits for the settings of plugins under development.
pub(super) const DEVELOPMENT_ARGUMENT: &str = "development";

/// Exit code if the component is invalid. Standard error contains the reason.
pub(super) const INVALID: u8 = 3;
/// Exit code if compilation exceeded its wall-clock limit.
pub(super) const TOO_SLOW: u8 = 4;

/// The wall-clock limit of compilation, as a multiple of its CPU time limit, since other processes
/// may also use the processors.
const PATIENCE: u32 = 20;

/// Compiles one component from standard input. `arguments` are the arguments after [`COMPILER_ARGUMENT`].
pub fn run_compiler(arguments: &[OsString]) -> ExitCode {
    match compile(arguments) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn compile(arguments: &[OsString]) -> io::Result<ExitCode> {
    let number = |at: usize| arguments.get(at)?.to_str()?.parse::<u64>().ok();
    let (Some(milliseconds), Some(memory)) = (number(0), number(1)) else {
        return Err(io::Error::other("this mode is for internal use only"));
    };
    let settings = match arguments.get(2) {
        Some(argument) if argument == DEVELOPMENT_ARGUMENT => EngineSettings::Development,
        _ => EngineSettings::Standard,
    };
    let time = Duration::from_millis(milliseconds);
    limit(time, memory)?;
    let (component, functions) = (read()?, read()?);
    end_with_input();
    end_after(time.saturating_mul(PATIENCE));
    match super::compile(&component, functions, settings) {
        Ok((code, functions)) => {
            let mut output = BufWriter::new(io::stdout().lock());
            output.write_all(&u64::try_from(code.len()).unwrap_or(u64::MAX).to_le_bytes())?;
            output.write_all(&code)?;
            functions.write_changed(&mut output)?;
            output.flush()?;
            Ok(ExitCode::SUCCESS)
        }
        Err(CompileError::Invalid(reason)) => {
            writeln!(io::stderr(), "{reason}")?;
            Ok(ExitCode::from(INVALID))
        }
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Reads a part of the input, which is preceded by its length.
fn read() -> io::Result<Vec<u8>> {
    let mut input = io::stdin().lock();
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut part = Vec::new();
    input.take(length).read_to_end(&mut part)?;
    if u64::try_from(part.len()).ok() != Some(length) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(part)
}

/// Ends the process when the host closes the input or exits.
fn end_with_input() {
    std::thread::spawn(|| {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1);
    });
}

fn end_after(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        std::process::exit(i32::from(TOO_SLOW));
    });
}

/// Sets the resource limits of the process. On systems without such limits, only the wall-clock
/// limit applies.
#[cfg(target_os = "linux")]
fn limit(time: Duration, memory: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let both = |value| Rlimit { current: Some(value), maximum: Some(value) };
    let seconds = time.as_secs().max(1);
    // The soft limit sends SIGXCPU, which indicates the reason; the hard limit sends SIGKILL, which
    // cannot be ignored.
    setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: Some(seconds.saturating_add(1)) })?;
    setrlimit(Resource::Data, both(memory))?;
    setrlimit(Resource::Core, both(0))?;
    setrlimit(Resource::Fsize, both(0))?;
    // The process cannot open files or connections in addition to its input and outputs.
    setrlimit(Resource::Nofile, both(3))?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "fails on other systems")]
fn limit(_time: Duration, _memory: u64) -> io::Result<()> {
    Ok(())
}
