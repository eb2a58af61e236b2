//! `wardian policy explain`: explains which accesses the policies allow a plugin.

use async_trait::async_trait;
use wardian_app::catalog;
use wardian_policy::load;

use crate::arguments::PolicyExplainArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::render::json::{PolicyDocument, pretty};
use crate::render::policy::explanation_text;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for PolicyExplainArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn run(context: &CommandContext, arguments: &PolicyExplainArguments) -> Outcome {
    let places = context.app.environment.policy_places(&context.app.directory, &context.app.started_in);
    let policy = load(&places)?;
    // The host's own grants apply only to embedded plugins.
    let policy = if catalog::is_embedded(&arguments.plugin) {
        policy.for_trusted_code(&arguments.plugin)
    } else {
        policy.for_plugin(&arguments.plugin)
    };
    let explanation = policy.explain();
    if arguments.json {
        context.shell.print_json(&pretty(&PolicyDocument::new(&explanation)));
    } else {
        context.shell.print(explanation_text(&explanation, context.shell.render_options()));
    }
    Ok(Status::Success)
}
