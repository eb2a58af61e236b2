//! A client for OCI registries, and the layouts of plugins and modules in them.
