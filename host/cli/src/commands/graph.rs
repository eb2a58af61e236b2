//! `wardian graph`: prints the dependency graph.

mod dot;
mod mermaid;
mod resources;

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use wardian_app::state_access;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::{GraphNode, export_graph, export_plan_graph};

use crate::arguments::{GraphArguments, GraphFormat, GraphKind};
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::plan_passphrase::read_plan;
use crate::shell::ViewOptions;
use resources::ResourceGraph;
use wardian_printable::PrintableText;

#[async_trait(?Send)]
impl CommandSpec for GraphArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

/// Prints the graph of a configuration or a saved plan: the graph of its resources, or of all nodes
/// that a run walks.
async fn run(context: &CommandContext, arguments: &GraphArguments) -> Outcome {
    if let Some(path) = &arguments.plan {
        let nodes = planned(context, path, arguments.kind).await?;
        context.shell.print(whole(&nodes, arguments));
        return Ok(Status::Success);
    }
    let configuration = context.app.configuration()?;
    let nodes = export_graph(&configuration);
    let text = if arguments.kind.is_some() {
        whole(&nodes, arguments)
    } else {
        check_cycles(&nodes)?;
        let look = state_access::read_unlocked(&context.app, Some(&configuration), None).await?;
        let resources = ResourceGraph::new(&nodes, &look.state);
        match arguments.format {
            GraphFormat::Dot => dot::resources(&resources),
            GraphFormat::Mermaid => mermaid::resources(&resources),
        }
    };
    context.shell.print(text);
    Ok(Status::Success)
}

fn whole(nodes: &[GraphNode], arguments: &GraphArguments) -> PrintableText {
    match arguments.format {
        GraphFormat::Dot => dot::whole(nodes, arguments.draw_cycles),
        GraphFormat::Mermaid => mermaid::whole(nodes),
    }
}

/// Returns the graph of a saved plan: the graph of its apply, unless the graph of another kind of
/// run is requested.
async fn planned(context: &CommandContext, path: &Path, kind: Option<GraphKind>) -> Outcome<Vec<GraphNode>> {
    let saved = read_plan(path, context, None).await?;
    let configuration = saved.configuration.clone();
    if kind.is_some_and(|kind| kind != GraphKind::Apply) {
        return Ok(export_graph(&configuration));
    }
    let state = saved.previous_state().clone();
    let plugins = context.app.plugins(&configuration, Some(&state), &saved.lock, 1)?;
    let schemas = context.engine_run(configuration.clone(), plugins).schemas(Some(&state)).await?;
    let plan = saved.into_plan(path, &schemas)?;
    schemas.close().await;
    Ok(export_plan_graph(&configuration, &plan))
}

/// Fails if resources depend on each other in a cycle, because they cannot be ordered.
fn check_cycles(nodes: &[GraphNode]) -> Outcome<()> {
    let mut cycles: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        if let Some(cycle) = node.cycle {
            cycles.entry(cycle).or_default().push(&node.name);
        }
    }
    let errors: Diagnostics = cycles
        .into_values()
        .map(|names| {
            Diagnostic::error(
                "Cycle in the configuration",
                format!(
                    "These objects depend on each other: {}. Run `wardian graph -type=plan -draw-cycles` to see \
                     the cycle.",
                    names.join(", ")
                ),
            )
        })
        .collect();
    if errors.has_errors() { Err(errors.into()) } else { Ok(()) }
}
