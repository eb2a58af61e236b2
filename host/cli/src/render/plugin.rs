//! Renders a component's imports and capability requests.

use serde::Serialize;
use wardian_app::{CapabilityChange, RequestedCapability};
use wardian_declaration::Inspected;
use wardian_policy::CapabilityRequest;

use super::RenderOptions;
use super::consent_view::consent_text;
use super::style::{Page, Style};
use wardian_printable::{PrintableText, append_line, printable};

/// The output of `plugin inspect -json`.
#[derive(Serialize)]
pub(crate) struct PluginReport<'a> {
    format_version: &'static str,
    plugin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a str>,
    size: usize,
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_hash: Option<String>,
    sdk: &'a [String],
    exports: Vec<Interface<'a>>,
    imports: Vec<Interface<'a>>,
    capabilities: Vec<Capability<'a>>,
    /// The reasons why the component cannot be loaded.
    problems: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Interface<'a> {
    name: &'a str,
    /// The purpose, if known.
    purpose: Option<&'static str>,
    /// Whether the host provides the interface; `None` for exports.
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<bool>,
}

#[derive(Serialize)]
struct Capability<'a> {
    #[serde(rename = "capability")]
    kind: &'a str,
    what: String,
    reason: &'a str,
    /// The block of a policy that grants the request.
    rule: String,
}

/// The purposes of interfaces, by path or by a prefix of the path.
const PURPOSES: &[(&str, &str)] = &[
    ("wardian:plugin/provider-types", "types"),
    ("wardian:plugin/provider", "makes it a provider"),
    ("wardian:plugin/ephemeral-resources", "has ephemeral resources"),
    ("wardian:plugin/list-resources", "has list resources"),
    ("wardian:plugin/actions", "has actions"),
    ("wardian:plugin/configured-form", "hands on its configured form"),
    ("wardian:plugin/state-store", "has state stores"),
    ("wardian:plugin/provisioner", "makes it a provisioner"),
    ("wardian:plugin/types", "types only"),
    ("wardian:plugin/log", "log lines"),
    ("wardian:plugin/file-mode", "file permissions"),
    ("wardian:plugin/http", "HTTP requests"),
    ("wardian:plugin/run", "recorded states, interruption"),
    ("wardian:plugin/interruption", "interruption"),
    ("wardian:plugin/shared", "memory shared by its instances"),
    ("wardian:plugin/ui", "terminal output"),
    ("wardian:plugin/process", "runs programs"),
    ("wardian:plugin/communicator", "the provisioned machine"),
    ("wasi:cli/environment", "variables, directory, arguments"),
    ("wasi:cli/exit", "process exit"),
    ("wasi:cli/std", "standard streams (logged)"),
    ("wasi:cli/terminal", "terminal detection"),
    ("wasi:clocks/", "clocks"),
    ("wasi:config/", "the host's configuration"),
    ("wasi:filesystem/", "files"),
    ("wasi:http/types", "HTTP types"),
    ("wasi:http/", "HTTP requests"),
    ("wasi:io/", "streams and polling"),
    ("wasi:random/", "randomness"),
    ("wasi:sockets/ip-name-lookup", "name lookup"),
    ("wasi:sockets/", "connections"),
    ("wasi:logging/", "log lines"),
];

fn purpose(name: &str) -> Option<&'static str> {
    PURPOSES.iter().find(|(path, _)| name.starts_with(path)).map(|(_, purpose)| *purpose)
}

impl<'a> PluginReport<'a> {
    pub(crate) fn new(
        (plugin, origin): (&'a str, Option<&'a str>),
        (size, sha256, package_hash): (usize, String, Option<String>),
        inspected: &'a Inspected,
        is_offered: impl Fn(&str) -> bool,
    ) -> Self {
        let interface = |name: &'a str, offered| Interface { name, purpose: purpose(name), offered };
        let imports: Vec<Interface<'a>> =
            inspected.imports.iter().map(|name| interface(name, Some(is_offered(name)))).collect();
        let verification = inspected.verify_imports();
        let missing = imports.iter().filter(|import| import.offered == Some(false)).map(|import| {
            format!("it imports {}, which this version of Wardian does not provide", import.name)
        });
        let (denied, refused): (Vec<_>, Vec<_>) =
            verification.undeclared.iter().partition(|one| inspected.is_denied_without_declaration(one));
        let problems = refused.iter().map(ToString::to_string).chain(missing).collect();
        let denied = denied.into_iter().map(|one| format!("{one}; each use is denied"));
        let unused = |capability: &&str| {
            format!("it declares that it needs {capability}, but imports no interface that uses it")
        };
        Self {
            format_version: "1.0",
            plugin,
            origin,
            size,
            sha256,
            package_hash,
            sdk: &inspected.declaration.sdks,
            exports: inspected.exports.iter().map(|name| interface(name, None)).collect(),
            imports,
            capabilities: inspected
                .declaration
                .requests
                .iter()
                .map(|asked| Capability {
                    kind: asked.capability(),
                    what: asked.description(),
                    reason: asked.reason(),
                    rule: asked.block("allow"),
                })
                .collect(),
            problems,
            warnings: verification.unused.iter().map(unused).chain(denied).collect(),
        }
    }

    /// Returns whether the component can be loaded, as far as the report can determine.
    pub(crate) fn loads(&self) -> bool {
        self.problems.is_empty()
    }
}

pub(crate) fn report_text(
    report: &PluginReport<'_>,
    asked: &[CapabilityRequest],
    options: RenderOptions,
) -> PrintableText {
    let mut page = Page::new(options.color);
    page.paint(Style::Bold, printable!("{}", report.plugin));
    page.push("\n\n");
    let mut fact = |name: &str, value: &str| append_line!(page, "  {name:<9} {value}");
    if let Some(origin) = report.origin {
        fact("from", origin);
    }
    fact("size", &format!("{} bytes", report.size));
    fact("sha256", &report.sha256);
    if let Some(hash) = &report.package_hash {
        fact("package", hash);
    }
    let sdk = if report.sdk.is_empty() { "unknown".to_owned() } else { report.sdk.join(", ") };
    fact("built by", &sdk);
    interfaces("Exports:", &report.exports, &mut page);
    interfaces("Imports:", &report.imports, &mut page);
    page.push("\n");
    page.paint(Style::Bold, "Requests:");
    page.push("\n");
    if asked.is_empty() {
        page.push("  nothing\n");
    }
    let requests: Vec<RequestedCapability<'_>> = asked
        .iter()
        .map(|asked| RequestedCapability { asked, change: CapabilityChange::Unchanged, standing: None })
        .collect();
    page.append(&consent_text(&requests, options));
    list_problems("It cannot be loaded:", &report.problems, options, &mut page);
    list_problems("Of note:", &report.warnings, options, &mut page);
    page.finish()
}

fn interfaces(title: &'static str, all: &[Interface<'_>], page: &mut Page) {
    page.push("\n");
    page.paint(Style::Bold, title);
    page.push("\n");
    if all.is_empty() {
        page.push("  nothing\n");
    }
    for one in all {
        let missing = if one.offered == Some(false) { " (not offered here)" } else { "" };
        append_line!(page, "  {:<40} {}{missing}", one.name, one.purpose.unwrap_or("not known"));
    }
}

fn list_problems(title: &'static str, problems: &[String], options: RenderOptions, page: &mut Page) {
    if problems.is_empty() {
        return;
    }
    page.push("\n");
    page.paint(Style::Bold, title);
    page.push("\n");
    for problem in problems {
        page.paragraph(printable!("- {problem}"), options.width);
    }
}
