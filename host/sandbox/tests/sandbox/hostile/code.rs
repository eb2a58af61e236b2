//! Files that are not plugins, components with imports that are not offered, and compiled code
//! that was tampered with.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use wardian_sandbox::{CacheDirectories, Grants, LoadEvent, Sandbox, SandboxOptions};
use wasmparser::{
    ComponentAlias, ComponentExport, ComponentExternalKind, ComponentImport, ComponentOuterAliasKind,
    ComponentTypeRef, Parser, Payload,
};

use super::{Attempt, is_well, limits};
use crate::guest::{bytes, embedded, load, sandbox, short};

/// The first bytes of every component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Number of bytes of an entry that are changed, one at a time.
const MAX_CHANGED: usize = 1_024;

pub(super) async fn attempts() -> Vec<Attempt> {
    let mut attempts = files().await;
    attempts.push(tables().await);
    attempts.push(changed_code());
    attempts.push(open_cache());
    attempts
}

/// Appends a section to a component.
fn with(section: &[u8]) -> Vec<u8> {
    let mut bytes = bytes("hostile");
    bytes.extend(section);
    bytes
}

/// Returns a section that imports an empty interface.
fn extra_import(name: &str) -> Vec<u8> {
    let (types, _) = counted(&bytes("hostile"));
    // The type of an instance without exports, and the import of such an instance.
    let mut end = vec![7, 3, 1, 0x42, 0];
    let mut import = vec![1, 0];
    import.extend(leb(u32::try_from(name.len()).unwrap()));
    import.extend(name.as_bytes());
    import.push(5);
    import.extend(leb(types));
    end.push(10);
    end.extend(leb(u32::try_from(import.len()).unwrap()));
    end.extend(import);
    with(&end)
}

/// Counts the types and core modules that a component defines.
fn counted(bytes: &[u8]) -> (u32, u32) {
    let (mut types, mut modules, mut depth) = (0, 0, 0_u32);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } => {
                modules += u32::from(depth == 0);
                depth += 1;
            }
            Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentTypeSection(section) if depth == 0 => types += section.count(),
            Payload::ComponentImportSection(section) if depth == 0 => {
                let is_type = |one: &ComponentImport<'_>| matches!(one.ty, ComponentTypeRef::Type(_));
                types += count(section.into_iter().map(Result::unwrap).filter(is_type));
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                let is_type = |one: &ComponentExport<'_>| one.kind == ComponentExternalKind::Type;
                types += count(section.into_iter().map(Result::unwrap).filter(is_type));
            }
            Payload::ComponentAliasSection(section) if depth == 0 => {
                let aliases: Vec<ComponentAlias<'_>> = section.into_iter().map(Result::unwrap).collect();
                types += count(aliases.iter().filter(|alias| is_alias_of_type(alias)));
            }
            _ => {}
        }
    }
    (types, modules)
}

fn is_alias_of_type(alias: &ComponentAlias<'_>) -> bool {
    matches!(
        alias,
        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Type, .. }
            | ComponentAlias::Outer { kind: ComponentOuterAliasKind::Type, .. }
    )
}

fn count<T>(all: impl Iterator<Item = T>) -> u32 {
    u32::try_from(all.count()).unwrap()
}

/// Encodes a number as LEB128.
fn leb(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

async fn files() -> Vec<Attempt> {
    let whole = bytes("hostile");
    let mut torn = whole.clone();
    torn.truncate(whole.len() / 2);
    let mut damaged = whole.clone();
    let at = damaged.len() / 3;
    damaged[at..at + 64].fill(0xff);
    let tries: [(&str, Vec<u8>); 11] = [
        ("an empty file", Vec::new()),
        ("a native program", b"\x7fELF\x02\x01".to_vec()),
        ("a core module", b"\0asm\x01\0\0\0".to_vec()),
        ("a component with nothing in it", COMPONENT.to_vec()),
        ("half of a component", torn),
        ("a component without its last byte", whole[..whole.len() - 1].to_vec()),
        ("a component with damage in it", damaged),
        ("a component of another world", embedded("local-exec")),
        ("an import of sockets of another version", extra_import("wasi:sockets/tcp@9.0.0")),
        ("an import of threads", extra_import("wasi:thread/spawn@0.2.0")),
        ("an import of what provisioners have", extra_import("wardian:plugin/process@0.1.0")),
    ];
    let honest = load(limits()).provider(Grants::nothing());
    let mut attempts = Vec::new();
    for (tried, bytes) in tries {
        let loaded = uncached().load("acme/hostile", &bytes, None, None, &|_| {});
        let got = loaded.as_ref().map_or_else(ToString::to_string, |_| "it was loaded".to_owned());
        let names_it = !tried.starts_with("an import")
            || ["tcp@9", "thread/spawn", "plugin/process"].iter().any(|name| got.contains(name));
        let held = loaded.is_err() && names_it && is_well(&*honest).await;
        attempts.push(Attempt::new("code", tried, got, held));
    }
    let provider = sandbox(short()).load_provisioner("acme/hostile", &whole, None, None, &|_| {});
    let got = provider.as_ref().map_or_else(ToString::to_string, |_| "it was loaded".to_owned());
    attempts.push(Attempt::new("code", "a provider as a provisioner", got, provider.is_err()));
    attempts
}

fn uncached() -> Sandbox {
    Sandbox::new(SandboxOptions::default()).unwrap()
}

/// A provider with a module whose table has sixteen million elements.
async fn tables() -> Attempt {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    let mut table = vec![1, 0x70, 0];
    table.extend(leb(16 << 20));
    module.push(4);
    module.extend(leb(u32::try_from(table.len()).unwrap()));
    module.extend(table);
    let (_, modules) = counted(&bytes("hostile"));
    let mut section = vec![1];
    section.extend(leb(u32::try_from(module.len()).unwrap()));
    section.extend(module);
    let mut instance = vec![1, 0];
    instance.extend(leb(modules));
    instance.push(0);
    section.push(2);
    section.extend(leb(u32::try_from(instance.len()).unwrap()));
    section.extend(instance);
    let loaded = uncached().load("acme/hostile", &with(&section), None, None, &|_| {});
    let honest = load(limits()).provider(Grants::nothing());
    let (got, held) = match loaded {
        Ok(plugin) => {
            let response = crate::guest::plan(&*plugin.provider(Grants::nothing()), "hostile_honest").await;
            let got = response.diagnostics.first().map(|told| format!("{}: {}", told.summary, told.detail));
            (got.unwrap_or_default(), response.planned_state.is_none())
        }
        Err(error) => (error.to_string(), false),
    };
    let held = held && got.contains("table") && is_well(&*honest).await;
    Attempt::new("limits", "a table of 16,777,216 elements", got, held)
}

/// A cache with an entry for the smallest possible component.
struct Cache {
    _root: tempfile::TempDir,
    directories: CacheDirectories,
}

impl Cache {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let directories =
            CacheDirectories { code: root.path().join("cache/code"), key: root.path().join("state") };
        Self { _root: root, directories }
    }

    fn sandbox(&self) -> Sandbox {
        let options = SandboxOptions { cache: Some(self.directories.clone()), ..SandboxOptions::default() };
        Sandbox::new(options).unwrap()
    }
}

/// Whether loading compiled the component. In that case, the cached entry was not run.
fn compiles(sandbox: &Sandbox) -> bool {
    let compiled = Cell::new(false);
    let tell = |event| compiled.set(compiled.get() || matches!(event, LoadEvent::Compiled { .. }));
    // The component has no exports, so it is not a plugin; this is detected after compilation.
    let _ = sandbox.load("acme/empty", COMPONENT, None, None, &tell);
    compiled.get()
}

/// Flips bytes of an entry, one at a time.
fn changed_code() -> Attempt {
    let cache = Cache::new();
    let sandbox = cache.sandbox();
    let first = (compiles(&sandbox), compiles(&sandbox));
    let entry = fs::read_dir(&cache.directories.code).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&entry).unwrap();
    let step = whole.len().div_ceil(MAX_CHANGED);
    let (mut changed, mut run) = (0, 0);
    for at in (0..whole.len()).step_by(step) {
        let mut code = whole.clone();
        code[at] ^= 1 << (at % 8);
        fs::write(&entry, &code).unwrap();
        changed += 1;
        run += usize::from(!compiles(&sandbox));
    }
    let got = format!("{changed} of {} bytes changed, {run} entries run", whole.len());
    Attempt::new("code", "each byte of compiled code flipped", got, first == (true, false) && run == 0)
}

/// A cache to which other users can write is not read.
fn open_cache() -> Attempt {
    let cache = Cache::new();
    compiles(&cache.sandbox());
    fs::set_permissions(&cache.directories.code, fs::Permissions::from_mode(0o777)).unwrap();
    let sandbox = cache.sandbox();
    let got = sandbox.cache_refusal().map_or("it was used".to_owned(), ToString::to_string);
    let held = sandbox.cache_refusal().is_some() && compiles(&sandbox);
    Attempt::new("code", "a cache that others can write", got, held)
}
