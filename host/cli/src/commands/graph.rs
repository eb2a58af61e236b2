//! `wardian graph`

mod dot;
mod mermaid;
mod resources;

use std::path::Path;

use async_trait::async_trait;
use wardian_app::state_access;
use wardian_engine::{DrawnNode, draw, draw_plan};

use crate::arguments::{GraphArguments, GraphFormat, GraphKind};
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::plan_passphrase::read_plan;
use crate::shell::ViewOptions;
use resources::ResourceGraph;

#[async_trait(?Send)]
impl CommandSpec for GraphArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

/// Prints the graph of a configuration: of its resources, or of all that a run walks;
/// or the graph of what a saved plan does.
async fn run(context: &CommandContext, arguments: &GraphArguments) -> Outcome {
    if let Some(path) = &arguments.plan {
        let nodes = planned(context, path, arguments.kind).await?;
        context.shell.print(&whole(&nodes, arguments));
        return Ok(Status::Success);
    }
    let configuration = context.app.configuration()?;
    let nodes = draw(&configuration);
    let text = if arguments.kind.is_some() {
        whole(&nodes, arguments)
    } else {
        refuse_cycle(&nodes)?;
        let look = state_access::read_unlocked(&context.app, Some(&configuration), None)?;
        let resources = ResourceGraph::new(&nodes, &look.state);
        match arguments.format {
            GraphFormat::Dot => dot::resources(&resources),
            GraphFormat::Mermaid => mermaid::resources(&resources),
        }
    };
    context.shell.print(&text);
    Ok(Status::Success)
}

fn whole(nodes: &[DrawnNode], arguments: &GraphArguments) -> String {
    match arguments.format {
        GraphFormat::Dot => dot::whole(nodes, arguments.draw_cycles),
        GraphFormat::Mermaid => mermaid::whole(nodes),
    }
}

/// The graph of a saved plan: of its apply, unless another run over its configuration is
/// asked for.
async fn planned(context: &CommandContext, path: &Path, kind: Option<GraphKind>) -> Outcome<Vec<DrawnNode>> {
    let saved = read_plan(path, context, None).await?;
    let configuration = saved.configuration.clone();
    if kind.is_some_and(|kind| kind != GraphKind::Apply) {
        return Ok(draw(&configuration));
    }
    let state = saved.previous_state().clone();
    let plugins = context.app.plugins(&configuration, Some(&state), &saved.lock, 1)?;
    let schemas = context.engine_run(configuration.clone(), plugins).schemas(Some(&state)).await?;
    let plan = saved.into_plan(path, &schemas)?;
    schemas.close().await;
    Ok(draw_plan(&configuration, &plan))
}

/// What waits for what cannot be told where two wait for each other.
fn refuse_cycle(nodes: &[DrawnNode]) -> Outcome<()> {
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
