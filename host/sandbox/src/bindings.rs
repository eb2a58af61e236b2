//! What `wit/` becomes in Rust on the host's side. Nothing is written by hand
//! here; the shapes are turned into the protocol's own types by
//! [`crate::conversion`] and [`crate::schema`].

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "provider-plugin",
    imports: { "wardian:plugin/file-mode": async | trappable, default: trappable },
    exports: { default: async },
    with: { "wardian:plugin/file-mode.writable-file": crate::capability::WritableFile },
});
