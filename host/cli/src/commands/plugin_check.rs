//! `wardian plugin check`: checks a component before its release.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use async_trait::async_trait;
use wardian_authoring::component_report::{LARGE_COMPONENT_BYTES, component_size, unsupported_features};
use wardian_declaration::{InspectError, Inspected, inspect};
use wardian_diagnostic::system_reason;
use wardian_install::package::MAX_COMPONENT_BYTES;
use wardian_monitor::Summary;
use wardian_plugin::{MistakeKind, schema_mistakes};

use super::plugin_declare::read;
use crate::arguments::PluginCheckArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::component_file::FileProvider;
use crate::failure::{Failure, Outcome, Status};
use crate::render::component_check::{CheckReport, Finding, FindingKind, check_text};
use crate::render::json::pretty;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for PluginCheckArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &PluginCheckArguments) -> Outcome {
    let path = &arguments.component;
    let bytes = read(path, MAX_COMPONENT_BYTES)?;
    let inspected = inspect(&bytes, &context.app.directory).map_err(|error| {
        let hint = match error {
            InspectError::NotAComponent => {
                " Build for the target wasm32-wasip2, or convert a core module with `wardian plugin \
                 componentize`."
            }
            _ => "",
        };
        Failure::error("Not a component", format!("{}: {error}.{hint}", path.display()))
    })?;
    let invalid = |error: &dyn std::fmt::Display| {
        Failure::error("Not a component", format!("{}: {error}.", path.display()))
    };
    let mut report = CheckReport::new(path.display().to_string());
    report.size = component_size(&bytes).map_err(|error| invalid(&error))?;
    for feature in unsupported_features(&bytes).map_err(|error| invalid(&error))? {
        report.add(FindingKind::Error, "contract", feature.text());
    }
    check_contract(&inspected, &mut report);
    if let Some(audit) = &arguments.audit {
        check_uses(audit, &inspected, arguments, &mut report)?;
    }
    if report.size.total > LARGE_COMPONENT_BYTES {
        let text = "the component is larger than 5 MB; see below what takes up the space".to_owned();
        report.add(FindingKind::Warning, "size", text);
    }
    if report.size.debug > 0 {
        let text =
            "the component contains debug information; remove it from releases with strip = true in the \
            profile"
                .to_owned();
        report.add(FindingKind::Warning, "size", text);
    }
    // A component that cannot be loaded has no schemas.
    if report.has_errors() || inspected.is_provisioner() {
        return Ok(conclude(context, arguments, &report));
    }
    let provider = FileProvider::load(context, path, arguments.address.as_ref()).await?;
    let schema = provider.schema().await?;
    report.types = schema.resources.len()
        + schema.data_sources.len()
        + schema.ephemeral_resources.len()
        + schema.list_resources.len()
        + schema.actions.len();
    report.functions = schema.functions.len();
    for mistake in schema_mistakes(&schema, provider.address.type_name()) {
        let kind = match mistake.kind {
            MistakeKind::Error => FindingKind::Error,
            MistakeKind::Warning => FindingKind::Warning,
        };
        report.findings.push(Finding { kind, subject: mistake.location, text: mistake.text });
    }
    Ok(conclude(context, arguments, &report))
}

fn conclude(context: &CommandContext, arguments: &PluginCheckArguments, report: &CheckReport) -> Status {
    if arguments.json {
        context.shell.print_json(&pretty(report));
    } else {
        context.shell.print(check_text(report, context.shell.render_options()));
    }
    if report.has_errors() { Status::Failed } else { Status::Success }
}

/// Checks exports, imports and the declaration.
fn check_contract(inspected: &Inspected, report: &mut CheckReport) {
    let is_plugin = |export: &str| {
        let path = export.split('@').next().unwrap_or_default();
        matches!(
            path,
            "wardian:plugin/provider" | "wardian:plugin/provider-base" | "wardian:plugin/provisioner"
        )
    };
    if !inspected.exports.iter().any(|export| is_plugin(export)) {
        let found = match inspected.exports.as_slice() {
            [] => "nothing".to_owned(),
            exports => exports.join(", "),
        };
        let text = format!(
            "it is not a plugin, because it exports neither wardian:plugin/provider nor \
             wardian:plugin/provisioner, but {found}; build it for the world \"provider-plugin\" of \
             wardian:plugin"
        );
        report.add(FindingKind::Error, "contract", text);
    }
    for import in inspected.imports.iter().filter(|import| !wardian_sandbox::offers_import(import)) {
        if import.starts_with("wasi:") && import.contains("@0.3.") {
            continue;
        }
        let text = format!("it imports {import}, which this version of Wardian does not provide");
        report.add(FindingKind::Error, "contract", text);
    }
    let verification = inspected.verify_imports();
    for undeclared in &verification.undeclared {
        let text = format!(
            "{undeclared}; declare it with the export macro of the SDK or with `wardian plugin declare`, or \
             remove the imports"
        );
        report.add(FindingKind::Warning, "capabilities", text);
    }
    for unused in &verification.unused {
        let text =
            format!("it declares {unused}, but imports no interface that uses it; remove the declaration");
        report.add(FindingKind::Warning, "capabilities", text);
    }
    report.capabilities = inspected
        .declaration
        .requests
        .iter()
        .map(|request| format!("{}: {}", request.capability(), request.description()))
        .collect();
}

/// Compares the declaration with the accesses in an audit log.
fn check_uses(
    audit: &Path,
    inspected: &Inspected,
    arguments: &PluginCheckArguments,
    report: &mut CheckReport,
) -> Outcome<()> {
    let summary = File::open(audit).and_then(|file| Summary::read(BufReader::new(file)));
    let summary = summary.map_err(|error| {
        let detail = format!("The audit log {} cannot be read: {}.", audit.display(), system_reason(&error));
        Failure::error("Audit log cannot be read", detail)
    })?;
    let type_name = match &arguments.address {
        Some(address) => Some(address.type_name().to_owned()),
        None => super::serve::type_name(&arguments.component),
    };
    let is_own =
        |plugin: &str| type_name.as_deref().is_some_and(|name| plugin.rsplit('/').next() == Some(name));
    let plugins: Vec<_> =
        summary.plugins.iter().filter(|(plugin, _)| is_own(plugin)).map(|(_, uses)| uses).collect();
    if plugins.is_empty() {
        let text = format!("the audit log {} contains no access of this plugin", audit.display());
        report.add(FindingKind::Warning, "capabilities", text);
        return Ok(());
    }
    let used: BTreeSet<String> = plugins
        .iter()
        .flat_map(|plugin| plugin.uses.keys())
        .filter_map(|key| serde_json::to_value(key.capability).ok()?.as_str().map(str::to_owned))
        .collect();
    let declared: BTreeSet<&str> =
        inspected.declaration.requests.iter().map(|request| request.capability()).collect();
    for capability in declared.into_iter().filter(|capability| !used.contains(*capability)) {
        let text = format!(
            "it declares {capability}, but no call in {} used it; remove the declaration if no call needs it",
            audit.display()
        );
        report.add(FindingKind::Warning, "capabilities", text);
    }
    Ok(())
}
