//! Collects the parts of each provider that the modules of a configuration use: resource types and
//! data sources, with their arguments, nested blocks and the attributes that other expressions
//! read.

use std::collections::{BTreeMap, BTreeSet};

use hcl::{Block, Body, Expression};
use wardian_address::ProviderAddress;

use super::guess::{Guess, from_name};
use super::inference::{Inference, key_name};
use super::modules::{Modules, attribute, label};
use super::references::{Access, Found, Kind, Reference};

/// The parts of one provider that a configuration uses.
#[derive(Default)]
pub(crate) struct ProviderUsage {
    pub(crate) provider: BlockUsage,
    /// The metadata that modules pass to the provider.
    pub(crate) metadata: Option<BlockUsage>,
    pub(crate) types: BTreeMap<(Kind, String), BlockUsage>,
    pub(crate) functions: BTreeSet<String>,
    /// The version constraints of all modules.
    pub(crate) constraints: Vec<String>,
}

/// The parts of a block that a configuration uses.
#[derive(Default)]
pub(crate) struct BlockUsage {
    pub(crate) attributes: BTreeMap<String, AttributeUsage>,
    pub(crate) blocks: BTreeMap<String, NestedUsage>,
}

#[derive(Default)]
pub(crate) struct AttributeUsage {
    pub(crate) is_set: bool,
    pub(crate) is_read: bool,
    /// The type of the values that arguments have.
    pub(crate) set_as: Guess,
    /// The type that the readers of the attribute expect.
    pub(crate) read_as: Guess,
}

#[derive(Default)]
pub(crate) struct NestedUsage {
    pub(crate) body: BlockUsage,
    pub(crate) labels: usize,
    /// Whether a block contains several blocks of this type, or a variable number of them.
    pub(crate) is_repeated: bool,
    /// Whether an expression accesses one of the blocks by its position.
    pub(crate) is_indexed: bool,
    /// Whether an expression accesses an attribute of the block without a position.
    pub(crate) is_accessed_directly: bool,
}

/// Arguments of resources and data sources that do not belong to the schema.
const META_ARGUMENTS: &[&str] = &["count", "for_each", "provider", "depends_on"];
const META_BLOCKS: &[&str] = &["lifecycle", "provisioner", "connection"];
/// Arguments of `provider` blocks that do not belong to the schema.
const PROVIDER_META_ARGUMENTS: &[&str] = &["alias", "version"];

/// Returns the usage of each provider, without providers that are built in.
pub(crate) fn collect(modules: &Modules) -> BTreeMap<String, ProviderUsage> {
    let inference = Inference::new(modules);
    let mut collector = Collector { inference: &inference, usage: BTreeMap::new() };
    let all: Vec<LocalNames> = modules.all.iter().map(|module| LocalNames::new(&module.blocks)).collect();
    for (index, module) in modules.all.iter().enumerate() {
        collector.add_definitions(index, &module.blocks, &all[index]);
    }
    // References are added after all definitions, because an attribute that is read must be
    // distinguished from a nested block.
    for (index, module) in modules.all.iter().enumerate() {
        collector.add_references(&module.blocks, &all[index]);
    }
    collector.usage
}

/// The providers of a module by local name.
struct LocalNames {
    sources: BTreeMap<String, String>,
    constraints: Vec<(String, String)>,
    /// The local names of the providers of a type: the name in the type's prefix, and the names
    /// that the `provider` argument selects.
    of_types: BTreeMap<(Kind, String), BTreeSet<String>>,
}

impl LocalNames {
    fn new(blocks: &[Block]) -> Self {
        let mut names = Self { sources: BTreeMap::new(), constraints: Vec::new(), of_types: BTreeMap::new() };
        for block in blocks {
            match block.identifier() {
                "terraform" => {
                    let required =
                        block.body().blocks().filter(|block| block.identifier() == "required_providers");
                    required.for_each(|required| names.require(required.body()));
                }
                "provider" => {
                    if let (Some(name), Some(Expression::String(version))) =
                        (label(block, 0), attribute(block, "version"))
                    {
                        names.constraints.push((name.to_owned(), version.clone()));
                    }
                }
                "check" => block.body().blocks().for_each(|block| names.add_type(block)),
                _ => names.add_type(block),
            }
        }
        names
    }

    fn add_type(&mut self, block: &Block) {
        if let Some((kind, type_name)) = definition(block) {
            let local_names = self.of_types.entry((kind, type_name.to_owned())).or_default();
            local_names.insert(local_name_of(block, type_name));
        }
    }

    fn require(&mut self, required: &Body) {
        for requirement in required.attributes() {
            let name = requirement.key().to_owned();
            match requirement.expr() {
                Expression::String(version) => self.constraints.push((name, version.clone())),
                Expression::Object(members) => {
                    for (key, value) in members {
                        let (Some(key), Expression::String(value)) = (key_name(key), value) else { continue };
                        match key.as_str() {
                            "source" => drop(self.sources.insert(name.clone(), value.clone())),
                            "version" => self.constraints.push((name.clone(), value.clone())),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the address of a provider; `None` if it is invalid or built in.
    fn address(&self, local_name: &str) -> Option<String> {
        let address = match self.sources.get(local_name) {
            Some(source) => ProviderAddress::parse(source),
            None => ProviderAddress::implied_by_local_name(local_name),
        };
        address.ok().filter(|address| !address.is_built_in()).map(|address| address.to_string())
    }
}

/// Returns the local name of the provider of a resource or data source.
fn local_name_of(block: &Block, type_name: &str) -> String {
    let implied = || type_name.split('_').next().unwrap_or_default().to_owned();
    attribute(block, "provider").and_then(first_name).unwrap_or_else(implied)
}

/// Returns the first name of a reference such as `aws.west`.
fn first_name(expression: &Expression) -> Option<String> {
    match expression {
        Expression::Variable(name) => Some(name.to_string()),
        Expression::Traversal(traversal) => first_name(&traversal.expr),
        // The notation before Terraform 0.12.
        Expression::String(name) => name.split('.').next().map(str::to_owned),
        _ => None,
    }
}

/// Returns the type of the object that a block defines.
fn definition(block: &Block) -> Option<(Kind, &str)> {
    let kind = match block.identifier() {
        "resource" => Kind::Resource,
        "data" => Kind::DataSource,
        "ephemeral" => Kind::EphemeralResource,
        _ => return None,
    };
    Some((kind, label(block, 0)?))
}

struct Collector<'a> {
    inference: &'a Inference<'a>,
    usage: BTreeMap<String, ProviderUsage>,
}

impl Collector<'_> {
    fn add_definitions(&mut self, module: usize, blocks: &[Block], names: &LocalNames) {
        for local_name in names.sources.keys() {
            if let Some(address) = names.address(local_name) {
                self.usage.entry(address).or_default();
            }
        }
        for (local_name, constraint) in &names.constraints {
            if let Some(address) = names.address(local_name) {
                self.usage.entry(address).or_default().constraints.push(constraint.clone());
            }
        }
        self.add_objects(module, blocks, names);
    }

    fn add_objects(&mut self, module: usize, blocks: &[Block], names: &LocalNames) {
        for block in blocks {
            if block.identifier() == "check" {
                let nested: Vec<Block> = block.body().blocks().cloned().collect();
                self.add_objects(module, &nested, names);
            } else if block.identifier() == "terraform" {
                self.add_metadata(module, block, names);
            } else if block.identifier() == "provider" {
                let Some(address) = label(block, 0).and_then(|name| names.address(name)) else { continue };
                let usage = &mut self.usage.entry(address).or_default().provider;
                add_body(self.inference, module, usage, block.body(), PROVIDER_META_ARGUMENTS, &[]);
            } else if let Some((kind, type_name)) = definition(block) {
                let Some(address) = names.address(&local_name_of(block, type_name)) else { continue };
                let usage = self.usage.entry(address).or_default();
                let usage = usage.types.entry((kind, type_name.to_owned())).or_default();
                add_body(self.inference, module, usage, block.body(), META_ARGUMENTS, META_BLOCKS);
                add_ignored(usage, block);
            }
        }
    }

    fn add_metadata(&mut self, module: usize, settings: &Block, names: &LocalNames) {
        let metadata = settings.body().blocks().filter(|block| block.identifier() == "provider_meta");
        for block in metadata {
            let Some(address) = label(block, 0).and_then(|name| names.address(name)) else { continue };
            let usage = self.usage.entry(address).or_default().metadata.get_or_insert_default();
            add_body(self.inference, module, usage, block.body(), &[], &[]);
        }
    }

    fn add_references(&mut self, blocks: &[Block], names: &LocalNames) {
        let mut found = Found::default();
        for block in blocks {
            find(block.body(), &mut found);
        }
        for reference in &found.references {
            // An object that no module defines is an error in the configuration.
            let key = (reference.kind, reference.type_name.clone());
            for local_name in names.of_types.get(&key).into_iter().flatten() {
                let Some(address) = names.address(local_name) else { continue };
                let usage = self.usage.get_mut(&address);
                if let Some(usage) = usage.and_then(|usage| usage.types.get_mut(&key)) {
                    add_reference(usage, reference);
                }
            }
        }
        for (local_name, function) in found.functions {
            if let Some(address) = names.address(&local_name) {
                self.usage.entry(address).or_default().functions.insert(function);
            }
        }
    }
}

/// Finds the references in a body and its nested blocks.
fn find(body: &Body, found: &mut Found) {
    for argument in body.attributes() {
        // These arguments contain names of objects and attributes, not expressions that use values.
        if ["depends_on", "ignore_changes", "provider", "providers"].contains(&argument.key()) {
            continue;
        }
        found.add(argument.expr(), &from_name(argument.key()));
    }
    body.blocks().for_each(|block| find(block.body(), found));
}

fn add_body(
    inference: &Inference<'_>,
    module: usize,
    usage: &mut BlockUsage,
    body: &Body,
    meta_arguments: &[&str],
    meta_blocks: &[&str],
) {
    for argument in body.attributes().filter(|argument| !meta_arguments.contains(&argument.key())) {
        let attribute = usage.attributes.entry(argument.key().to_owned()).or_default();
        attribute.is_set = true;
        let known = std::mem::take(&mut attribute.set_as);
        attribute.set_as = known.join(inference.guess(module, argument.expr()));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for block in body.blocks().filter(|block| !meta_blocks.contains(&block.identifier())) {
        let is_dynamic = block.identifier() == "dynamic";
        let (name, content) = if is_dynamic {
            let content = block.body().blocks().find(|block| block.identifier() == "content");
            match (label(block, 0), content) {
                (Some(name), Some(content)) => (name, content),
                _ => continue,
            }
        } else {
            (block.identifier(), block)
        };
        let count = counts.entry(name).or_default();
        *count += 1;
        let nested = usage.blocks.entry(name.to_owned()).or_default();
        nested.is_repeated |= is_dynamic || *count > 1;
        let labels = match attribute(block, "labels") {
            Some(Expression::Array(labels)) if is_dynamic => labels.len(),
            _ if is_dynamic => 0,
            _ => block.labels().len(),
        };
        nested.labels = nested.labels.max(labels);
        add_body(inference, module, &mut nested.body, content.body(), &[], &[]);
    }
}

/// Adds the attributes in `ignore_changes`, which the provider can set.
fn add_ignored(usage: &mut BlockUsage, block: &Block) {
    let lifecycle = block.body().blocks().filter(|block| block.identifier() == "lifecycle");
    for ignored in lifecycle.filter_map(|block| attribute(block, "ignore_changes")) {
        let Expression::Array(elements) = ignored else { continue };
        for name in elements.iter().filter_map(first_name) {
            if !usage.blocks.contains_key(&name) {
                usage.attributes.entry(name).or_default().is_read = true;
            }
        }
    }
}

fn add_reference(mut usage: &mut BlockUsage, reference: &Reference) {
    let mut accesses = reference.accesses.as_slice();
    while let [Access::Attribute(name), rest @ ..] = accesses {
        if !usage.blocks.contains_key(name) {
            let attribute = usage.attributes.entry(name.clone()).or_default();
            attribute.is_read = true;
            let known = std::mem::take(&mut attribute.read_as);
            attribute.read_as = known.join(read_as(name, rest, &reference.expected));
            return;
        }
        let Some(nested) = usage.blocks.get_mut(name) else { return };
        accesses = match rest {
            [Access::Attribute(_), ..] => {
                nested.is_accessed_directly = true;
                rest
            }
            [Access::Position | Access::Unknown, after @ ..] => {
                nested.is_indexed = true;
                after
            }
            [_, after @ ..] => after,
            [] => return,
        };
        usage = &mut nested.body;
    }
}

/// Returns the type of an attribute whose value is accessed in this way.
fn read_as(name: &str, accesses: &[Access], expected: &Guess) -> Guess {
    match accesses {
        [] => match expected {
            Guess::Unknown | Guess::Any => from_name(name),
            known => match (known.to_type(), from_name(name)) {
                // Most functions on collections accept both lists and sets.
                (None, Guess::Unknown) => known.clone(),
                (None, named) => named,
                (Some(_), _) => known.clone(),
            },
        },
        [Access::Position, rest @ ..] => Guess::list(element_read_as(rest, expected)),
        [Access::Splat, rest @ ..] => Guess::list(element_read_as(rest, &expected.element())),
        [Access::Key, rest @ ..] => Guess::map(element_read_as(rest, expected)),
        [Access::Unknown, ..] => Guess::Unknown,
        [Access::Attribute(member), rest @ ..] => {
            Guess::Object([(member.clone(), read_as(member, rest, expected))].into())
        }
    }
}

fn element_read_as(accesses: &[Access], expected: &Guess) -> Guess {
    match (accesses, expected) {
        // The elements of most collections without structure are strings.
        ([], Guess::Unknown) => Guess::String,
        _ => read_as("", accesses, expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(configuration: &str) -> BTreeMap<String, ProviderUsage> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("main.tf"), configuration).unwrap();
        collect(&Modules::load(directory.path()).unwrap())
    }

    const ACME: &str = "registry.terraform.io/example/acme";

    #[test]
    fn arguments_blocks_and_references_are_collected() {
        let all = usage(
            r#"
            terraform {
              required_providers {
                acme = { source = "example/acme", version = ">= 2" }
              }
            }
            resource "acme_net" "a" {
              count = 1
              name  = "x"
              rule { port = 1 }
              rule { port = "2" }
              dynamic "route" {
                for_each = []
                content { to = each.value }
              }
              lifecycle { ignore_changes = [tags_all, rule, labels["x"]] }
            }
            output "o" { value = acme_net.a[0].route[0].gateway_id }
            output "p" { value = "${acme_net.a[0].name}${acme_net.a[0].links[0].address}" }
            "#,
        );
        let acme = &all[ACME];
        assert_eq!(acme.constraints, [">= 2"]);
        let net = &acme.types[&(Kind::Resource, "acme_net".to_owned())];
        let names = |usage: &BlockUsage| usage.attributes.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(net), ["labels", "links", "name", "tags_all"]);
        assert!(net.attributes["name"].is_set && net.attributes["name"].is_read);
        let link = Guess::Object([("address".to_owned(), Guess::String)].into());
        assert_eq!(net.attributes["links"].read_as, Guess::list(link));
        assert_eq!(net.blocks["rule"].body.attributes["port"].set_as, Guess::String);
        assert!(net.blocks["rule"].is_repeated && !net.blocks["rule"].is_indexed);
        assert!(net.blocks["route"].is_indexed);
        assert_eq!(names(&net.blocks["route"].body), ["gateway_id", "to"]);
        assert_eq!(net.blocks.len(), 2);
    }

    #[test]
    fn provider_is_found_by_argument_and_by_prefix() {
        let all = usage(
            r#"
            resource "acme_a" "x" { provider = other.west }
            resource "acme_a" "y" {}
            output "o" { value = acme_a.y.address }
            data "acme_b" "x" {}
            provider "third" { region = "x" }
            "#,
        );
        let key = (Kind::Resource, "acme_a".to_owned());
        for provider in ["acme", "other"] {
            let usage = &all[&format!("registry.terraform.io/hashicorp/{provider}")];
            assert!(usage.types[&key].attributes.contains_key("address"), "{provider}");
        }
        let names: Vec<&String> = all.keys().collect();
        assert_eq!(
            names,
            ["acme", "other", "third"]
                .map(|name| format!("registry.terraform.io/hashicorp/{name}"))
                .each_ref()
        );
    }
}
