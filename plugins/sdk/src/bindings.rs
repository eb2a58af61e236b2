//! The bindings that wit-bindgen generates for the world `provider-plugin`.

#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    unused,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "generated"
)]

// In the sandbox, events of the run and of `wasi:http` are waited for together, so they have one type.
#[cfg(target_os = "wasi")]
wit_bindgen::generate!({
    world: "provider-plugin",
    path: "../../wit",
    pub_export_macro: true,
    default_bindings_module: "wardian_sdk::bindings",
    export_macro_name: "export",
    runtime_path: "wardian_sdk::wit_runtime",
    additional_derives: [Clone, PartialEq],
    additional_derives_ignore: ["response"],
    with: { "wasi:io/poll@0.2.12": wasip2::io::poll },
    generate_all,
});

#[cfg(not(target_os = "wasi"))]
wit_bindgen::generate!({
    world: "provider-plugin",
    path: "../../wit",
    pub_export_macro: true,
    default_bindings_module: "wardian_sdk::bindings",
    export_macro_name: "export",
    runtime_path: "wardian_sdk::wit_runtime",
    additional_derives: [Clone, PartialEq],
    additional_derives_ignore: ["response"],
    generate_all,
});
