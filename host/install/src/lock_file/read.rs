//! Parses lock files. All problems are collected, which lets the user see and correct all errors of
//! a bad merge at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wardian_address::{ConstraintDialect, Constraints, ProviderAddress, Version};
use wardian_diagnostic::{SourceFile, Span};
use wardian_lang::{Attribute, Block, Expression, parse_body};

use super::{
    LoadedLockFile, LockEntry, LockFile, LockFileError, LockFileProblem, LockFileProblemKind as Kind,
    LockFileWarning,
};
use crate::file_position::FilePosition;
use crate::hash::PackageHash;

pub(super) fn parse(text: &str, path: &Path) -> Result<LoadedLockFile, LockFileError> {
    let mut reader = Reader { text, path, problems: Vec::new(), warnings: Vec::new() };
    let providers = reader.read();
    reader.problems.sort_by_key(|problem| (problem.position.line, problem.position.column));
    if reader.problems.is_empty() {
        Ok(LoadedLockFile { lock: LockFile { providers }, warnings: reader.warnings })
    } else {
        Err(LockFileError::Invalid { problems: reader.problems })
    }
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    problems: Vec<LockFileProblem>,
    warnings: Vec<LockFileWarning>,
}

impl Reader<'_> {
    fn read(&mut self) -> BTreeMap<ProviderAddress, LockEntry> {
        let mut providers = BTreeMap::new();
        let mut first_lines = BTreeMap::new();
        let (body, found) = parse_body(&SourceFile::new(self.path.display().to_string(), self.text));
        for problem in &found {
            let message = format!("{}: {}", problem.summary, problem.detail);
            self.problem_at(problem.subject.as_ref().map_or(0, |span| span.start), Kind::Syntax(message));
        }
        if !found.is_empty() {
            return providers;
        }
        for attribute in &body.attributes {
            self.unknown_argument(attribute);
        }
        for block in &body.blocks {
            match &*block.kind {
                "provider" => {}
                "module" => {
                    let position = self.position(&block.kind_span);
                    self.warnings.push(LockFileWarning::ModuleBlock(position));
                    continue;
                }
                other => {
                    self.problem(&block.kind_span, Kind::UnknownBlock(other.to_owned()));
                    continue;
                }
            }
            let Some(address) = self.address(block) else { continue };
            let line = self.position(&block.kind_span).line;
            if let Some(first_line) = first_lines.get(&address) {
                let first_line = *first_line;
                self.problem(&block.kind_span, Kind::Duplicate { address, first_line });
                continue;
            }
            first_lines.insert(address.clone(), line);
            if let Some(entry) = self.entry(block) {
                providers.insert(address, entry);
            }
        }
        providers
    }

    fn address(&mut self, block: &Block) -> Option<ProviderAddress> {
        let [label] = block.labels.as_slice() else {
            self.problem(&block.kind_span, Kind::Labels);
            return None;
        };
        match ProviderAddress::parse_full(&label.text) {
            Ok(address) if address.is_built_in() || address.is_legacy() => {
                self.problem(&label.span, Kind::NotInstallable(address));
                None
            }
            Ok(address) => Some(address),
            Err(error) => {
                self.problem(&label.span, error.into());
                None
            }
        }
    }

    fn entry(&mut self, block: &Block) -> Option<LockEntry> {
        let mut version = None;
        let mut version_seen = false;
        let mut constraints = Constraints::default();
        let mut hashes = BTreeSet::new();
        for inner in &block.body.blocks {
            self.problem(&inner.kind_span, Kind::UnknownBlock(inner.kind.to_string()));
        }
        for attribute in &block.body.attributes {
            match &*attribute.name {
                "version" => {
                    version_seen = true;
                    version = self.version(&attribute.expression);
                }
                "constraints" => constraints = self.constraints(&attribute.expression),
                "hashes" => hashes = self.hashes(&attribute.expression),
                _ => self.unknown_argument(attribute),
            }
        }
        if !version_seen {
            self.problem(&block.kind_span, Kind::MissingVersion);
        }
        version.map(|version| LockEntry { version, constraints, hashes })
    }

    fn version(&mut self, value: &Expression) -> Option<Version> {
        let text = self.literal(value, "version")?;
        match Version::parse(text) {
            Ok(version) => Some(version),
            Err(_) => {
                self.problem(value.span(), Kind::Version(text.to_owned()));
                None
            }
        }
    }

    fn constraints(&mut self, value: &Expression) -> Constraints {
        let Some(text) = self.literal(value, "constraints") else {
            return Constraints::default();
        };
        match Constraints::parse(text, ConstraintDialect::Provider) {
            Ok(constraints) => {
                let canonical = constraints.to_string();
                if canonical != text {
                    self.problem(value.span(), Kind::ConstraintsNotCanonical(canonical));
                }
                constraints
            }
            Err(error) => {
                self.problem(value.span(), error.into());
                Constraints::default()
            }
        }
    }

    fn hashes(&mut self, value: &Expression) -> BTreeSet<PackageHash> {
        let Some(list) = value.as_tuple_items() else {
            self.problem(value.span(), Kind::NotList);
            return BTreeSet::new();
        };
        let mut hashes = BTreeSet::new();
        for element in &list {
            let Some(text) = element.as_quoted() else {
                self.problem(element.span(), Kind::NotList);
                continue;
            };
            match PackageHash::parse(text) {
                Ok(hash) => {
                    hashes.insert(hash);
                }
                Err(error) => self.problem(element.span(), error.into()),
            }
        }
        hashes
    }

    fn literal<'e>(&mut self, value: &'e Expression, argument: &'static str) -> Option<&'e str> {
        let text = value.as_quoted();
        if text.is_none() {
            self.problem(value.span(), Kind::NotText(argument));
        }
        text
    }

    fn unknown_argument(&mut self, attribute: &Attribute) {
        self.problem(&attribute.name_span, Kind::UnknownArgument(attribute.name.to_string()));
    }

    fn problem(&mut self, at: &Span, kind: Kind) {
        let position = self.position(at);
        self.problems.push(LockFileProblem { position, kind });
    }

    fn problem_at(&mut self, offset: usize, kind: Kind) {
        let position = FilePosition::from_offset(self.path, self.text, offset);
        self.problems.push(LockFileProblem { position, kind });
    }

    fn position(&self, at: &Span) -> FilePosition {
        FilePosition::from_offset(self.path, self.text, at.start)
    }
}
