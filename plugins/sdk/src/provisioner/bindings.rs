//! The bindings that wit-bindgen generates for the world `provisioner-plugin`. For interfaces that
//! are in both worlds, the bindings of `provider-plugin` are used.

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
    world: "provisioner-plugin",
    path: "../../wit",
    pub_export_macro: true,
    default_bindings_module: "wardian_sdk::provisioner::bindings",
    export_macro_name: "export_provisioner_world",
    runtime_path: "wardian_sdk::wit_runtime",
    with: {
        "wardian:plugin/types@0.1.1": crate::bindings::wardian::plugin::types,
        "wardian:plugin/log@0.1.1": crate::bindings::wardian::plugin::log,
    },
    generate_all,
});
