//! Finds the test files of a root module, and reads each file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, system_reason};
use wardian_lang::{Block, parse_body, parse_json_body};
use wardian_value::Str;

use super::file_names::TEST_FILES;
use super::mocks::MockFiles;
use super::overrides::Overrides;
use super::runs::{FileSettings, variables_in};
use super::{LoadedTests, MockProvider, OverrideDuring, OverrideKind, TestFile, TestProvider, TestRun};
use crate::blocks::{ProviderConfig, Variable};
use crate::content::{Content, Shape, labels, one_too_many};
use crate::files::Files;
use crate::load::directory::{is_json, read_text};
use crate::path::lexically_normalize;

/// Reads the test files in the root module's directory and in the test directory, which is relative to
/// it. Directories below these are not read.
pub fn load_tests(
    files: &dyn Files,
    directory: &Path,
    test_directory: &Path,
    problems: &mut Diagnostics,
) -> LoadedTests {
    let directory = lexically_normalize(directory);
    let mut tests = LoadedTests::default();
    // Like Terraform, the path is relative even if it begins with a slash.
    let components = test_directory.components().filter(|part| *part != Component::RootDir);
    let test_directory = lexically_normalize(&components.collect::<PathBuf>());
    let inner = (test_directory != Path::new("")).then_some(&*test_directory);
    for relative in [Some(Path::new("")), inner].into_iter().flatten() {
        let listed = directory.join(relative);
        let listed = if listed == Path::new("") { Path::new(".") } else { &*listed };
        let names = match files.list(listed) {
            Ok(names) => names,
            // The root module's directory was read before, and the default directory is optional.
            Err(_) if relative == Path::new("") || relative == Path::new("tests") => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let detail = format!("The directory {} does not exist.", relative.display());
                problems.push(Diagnostic::warning("Test directory does not exist", detail));
                continue;
            }
            Err(error) => {
                let reason = system_reason(&error);
                let detail = format!("The directory {} cannot be read: {reason}.", relative.display());
                problems.push(Diagnostic::error("Failed to read test directory", detail));
                continue;
            }
        };
        for name in TEST_FILES.select(names) {
            let path = relative.join(&name);
            let Some(source) = read_text(files, &directory.join(&path), problems) else { continue };
            tests.sources.push(Arc::clone(&source));
            let mut mock_files = MockFiles { files, directory: &directory, sources: &mut tests.sources };
            let path = Str::new(&path.to_string_lossy().replace('\\', "/"));
            let file = TestFile::read(path, source, &mut mock_files, problems);
            tests.files.insert(file.path.clone(), file);
        }
    }
    tests
}

impl TestFile {
    fn read(
        path: Str,
        source: Arc<SourceFile>,
        mock_files: &mut MockFiles<'_>,
        problems: &mut Diagnostics,
    ) -> Self {
        const SHAPE: Shape = Shape {
            noun: "a test file",
            required: &[],
            optional: &[],
            blocks: &[
                "mock_provider",
                "override_data",
                "override_module",
                "override_resource",
                "provider",
                "run",
                "test",
                "variable",
                "variables",
            ],
        };
        let (body, mut all) =
            if is_json(source.name()) { parse_json_body(&source) } else { parse_body(&source) };
        let content = SHAPE.read(&body, &mut all);
        let mut file = Self {
            path,
            source,
            runs: Vec::new(),
            variables: BTreeMap::new(),
            variables_span: None,
            declared_variables: BTreeMap::new(),
            providers: BTreeMap::new(),
            overrides: Vec::new(),
            parallel: false,
            skip_cleanup: false,
        };
        file.read_settings(&content, &mut all);
        let mut reader = BlockReader {
            file: &mut file,
            overrides: Overrides::default(),
            runs: BTreeMap::new(),
            mock_files,
        };
        for block in &content.blocks {
            let mut found = Diagnostics::new();
            reader.read(block, &mut found);
            all.extend(found.in_block(&block.context()));
        }
        file.overrides = reader.overrides.list;
        file.check_backends(&mut all);
        // Errors in mock data files follow those of the test file.
        let mut all: Vec<Diagnostic> = all.into_iter().collect();
        all.sort_by_key(|problem| match &problem.subject {
            Some(span) if Arc::ptr_eq(&span.file, &file.source) => (false, span.start),
            _ => (true, 0),
        });
        problems.extend(all);
        file
    }

    /// Reads the `test` block, which the runs inherit.
    fn read_settings(&mut self, content: &Content<'_>, problems: &mut Diagnostics) {
        const SHAPE: Shape = Shape {
            noun: "a test block",
            required: &[],
            optional: &["parallel", "skip_cleanup"],
            blocks: &[],
        };
        let mut found = Diagnostics::new();
        if let Some(block) = content.only_block("test", "Multiple \"test\" blocks", &mut found) {
            let settings = SHAPE.read(&block.body, &mut found);
            self.parallel = settings.flag("parallel", &mut found).unwrap_or(false);
            self.skip_cleanup = settings.flag("skip_cleanup", &mut found).unwrap_or(false);
        }
        problems.extend(found.in_block("test"));
    }

    /// Checks that at most one run loads a state from a backend, and that this is the first run with
    /// the state.
    fn check_backends(&self, problems: &mut Diagnostics) {
        let mut first_runs: BTreeMap<StateName<'_>, &TestRun> = BTreeMap::new();
        for run in &self.runs {
            let name = match (&run.state_key, &run.module) {
                (Some((key, _)), _) => StateName::Key(key),
                (None, Some(module)) => StateName::Module(&module.source),
                (None, None) => StateName::Root,
            };
            let first = *first_runs.entry(name).or_insert(run);
            let Some(backend) = &run.backend else { continue };
            if first.name == run.name {
                continue;
            }
            let (summary, detail) = match &first.backend {
                Some(other) => (
                    "Duplicate backend blocks",
                    format!(
                        "The run \"{}\" already loads this state from the backend at {}.",
                        first.name, other.span
                    ),
                ),
                None => (
                    "Invalid backend block",
                    format!(
                        "The run \"{}\" already uses this state. Only the first run of a state can load it \
                         from a backend.",
                        first.name
                    ),
                ),
            };
            problems.push(
                Diagnostic::error(summary, detail)
                    .at(backend.span.clone())
                    .in_block(format!("run \"{}\"", run.name)),
            );
        }
    }
}

/// The properties of a run that determine its state.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum StateName<'a> {
    Root,
    Module(&'a str),
    Key(&'a str),
}

/// Reads the blocks of a file one after the other.
struct BlockReader<'a, 'f> {
    file: &'a mut TestFile,
    overrides: Overrides,
    /// The spans of the runs by name.
    runs: BTreeMap<Str, Span>,
    mock_files: &'a mut MockFiles<'f>,
}

impl BlockReader<'_, '_> {
    fn read(&mut self, block: &Block, problems: &mut Diagnostics) {
        if let Some(kind) = OverrideKind::from_block_type(&block.kind) {
            return self.overrides.read(kind, block, OverrideDuring::Apply, problems);
        }
        match &*block.kind {
            "run" => {
                let defaults =
                    FileSettings { parallel: self.file.parallel, skip_cleanup: self.file.skip_cleanup };
                if let Some(run) = TestRun::read(block, defaults, problems) {
                    self.add_run(run, problems);
                }
            }
            "variables" => self.read_variables(block, problems),
            "variable" => {
                if let Some(variable) = Variable::read(block, problems) {
                    let known = &mut self.file.declared_variables;
                    if let Some(first) = known.get(&variable.name) {
                        let summary = "Duplicate variable declaration";
                        problems.push(one_too_many(summary, &first.span, &variable.span));
                    } else {
                        known.insert(variable.name.clone(), variable);
                    }
                }
            }
            "provider" => {
                if let Some(config) = ProviderConfig::read_in_test(block, problems) {
                    let key = (config.local_name.clone(), config.alias.clone());
                    self.add_provider(key, TestProvider::Real(config), problems);
                }
            }
            "mock_provider" => {
                if let Some(mock) = MockProvider::read(block, self.mock_files, problems) {
                    let key = (mock.local_name.clone(), mock.alias.clone());
                    self.add_provider(key, TestProvider::Mock(mock), problems);
                }
            }
            _ => {}
        }
    }

    fn add_run(&mut self, run: TestRun, problems: &mut Diagnostics) {
        if let Some(first) = self.runs.get(&run.name) {
            let detail = format!("A run named \"{}\" is already declared at {first}.", run.name);
            problems.push(Diagnostic::error("Duplicate \"run\" block names", detail).at(run.span));
            return;
        }
        self.runs.insert(run.name.clone(), run.span.clone());
        self.file.runs.push(run);
    }

    fn read_variables(&mut self, block: &Block, problems: &mut Diagnostics) {
        if labels(block, [], problems).is_none() {
            return;
        }
        if let Some(first) = &self.file.variables_span {
            problems.push(one_too_many("Multiple \"variables\" blocks", first, &block.header_span));
            return;
        }
        self.file.variables_span = Some(block.header_span.clone());
        self.file.variables = variables_in(block, problems);
    }

    fn add_provider(&mut self, key: (Str, Option<Str>), provider: TestProvider, problems: &mut Diagnostics) {
        if let Some(first) = self.file.providers.get(&key) {
            let name = match &key {
                (name, None) => name.to_string(),
                (name, Some(alias)) => format!("{name}.{alias}"),
            };
            let detail =
                format!("The provider configuration {name} is already declared at {}.", first.span());
            problems.push(Diagnostic::error("Duplicate provider block", detail).at(provider.span().clone()));
            return;
        }
        self.file.providers.insert(key, provider);
    }
}

impl TestProvider {
    /// Returns the span of the block's header.
    pub fn span(&self) -> &Span {
        match self {
            Self::Real(config) => &config.span,
            Self::Mock(mock) => &mock.span,
        }
    }
}
