//! The graph of the resources that change: each resource is to the right of the resources on which it
//! depends.

use std::collections::HashMap;

use wardian_review::{DependencyGraph, ResourceId, ResourceNode};

use super::writer::HtmlWriter;
use crate::value_text::cut;

/// Maximum number of resources in the graph.
const MAX_NODES: usize = 150;
/// Maximum number of edges in the graph.
const MAX_EDGES: usize = 600;
/// Maximum length of an address in the graph.
const MAX_NAME_LENGTH: usize = 30;

const WIDTH: usize = 250;
const COLUMN: usize = 320;
const HEIGHT: usize = 26;
const ROW: usize = 36;

/// Writes the graph; nothing if no resource that changes depends on another one.
pub(super) fn write(page: &mut HtmlWriter<'_>, graph: &DependencyGraph, plan: usize) {
    let columns = shown_columns(graph);
    if columns.len() < 2 {
        return;
    }
    let mut places: HashMap<ResourceId, (usize, usize)> = HashMap::new();
    for (column, ids) in columns.iter().enumerate() {
        for (row, id) in ids.iter().enumerate() {
            places.insert(*id, (column * COLUMN + 8, row * ROW + 8));
        }
    }
    let height = columns.iter().map(Vec::len).max().unwrap_or(0) * ROW + 16;
    let width = (columns.len() - 1) * COLUMN + WIDTH + 16;
    page.raw(
        "<details class=graph open><summary>Dependencies between the changes</summary><div class=scroll>",
    );
    page.raw("<svg role=group aria-label=\"Dependencies\" width=");
    page.number(width);
    page.raw(" height=");
    page.number(height);
    page.raw(">");
    let mut edges = 0;
    for id in columns.iter().flatten() {
        let (Some(node), Some(end)) = (graph.node(*id), places.get(id)) else { continue };
        for start in node.depends_on.iter().filter_map(|other| places.get(other)) {
            if edges < MAX_EDGES {
                edges += 1;
                write_edge(page, *start, *end);
            }
        }
    }
    for id in columns.iter().flatten() {
        if let (Some(node), Some(place)) = (graph.node(*id), places.get(id)) {
            write_node(page, graph, node, *place, plan);
        }
    }
    page.raw("</svg></div>");
    let omitted = graph.nodes().len() - places.len();
    if omitted > 0 {
        page.raw("<p class=rest>Not in the graph: ");
        page.grouped_number(omitted);
        page.raw(" other resources</p>");
    }
    page.raw("</details>\n");
}

/// Returns the columns of the resources with dependencies, the most severe ones first.
fn shown_columns(graph: &DependencyGraph) -> Vec<Vec<ResourceId>> {
    let mut connected: Vec<(ResourceId, &ResourceNode)> = Vec::new();
    let columns = graph.columns();
    for id in columns.iter().flatten() {
        if let Some(node) = graph.node(*id)
            && !(node.depends_on.is_empty() && node.dependents.is_empty())
        {
            connected.push((*id, node));
        }
    }
    connected.sort_by_key(|(id, node)| (node.class, *id));
    let mut shown: Vec<ResourceId> = connected.into_iter().take(MAX_NODES).map(|(id, _)| id).collect();
    shown.sort_unstable();
    columns
        .into_iter()
        .map(|column| column.into_iter().filter(|id| shown.binary_search(id).is_ok()).collect::<Vec<_>>())
        .filter(|column| !column.is_empty())
        .collect()
}

fn write_edge(page: &mut HtmlWriter<'_>, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) {
    page.raw("<path class=edge d=\"M");
    page.number(x1 + WIDTH);
    page.raw(" ");
    page.number(y1 + HEIGHT / 2);
    page.raw("C");
    page.number(x1 + WIDTH + 40);
    page.raw(" ");
    page.number(y1 + HEIGHT / 2);
    page.raw(" ");
    page.number(x2.saturating_sub(40));
    page.raw(" ");
    page.number(y2 + HEIGHT / 2);
    page.raw(" ");
    page.number(x2);
    page.raw(" ");
    page.number(y2 + HEIGHT / 2);
    page.raw("\"/>");
}

fn write_node(
    page: &mut HtmlWriter<'_>,
    graph: &DependencyGraph,
    node: &ResourceNode,
    (x, y): (usize, usize),
    plan: usize,
) {
    page.raw("<a href=\"#p");
    page.number(plan);
    page.raw("c");
    page.number(node.changes.first().map(|id| id.index()).unwrap_or_default());
    page.raw("\" aria-label=\"");
    page.raw(node.class.name());
    page.raw(" ");
    page.text(&node.address);
    for (index, other) in node.depends_on.iter().take(10).filter_map(|id| graph.node(*id)).enumerate() {
        page.raw(if index == 0 { ", depends on " } else { ", " });
        page.text(&other.address);
    }
    page.raw("\"><rect class=");
    page.raw(node.class.name());
    page.raw(" x=");
    page.number(x);
    page.raw(" y=");
    page.number(y);
    page.raw(" width=");
    page.number(WIDTH);
    page.raw(" height=");
    page.number(HEIGHT);
    page.raw(" rx=4 /><text x=");
    page.number(x + 8);
    page.raw(" y=");
    page.number(y + 18);
    page.raw(">");
    page.text(node.class.symbol());
    page.raw(" <tspan>");
    let (name, removed) = cut_start(&node.address);
    page.raw(if removed { "..." } else { "" });
    page.text(name);
    page.raw("</tspan></text></a>");
}

/// Returns the end of an address, and whether its start was removed.
fn cut_start(address: &str) -> (&str, bool) {
    let count = address.chars().count();
    let (start, _) = cut(address, count.saturating_sub(MAX_NAME_LENGTH));
    match address.strip_prefix(start) {
        Some(rest) if count > MAX_NAME_LENGTH => (rest, true),
        _ => (address, false),
    }
}
