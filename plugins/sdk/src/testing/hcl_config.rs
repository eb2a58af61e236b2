//! Creates configurations from HCL in tests.

use ::hcl::eval::{Context, Evaluate as _};
use ::hcl::{Block as HclBlock, Body, Value};
use serde_json::{Map, Number, Value as Json};

use super::config::Config;
use crate::schema::{Block, BlockNesting, Root};
use crate::{Diagnostics, Explain as _, Result};

/// Creates a configuration from HCL, the language of the provider's users.
///
/// Expressions can contain operators, templates, conditionals and `for` expressions, but no
/// references and no function calls. Numbers have 64 bits. Errors, including syntax errors, are
/// returned by the operation that uses the configuration. This function is available only in native
/// builds.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::testing::{ProviderHarness, hcl};
/// use wardian_sdk::{Attribute, Block, Context, Provider, Resource, Result, Schema};
///
/// #[derive(Serialize, Deserialize)]
/// struct Disk {
///     size: i64,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Server {
///     name: String,
///     disk: Vec<Disk>,
/// }
///
/// struct ServerResource;
///
/// impl Resource for ServerResource {
///     type State = Server;
///
///     fn schema(&self) -> Schema {
///         let size = Attribute::integer("size").required().force_new();
///         Schema::new()
///             .attribute(Attribute::string("name").required().force_new())
///             .block(Block::list("disk").attribute(size))
///     }
///
///     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
///         Ok(plan)
///     }
/// }
///
/// let harness = ProviderHarness::new(Provider::new("cloud").resource("cloud_server", ServerResource));
/// let config = hcl(r#"
///     name = "web-${1 + 1}"
///     disk { size = 8 }
///     disk { size = 16 }
/// "#);
/// let state = harness.create("cloud_server", config).unwrap();
/// assert_eq!(state.get::<String>("name"), "web-2");
/// assert_eq!(state.get::<Vec<Disk>>("disk").len(), 2);
/// ```
pub fn hcl(text: &str) -> Config {
    Config::from_hcl(text)
}

/// Parses and evaluates HCL with the block types of the schema. Returns the configuration as JSON.
pub(super) fn to_json(text: &str, root: &Root) -> Result<Json> {
    let body = ::hcl::parse(text).explain("Invalid HCL")?;
    body_to_json(&body, root)
}

fn body_to_json(body: &Body, root: &Root) -> Result<Json> {
    let mut object = Map::new();
    for attribute in body.attributes() {
        let name = attribute.key();
        if !root.attributes.iter().any(|known| known.name == name) {
            return Err(Diagnostics::error("Unsupported argument", name));
        }
        let value = attribute.expr().evaluate(&Context::new()).explain("Invalid expression")?;
        object.insert(name.to_owned(), value_to_json(value));
    }
    let is_known = |block: &&HclBlock| root.blocks.iter().any(|known| known.name == block.identifier());
    if let Some(block) = body.blocks().find(|block| !is_known(block)) {
        return Err(Diagnostics::error("Unsupported block type", block.identifier()));
    }
    for block in &root.blocks {
        let found: Vec<&HclBlock> = body.blocks().filter(|one| one.identifier() == block.name).collect();
        if !found.is_empty() {
            object.insert(block.name.clone(), blocks_to_json(block, &found)?);
        }
    }
    Ok(Json::Object(object))
}

fn blocks_to_json(block: &Block, found: &[&HclBlock]) -> Result<Json> {
    let name = &block.name;
    if block.nesting == BlockNesting::Map {
        let mut object = Map::new();
        for one in found {
            let [label] = one.labels() else {
                return Err(Diagnostics::error("Invalid block", format!("A {name} block has one label.")));
            };
            let label = label.as_str().to_owned();
            let content = body_to_json(one.body(), &block.contents)?;
            if object.insert(label.clone(), content).is_some() {
                let detail = format!("There is more than one {name} block with the label {label:?}.");
                return Err(Diagnostics::error("Duplicate block", detail));
            }
        }
        return Ok(Json::Object(object));
    }
    if found.iter().any(|one| !one.labels().is_empty()) {
        return Err(Diagnostics::error("Invalid block", format!("A {name} block has no labels.")));
    }
    let mut contents =
        found.iter().map(|one| body_to_json(one.body(), &block.contents)).collect::<Result<Vec<_>>>()?;
    match (block.nesting, contents.len()) {
        (BlockNesting::Single | BlockNesting::Group, 1) => Ok(contents.remove(0)),
        (BlockNesting::Single | BlockNesting::Group, _) => {
            Err(Diagnostics::error("Duplicate block", format!("There is more than one {name} block.")))
        }
        _ => Ok(Json::Array(contents)),
    }
}

fn value_to_json(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Json::from(number),
            (None, Some(number)) => Json::from(number),
            (None, None) => number.as_f64().and_then(Number::from_f64).map_or(Json::Null, Json::Number),
        },
        Value::String(text) => Json::String(text),
        Value::Array(elements) => elements.into_iter().map(value_to_json).collect(),
        Value::Object(object) => object.into_iter().map(|(key, value)| (key, value_to_json(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::config;
    use crate::{Attribute, Schema};

    fn schema() -> Schema {
        Schema::new()
            .attribute(Attribute::string("name"))
            .attribute(Attribute::number("size"))
            .attribute(Attribute::nested_list("rules", [Attribute::integer("port")]))
            .block(
                Block::list("disk")
                    .attribute(Attribute::integer("size"))
                    .block(Block::single("encryption").attribute(Attribute::string("key"))),
            )
            .block(Block::map("zone").attribute(Attribute::string("region")))
            .block(Block::single("options").attribute(Attribute::bool("fast")))
    }

    fn error(text: &str) -> String {
        hcl(text).value(&schema()).unwrap_err().to_string()
    }

    #[test]
    fn attributes_are_evaluated() {
        let text = r#"
            name  = "a-${1 + 1}"
            size  = -1.5
            rules = [for port in [80, 443] : { port = port }]
        "#;
        let json = json!({ "name": "a-2", "size": -1.5, "rules": [{ "port": 80 }, { "port": 443 }] });
        assert_eq!(hcl(text).value(&schema()).unwrap(), config(json).value(&schema()).unwrap());
    }

    #[test]
    fn nested_blocks_become_lists_and_objects() {
        let text = r#"
            disk {
              size = 1
              encryption { key = "k" }
            }
            disk { size = 2 }
            options { fast = true }
        "#;
        let json = json!({
            "disk": [{ "size": 1, "encryption": { "key": "k" } }, { "size": 2 }],
            "options": { "fast": true }
        });
        assert_eq!(hcl(text).value(&schema()).unwrap(), config(json).value(&schema()).unwrap());
    }

    #[test]
    fn map_blocks_are_keyed_by_label() {
        let text = r#"
            zone "a" { region = "x" }
            zone "b" {}
        "#;
        let json = json!({ "zone": { "a": { "region": "x" }, "b": {} } });
        assert_eq!(hcl(text).value(&schema()).unwrap(), config(json).value(&schema()).unwrap());
        assert_eq!(error("zone {}"), "Invalid block: A zone block has one label.");
        assert!(error("zone \"a\" {}\nzone \"a\" {}").starts_with("Duplicate block"));
    }

    #[test]
    fn rejects_unknown_arguments_and_blocks() {
        assert_eq!(error("colour = 1"), "Unsupported argument: colour");
        assert_eq!(error("disk { colour = 1 }"), "Unsupported argument: colour");
        assert_eq!(error("colour {}"), "Unsupported block type: colour");
        assert_eq!(error("disk = []"), "Unsupported argument: disk");
    }

    #[test]
    fn rejects_repeated_single_block_and_labels() {
        assert_eq!(error("options {}\noptions {}"), "Duplicate block: There is more than one options block.");
        assert_eq!(error("disk \"a\" {}"), "Invalid block: A disk block has no labels.");
    }

    #[test]
    fn syntax_errors_have_positions() {
        let error = error("name = ");
        assert!(error.starts_with("Invalid HCL") && error.contains("line 1"), "{error}");
    }

    #[test]
    fn references_are_errors() {
        assert!(error("name = var.name").starts_with("Invalid expression"));
    }

    #[test]
    fn attributes_can_be_made_unknown() {
        let value = hcl("size = 1").unknown("name").value(&schema()).unwrap();
        assert!(!value.get("name").unwrap().is_known());
    }
}
