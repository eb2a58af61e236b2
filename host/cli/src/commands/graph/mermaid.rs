//! Renders graphs for Mermaid.

use wardian_engine::{GraphNode, GraphNodeKind};

use super::resources::ResourceGraph;
use wardian_printable::{PrintableText, append_line, printable};

/// Returns the graph of resources, with a box for each module.
pub(super) fn resources(graph: &ResourceGraph) -> PrintableText {
    let mut text = PrintableText::from("flowchart RL\n");
    let mut module = None;
    for (place, resource) in graph.resources.iter().enumerate() {
        let path = &resource.address.module;
        if module != Some(path) {
            if module.is_some_and(|module| !module.is_root()) {
                text.push("  end\n");
            }
            module = Some(path);
            if !path.is_root() {
                append_line!(text, "  subgraph m{place}[{}]", label(&path.to_string()));
            }
        }
        let indent = if path.is_root() { "  " } else { "    " };
        append_line!(text, "{indent}n{place}[{}]", label(&resource.local_name()));
    }
    if module.is_some_and(|module| !module.is_root()) {
        text.push("  end\n");
    }
    for (place, resource) in graph.resources.iter().enumerate() {
        for target in &resource.dependencies {
            append_line!(text, "  n{place} --> n{target}");
        }
    }
    text
}

/// Returns the graph of all nodes that a run walks.
pub(super) fn whole(nodes: &[GraphNode]) -> PrintableText {
    let mut text = PrintableText::from("flowchart RL\n");
    for (place, node) in nodes.iter().enumerate() {
        let (before, after) = match node.kind {
            GraphNodeKind::Resource(_) | GraphNodeKind::Object(_) => ("[", "]"),
            GraphNodeKind::Provider(_) => ("{{", "}}"),
            GraphNodeKind::RootVariable(_) => (">", "]"),
            GraphNodeKind::Step => ("(", ")"),
        };
        append_line!(text, "  n{place}{before}{}{after}", label(&node.name));
    }
    for (place, node) in nodes.iter().enumerate() {
        for target in &node.dependencies {
            append_line!(text, "  n{place} --> n{target}");
        }
    }
    text
}

/// Quotes a string for Mermaid, which supports entities but not escapes.
fn label(text: &str) -> PrintableText {
    printable!("\"{}\"", text.replace('#', "#35;").replace('"', "#quot;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_labels_become_entities() {
        assert_eq!(label("provider[\"a#b\"]").as_str(), "\"provider[#quot;a#35;b#quot;]\"");
    }
}
