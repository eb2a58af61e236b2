//! Loads a component's bytes as executable code.

use std::time::Instant;

use sha2::{Digest as _, Sha256};
use wardian_address::ProviderAddress;
use wardian_component::{CheckError, ComponentLimits};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::code_cache::CodeCache;
use crate::compiler::{CompileError, CompileLimits, CompileSource, CompiledCode, Compiler};
use crate::engine::EngineSettings;
use crate::error::LoadError;
use crate::error_chain::chain;
use crate::output::printable;

/// The SHA-256 of a component.
pub type ComponentDigest = [u8; 32];

/// An event during the loading of plugins.
#[derive(Clone, Debug)]
pub enum LoadEvent {
    /// There is no cached code, so the component is being compiled. This takes a while.
    Compiling { plugin: String, bytes: usize },
    /// Compilation has finished.
    Compiled { plugin: String, took: std::time::Duration },
}

/// Returns the compiled code of a component, from the code cache if it has an entry.
///
/// `known` is the digest of `bytes`, if the caller has verified it, as for an embedded component.
/// In that case, the bytes are read only if the code is not cached.
///
/// `address` determines whose functions are reused; without it, all functions are compiled.
pub(crate) fn read(
    engine: &Engine,
    cache: Option<&CodeCache>,
    (plugin, address): (&str, Option<&ProviderAddress>),
    bytes: &[u8],
    digest: &ComponentDigest,
    (compiler, settings, limits): (&dyn Compiler, EngineSettings, &CompileLimits),
    tell: &dyn Fn(LoadEvent),
) -> Result<Component, LoadError> {
    if let Some(component) = cache.and_then(|cache| cache.get(digest)).and_then(|entry| {
        deserialize(engine, entry.code())
            .inspect_err(|error| tracing::warn!(plugin, %error, "cannot use compiled code"))
            .ok()
    }) {
        return Ok(component);
    }
    check_kind(plugin, bytes)?;
    check_size(plugin, bytes)?;
    tell(LoadEvent::Compiling { plugin: plugin.to_owned(), bytes: bytes.len() });
    let started = Instant::now();
    let functions = cache.zip(address).map(|(cache, address)| cache.functions(address)).unwrap_or_default();
    let source = CompileSource { component: bytes, functions: &functions };
    let CompiledCode { code, functions } =
        compiler.compile(source, settings, limits).map_err(|error| match error {
            CompileError::Invalid(reason) => LoadError::invalid(plugin.to_owned(), reason),
            reason => LoadError::Compile { plugin: plugin.to_owned(), reason },
        })?;
    let component = deserialize(engine, &code).map_err(|error| LoadError::Compile {
        plugin: plugin.to_owned(),
        reason: CompileError::Failed(chain(&error)),
    })?;
    tell(LoadEvent::Compiled { plugin: plugin.to_owned(), took: started.elapsed() });
    if let Some(cache) = cache {
        let mut stored = cache.put(digest, &code);
        if let Some(address) = address.filter(|_| !functions.is_empty()) {
            stored = stored.and(cache.put_functions(address, &functions));
        }
        // Without the entries, the next run only compiles the component again.
        if let Err(error) = stored {
            tracing::warn!(%error, "cannot store compiled code");
        }
    }
    Ok(component)
}

#[expect(
    unsafe_code,
    reason = "wasmtime cannot check that code is its own output; the callers have checked it"
)]
fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes must be the unchanged output of `Engine::precompile_component`. Either a
    // `Compiler`, which runs this program's own code, has just returned them, or they are from an
    // `Entry`. An `Entry` exists only if a message authentication code (MAC) of exactly these bytes
    // in memory was verified. The MAC cannot be computed without this user's key, and the key is
    // used only for the output of a `Compiler`.
    unsafe { Component::deserialize(engine, code) }
}

/// Returns a component's digest.
pub(crate) fn digest(bytes: &[u8]) -> ComponentDigest {
    Sha256::digest(bytes).into()
}

/// Rejects a component whose expanded form exceeds a limit, before it is expanded.
fn check_size(plugin: &str, bytes: &[u8]) -> Result<(), LoadError> {
    let plugin = || plugin.to_owned();
    match wardian_component::check(bytes, &ComponentLimits::default()) {
        Ok(_) => Ok(()),
        Err(CheckError::Invalid(reason)) => Err(LoadError::invalid(plugin(), printable(&reason))),
        Err(error) => Err(LoadError::TooLarge { plugin: plugin(), reason: error.to_string() }),
    }
}

/// Recognizes formats that users confuse with components, to report a better message than a parser
/// would.
fn check_kind(plugin: &str, bytes: &[u8]) -> Result<(), LoadError> {
    let found = match bytes {
        [b'\0', b'a', b's', b'm', version @ ..] => match version {
            [0x0d, 0, 1, 0, ..] => return Ok(()),
            [1, 0, 0, 0, ..] => {
                "it is a core WebAssembly module; a plugin has to be built as a component \
                 (for Rust: for the target wasm32-wasip2)"
            }
            _ => "it is WebAssembly of a different version",
        },
        [] => "it is empty",
        [0x7f, b'E', b'L', b'F', ..] => "it is a native program or library",
        [b'M', b'Z', ..] => "it is a native program for Windows",
        [b'P', b'K', ..] => "it is a ZIP archive",
        [0x1f, 0x8b, ..] => "it is compressed with gzip",
        _ => "it has no WebAssembly header",
    };
    Err(LoadError::NotAComponent { plugin: plugin.to_owned(), found: found.to_owned() })
}
