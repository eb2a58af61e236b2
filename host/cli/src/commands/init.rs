//! `wardian init`: selects, installs, locks and compiles plugins.

mod lines;
mod state_store;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::ProviderAddress;
use wardian_app::backend_init;
use wardian_app::built_in;
use wardian_app::consent;
use wardian_app::modules::{self, ModuleOptions};
use wardian_app::native_confinement::{self, ConfinementLevel};
use wardian_app::plugin_path;
use wardian_app::plugins;
use wardian_app::requirements_with_tests;
use wardian_app::sentence;
use wardian_app::state_access;
use wardian_app::test_suite::TestFiles;
use wardian_app::untrusted::ConfigurationTrust;
use wardian_config::{Configuration, QueryFiles};
use wardian_diagnostic::Diagnostic;
use wardian_download::NetworkAccess;
use wardian_install::installed::install;
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_install::mirror::Platform;
use wardian_install::package::PluginArtifact;
use wardian_install::selection::{
    LockChange, LockFilePolicy, Notice, Requirements, SelectedPlugin, Selection, SelectionError,
    SelectionOptions, VersionPolicy, select,
};
use wardian_install::sources::Sources;
use wardian_modules::InstallMode;
use wardian_printable::{PrintableText, printable};
use wardian_sandbox::LoadEvent;
use wardian_state::State;

use super::get;
use crate::arguments::InitArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::progress::ModuleProgress;
use crate::shell::{InitStep, OutputKind, Paint, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for InitArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        if self.json { OutputKind::JsonMessages } else { OutputKind::Report }
    }

    fn query_files(&self) -> QueryFiles {
        QueryFiles::Included
    }

    fn trust(&self) -> ConfigurationTrust {
        self.trust.level()
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.json && self.backend.migrate_state {
            return Err(InvalidOptions::new(
                "The -migrate-state and -json options are mutually-exclusive",
                "With -json, init cannot ask for approval. Use -migrate-state without -json, or -force-copy \
                 to copy the states without confirmation.",
            ));
        }
        if self.upgrade && self.lockfile.is_some() {
            return Err(InvalidOptions::new(
                "The -upgrade flag conflicts with -lockfile=readonly.",
                "-upgrade selects new versions, which -lockfile=readonly does not allow. Use only one of them.",
            ));
        }
        if self.backend.reconfigure && self.backend.migrate_state {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "-reconfigure leaves the states where they are, and -migrate-state copies them to the new \
                 backend: use only one of them.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &InitArguments) -> Outcome {
    let shell = &context.shell;
    if let Some(source) = &arguments.from_module {
        copy_module(context, arguments, source).await?;
    }
    let root = modules::root_module(&context.app)?;
    if root.files.is_empty() {
        lines::empty_directory(shell);
        return Ok(Status::Success);
    }
    if !arguments.plugin_dir.is_empty() {
        plugin_path::record(&context.app.data_directory(), &arguments.plugin_dir)?;
    }
    let network = context.app.network(arguments.access())?;
    let mut state = Arc::<State>::default();
    if arguments.backend.backend {
        let options = arguments.backend.options();
        state_store::install(context, &root, &options, &network, arguments).await?;
        lines::step(shell, InitStep::Backend);
        let stop = interrupt::listen(shell)?;
        let backend = backend_init::initialize(&context.app, &root, &options, &stop).await?;
        state = state_access::read_workspace_unlocked(&context.app, &backend).await?;
    }
    let test_directory = arguments.test_directory.as_deref();
    let (configuration, tests, pins) = if arguments.get {
        if !root.module_calls.is_empty() || modules::has_run_modules(&context.app, test_directory) {
            lines::step(shell, if arguments.upgrade { InitStep::ModuleUpgrade } else { InitStep::Modules });
        }
        let mode = if arguments.upgrade { InstallMode::Upgrade } else { InstallMode::Keep };
        let installed = get::install_modules(context, &network, mode, test_directory, false).await?;
        (installed.configuration, installed.tests, Some(installed.pins))
    } else {
        let (configuration, tests) = context.app.configuration_with_tests(test_directory)?;
        (configuration, tests, None)
    };
    lines::step(shell, InitStep::Providers);
    let sources = context.app.network_sources(&network)?;
    let selection = {
        let _footer = context.downloads.begin(shell);
        choose(context, &configuration, &tests, &state, &sources, arguments).await?
    };
    for (address, chosen) in &selection.plugins {
        if let Some(entry) = selection.lock.providers.get(address) {
            lines::search(shell, address, chosen, &entry.constraints);
        }
    }
    let (options, allowed) = (arguments.consent_options(), &arguments.allow_native);
    consent::confirm_native_programs(&context.app, &selection, options, allowed).await?;
    let agreements = consent::obtain(&context.app, &selection, &options).await?;
    for (address, chosen) in &selection.plugins {
        install(chosen, &context.app.data_directory(), &sources)
            .map_err(|error| Failure::error("Plugin cannot be installed", sentence(&error.to_string())))?;
        lines::installed(shell, address, chosen);
    }
    sources.digests.save_written();
    lines::signing(shell, &selection);
    warn_of_native(context, &selection)?;
    warn_of_shadows(context, &selection);
    report_notices(context, &selection.notices);
    save_lock(context, &selection)?;
    consent::record(&context.app, &agreements)?;
    if let Some(pins) = &pins {
        modules::record_pins(&context.app, pins, arguments.is_lock_file_read_only(context))?;
    }
    context.app.record_granted_paths()?;
    compile(context, &configuration, &tests, &state, &selection).await?;
    lines::success(shell, !context.app.environment.in_automation());
    Ok(Status::Success)
}

impl InitArguments {
    fn access(&self) -> NetworkAccess {
        if self.offline { NetworkAccess::Offline } else { NetworkAccess::Online }
    }

    /// Returns whether the lock files must not change. For an untrusted configuration, only the
    /// plugins in the lock files are installed.
    fn is_lock_file_read_only(&self, context: &CommandContext) -> bool {
        self.lockfile.is_some() || context.app.confinement.is_some()
    }
}

/// Copies a module into the directory, which must be empty, for `-from-module`.
async fn copy_module(context: &CommandContext, arguments: &InitArguments, source: &str) -> Outcome<()> {
    let network = context.app.network(arguments.access())?;
    context
        .shell
        .say(context.shell.paint(Paint::Bold, printable!("Copying configuration from {source:?}...")));
    let options = ModuleOptions {
        network: &network,
        mode: InstallMode::Keep,
        observer: Arc::new(ModuleProgress::new(&context.shell)),
        writes_empty_manifest: false,
        test_directory: None,
    };
    Ok(modules::copy_into_root(&context.app, options, source).await?)
}

/// Selects the plugins without writing any files.
async fn choose(
    context: &CommandContext,
    configuration: &Configuration,
    tests: &TestFiles,
    state: &State,
    sources: &Sources<'_>,
    arguments: &InitArguments,
) -> Outcome<Selection> {
    let mut requirements = requirements_with_tests(configuration, Some(state), tests);
    let lock = context.app.lock_file()?;
    for configuration in tests.with_root(configuration) {
        plugins::require_provisioners(&mut requirements, configuration, |address| {
            sources.is_in_directory(address) || lock.providers.contains_key(address)
        });
    }
    for address in requirements.providers.keys().filter(|address| built_in::is_known(address)) {
        let dash = if context.shell.is_for_programs() { "" } else { "- " };
        let name = context.shell.product().name();
        context.shell.say(printable!("{}{address} is built in to {name}", PrintableText::from(dash)));
    }
    for (address, running) in
        context.app.reattached.iter().filter(|(address, _)| requirements.providers.contains_key(*address))
    {
        let address = address.for_display();
        let line = printable!("- {address} is already running ({running}) and is not installed");
        context.shell.say(context.shell.wrapped_item(&line));
    }
    select_plugins(context, &requirements, &lock, sources, arguments).await
}

/// Selects the plugins that the requirements name, without writing any files.
async fn select_plugins(
    context: &CommandContext,
    requirements: &Requirements,
    lock: &LockFile,
    sources: &Sources<'_>,
    arguments: &InitArguments,
) -> Outcome<Selection> {
    let mut diagnostics = built_in::check(requirements);
    let options = SelectionOptions {
        versions: if arguments.upgrade { VersionPolicy::Upgrade } else { VersionPolicy::KeepLocked },
        lock_file: if arguments.is_lock_file_read_only(context) {
            LockFilePolicy::ReadOnly
        } else {
            LockFilePolicy::Update
        },
    };
    match select(requirements, lock, sources, &context.app.data_directory(), options).await {
        Ok(selection) => Ok(diagnostics.into_result(selection)?),
        Err(errors) => {
            let told =
                |error: &SelectionError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
            diagnostics.extend(errors.iter().map(told));
            Err(diagnostics.into())
        }
    }
}

fn warn_of_native(context: &CommandContext, selection: &Selection) -> Outcome<()> {
    let policy = context.app.policy()?;
    let mut native = Vec::new();
    let mut confined = Vec::new();
    for (address, chosen) in &selection.plugins {
        if !matches!(chosen.artifact, PluginArtifact::Native(_)) {
            continue;
        }
        let name = format!(" - {} v{}", address.for_display(), chosen.version);
        match native_confinement::displayed_level(policy.for_plugin(address).native()) {
            Some(level) if level > ConfinementLevel::None => confined.push(format!("{name}: {level}")),
            // With confinement that only is preferred, the plugin runs without it.
            _ => native.push(name),
        }
    }
    if !confined.is_empty() {
        context.shell.say(printable!(
            "\nNative plugins are confined, at these levels:\n{}",
            PrintableText::from_lines(&confined.join("\n"))
        ));
    }
    if native.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "These plugins are native programs and run outside the sandbox: they can read, change and transmit \
         everything that you can access. They receive only selected variables of your environment.\n{}",
        native.join("\n")
    );
    context.shell.diagnostics(&Diagnostic::warning("Native plugins are not confined", detail).into());
    Ok(())
}

/// Warns about a native plugin that replaces an embedded one. The installation rules allow the
/// replacement, because the plugin was selected, but it is rarely intended.
fn warn_of_shadows(context: &CommandContext, selection: &Selection) {
    let shadowing = selection.plugins.iter().filter_map(|(address, chosen)| {
        let PluginArtifact::Native(native) = &chosen.artifact else { return None };
        let embedded = context.app.catalog.versions_of(address).max()?;
        let (address, version, file) = (address.for_display(), &chosen.version, native.file.display());
        Some(format!(" - {address} v{version} in {file}, instead of the embedded v{embedded}"))
    });
    let shadowing: Vec<String> = shadowing.collect();
    if shadowing.is_empty() {
        return;
    }
    let detail = format!(
        "These native plugins replace plugins that are embedded in Wardian and run in its sandbox:\n{}\nTo \
         use the embedded plugins, remove the files, or select the embedded version in the version \
         constraints and the lock file.",
        shadowing.join("\n")
    );
    let warning = Diagnostic::warning("Native plugin overrides an embedded plugin", detail);
    context.shell.diagnostics(&warning.into());
}

fn report_notices(context: &CommandContext, notices: &[Notice]) {
    warn_of_local_hashes(context, notices);
    for notice in notices {
        match notice {
            // The warning is shown when the plugins are located, as in all commands.
            Notice::OverrideInEffect { .. } | Notice::OnlyLocalHash { .. } => {}
            Notice::OverriddenNotSelected { .. } => {
                let detail = sentence(&notice.to_string());
                let warning = Diagnostic::warning("Provider development override", detail);
                context.shell.diagnostics(&warning.into());
            }
            Notice::RegistryWarning { .. } => {
                let detail = sentence(&notice.to_string());
                let warning = Diagnostic::warning("Additional provider information from registry", detail);
                context.shell.diagnostics(&warning.into());
            }
            Notice::EmbeddedHashAdded { .. } | Notice::HashNotRecorded { .. } => {
                context.shell.say(context.shell.wrapped_item(&printable!("  Note: {notice}.")));
            }
        }
    }
}

/// Warns about native plugins if the lock file has no hashes of their packages for other platforms.
fn warn_of_local_hashes(context: &CommandContext, notices: &[Notice]) {
    let local: Vec<String> = notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::OnlyLocalHash { address } => Some(format!("  - {}", address.for_display())),
            _ => None,
        })
        .collect();
    if local.is_empty() {
        return;
    }
    let platform = Platform::current();
    let (command, platform) = (context.shell.product().command(), platform.as_str());
    let other = if platform == "linux_amd64" { "darwin_arm64" } else { "linux_amd64" };
    let detail = format!(
        "Because of the configured installation methods, the hashes of these providers in the lock file were \
         computed from the installed packages:\n{}\n\nThe file .terraform.lock.hcl has only the hashes for \
         {platform}, so the providers cannot be installed on another platform. To add the hashes for another \
         platform, such as {other}, run:\n  {command} providers lock -platform={other}",
        local.join("\n")
    );
    let warning = Diagnostic::warning("Incomplete lock file information for providers", detail);
    context.shell.diagnostics(&warning.into());
}

/// Reports plugins whose lock entries contain no hash of a native package, because Terraform does
/// not accept such entries.
fn report_components_without_packages(context: &CommandContext, selection: &Selection) {
    let is_only_component = |(address, chosen): &(&ProviderAddress, &SelectedPlugin)| {
        let hashes = selection.lock.providers.get(*address).map_or(0, |entry| entry.hashes.len());
        matches!(chosen.artifact, PluginArtifact::Component(_)) && hashes == 1
    };
    let components: Vec<String> = selection
        .plugins
        .iter()
        .filter(is_only_component)
        .map(|(address, chosen)| format!("{} v{}", address.for_display(), chosen.version))
        .collect();
    if components.is_empty() {
        return;
    }
    let components = components.join(", ");
    let line = printable!(
        "  Note: Terraform cannot install {components} with this lock file, which has only the hash of the component."
    );
    context.shell.say(context.shell.wrapped_item(&line));
}

fn save_lock(context: &CommandContext, selection: &Selection) -> Outcome<()> {
    if selection.lock_change == LockChange::Unchanged {
        return Ok(());
    }
    selection
        .lock
        .save(Path::new(LOCK_FILE_NAME))
        .map_err(|error| Failure::error("Lock file cannot be written", sentence(&error.to_string())))?;
    lines::lock_file(&context.shell, selection.lock_change);
    report_components_without_packages(context, selection);
    Ok(())
}

/// Loads every plugin once, to report unusable plugins during `init` and to cache the compiled code
/// for later commands.
async fn compile(
    context: &CommandContext,
    configuration: &Configuration,
    tests: &TestFiles,
    state: &State,
    selection: &Selection,
) -> Outcome<()> {
    let plugins = context.app.plugins_with_tests(configuration, tests, Some(state), &selection.lock, 1)?;
    if let Some(problem) = plugins.cache_problem() {
        let detail = format!("Every command compiles the plugins again, which takes seconds: {problem}.");
        context.shell.diagnostics(&Diagnostic::warning("Compiled plugins cannot be cached", detail).into());
    }
    let shell = context.shell.clone();
    let provisioners: BTreeSet<&str> = tests
        .with_root(configuration)
        .flat_map(wardian_engine::provisioner_blocks)
        .map(|block| &*block.type_name)
        .collect();
    let told = plugins.load_all(&provisioners, move |event| match event {
        LoadEvent::Compiling { plugin, bytes } => {
            shell.say(printable!("- Compiling {plugin} ({} KiB)...", bytes.div_ceil(1024)));
        }
        LoadEvent::Compiled { plugin, took } => {
            shell.say(printable!("- Compiled {plugin} in {:.1} s", took.as_secs_f64()));
        }
    });
    told.await.map_err(|problems| {
        let diagnostics =
            problems.into_iter().map(|problem| Diagnostic::error(problem.summary, problem.detail));
        Failure::Diagnostics(diagnostics.collect())
    })
}
