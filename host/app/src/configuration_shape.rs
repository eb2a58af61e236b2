//! The shape of a configuration: the kinds of blocks in its modules, without any values.

use std::collections::BTreeMap;
use std::fmt;

use wardian_address::ResourceMode;
use wardian_config::{Configuration, Module};

/// The log target of the line with the configuration's shape. The line contains no values, so crash
/// reports can include it.
pub const CONFIGURATION_TARGET: &str = "wardian::configuration";

/// Writes the shape of a configuration, a line for each module.
pub(crate) struct ConfigurationShape<'configuration>(pub(crate) &'configuration Configuration);

impl fmt::Display for ConfigurationShape<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in self.0.modules() {
            let name = if node.path.is_root() { "root module".to_owned() } else { node.path.to_string() };
            writeln!(formatter, "{name}: {}", module(&node.module))?;
        }
        Ok(())
    }
}

fn module(module: &Module) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (mode, type_name, _) in module.resources.keys() {
        let prefix = match mode {
            ResourceMode::Managed => "",
            ResourceMode::Data => "data.",
            ResourceMode::Ephemeral => "ephemeral.",
        };
        *counts.entry(format!("{prefix}{type_name}")).or_default() += 1;
    }
    let others = [
        ("variable", module.variables.len()),
        ("local", module.locals.len()),
        ("output", module.outputs.len()),
        ("module", module.module_calls.len()),
        ("provider", module.provider_configs.len()),
        ("check", module.checks.len()),
        ("import", module.imports.len()),
        ("moved", module.moved.len()),
        ("removed", module.removed.len()),
    ];
    let others = others.into_iter().filter(|(_, count)| *count > 0);
    counts.extend(others.map(|(kind, count)| (kind.to_owned(), count)));
    let counts: Vec<String> = counts.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use wardian_config::{MemoryFiles, load_root_from};

    use super::*;

    #[test]
    fn shape_contains_counts_but_no_values() {
        let text = "variable \"secret\" {\n  default = \"hunter22\"\n}\nresource \"a_b\" \"x\" {}\nresource \"a_b\" \"y\" {}\n\
                    data \"a_b\" \"z\" {}\nmodule \"m\" {\n  source = \"./m\"\n}\n";
        let module = "output \"o\" {\n  value = 1\n}\n";
        let files = MemoryFiles::new([("main.tf", text), ("m/main.tf", module)]);
        let configuration = load_root_from(&files, std::path::Path::new(".")).unwrap();
        let shape = ConfigurationShape(&configuration).to_string();
        assert_eq!(shape, "root module: 2 a_b, 1 data.a_b, 1 module, 1 variable\nmodule.m: 1 output\n");
    }
}
