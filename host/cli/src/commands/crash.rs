//! `wardian crash`: crashes deliberately, to test crash reports. Only debug builds have this command.

use async_trait::async_trait;
use wardian_diagnostic::Diagnostic;

use crate::arguments::{CrashArguments, CrashPlace};
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::review_view;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for CrashArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        // The report includes the shape of the configuration.
        context.app.load(std::path::Path::new("."))?;
        let _operation =
            tracing::info_span!(target: "wardian::graph", "operation", node = "a test").entered();
        match self.place {
            #[allow(clippy::panic, reason = "the purpose of the command")]
            CrashPlace::Command => panic!("requested by the command crash, with {:?}", self.text),
            CrashPlace::Task => {
                #[allow(clippy::panic, reason = "the purpose of the command")]
                let task = tokio::spawn(async { panic!("requested by the command crash") });
                let ended: Result<(), _> = task.await;
                Ok(if ended.is_ok() { Status::Success } else { Status::Failed })
            }
            CrashPlace::View => {
                let _screen = review_view::enter(context)?;
                #[allow(clippy::panic, reason = "the purpose of the command")]
                {
                    panic!("requested by the command crash")
                }
            }
            CrashPlace::Error => Err(Failure::from(Diagnostic::bug("Impossible state", "It was requested."))),
        }
    }
}
