//! The process's single wasmtime engine, and its compilation settings.

use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::Arc;

use wasmtime::{Config, Engine, OptLevel, WasmBacktraceDetails};

use crate::function_cache::Functions;

/// Stack size for the guest's own frames. Deeper recursion traps.
const GUEST_STACK: usize = 1 << 20;
/// Stack size for the guest and the host functions that it calls.
const FIBER_STACK: usize = GUEST_STACK + (1 << 20);

/// Maximum number of frames of a backtrace. The frames of a panic and of the standard library's iterators
/// can precede those of the author's functions, which are shown for a plugin under development.
const MAX_FRAMES: Option<NonZeroUsize> = NonZeroUsize::new(20);
const MAX_DEVELOPMENT_FRAMES: Option<NonZeroUsize> = NonZeroUsize::new(256);

/// The purpose of an engine, which determines its compilation settings. Code that was compiled with one
/// of them cannot be run with the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineSettings {
    /// Code is small and fast.
    #[default]
    Standard,
    /// Code is compiled quickly, and contains the map from its addresses to offsets in the component, so
    /// that backtraces contain files and lines.
    Development,
}

/// Creates an engine for components of WASI 0.2.
///
/// On-demand allocation suits a command-line program, since pools reserve terabytes of address
/// space and fail under `ulimit -v`. A memory's pages are mapped copy-on-write from the compiled
/// artifact, so an instance uses only the pages that it accesses.
pub(crate) fn create(settings: EngineSettings) -> wasmtime::Result<Engine> {
    Engine::new(&config(settings))
}

/// Creates an engine with the same settings that reuses functions of earlier compilations.
pub(crate) fn create_compiling(
    settings: EngineSettings,
    functions: Arc<Functions>,
) -> wasmtime::Result<Engine> {
    Engine::new(config(settings).enable_incremental_compilation(functions)?)
}

fn config(settings: EngineSettings) -> Config {
    let is_development = settings == EngineSettings::Development;
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        // WASI 0.2 has no concurrent calls, and support for them would make each call several times
        // as expensive.
        .concurrency_support(false)
        .wasm_component_model(true)
        .cranelift_opt_level(if is_development { OptLevel::None } else { OptLevel::Speed })
        .parallel_compilation(true)
        .max_wasm_stack(GUEST_STACK)
        .async_stack_size(FIBER_STACK)
        // Traps are unwound with frame pointers. Without this setting, each load would register
        // tables with the system's unwinder, although no code uses them.
        .native_unwind_info(cfg!(windows))
        // The map from code addresses to offsets in the component takes up a tenth of an artifact.
        // Only backtraces of plugins under development need it.
        .generate_address_map(is_development)
        .wasm_backtrace_max_frames(if is_development { MAX_DEVELOPMENT_FRAMES } else { MAX_FRAMES })
        // An environment variable must not change the engine's behaviour.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config
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
        let (one, other) =
            (create(EngineSettings::Standard).unwrap(), create(EngineSettings::Standard).unwrap());
        assert!(Compatibility::from_engine(&one) == Compatibility::from_engine(&other));
    }

    #[test]
    fn engine_that_reuses_functions_is_compatible() {
        let functions = Arc::new(Functions::new(Vec::new(), 0));
        let compiling = create_compiling(EngineSettings::Standard, functions).unwrap();
        assert!(
            Compatibility::from_engine(&create(EngineSettings::Standard).unwrap())
                == Compatibility::from_engine(&compiling)
        );
    }

    #[test]
    fn engine_for_development_is_incompatible_with_the_standard_one() {
        let [standard, development] =
            [EngineSettings::Standard, EngineSettings::Development].map(|settings| create(settings).unwrap());
        assert!(Compatibility::from_engine(&standard) != Compatibility::from_engine(&development));
    }

    #[test]
    fn engine_with_different_settings_is_incompatible() {
        let other = Engine::new(Config::new().concurrency_support(false)).unwrap();
        assert!(
            Compatibility::from_engine(&create(EngineSettings::Standard).unwrap())
                != Compatibility::from_engine(&other)
        );
    }
}
