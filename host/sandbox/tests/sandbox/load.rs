//! Bytes that are not a provider, and components with imports that are not allowed.

use proptest::prelude::*;
use wardian_sandbox::{Sandbox, SandboxOptions};

use crate::guest::{bytes, sandbox, short};

const COMPONENT_HEADER: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
const MODULE_HEADER: [u8; 8] = [0, b'a', b's', b'm', 1, 0, 0, 0];

fn load_error(bytes: &[u8]) -> String {
    match uncached().load("acme/x", bytes, None, None, &|_| {}) {
        Ok(_) => panic!("it was loaded"),
        Err(error) => error.to_string(),
    }
}

fn uncached() -> Sandbox {
    Sandbox::new(SandboxOptions::default()).unwrap()
}

#[test]
fn error_names_the_format_of_a_file_that_is_not_a_component() {
    let mut module = MODULE_HEADER.to_vec();
    assert!(load_error(&module).contains("core WebAssembly module"));
    module[4] = 9;
    assert!(load_error(&module).contains("different version"));
    for (bytes, part) in [
        (&b""[..], "empty"),
        (b"\x7fELF\x02\x01", "native program"),
        (b"MZ\x90", "Windows"),
        (b"PK\x03\x04", "ZIP"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"terraform {}", "has no WebAssembly header"),
        (b"(component)", "has no WebAssembly header"),
    ] {
        let error = load_error(bytes);
        assert!(error.starts_with("acme/x is not a WebAssembly component"), "{error}");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn component_without_exports_is_not_a_provider() {
    assert_eq!(
        load_error(&COMPONENT_HEADER),
        "acme/x is not a provider: it does not export wardian:plugin/provider@0.1, and exports nothing else. \
         Build it for the world \"provider-plugin\" of wardian:plugin, for example with \
         `wardian_sdk::export_provider!`"
    );
}

/// What toolchains for JavaScript emit by default.
#[test]
fn component_with_asynchronous_functions_has_a_remedy() {
    let mut component = wasm_encoder::Component::new();
    let mut functions = wasm_encoder::CanonicalFunctionSection::new();
    functions.task_cancel();
    component.section(&functions);
    let error = load_error(&component.finish());
    assert!(error.starts_with("acme/x was built for the asynchronous calls of WASI 0.3"), "{error}");
    assert!(error.contains("task.cancel") && error.contains("componentize-qjs --sync"), "{error}");
}

/// Imports only determine which accesses a component can request; each access is checked when it
/// occurs.
#[test]
fn component_with_network_imports_loads_without_a_grant() {
    let loaded = sandbox(short()).load("acme/x", &bytes("hostile-network"), None, None, &|_| {});
    assert!(loaded.is_ok(), "{:?}", loaded.err());
}

#[test]
fn truncated_component_is_invalid() {
    let whole = bytes("hostile");
    for length in [8, 9, 100, 1_000, whole.len() / 2, whole.len() - 1] {
        let error = load_error(&whole[..length]);
        let expected = if length == 8 { "is not a provider" } else { "is not a valid WebAssembly" };
        assert!(error.contains(expected), "{length}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_an_error(tail in prop::collection::vec(any::<u8>(), 0..400), kind in 0..3) {
        let mut bytes = match kind {
            0 => Vec::new(),
            1 => MODULE_HEADER.to_vec(),
            _ => COMPONENT_HEADER.to_vec(),
        };
        bytes.extend(tail);
        load_error(&bytes);
    }

    /// Tests truncated copies of a real component, and copies with a few changed bytes.
    #[test]
    fn damaged_components_are_an_error(
        length in 20_usize..20_000,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = bytes("hostile");
        bytes.truncate(length);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        load_error(&bytes);
    }
}
