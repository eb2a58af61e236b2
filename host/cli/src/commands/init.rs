//! `wardian init`

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_config::Configuration;
use wardian_diagnostic::Diagnostic;
use wardian_install::installed::install;
use wardian_install::lock_file::LOCK_FILE_NAME;
use wardian_install::mirror::Platform;
use wardian_install::package::{PluginArtifact, PluginOrigin};
use wardian_install::selection::{
    LockChange, LockFilePolicy, Notice, SelectedPlugin, Selection, SelectionError, SelectionOptions,
    SelectionReason, VersionPolicy, select,
};
use wardian_sandbox::LoadEvent;
use wardian_state::State;

use super::get;
use crate::arguments::InitArguments;
use crate::backend;
use crate::built_in;
use crate::failure::{Failure, Outcome, Status, sentence};
use crate::granting;
use crate::interrupt;
use crate::module_manifest;
use crate::native_confinement;
use crate::provisioners;
use crate::session::{Session, requirements};
use crate::shell::Paint;
use crate::state_access;

/// Chooses, installs, locks and compiles plugins.
pub(crate) async fn run(session: &Session, arguments: &InitArguments) -> Outcome {
    let shell = &session.shell;
    let configuration = session.configuration()?;
    if configuration.files().next().is_none() {
        shell.say(format_args!(
            "{}\n\nThere are no .tf files here. Write some, and run `wardian init` again.",
            shell.paint(Paint::Bold, "Nothing to initialize: the directory has no configuration.")
        ));
        return Ok(Status::Success);
    }
    let mut state = Arc::<State>::default();
    if arguments.backend.backend {
        shell.say(shell.paint(Paint::Bold, "Initializing the backend..."));
        let stop = interrupt::listen(shell)?;
        let backend = backend::initialise(session, &configuration, &arguments.backend, &stop).await?;
        state = state_access::look_at(session, backend.state_path(&session.workspace.name))?.state;
    }
    if arguments.get && !configuration.root().module.module_calls.is_empty() {
        shell.say(shell.paint(Paint::Bold, "Initializing modules..."));
        let records = module_manifest::records(&configuration);
        let all = if arguments.upgrade { records.clone() } else { Vec::new() };
        let new = module_manifest::save(records, &session.data_directory())?;
        get::tell(session, if arguments.upgrade { &all } else { &new });
    }
    shell.say(shell.paint(Paint::Bold, "Initializing provider plugins..."));
    let selection = choose(session, &configuration, &state, arguments)?;
    let agreements = granting::agree(session, &selection, arguments).await?;
    for (address, chosen) in &selection.plugins {
        install(chosen, &session.data_directory(), &Platform::current())
            .map_err(|error| Failure::error("Plugin cannot be installed", sentence(&error.to_string())))?;
        shell.say(format_args!("- {}", described(address, chosen)));
    }
    warn_of_native(session, &selection)?;
    warn_of_shadows(session, &selection);
    tell_notices(session, &selection.notices);
    save_lock(session, &selection)?;
    granting::record(session, &agreements)?;
    compile(session, &configuration, &state, &selection).await?;
    shell
        .say(format_args!("\n{}", shell.paint(Paint::Success, "Wardian has been successfully initialized!")));
    if !session.environment.in_automation() {
        shell.say(
            "\nNext, see what would be created or changed with `wardian plan`.\n\nWhenever you change module calls, \
             providers or their versions, run `wardian init`\nagain. Other commands say so where it is needed.",
        );
    }
    Ok(Status::Success)
}

/// The chosen plugins. Nothing was written yet.
fn choose(
    session: &Session,
    configuration: &Configuration,
    state: &State,
    arguments: &InitArguments,
) -> Outcome<Selection> {
    let mut requirements = requirements(configuration, Some(state));
    let (lock, sources) = (session.lock_file()?, session.sources()?);
    provisioners::require(&mut requirements, configuration, |address| {
        sources.is_in_directory(address) || lock.providers.contains_key(address)
    });
    for address in requirements.providers.keys().filter(|address| built_in::is_known(address)) {
        session.shell.say(format_args!("- {address} is built in to Wardian"));
    }
    for (address, running) in
        session.reattached.iter().filter(|(address, _)| requirements.providers.contains_key(*address))
    {
        let address = address.for_display();
        session.shell.say(format_args!("- {address} runs already ({running}), and is not installed"));
    }
    let mut diagnostics = built_in::check(&requirements);
    let options = SelectionOptions {
        versions: if arguments.upgrade { VersionPolicy::Upgrade } else { VersionPolicy::KeepLocked },
        // What a stranger's configuration wants beyond what is locked is not installed.
        lock_file: if arguments.lockfile.is_some() || session.confinement.is_some() {
            LockFilePolicy::ReadOnly
        } else {
            LockFilePolicy::Update
        },
    };
    match select(&requirements, &lock, &sources, &session.data_directory(), options) {
        Ok(selection) => Ok(diagnostics.into_result(selection)?),
        Err(errors) => {
            let told =
                |error: &SelectionError| Diagnostic::error(error.summary(), sentence(&error.to_string()));
            diagnostics.extend(errors.iter().map(told));
            Err(diagnostics.into())
        }
    }
}

fn warn_of_native(session: &Session, selection: &Selection) -> Outcome<()> {
    let policy = session.policy()?;
    let is_confined = |address: &ProviderAddress| native_confinement::is_wanted(policy.of(address).native());
    let native: Vec<String> = selection
        .plugins
        .iter()
        .filter(|(address, chosen)| {
            matches!(chosen.artifact, PluginArtifact::Native(_)) && !is_confined(address)
        })
        .map(|(address, chosen)| format!(" - {} v{}", address.for_display(), chosen.version))
        .collect();
    if native.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "These plugins are programs of their own and run outside of the sandbox: they can read, change and send away \
         whatever you can. Of your environment they see only what is meant for them.\n{}",
        native.join("\n")
    );
    session.shell.diagnostics(&Diagnostic::warning("Native plugins are not confined", detail).into());
    Ok(())
}

/// A program that takes the place of a plugin of ours: by the rules of installation it
/// may, since it was chosen, but few mean it.
fn warn_of_shadows(session: &Session, selection: &Selection) {
    let shadowing = selection.plugins.iter().filter_map(|(address, chosen)| {
        let PluginArtifact::Native(native) = &chosen.artifact else { return None };
        let embedded = session.catalogue.versions_of(address).max()?;
        let (address, version, file) = (address.for_display(), &chosen.version, native.file.display());
        Some(format!(
            " - {address} v{version} in {file}, instead of v{embedded} that is part of this program"
        ))
    });
    let shadowing: Vec<String> = shadowing.collect();
    if shadowing.is_empty() {
        return;
    }
    let detail = format!(
        "These programs take the place of plugins that are part of Wardian, which run in its sandbox:\n{}\nTo use \
         those, remove the files, or let the version constraints and the lock file have the version of the plugin that \
         is part of this program.",
        shadowing.join("\n")
    );
    let warning = Diagnostic::warning("Native plugin overrides an embedded plugin", detail);
    session.shell.diagnostics(&warning.into());
}

/// `hashicorp/random v3.7.2, the newest that meets ~> 3.7 (embedded component)`
fn described(address: &ProviderAddress, chosen: &SelectedPlugin) -> String {
    let reason = match chosen.reason {
        SelectionReason::Locked => "as locked",
        SelectionReason::NewestMatching => "the newest that the configuration allows",
        SelectionReason::Newest => "the newest there is",
    };
    let kind = match chosen.artifact {
        PluginArtifact::Component(_) => "component",
        PluginArtifact::Native(_) => "native program",
    };
    let origin = match chosen.artifact.origin() {
        PluginOrigin::Embedded => format!("embedded {kind}"),
        PluginOrigin::Mirror(location) => format!("{kind} from {}", location.path().display()),
        PluginOrigin::Installed(path) => format!("{kind} installed before, in {}", path.display()),
        PluginOrigin::DevelopmentOverride(path) => format!("{kind} under development, in {}", path.display()),
    };
    format!("{} v{}, {reason} ({origin})", address.for_display(), chosen.version)
}

fn tell_notices(session: &Session, notices: &[Notice]) {
    for notice in notices {
        match notice {
            // Said when the plugins are found, as by every command.
            Notice::OverrideInEffect { .. } => {}
            Notice::OverriddenNotSelected { .. } => {
                let detail = sentence(&notice.to_string());
                let warning = Diagnostic::warning("Provider development override", detail);
                session.shell.diagnostics(&warning.into());
            }
            Notice::EmbeddedHashAdded { .. } | Notice::HashNotRecorded { .. } => {
                session.shell.say(format_args!("  Note: {notice}."));
            }
        }
    }
}

fn save_lock(session: &Session, selection: &Selection) -> Outcome<()> {
    if selection.lock_change == LockChange::Unchanged {
        return Ok(());
    }
    selection
        .lock
        .save(Path::new(LOCK_FILE_NAME))
        .map_err(|error| Failure::error("Lock file cannot be written", sentence(&error.to_string())))?;
    let text = if selection.lock_change == LockChange::Created {
        "\nThe choices are recorded in the lock file .terraform.lock.hcl. Keep it under version\ncontrol, so that \
         everybody gets the same plugins."
    } else {
        "\nThe lock file .terraform.lock.hcl has changed. Review the change and keep it under\nversion control."
    };
    session.shell.say(text);
    Ok(())
}

/// Loads every plugin once: one that cannot be run is found now, and what is
/// compiled is kept, so that the next command starts at once.
async fn compile(
    session: &Session,
    configuration: &Configuration,
    state: &State,
    selection: &Selection,
) -> Outcome<()> {
    let plugins = session.plugins(configuration, Some(state), &selection.lock, 1)?;
    if let Some(problem) = plugins.cache_problem() {
        let detail = format!(
            "Compiled plugins cannot be kept, so that every command compiles them anew, which takes seconds: {problem}."
        );
        session.shell.diagnostics(&Diagnostic::warning("No cache of compiled plugins", detail).into());
    }
    let shell = session.shell.clone();
    let provisioners: BTreeSet<&str> =
        wardian_engine::provisioner_blocks(configuration).map(|block| &*block.type_name).collect();
    let told = plugins.load_all(&provisioners, move |event| match event {
        LoadEvent::Compiling { plugin, bytes } => {
            shell.say(format_args!("- Compiling {plugin} ({} KiB)...", bytes.div_ceil(1024)));
        }
        LoadEvent::Compiled { plugin, took } => {
            shell.say(format_args!("- Compiled {plugin} in {:.1} s", took.as_secs_f64()));
        }
    });
    told.await.map_err(|problems| {
        let diagnostics =
            problems.into_iter().map(|problem| Diagnostic::error(problem.summary, problem.detail));
        Failure::Diagnostics(diagnostics.collect())
    })
}
