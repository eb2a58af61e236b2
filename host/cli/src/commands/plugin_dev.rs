//! `wardian plugin dev`: builds a provider, plans its example and runs its tests, after each change.
//!
//! The example is planned by a separate process of this program, with a CLI configuration that overrides
//! the provider with the built component, and with a policy of the user that grants the capabilities that
//! the component declares. Both files are below the directory of build results. The plan comes first,
//! because it takes less time than tests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_authoring::project::{BuildProfile, Project};
use wardian_declaration::inspect;
use wardian_diagnostic::system_reason;
use wardian_files::read_regular;
use wardian_install::package::MAX_COMPONENT_BYTES;
use wardian_policy::{CapabilityRequest, POLICY_FILE_NAME, grant_block};
use wardian_printable::{PrintableText, printable};

use crate::arguments::PluginDevArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::component_file::{build, project_failure, show_package};
use crate::failure::{Failure, Outcome, Status};
use crate::file_watch::FileTimes;
use crate::interrupt;
use crate::render::counted::counted;
use crate::shell::{OutputKind, Paint, ViewOptions};

/// Maximum size of the user's policy file.
const MAX_POLICY_BYTES: u64 = 1 << 20;

#[async_trait(?Send)]
impl CommandSpec for PluginDevArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &PluginDevArguments) -> Outcome {
    interrupt::end_with_build_tools()?;
    let project =
        Project::load(&arguments.directory).await.map_err(|error| project_failure(context, &error))?;
    let mut session = Session::new(context, arguments, project)?;
    loop {
        // A file that changes while the project is built is noticed afterwards.
        let before = session.files();
        let status = match session.round(&before).await {
            Ok(Some(status)) => status,
            // A change ended the round.
            Ok(None) => {
                context.shell.say("\nA file has changed, so the tests were stopped.\n");
                continue;
            }
            Err(failure) => context.shell.failure(&failure),
        };
        if arguments.once {
            return Ok(status);
        }
        context.shell.say(printable!("\n{}", context.shell.paint(Paint::Faint, "Waiting for changes.")));
        before.next_change(|| session.files(), || false).await;
        context.shell.say("");
    }
}

/// The state between two builds.
struct Session<'a> {
    context: &'a CommandContext,
    project: Project,
    example: PathBuf,
    runs_tests: bool,
    /// Whether a change of a file ends the tests.
    watches: bool,
    no_color: bool,
    /// The directory for the files of this command.
    directory: PathBuf,
    /// The granted requests, which are printed when they change.
    granted: Option<Vec<CapabilityRequest>>,
}

impl<'a> Session<'a> {
    fn new(context: &'a CommandContext, arguments: &PluginDevArguments, project: Project) -> Outcome<Self> {
        let example = project.directory.join(&arguments.example);
        if !example.is_dir() {
            let detail = format!(
                "There is no directory {}. Create a configuration there that uses the provider, or name another \
                 directory with -example.",
                example.display()
            );
            return Err(Failure::error("No example configuration", detail));
        }
        let directory = project.results_directory.join("wardian-dev-session");
        Ok(Self {
            context,
            project,
            example,
            runs_tests: !arguments.no_tests,
            watches: !arguments.once,
            no_color: arguments.view.no_color,
            directory,
            granted: None,
        })
    }

    /// Returns the files whose changes start a new round.
    fn files(&self) -> FileTimes {
        let mut files = FileTimes::default();
        files.add_tree(&self.project.directory, &|path| self.project.is_source(path));
        files
    }

    /// Builds, plans and tests once. Returns `None` if the tests were stopped, because a file differs from
    /// `before`.
    async fn round(&mut self, before: &FileTimes) -> Outcome<Option<Status>> {
        let shell = &self.context.shell;
        shell.say(printable!("Building {}...", self.project.name));
        let started = Instant::now();
        let component = build(self.context, &self.project, BuildProfile::Development).await?;
        let bytes = read_regular(&component, MAX_COMPONENT_BYTES).map_err(|error| {
            let detail = format!("{}: {}.", component.display(), system_reason(&error));
            Failure::error("Component cannot be read", detail)
        })?;
        shell.say(printable!("Built in {} ({}).", seconds(started.elapsed()), megabytes(bytes.len())));
        self.grant(&bytes)?;
        self.write("cli.tfrc", &cli_configuration(&self.project.address, &component))?;
        let is_planned = self.plan().await?;
        let is_tested = if self.runs_tests { self.test(before).await? } else { Some(true) };
        let status = |is_tested| if is_planned && is_tested { Status::Success } else { Status::Failed };
        Ok(is_tested.map(status))
    }

    /// Writes the development policy, which grants the capabilities that the component declares.
    fn grant(&mut self, component: &[u8]) -> Outcome<()> {
        let inspected = inspect(component, &self.example)
            .map_err(|error| Failure::error("Component cannot be used", format!("{error}.")))?;
        let requests = inspected.declaration.requests;
        let block = grant_block(&self.project.address, &requests.iter().collect::<Vec<_>>());
        if self.granted.as_ref() != Some(&requests) {
            let shell = &self.context.shell;
            if requests.is_empty() {
                shell.say("The component declares no capabilities.");
            } else {
                shell.say("Granted for development, as declared:");
                shell.print(PrintableText::from_lines(&block));
            }
            self.granted = Some(requests);
        }
        self.write(&format!("config/wardian/{POLICY_FILE_NAME}"), &self.policy(&block)?)
    }

    /// Returns the user's policy with the additional grants.
    fn policy(&self, block: &str) -> Outcome<String> {
        let app = &self.context.app;
        let places = app.environment.policy_places(&app.directory, &app.started_in);
        let own = places.user.filter(|path| path.exists());
        let Some(path) = own else { return Ok(format!("otherwise = \"defer\"\n\n{block}")) };
        let bytes = read_regular(&path, MAX_POLICY_BYTES).map_err(|error| {
            let detail = format!("{}: {}.", path.display(), system_reason(&error));
            Failure::error("Policy file cannot be read", detail)
        })?;
        Ok(format!("{}\n{block}", String::from_utf8_lossy(&bytes)))
    }

    fn write(&self, name: &str, text: &str) -> Outcome<()> {
        let path = self.directory.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|error| {
            let detail = format!("{}: {}.", path.display(), system_reason(&error));
            Failure::error("File cannot be written", detail)
        })
    }

    /// Starts this program in the example's directory.
    fn wardian(&self, arguments: &[&str]) -> Outcome<tokio::process::Child> {
        let program = std::env::current_exe().map_err(not_started)?;
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).current_dir(&self.example).stdin(Stdio::null()).kill_on_drop(true);
        if self.no_color {
            command.arg("-no-color");
        }
        command.env("TF_CLI_CONFIG_FILE", self.directory.join("cli.tfrc"));
        command.env("XDG_CONFIG_HOME", self.directory.join("config"));
        command.env("WARDIAN_AUDIT", self.directory.join("audit.jsonl"));
        command.env("TF_IN_AUTOMATION", "1");
        command.spawn().map_err(not_started)
    }

    /// Plans the example.
    async fn plan(&self) -> Outcome<bool> {
        let shell = &self.context.shell;
        let name = self.example.strip_prefix(&self.project.directory).unwrap_or(&self.example);
        shell.say(printable!("\nPlanning {}...", name.display()));
        let started = Instant::now();
        let mut plan = self.wardian(&["plan", "-input=false", "-compact-warnings", "-lock=false"])?;
        let is_planned = plan.wait().await.map_err(not_started)?.success();
        let done = if is_planned { "Planned" } else { "The plan failed" };
        shell.say(printable!("{done} in {}.", seconds(started.elapsed())));
        Ok(is_planned)
    }

    /// Runs the unit tests, and the tests of the example, until a file differs from `before`. Returns `None`
    /// if they were stopped.
    async fn test(&self, before: &FileTimes) -> Outcome<Option<bool>> {
        self.context.shell.say("\nTesting...");
        let change = async {
            if self.watches {
                before.next_change(|| self.files(), || false).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        let mut change = std::pin::pin!(change);
        let passed = tokio::select! {
            biased;
            () = &mut change => return Ok(None),
            passed = self.unit_tests() => passed,
        };
        if !has_test_files(&self.example) {
            return Ok(Some(passed));
        }
        let started = Instant::now();
        let mut tests = self.wardian(&["test"])?;
        let ended = tokio::select! {
            biased;
            () = &mut change => None,
            ended = tests.wait() => Some(ended),
        };
        let Some(ended) = ended else {
            // The command destroys the objects that it has created.
            stop(&tests);
            tests.wait().await.map_err(not_started)?;
            return Ok(None);
        };
        let is_passed = ended.map_err(not_started)?.success();
        let done = if is_passed { "passed" } else { "failed" };
        let time = seconds(started.elapsed());
        self.context.shell.say(printable!("The tests of the example {done} in {time}."));
        Ok(Some(passed && is_passed))
    }

    async fn unit_tests(&self) -> bool {
        let shell = &self.context.shell;
        let started = Instant::now();
        match self.project.test(&mut show_package(self.context)).await {
            Ok(passed) => {
                let time = seconds(started.elapsed());
                match passed {
                    Some(count) => shell.say(printable!("{} passed in {time}.", counted(count, "unit test"))),
                    None => shell.say(printable!("The unit tests passed in {time}.")),
                }
                true
            }
            Err(error) => {
                shell.failure(&project_failure(self.context, &error));
                false
            }
        }
    }
}

fn not_started(error: std::io::Error) -> Failure {
    Failure::error("Program cannot be started", format!("{}.", system_reason(&error)))
}

/// Sends the signal that Ctrl-C sends.
fn stop(child: &tokio::process::Child) {
    #[cfg(unix)]
    if let Some(process) = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
        // The program may have ended.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::INT);
    }
    #[cfg(not(unix))]
    let _ = child;
}

/// Returns a CLI configuration with a development override.
fn cli_configuration(address: &ProviderAddress, component: &Path) -> String {
    let mut path = String::new();
    for character in component.to_string_lossy().chars() {
        if matches!(character, '"' | '\\') {
            path.push('\\');
        }
        path.push(character);
    }
    let mut text = "provider_installation {\n".to_owned();
    let _ = write!(text, "  dev_overrides {{\n    \"{address}\" = \"{path}\"\n  }}\n\n  direct {{}}\n}}\n");
    text
}

fn has_test_files(example: &Path) -> bool {
    let is_test = |entry: fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".tftest.hcl");
    [example.to_owned(), example.join("tests")]
        .iter()
        .any(|directory| fs::read_dir(directory).into_iter().flatten().flatten().any(is_test))
}

/// Returns a size in megabytes, with two decimal places.
pub(super) fn megabytes(bytes: usize) -> String {
    let hundredths = bytes / 10_000;
    format!("{}.{:02} MB", hundredths / 100, hundredths % 100)
}

pub(super) fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_configuration_quotes_the_path() {
        let address = ProviderAddress::parse("acme/dns").unwrap();
        let text = cli_configuration(&address, Path::new("/a \"b\"/c.wasm"));
        assert!(text.contains("\"registry.terraform.io/acme/dns\" = \"/a \\\"b\\\"/c.wasm\""), "{text}");
    }
}
