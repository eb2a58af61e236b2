//! Compiles components to native code, within time and memory limits.
//!
//! The input of the compiler comes from the author of a plugin, and the compilation of some
//! functions takes superlinear time. Therefore, the host compiles in a separate process
//! ([`CompilerProcess`]) that has system limits, contains no secrets, and ends with the host.
//! Programs that load only their own components, such as tests, compile in their own process
//! ([`InProcess`]).

mod child;
mod process;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wardian_policy::PluginPolicy;

use crate::engine::{self, EngineSettings};
use crate::error_chain::chain;
use crate::function_cache::{Functions, max_new_bytes};
use crate::limits::{Bound, SandboxLimits};

pub use child::{COMPILER_ARGUMENT, run_compiler};
pub use process::CompilerProcess;

/// Compiles components.
pub trait Compiler: fmt::Debug + Send + Sync {
    /// Returns the native code of a component. The caller runs the code, so it must be the output
    /// of wasmtime.
    ///
    /// # Errors
    /// Returns an error if the component is invalid, or a limit is reached.
    fn compile(
        &self,
        source: CompileSource<'_>,
        settings: EngineSettings,
        limits: &CompileLimits,
    ) -> Result<CompiledCode, CompileError>;
}

/// A component that is to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct CompileSource<'a> {
    pub component: &'a [u8],
    /// The functions that an earlier compilation of the same plugin returned; empty if there is none.
    pub functions: &'a [u8],
}

/// The result of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledCode {
    /// The code in wasmtime's serialized form.
    pub code: Vec<u8>,
    /// The component's functions for later compilations of the same plugin; empty if they are those of the
    /// [`CompileSource`].
    pub functions: Vec<u8>,
}

/// Compiles a component. Returns its code and its functions.
fn compile(
    component: &[u8],
    functions: Vec<u8>,
    settings: EngineSettings,
) -> Result<(Vec<u8>, Arc<Functions>), CompileError> {
    let functions = Arc::new(Functions::new(functions, max_new_bytes(component.len())));
    let engine = engine::create_compiling(settings, Arc::clone(&functions));
    let engine = engine.map_err(|error| CompileError::Failed(chain(&error)))?;
    let code = engine.precompile_component(component);
    Ok((code.map_err(|error| CompileError::Invalid(chain(&error)))?, functions))
}

/// The limits of one compilation.
#[derive(Clone, Debug)]
pub struct CompileLimits {
    /// CPU time of all threads together.
    pub(crate) time: Bound<Duration>,
    /// Bytes of memory.
    pub(crate) memory: Bound<u64>,
}

impl CompileLimits {
    pub(crate) fn of_host(host: &SandboxLimits, component: usize) -> Self {
        Self {
            time: Bound::of_host(host.compile_time.saturating_add(time_for(component))),
            memory: Bound::of_host(host.compile_memory.saturating_add(memory_for(component))),
        }
    }

    /// Returns the limits of the host and of a policy, combined.
    pub(crate) fn by_policy(host: &SandboxLimits, policy: &PluginPolicy, component: usize) -> Self {
        let (set, widened) = (&policy.settings().limits, policy.machine_limits());
        let of_host = Self::of_host(host, component);
        Self {
            time: Bound::new(of_host.time.value, set.compile_time.as_ref(), widened.compile_time.is_some()),
            memory: Bound::new(
                of_host.memory.value,
                set.compile_memory.as_ref(),
                widened.compile_memory.is_some(),
            ),
        }
    }
}

/// Returns the time that a component of this many bytes needs in addition to the time of a small
/// component.
fn time_for(component: usize) -> Duration {
    Duration::from_millis(u64::try_from(component >> 20).unwrap_or(u64::MAX).saturating_mul(5_000))
}

/// Returns the memory that a component of this many bytes needs in addition to the memory of a
/// small component.
fn memory_for(component: usize) -> u64 {
    u64::try_from(component).unwrap_or(u64::MAX).saturating_mul(24)
}

/// The reason why a component was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The component is invalid.
    #[error("{0}")]
    Invalid(String),
    /// Compilation took too long.
    #[error("its compilation exceeds {time:?} of CPU time, the compile_time limit{origin}")]
    Time {
        time: Duration,
        /// The policy line that sets the limit.
        origin: String,
    },
    /// Compilation needed too much memory.
    #[error("its compilation exceeds {memory} bytes of memory, the compile_memory limit{origin}")]
    Memory {
        memory: u64,
        /// The policy line that sets the limit.
        origin: String,
    },
    /// The compiler could not be started, or failed.
    #[error("the compiler failed: {0}")]
    Failed(String),
}

impl CompileError {
    fn time(limits: &CompileLimits) -> Self {
        Self::Time { time: limits.time.value, origin: limits.time.origin() }
    }

    fn memory(limits: &CompileLimits) -> Self {
        Self::Memory { memory: limits.memory.value, origin: limits.memory.origin() }
    }
}

/// Compiles in the calling process, without limits on time and memory. Only for components that the
/// program trusts.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

impl Compiler for InProcess {
    fn compile(
        &self,
        source: CompileSource<'_>,
        settings: EngineSettings,
        _limits: &CompileLimits,
    ) -> Result<CompiledCode, CompileError> {
        let (code, changed) = compile(source.component, source.functions.to_vec(), settings)?;
        let mut functions = Vec::new();
        changed.write_changed(&mut functions).map_err(|error| CompileError::Failed(error.to_string()))?;
        Ok(CompiledCode { code, functions })
    }
}
