//! Starts and controls the compiler process.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;

use super::child::{COMPILER_ARGUMENT, DEVELOPMENT_ARGUMENT, INVALID, TOO_SLOW};
use super::{CompileError, CompileLimits, CompileSource, CompiledCode, Compiler};
use crate::engine::EngineSettings;
use crate::function_cache::max_new_bytes;
use crate::output::printable;

/// Maximum size of native code and functions. Compiled code is a few times as large as its component.
const MAX_CODE: u64 = 1 << 30;
/// Maximum length of an error message.
const MAX_MESSAGE: u64 = 16 << 10;
/// Maximum number of threads. Each thread requires memory, and more threads would save little time.
const MAX_THREADS: usize = 8;

/// Compiles in a separate process. Its program must call [`run_compiler`](super::run_compiler) if
/// the first argument is [`COMPILER_ARGUMENT`].
#[derive(Clone, Debug)]
pub struct CompilerProcess {
    program: PathBuf,
}

impl CompilerProcess {
    /// Returns a compiler that starts `program`. It must be the calling program itself, since the
    /// host runs the compiler's output.
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    fn start(
        &self,
        source: CompileSource<'_>,
        settings: EngineSettings,
        limits: &CompileLimits,
    ) -> io::Result<Child> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let memory = limits.memory.value.saturating_add(memory_of_functions(source));
        let mut command = Command::new(&self.program);
        command
            .arg(COMPILER_ARGUMENT)
            .arg(limits.time.value.as_millis().to_string())
            .arg(memory.to_string())
            .args((settings == EngineSettings::Development).then_some(DEVELOPMENT_ARGUMENT))
            .env_clear()
            .env("RAYON_NUM_THREADS", threads.to_string())
            // The memory limit counts committed memory, so the allocator must not commit in advance.
            .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // An interrupt from the terminal must reach only the host, which decides how to react.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn()
    }
}

impl Compiler for CompilerProcess {
    fn compile(
        &self,
        source: CompileSource<'_>,
        settings: EngineSettings,
        limits: &CompileLimits,
    ) -> Result<CompiledCode, CompileError> {
        let failed = |error: io::Error| CompileError::Failed(error.to_string());
        let mut child = self.start(source, settings, limits).map_err(failed)?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(CompileError::Failed("it has no input or output".to_owned()));
        };
        let (code, message, input) = thread::scope(|scope| {
            // Unless the child fails, it reads all of its input before it writes any output.
            let writer = scope.spawn(|| send(input, source));
            let reader = scope.spawn(|| {
                let mut message = Vec::new();
                let _ = errors.take(MAX_MESSAGE).read_to_end(&mut message);
                message
            });
            let mut code = Vec::new();
            let read = output.take(MAX_CODE + 1).read_to_end(&mut code).map(|_| code);
            (read, reader.join().unwrap_or_default(), writer.join().ok())
        });
        let status = end(&mut child, code.as_ref().map_or(0, Vec::len)).map_err(failed)?;
        drop(input);
        if status.success() {
            let output = code.map_err(failed)?;
            if u64::try_from(output.len()).unwrap_or(u64::MAX) > MAX_CODE {
                return Err(CompileError::Failed(format!("its code is larger than {MAX_CODE} bytes")));
            }
            return split(output)
                .ok_or_else(|| CompileError::Failed("its output is not complete".to_owned()));
        }
        Err(explain(status, &String::from_utf8_lossy(&message), limits))
    }
}

/// Returns the memory for known and new functions, which is not part of the limit, so that known functions
/// never cause an error.
fn memory_of_functions(source: CompileSource<'_>) -> u64 {
    let new = max_new_bytes(source.component.len());
    let index = source.functions.len() / 8;
    u64::try_from(source.functions.len().saturating_mul(2) + index + new).unwrap_or(u64::MAX)
}

/// Sends the component and the known functions, and returns the child's input, which must stay open until
/// the child has ended. If the child ends early, its exit status explains the reason.
fn send(mut input: ChildStdin, source: CompileSource<'_>) -> ChildStdin {
    let mut part = |bytes: &[u8]| {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        input.write_all(&length.to_le_bytes()).and_then(|()| input.write_all(bytes))
    };
    let _ = part(source.component).and_then(|()| part(source.functions));
    input
}

/// Splits the child's output: the length of the code, the code, the functions.
fn split(mut output: Vec<u8>) -> Option<CompiledCode> {
    let length = usize::try_from(u64::from_le_bytes(*output.first_chunk()?)).ok()?;
    let end = length.checked_add(8).filter(|end| *end <= output.len())?;
    let functions = output.split_off(end);
    output.drain(..8);
    Some(CompiledCode { code: output, functions })
}

/// Waits for the child to end, and kills it first if its output is too long.
fn end(child: &mut Child, code: usize) -> io::Result<ExitStatus> {
    if u64::try_from(code).unwrap_or(u64::MAX) > MAX_CODE {
        child.kill()?;
    }
    child.wait()
}

fn explain(status: ExitStatus, message: &str, limits: &CompileLimits) -> CompileError {
    // The standard library and the system print these messages if memory cannot be allocated.
    let lacks_memory = ["memory allocation of", "Cannot allocate memory", "os error 12"]
        .iter()
        .any(|part| message.contains(part));
    if lacks_memory {
        return CompileError::memory(limits);
    }
    if status.code() == Some(i32::from(TOO_SLOW)) || stopped_by_system(status) {
        return CompileError::time(limits);
    }
    let message = printable(message.trim());
    if status.code() == Some(i32::from(INVALID)) {
        return CompileError::Invalid(message);
    }
    let last = message.lines().next_back().unwrap_or_default();
    CompileError::Failed(format!("{status}: {last}"))
}

/// Whether the system killed the process because it exceeded its CPU time.
#[cfg(target_os = "linux")]
fn stopped_by_system(status: ExitStatus) -> bool {
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    signal == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(target_os = "linux"))]
fn stopped_by_system(_status: ExitStatus) -> bool {
    false
}
