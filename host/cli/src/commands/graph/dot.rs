//! Renders graphs for Graphviz.

use wardian_engine::{GraphNode, GraphNodeKind};

use super::resources::ResourceGraph;
use wardian_printable::{PrintableText, append_line, printable};

/// Returns the graph of resources, with a cluster for each module.
pub(super) fn resources(graph: &ResourceGraph) -> PrintableText {
    let mut text = PrintableText::from(
        "digraph G {\n  rankdir = \"RL\";\n  node [shape = rect, fontname = \"sans-serif\"];\n",
    );
    if graph.resources.is_empty() {
        text.push(
            "  /* There are no resources in this configuration. */\n  /* `wardian graph -type=plan` draws \
             all nodes.      */\n}\n",
        );
        return text;
    }
    let mut module = None;
    for resource in &graph.resources {
        let path = &resource.address.module;
        if module != Some(path) {
            if module.is_some_and(|module| !module.is_root()) {
                text.push("  }\n");
            }
            module = Some(path);
            if !path.is_root() {
                let name = path.to_string();
                append_line!(
                    text,
                    "  subgraph {} {{\n    label = {}\n    fontname = \"sans-serif\"",
                    quoted(&format!("cluster_{name}")),
                    quoted(&name)
                );
            }
        }
        let indent = if path.is_root() { "  " } else { "    " };
        let (name, label) = (quoted(&resource.address.to_string()), quoted(&resource.local_name()));
        append_line!(text, "{indent}{name} [label={label}];");
    }
    if module.is_some_and(|module| !module.is_root()) {
        text.push("  }\n");
    }
    for resource in &graph.resources {
        let from = quoted(&resource.address.to_string());
        for target in resource.dependencies.iter().filter_map(|place| graph.resources.get(*place)) {
            append_line!(text, "  {from} -> {};", quoted(&target.address.to_string()));
        }
    }
    text.push("}\n");
    text
}

/// Returns the graph of all nodes that a run walks.
pub(super) fn whole(nodes: &[GraphNode], draw_cycles: bool) -> PrintableText {
    let mut text = PrintableText::from(
        "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n",
    );
    let name = |node: &GraphNode| quoted(&format!("[root] {}", node.name));
    for node in nodes {
        let shape = match node.kind {
            GraphNodeKind::Resource(_) | GraphNodeKind::Object(_) => "box",
            GraphNodeKind::Provider(_) => "diamond",
            GraphNodeKind::RootVariable(_) => "note",
            GraphNodeKind::Step => "plain",
        };
        append_line!(text, "\t\t{} [label = {}, shape = \"{shape}\"]", name(node), quoted(&node.name));
    }
    for node in nodes {
        for target in node.dependencies.iter().filter_map(|place| nodes.get(*place)) {
            let is_red = draw_cycles && node.cycle.is_some() && node.cycle == target.cycle;
            let attributes = if is_red { " [color = \"red\", penwidth = \"2.0\"]" } else { "" };
            append_line!(text, "\t\t{} -> {}{attributes}", name(node), name(target));
        }
    }
    text.push("\t}\n}\n");
    text
}

/// Quotes a string for Graphviz.
fn quoted(text: &str) -> PrintableText {
    printable!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
