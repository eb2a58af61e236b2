//! Reads `mock_provider` blocks and the mock data files to which they refer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wardian_address::{ProviderAddress, ProviderAddressError, ResourceMode};
use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, system_reason};
use wardian_lang::{Block, parse_body, parse_json_body};
use wardian_value::Str;

use super::file_names::MOCK_DATA_FILES;
use super::overrides::{Overrides, mocked_values, override_during};
use super::{MockDefaults, MockProvider, OverrideDuring, OverrideKind};
use crate::content::{Content, Shape, labels};
use crate::files::Files;
use crate::load::directory::{is_json, read_text};
use crate::names::check_identifier;
use crate::path::lexically_normalize;

const MOCK_BLOCKS: &[&str] = &["mock_data", "mock_resource", "override_data", "override_resource"];

/// The content of a mock provider or of mock data files.
#[derive(Default)]
struct MockData {
    defaults: BTreeMap<(ResourceMode, Str), MockDefaults>,
    overrides: Overrides,
}

/// Access to the files of the root module.
pub(super) struct MockFiles<'a> {
    pub(super) files: &'a dyn Files,
    /// The root module's directory.
    pub(super) directory: &'a Path,
    /// The text of the mock data files that were read.
    pub(super) sources: &'a mut Vec<Arc<SourceFile>>,
}

impl MockProvider {
    pub(super) fn read(
        block: &Block,
        mock_files: &mut MockFiles<'_>,
        problems: &mut Diagnostics,
    ) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a mock_provider block",
            required: &[],
            optional: &["alias", "override_during", "source"],
            blocks: MOCK_BLOCKS,
        };
        let [label] = labels(block, ["name"], problems)?;
        match ProviderAddress::implied_by_local_name(&label.text) {
            Ok(_) | Err(ProviderAddressError::RedundantPrefix { .. }) => {}
            Err(error) => problems.push(
                Diagnostic::error("Invalid provider local name", format!("{error}."))
                    .at(block.header_span.clone()),
            ),
        }
        let content = SHAPE.read(&block.body, problems);
        let alias = content.text("alias", problems);
        if let Some((text, span)) = &alias {
            check_identifier(text, span, "Invalid provider configuration alias", problems);
        }
        let during = override_during(&content, OverrideDuring::Apply, problems);
        let mut data = MockData::default();
        data.read(&content, during, problems);
        let source = content.text("source", problems).map(|(text, span)| {
            let directory = lexically_normalize(&mock_files.directory.join(text));
            if let Some(shared) = mock_files.read(&directory, &block.header_span, during, problems) {
                data.overrides.add_missing(shared.overrides);
                for (key, defaults) in shared.defaults {
                    data.defaults.entry(key).or_insert(defaults);
                }
            }
            (directory, span)
        });
        Some(Self {
            local_name: label.text.clone(),
            alias: alias.map(|(text, _)| text.into()),
            during,
            source,
            defaults: data.defaults,
            overrides: data.overrides.list,
            span: block.header_span.clone(),
        })
    }
}

impl MockData {
    fn read(&mut self, content: &Content<'_>, during: OverrideDuring, problems: &mut Diagnostics) {
        for block in &content.blocks {
            if let Some(kind) = OverrideKind::from_block_type(&block.kind) {
                self.overrides.read(kind, block, during, problems);
            } else if let Some(defaults) = MockDefaults::read(block, during, problems) {
                let key = (defaults.mode, defaults.type_name.clone());
                if let Some(first) = self.defaults.get(&key) {
                    let detail = format!("{} is already mocked by the block at {}.", key.1, first.span);
                    let summary = format!("Duplicate {} block", block.kind);
                    problems.push(Diagnostic::error(summary, detail).at(defaults.type_span));
                } else {
                    self.defaults.insert(key, defaults);
                }
            }
        }
    }
}

impl MockDefaults {
    fn read(block: &Block, during: OverrideDuring, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a block with mocked values",
            required: &[],
            optional: &["defaults", "override_during"],
            blocks: &[],
        };
        let [label] = labels(block, ["type"], problems)?;
        let content = SHAPE.read(&block.body, problems);
        let defaults = content.expression("defaults").map(|defaults| mocked_values(&defaults, problems));
        let is_data = &*block.kind == "mock_data";
        Some(Self {
            mode: if is_data { ResourceMode::Data } else { ResourceMode::Managed },
            type_name: label.text.clone(),
            type_span: label.span.clone(),
            defaults,
            during: override_during(&content, during, problems),
            span: block.header_span.clone(),
        })
    }
}

impl MockFiles<'_> {
    /// Reads the mock data files of a directory. `provider` is the header of the block that refers to
    /// it.
    fn read(
        &mut self,
        directory: &Path,
        provider: &Span,
        during: OverrideDuring,
        problems: &mut Diagnostics,
    ) -> Option<MockData> {
        let listed = if directory == Path::new("") { Path::new(".") } else { directory };
        let names = match self.files.list(listed) {
            Ok(names) => names,
            Err(error) => {
                let detail = format!(
                    "The directory {} cannot be read: {}. The path is relative to the root module.",
                    listed.display(),
                    system_reason(&error)
                );
                problems.push(
                    Diagnostic::error("Failed to read mock data directory", detail).at(provider.clone()),
                );
                return None;
            }
        };
        let mut all = MockData::default();
        for name in MOCK_DATA_FILES.select(names) {
            let Some(data) = self.read_file(&directory.join(&name), &name, during, problems) else {
                continue;
            };
            all.overrides.extend(data.overrides, problems);
            for (key, defaults) in data.defaults {
                if let Some(first) = all.defaults.get(&key) {
                    let kind = if key.0 == ResourceMode::Data { "data" } else { "resource" };
                    let detail = format!("{} is already mocked by the block at {}.", key.1, first.span);
                    problems.push(
                        Diagnostic::error(format!("Duplicate mock {kind} block"), detail)
                            .at(defaults.type_span),
                    );
                } else {
                    all.defaults.insert(key, defaults);
                }
            }
        }
        Some(all)
    }

    fn read_file(
        &mut self,
        path: &Path,
        name: &str,
        during: OverrideDuring,
        problems: &mut Diagnostics,
    ) -> Option<MockData> {
        const SHAPE: Shape =
            Shape { noun: "a mock data file", required: &[], optional: &[], blocks: MOCK_BLOCKS };
        let file = read_text(self.files, path, problems)?;
        self.sources.push(Arc::clone(&file));
        let (body, found) = if is_json(name) { parse_json_body(&file) } else { parse_body(&file) };
        problems.extend(found);
        let content = SHAPE.read(&body, problems);
        let mut data = MockData::default();
        data.read(&content, during, problems);
        Some(data)
    }
}
