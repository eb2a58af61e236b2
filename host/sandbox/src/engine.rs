//! The process's single wasmtime engine, and its compilation settings.

use std::hash::{Hash, Hasher};

use wasmtime::{Config, Engine, OptLevel, WasmBacktraceDetails};

/// Stack size for the guest's own frames. Deeper recursion traps.
const GUEST_STACK: usize = 1 << 20;
/// Stack size for the guest and the host functions that it calls.
const FIBER_STACK: usize = GUEST_STACK + (1 << 20);

/// Creates an engine for components of WASI 0.2.
///
/// On-demand allocation suits a command-line program, since pools reserve terabytes of address
/// space and fail under `ulimit -v`. A memory's pages are mapped copy-on-write from the compiled
/// artifact, so an instance uses only the pages that it accesses.
pub(crate) fn create() -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        // WASI 0.2 has no concurrent calls, and support for them would make each call several times
        // as expensive.
        .concurrency_support(false)
        .wasm_component_model(true)
        .cranelift_opt_level(OptLevel::Speed)
        .parallel_compilation(true)
        .max_wasm_stack(GUEST_STACK)
        .async_stack_size(FIBER_STACK)
        // Traps are unwound with frame pointers. Without this setting, each load would register
        // tables with the system's unwinder, although no code uses them.
        .native_unwind_info(cfg!(windows))
        // The map from code addresses to offsets in the component takes up a tenth of an artifact.
        // It is not needed, because messages contain only function names.
        .generate_address_map(false)
        // An environment variable must not change the engine's behaviour.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    Engine::new(&config)
}

/// A digest of all properties that must be equal in the engine that compiled the code and the
/// engine that runs it: version, target, settings.
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

/// An incremental hasher with 256 bits. The 64 bits of [`Hasher::finish`] are too few to reliably
/// distinguish the engines of many versions.
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
    fn equally_configured_engines_are_compatible() {
        let (one, other) = (create().unwrap(), create().unwrap());
        assert!(Compatibility::from_engine(&one) == Compatibility::from_engine(&other));
    }

    #[test]
    fn engine_with_different_settings_is_incompatible() {
        let other = Engine::new(Config::new().concurrency_support(false)).unwrap();
        assert!(Compatibility::from_engine(&create().unwrap()) != Compatibility::from_engine(&other));
    }
}
