//! `wardian show -html`, `-markdown` and `-summary`: print reviews of plans.

use std::path::PathBuf;

use wardian_monitor::Summary;
use wardian_review::{PluginAccess, Review};
use wardian_review_document::{CommentFormat, CommentOptions, markdown_comment, write_page};

use crate::arguments::{CommentService, ShowArguments};
use crate::command_context::CommandContext;
use crate::failure::{Outcome, Status};
use crate::render::review::render_summary;
use crate::review_findings::plugin_accesses;
use crate::review_source::review_of_file;
use wardian_printable::printable;

/// The form in which reviews are printed.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReviewForm {
    Html,
    Markdown(CommentOptions),
    Summary,
}

impl ReviewForm {
    /// Returns the form that the options select; `None` if they select none.
    pub(super) fn new(arguments: &ShowArguments) -> Option<Self> {
        if let Some(service) = arguments.markdown {
            let mut options = CommentOptions::for_service(match service {
                CommentService::Github => CommentFormat::GitHub,
                CommentService::Gitlab => CommentFormat::GitLab,
            });
            options.limit = arguments.limit.unwrap_or(options.limit);
            return Some(Self::Markdown(options));
        }
        match (arguments.html, arguments.summary) {
            (true, _) => Some(Self::Html),
            (false, true) => Some(Self::Summary),
            (false, false) => None,
        }
    }
}

/// Returns the accesses of plugins in audit logs.
///
/// # Errors
/// Returns an error if a log cannot be read.
pub(super) fn accesses(files: &[PathBuf]) -> Outcome<Vec<PluginAccess>> {
    let mut summary = Summary::default();
    for path in files {
        super::audit::read(path, &mut summary)?;
    }
    Ok(plugin_accesses(&summary))
}

/// Prints the reviews of the plans in files.
///
/// # Errors
/// Returns an error if a file cannot be reviewed. In this case, nothing is printed.
pub(super) async fn run(
    context: &CommandContext,
    files: impl Iterator<Item = &PathBuf>,
    audit: &[PathBuf],
    form: ReviewForm,
) -> Outcome {
    let accesses = accesses(audit)?;
    let mut reviews: Vec<Review> = Vec::new();
    for path in files {
        // `-audit` requires that there is only one plan.
        reviews.push(review_of_file(context, path).await?.review.with_accesses(accesses.clone()));
    }
    let shell = &context.shell;
    match form {
        ReviewForm::Html => shell.write_with(|out| write_page(&reviews, out)),
        ReviewForm::Markdown(options) => {
            let comment = markdown_comment(&reviews, options);
            shell.write_with(|out| out.write_all(comment.as_bytes()).and_then(|()| out.flush()));
        }
        ReviewForm::Summary => {
            for review in &reviews {
                if reviews.len() > 1 {
                    shell.say(printable!("\n{}", &*review.title));
                }
                shell.print(render_summary(review, shell.render_options()));
            }
        }
    }
    // The process exits next, and freeing large reviews takes time.
    std::mem::forget(reviews);
    Ok(Status::Success)
}
