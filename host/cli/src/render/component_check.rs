//! Renders the report of `plugin check`.

use serde::{Serialize, Serializer};
use wardian_authoring::component_report::ComponentSize;
use wardian_printable::{PrintableText, append_line, printable};

use super::RenderOptions;
use super::counted::counted;
use super::style::{Page, Style};

/// The result of checking a component.
#[derive(Serialize)]
pub(crate) struct CheckReport {
    format_version: &'static str,
    plugin: String,
    /// The number of resource types, data sources and other types with a schema.
    pub(crate) types: usize,
    pub(crate) functions: usize,
    pub(crate) capabilities: Vec<String>,
    #[serde(serialize_with = "serialize_size")]
    pub(crate) size: ComponentSize,
    pub(crate) findings: Vec<Finding>,
}

#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingKind {
    Error,
    Warning,
}

/// One mistake in a component.
#[derive(Serialize)]
pub(crate) struct Finding {
    #[serde(rename = "severity")]
    pub(crate) kind: FindingKind,
    /// The checked part, or the path in a schema.
    pub(crate) subject: String,
    pub(crate) text: String,
}

/// The parts of a component's size in JSON.
#[derive(Serialize)]
struct SizeDocument<'a> {
    total: usize,
    code: usize,
    data: usize,
    debug: usize,
    names: usize,
    code_by_group: Vec<GroupDocument<'a>>,
}

#[derive(Serialize)]
struct GroupDocument<'a> {
    name: &'a str,
    bytes: usize,
}

fn serialize_size<S: Serializer>(size: &ComponentSize, serializer: S) -> Result<S::Ok, S::Error> {
    let code_by_group =
        size.groups.iter().map(|(name, bytes)| GroupDocument { name, bytes: *bytes }).collect();
    let &ComponentSize { total, code, data, debug, names, .. } = size;
    SizeDocument { total, code, data, debug, names, code_by_group }.serialize(serializer)
}

impl CheckReport {
    pub(crate) fn new(plugin: String) -> Self {
        Self {
            format_version: "1.0",
            plugin,
            types: 0,
            functions: 0,
            capabilities: Vec::new(),
            size: ComponentSize::default(),
            findings: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, kind: FindingKind, subject: &str, text: String) {
        self.findings.push(Finding { kind, subject: subject.to_owned(), text });
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind == FindingKind::Error)
    }

    fn count(&self, kind: FindingKind) -> usize {
        self.findings.iter().filter(|finding| finding.kind == kind).count()
    }
}

pub(crate) fn check_text(report: &CheckReport, options: RenderOptions) -> PrintableText {
    let mut page = Page::new(options.color);
    page.paint(Style::Bold, printable!("{}", report.plugin));
    page.push("\n\n");
    let size = &report.size;
    append_line!(page, "  types      {}", report.types);
    append_line!(page, "  functions  {}", report.functions);
    append_line!(page, "  size       {} bytes", size.total);
    let parts = [
        ("code", size.code),
        ("data", size.data),
        ("debug information", size.debug),
        ("names of functions", size.names),
    ];
    for (name, bytes) in parts.into_iter().filter(|(_, bytes)| *bytes > 0) {
        append_line!(page, "    {bytes:>10}  {name}");
    }
    if !size.groups.is_empty() {
        page.push("  code by crate or package:\n");
        for (name, bytes) in &size.groups {
            append_line!(page, "    {bytes:>10}  {name}");
        }
    }
    if !report.capabilities.is_empty() {
        page.push("\n");
        page.paint(Style::Bold, "Declared capabilities:");
        page.push("\n");
        for capability in &report.capabilities {
            page.paragraph(printable!("- {capability}"), options.width);
        }
    }
    for (title, kind) in [("Errors:", FindingKind::Error), ("Warnings:", FindingKind::Warning)] {
        if report.count(kind) == 0 {
            continue;
        }
        page.push("\n");
        page.paint(Style::Bold, title);
        page.push("\n");
        for finding in report.findings.iter().filter(|finding| finding.kind == kind) {
            page.paragraph(printable!("- {}: {}.", finding.subject, finding.text), options.width);
        }
    }
    let (errors, warnings) = (report.count(FindingKind::Error), report.count(FindingKind::Warning));
    append_line!(page, "\n{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    page.finish()
}
