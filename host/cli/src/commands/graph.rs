//! `wardian graph`

mod dot;
mod mermaid;
mod resources;

use wardian_engine::draw;

use crate::arguments::{GraphArguments, GraphFormat};
use crate::failure::{Failure, Outcome, Status};
use crate::session::Session;
use crate::state_access;
use resources::ResourceGraph;

/// Prints the graph of a configuration: of its resources, or of all that a run walks.
pub(crate) fn run(session: &Session, arguments: &GraphArguments) -> Outcome {
    let configuration = session.configuration()?;
    let nodes = draw(&configuration);
    let text = if arguments.kind.is_some() {
        match arguments.format {
            GraphFormat::Dot => dot::whole(&nodes, arguments.draw_cycles),
            GraphFormat::Mermaid => mermaid::whole(&nodes),
        }
    } else {
        refuse_cycle(&nodes)?;
        let look = state_access::look(session, Some(&configuration), None)?;
        let resources = ResourceGraph::new(&nodes, &look.state);
        match arguments.format {
            GraphFormat::Dot => dot::resources(&resources),
            GraphFormat::Mermaid => mermaid::resources(&resources),
        }
    };
    session.shell.print(&text);
    Ok(Status::Success)
}

/// What waits for what cannot be told where two wait for each other.
fn refuse_cycle(nodes: &[wardian_engine::DrawnNode]) -> Outcome<()> {
    let names: Vec<&str> =
        nodes.iter().filter(|node| node.is_in_cycle).map(|node| node.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Failure::error(
        "Cycle in the configuration",
        format!(
            "These wait for each other: {}. `wardian graph -type=plan -draw-cycles` shows the cycle.",
            names.join(", ")
        ),
    ))
}
