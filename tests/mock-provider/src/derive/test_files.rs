//! What test files reveal about the objects of a configuration: conditions of assertions refer to
//! attributes, and the defaults of mocks name them.

use hcl::{Block, Expression};

use super::inference::key_name;
use super::modules::{attribute, label};

/// Returns the local directories of the modules that runs execute.
pub(crate) fn local_sources(blocks: &[Block]) -> Vec<String> {
    let runs = blocks.iter().filter(|block| block.identifier() == "run");
    let modules = runs.flat_map(|run| run.body().blocks()).filter(|block| block.identifier() == "module");
    modules
        .filter_map(|module| match attribute(module, "source") {
            Some(Expression::String(source)) if source.starts_with('.') => Some(source.clone()),
            _ => None,
        })
        .collect()
}

/// Returns the runs and provider blocks of test files, and a block that refers to each attribute for
/// which a mock has a default.
pub(crate) fn blocks_with_usage(blocks: Vec<Block>) -> Vec<Block> {
    let mut found = Vec::new();
    for block in blocks {
        match block.identifier() {
            "run" | "provider" => found.push(block),
            "mock_provider" => found.extend(block.body().blocks().filter_map(defaults)),
            _ => {}
        }
    }
    found
}

/// Returns references to the attributes for which a mock of a type has defaults.
fn defaults(mock: &Block) -> Option<Block> {
    let prefix = match mock.identifier() {
        "mock_resource" => "",
        "mock_data" => "data.",
        _ => return None,
    };
    let type_name = label(mock, 0)?;
    let Some(Expression::Object(members)) = attribute(mock, "defaults") else { return None };
    let names = members.keys().filter_map(key_name);
    let references: Vec<String> = names.map(|name| format!("{prefix}{type_name}.mock.{name}")).collect();
    let text = format!("output \"mock\" {{\n  value = [{}]\n}}\n", references.join(", "));
    hcl::parse(&text).ok()?.into_blocks().next()
}

#[cfg(test)]
mod tests {
    use super::super::modules::Modules;
    use super::super::references::Kind;
    use super::super::usage::collect;

    #[test]
    fn attributes_in_conditions_and_mocks_are_used() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("main.tf", "resource \"acme_net\" \"a\" {}\ndata \"acme_zone\" \"a\" {}\n");
        write("setup/main.tf", "resource \"acme_setup\" \"a\" {}\n");
        write(
            "tests/unit/main.tftest.hcl",
            r#"
            mock_provider "acme" {
              mock_data "acme_zone" {
                defaults = { number = 1 }
              }
            }
            run "setup" {
              module { source = "./setup" }
            }
            run "main" {
              assert {
                condition     = acme_net.a.address == "x"
                error_message = "x"
              }
            }
            "#,
        );
        let modules = Modules::load_with_tests(directory.path(), "tests/unit").unwrap();
        let usage = &collect(&modules)["registry.terraform.io/hashicorp/acme"];
        let attributes = |kind, name: &str| {
            let usage = &usage.types[&(kind, name.to_owned())];
            usage.attributes.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(attributes(Kind::Resource, "acme_net"), ["address"]);
        assert_eq!(attributes(Kind::DataSource, "acme_zone"), ["number"]);
        assert!(attributes(Kind::Resource, "acme_setup").is_empty());
    }
}
