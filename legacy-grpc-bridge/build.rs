//! Generates Rust code from the protobuf files of the plugin protocol.
//!
//! `protox` compiles the description, so `protoc` is not needed. Each RPC becomes a constant with
//! its path and message types, which are sufficient for callers. A client with a function for each
//! RPC would have to be written twice, for protocols 5 and 6, although only the names differ.

use std::fmt::Write as _;

use prost_build::{Service, ServiceGenerator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = ["common.proto", "tfplugin5.proto", "tfplugin6.proto", "plugin.proto"];
    let described = protox::compile(files, ["proto"])?;
    let mut config = prost_build::Config::new();
    config.bytes(["."]).service_generator(Box::new(Methods)).include_file("protocol.rs");
    config.compile_fds(described)?;
    Ok(())
}

struct Methods;

impl ServiceGenerator for Methods {
    fn generate(&mut self, service: Service, out: &mut String) {
        let module = service.proto_name.to_lowercase();
        // Writing into a string cannot fail.
        let _ = writeln!(out, "/// The RPCs of the service `{}`.\npub mod {module} {{", service.proto_name);
        for method in &service.methods {
            let name = method.name.to_uppercase();
            let path = format!("/{}.{}/{}", service.package, service.proto_name, method.proto_name);
            let (asked, answered) = (inside(&method.input_type), inside(&method.output_type));
            let _ = writeln!(
                out,
                "    /// `{path}`\n    pub const {name}: crate::method::RpcMethod<{asked}, {answered}> = \
                 crate::method::RpcMethod::new(\"{path}\");"
            );
        }
        out.push_str("}\n");
    }
}

/// Returns the path to a type from within a nested module.
fn inside(path: &str) -> String {
    if path.starts_with("::") || path == "()" { path.to_owned() } else { format!("super::{path}") }
}
