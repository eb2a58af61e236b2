//! The cache of single functions across versions of a plugin.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};

use wardian_policy::{PluginPolicy, Policy};
use wardian_sandbox::{
    CacheDirectories, CompileError, CompileLimits, CompileSource, CompiledCode, Compiler, EngineSettings,
    InProcess, Sandbox, SandboxOptions,
};
use wasm_encoder::{
    CodeSection, Component, ExportKind, ExportSection, Function, FunctionSection, Module, ModuleSection,
    TypeSection, ValType,
};

/// The known functions of a compilation, and its result.
type Compilation = (Vec<u8>, CompiledCode);

#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<Compilation>>>);

impl Compiler for Recorder {
    fn compile(
        &self,
        source: CompileSource<'_>,
        settings: EngineSettings,
        limits: &CompileLimits,
    ) -> Result<CompiledCode, CompileError> {
        let compiled = InProcess.compile(source, settings, limits)?;
        self.0.lock().unwrap().push((source.functions.to_vec(), compiled.clone()));
        Ok(compiled)
    }
}

/// A component with one function for each number, which it returns. It is compiled, but is not a plugin.
fn component(numbers: &[i64]) -> Vec<u8> {
    let (mut types, mut functions) = (TypeSection::new(), FunctionSection::new());
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    types.ty().function([ValType::I64], [ValType::I64]);
    for (index, number) in (0..).zip(numbers) {
        functions.function(0);
        exports.export(&format!("f{index}"), ExportKind::Func, index);
        let mut body = Function::new([]);
        body.instructions().local_get(0).i64_const(*number).i64_mul().end();
        code.function(&body);
    }
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&exports).section(&code);
    let mut component = Component::new();
    component.section(&ModuleSection(&module));
    component.finish()
}

struct Place {
    _root: tempfile::TempDir,
    cache: CacheDirectories,
    compilations: Recorder,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let cache = CacheDirectories { code: root.path().join("cache"), key: root.path().join("state") };
        Self { _root: root, cache, compilations: Recorder::default() }
    }

    /// Loads a version of a plugin, and returns the known functions and the result of its compilation.
    fn compile(&self, plugin: &str, component: &[u8], settings: EngineSettings) -> Compilation {
        let options = SandboxOptions {
            cache: Some(self.cache.clone()),
            compiler: Arc::new(self.compilations.clone()),
            settings,
            ..SandboxOptions::default()
        };
        let policy = policy(plugin);
        let loaded = Sandbox::new(options).unwrap().load(plugin, component, None, Some(&policy), &|_| ());
        assert!(loaded.is_err(), "the component exports no plugin");
        self.compilations.0.lock().unwrap().pop().unwrap()
    }
}

fn policy(plugin: &str) -> PluginPolicy {
    Policy::default().for_plugin(&plugin.parse().unwrap())
}

const CLOUD: &str = "example.com/acme/cloud";
const STANDARD: EngineSettings = EngineSettings::Standard;

#[test]
fn functions_are_reused_by_the_next_version_of_the_plugin() {
    let place = Place::new();
    let numbers: Vec<i64> = (1_000..2_000).collect();
    let (known, first) = place.compile(CLOUD, &component(&numbers), STANDARD);
    assert!(known.is_empty() && !first.functions.is_empty());

    let mut changed = numbers.clone();
    changed[7] = 7;
    let second_version = component(&changed);
    let (known, second) = place.compile(CLOUD, &second_version, STANDARD);
    assert_eq!(known, first.functions);
    assert_ne!(second.functions, first.functions);

    // The code is that of a compilation without known functions.
    let (known, fresh) = Place::new().compile(CLOUD, &second_version, STANDARD);
    assert!(known.is_empty());
    assert!(fresh.code == second.code, "the code depends on known functions");

    // The third version only omits functions. Those that a thread compiles first can have another key.
    changed.truncate(900);
    let (known, third) = place.compile(CLOUD, &component(&changed), STANDARD);
    assert_eq!(known, second.functions);
    let (second, third) = (entries(&second.functions), entries(&third.functions));
    assert!(third.len() >= 900, "{} functions were stored", third.len());
    let compiled = third.difference(&second).count();
    assert!(compiled <= 450, "{compiled} of 900 known functions were compiled");
}

/// Returns the keys and the codes of a list of functions.
fn entries(list: &[u8]) -> BTreeSet<(&[u8], &[u8])> {
    let mut entries = BTreeSet::new();
    let mut rest = list;
    while let Some((header, after)) = rest.split_first_chunk::<36>() {
        let length = u32::from_le_bytes(*header.last_chunk().unwrap()) as usize;
        let (code, after) = after.split_at(length);
        entries.insert((&header[..32], code));
        rest = after;
    }
    assert!(rest.is_empty());
    entries
}

#[test]
fn functions_of_another_plugin_are_not_used() {
    let place = Place::new();
    let component = component(&[1, 2, 3]);
    assert!(!place.compile(CLOUD, &component, STANDARD).1.functions.is_empty());
    // The entry of the component itself is not used either.
    for entry in fs::read_dir(&place.cache.code).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_str().unwrap().starts_with("functions-") {
            fs::remove_file(path).unwrap();
        }
    }
    let (known, _) = place.compile("example.com/acme/other", &component, STANDARD);
    assert!(known.is_empty());
    let (known, _) = place.compile(CLOUD, &component, EngineSettings::Development);
    assert!(known.is_empty(), "code of other settings was used");
}

#[test]
fn changed_functions_are_not_used() {
    let place = Place::new();
    place.compile(CLOUD, &component(&[1, 2, 3]), STANDARD);
    let functions = fs::read_dir(&place.cache.code).unwrap().map(|entry| entry.unwrap().path());
    let path = functions.into_iter().find(|path| path.to_str().unwrap().contains("functions-")).unwrap();
    let mut stored = fs::read(&path).unwrap();
    let last = stored.len() - 1;
    stored[last] ^= 1;
    fs::write(&path, stored).unwrap();
    let (known, compiled) = place.compile(CLOUD, &component(&[1, 2, 4]), STANDARD);
    assert!(known.is_empty());
    assert!(compiled.code == Place::new().compile(CLOUD, &component(&[1, 2, 4]), STANDARD).1.code);
}

#[test]
fn invalid_functions_are_compiled_again() {
    let place = Place::new();
    let version = component(&[1, 2, 3]);
    let (_, whole) = place.compile(CLOUD, &version, STANDARD);
    let mut damaged = whole.functions.clone();
    damaged.truncate(damaged.len() - 1);
    let recorder = Damaging { list: damaged };
    let options = SandboxOptions { compiler: Arc::new(recorder), ..SandboxOptions::default() };
    let loaded = Sandbox::new(options).unwrap().load(CLOUD, &version, None, Some(&policy(CLOUD)), &|_| ());
    assert!(loaded.is_err());
}

/// Compiles with a list of functions that was damaged, and compares the code.
#[derive(Debug)]
struct Damaging {
    list: Vec<u8>,
}

impl Compiler for Damaging {
    fn compile(
        &self,
        source: CompileSource<'_>,
        settings: EngineSettings,
        limits: &CompileLimits,
    ) -> Result<CompiledCode, CompileError> {
        let fresh = InProcess.compile(source, settings, limits)?;
        let functions = &*self.list;
        let compiled = InProcess.compile(CompileSource { functions, ..source }, settings, limits)?;
        assert!(compiled.code == fresh.code);
        Ok(compiled)
    }
}
