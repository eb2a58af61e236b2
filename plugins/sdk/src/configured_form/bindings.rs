//! The bindings that wit-bindgen generates for the world `configured-form-exports`. The types are those of
//! `provider-plugin`.

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

wit_bindgen::generate!({
    world: "configured-form-exports",
    path: "../../wit",
    pub_export_macro: true,
    default_bindings_module: "wardian_sdk::configured_form::bindings",
    export_macro_name: "export_configured_form_world",
    runtime_path: "wardian_sdk::wit_runtime",
    with: {
        "wardian:plugin/types@0.1.1": crate::bindings::wardian::plugin::types,
    },
    generate_all,
});
