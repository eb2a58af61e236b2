//! The one wasmtime engine of the process, and how it compiles.

use std::hash::{Hash, Hasher};

use wasmtime::{Config, Engine, OptLevel, WasmBacktraceDetails};

/// Stack for the guest's own frames. Deep recursion ends in a trap.
const GUEST_STACK: usize = 1 << 20;
/// The guest's stack and what host functions need on top of it.
const FIBER_STACK: usize = GUEST_STACK + (1 << 20);

/// An engine for components of WASI 0.2.
///
/// On-demand allocation suits a command line: pools reserve terabytes of address
/// space and fail under `ulimit -v`. A memory's pages come copy-on-write from
/// the compiled artefact, so that an instance costs what it touches.
pub(crate) fn create() -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        // WASI 0.2 knows no concurrent calls; keeping their bookkeeping would
        // make every call several times dearer.
        .concurrency_support(false)
        .wasm_component_model(true)
        .cranelift_opt_level(OptLevel::Speed)
        .parallel_compilation(true)
        .max_wasm_stack(GUEST_STACK)
        .async_stack_size(FIBER_STACK)
        // Traps find their way by frame pointers. Without this each load would
        // register tables with the system's unwinder that nothing reads.
        .native_unwind_info(cfg!(windows))
        // What maps code back to offsets in the component is a tenth of an
        // artefact, and messages name functions only.
        .generate_address_map(false)
        // An environment variable must not change what the engine does.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    Engine::new(&config)
}

/// What compiled code must agree on with the engine that runs it: version,
/// target, settings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compatibility([u8; 32]);

impl Compatibility {
    pub(crate) fn from_engine(engine: &Engine) -> Self {
        let mut hasher = WideHasher(blake3::Hasher::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(*hasher.0.finalize().as_bytes())
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Takes what is hashed as it comes. The 64 bits of [`Hasher::finish`] are too
/// few to tell engines of many versions apart for certain.
struct WideHasher(blake3::Hasher);

impl Hasher for WideHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest.as_bytes()[..8]);
        u64::from_le_bytes(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_made_alike_run_each_others_code() {
        let (one, other) = (create().unwrap(), create().unwrap());
        assert!(Compatibility::from_engine(&one) == Compatibility::from_engine(&other));
    }

    #[test]
    fn an_engine_with_other_settings_does_not() {
        let other = Engine::new(Config::new().concurrency_support(false)).unwrap();
        assert!(Compatibility::from_engine(&create().unwrap()) != Compatibility::from_engine(&other));
    }
}
