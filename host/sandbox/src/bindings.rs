//! Rust bindings for the host, generated from `wit/`. [`crate::conversion`] and [`crate::schema`]
//! convert the generated types to the types of `wardian-plugin`.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "provider-plugin",
    imports: {
        "wardian:plugin/file-mode": async | trappable,
        "wardian:plugin/http": async | trappable,
        "wardian:plugin/run": async | trappable,
        "wardian:plugin/shared": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "wardian:plugin/file-mode.writable-file": crate::capability::WritableFile,
        "wardian:plugin/http.response-body": crate::capability::PlainBody,
        "wardian:plugin/http.upload": crate::capability::PlainUpload,
        "wardian:plugin/shared.held-lock": crate::capability::HeldLock,
        "wasi:io": wasmtime_wasi_io::bindings::wasi::io,
    },
});

/// The world of provisioners, which shares its types with the providers' world.
pub(crate) mod provisioner {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provisioner-plugin",
        imports: {
            "wardian:plugin/ui": async | trappable,
            "wardian:plugin/process": async | trappable,
            "wardian:plugin/communicator": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: {
            "wardian:plugin/types": crate::bindings::wardian::plugin::types,
            "wardian:plugin/log": crate::bindings::wardian::plugin::log,
            "wardian:plugin/process.spawner": crate::capability::Spawner,
            "wardian:plugin/process.running-process": crate::capability::RunningProcess,
            "wardian:plugin/communicator.connection": crate::capability::Connection,
            "wardian:plugin/communicator.remote-command": crate::capability::RemoteCommand,
        },
    });
}

/// The export of a provider with state stores, which shares its types with the providers' world.
pub(crate) mod state_store {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "state-store-exports",
        imports: { default: trappable },
        exports: { default: async },
        with: { "wardian:plugin/types": crate::bindings::wardian::plugin::types },
    });
}

/// The exports of the parts of a provider, which share their types with the providers' world. The host
/// loads the exports of each part separately.
pub(crate) mod parts {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provider-parts-exports",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "wardian:plugin/types": crate::bindings::wardian::plugin::types,
            "wardian:plugin/provider-types": crate::bindings::wardian::plugin::provider_types,
        },
    });
}
