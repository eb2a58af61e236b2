//! Text to lock file. Collects every problem rather than the first, so that a
//! bad merge can be repaired in one go.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hcl_edit::expr::Expression;
use hcl_edit::structure::{Attribute, Block, Structure};
use hcl_edit::{Ident, Span};
use wardian_plugin::address::ProviderAddress;
use wardian_plugin::version::{Constraints, Dialect, Version};

use super::{
    LoadedLockFile, LockEntry, LockFile, LockFileError, LockFileProblem, LockFileProblemKind as Kind,
    LockFileWarning,
};
use crate::hash::PackageHash;
use crate::place::Place;

pub(super) fn parse(text: &str, path: &Path) -> Result<LoadedLockFile, LockFileError> {
    let mut reader = Reader { text, path, problems: Vec::new(), warnings: Vec::new() };
    let providers = reader.read();
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
        let body = match hcl_edit::parser::parse_body(self.text) {
            Ok(body) => body,
            Err(error) => {
                self.problem_at(error.location().offset(), Kind::Syntax(error.message().to_owned()));
                return providers;
            }
        };
        for structure in &body {
            let block = match structure {
                Structure::Attribute(attribute) => {
                    self.unknown_argument(attribute);
                    continue;
                }
                Structure::Block(block) => block,
            };
            match block.ident.as_str() {
                "provider" => {}
                "module" => {
                    let place = self.place(&block.ident);
                    self.warnings.push(LockFileWarning::ModuleBlock(place));
                    continue;
                }
                other => {
                    self.problem(&block.ident, Kind::UnknownBlock(other.to_owned()));
                    continue;
                }
            }
            let Some(address) = self.address(block) else { continue };
            let line = self.place(&block.ident).line;
            if let Some(first_line) = first_lines.get(&address) {
                let first_line = *first_line;
                self.problem(&block.ident, Kind::Duplicate { address, first_line });
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
            self.problem(&block.ident, Kind::Labels);
            return None;
        };
        match ProviderAddress::parse_full(label.as_str()) {
            Ok(address) if address.is_built_in() || address.is_legacy() => {
                self.problem(label, Kind::NotInstallable(address));
                None
            }
            Ok(address) => Some(address),
            Err(error) => {
                self.problem(label, error.into());
                None
            }
        }
    }

    fn entry(&mut self, block: &Block) -> Option<LockEntry> {
        let mut version = None;
        let mut version_seen = false;
        let mut constraints = Constraints::default();
        let mut hashes = BTreeSet::new();
        for structure in &block.body {
            let attribute = match structure {
                Structure::Attribute(attribute) => attribute,
                Structure::Block(inner) => {
                    self.problem(&inner.ident, Kind::UnknownBlock(inner.ident.as_str().to_owned()));
                    continue;
                }
            };
            match attribute.key.as_str() {
                "version" => {
                    version_seen = true;
                    version = self.version(&attribute.value);
                }
                "constraints" => constraints = self.constraints(&attribute.value),
                "hashes" => hashes = self.hashes(&attribute.value),
                _ => self.unknown_argument(attribute),
            }
        }
        if !version_seen {
            self.problem(&block.ident, Kind::MissingVersion);
        }
        version.map(|version| LockEntry { version, constraints, hashes })
    }

    fn version(&mut self, value: &Expression) -> Option<Version> {
        let text = self.literal(value, "version")?;
        match Version::parse(text) {
            Ok(version) => Some(version),
            Err(_) => {
                self.problem(value, Kind::Version(text.to_owned()));
                None
            }
        }
    }

    fn constraints(&mut self, value: &Expression) -> Constraints {
        let Some(text) = self.literal(value, "constraints") else {
            return Constraints::default();
        };
        match Constraints::parse(text, Dialect::Provider) {
            Ok(constraints) => {
                let canonical = constraints.to_string();
                if canonical != text {
                    self.problem(value, Kind::ConstraintsNotCanonical(canonical));
                }
                constraints
            }
            Err(error) => {
                self.problem(value, error.into());
                Constraints::default()
            }
        }
    }

    fn hashes(&mut self, value: &Expression) -> BTreeSet<PackageHash> {
        let Some(list) = value.as_array() else {
            self.problem(value, Kind::NotList);
            return BTreeSet::new();
        };
        let mut hashes = BTreeSet::new();
        for element in list {
            let Some(text) = element.as_str() else {
                self.problem(element, Kind::NotList);
                continue;
            };
            match PackageHash::parse(text) {
                Ok(hash) => {
                    hashes.insert(hash);
                }
                Err(error) => self.problem(element, error.into()),
            }
        }
        hashes
    }

    fn literal<'e>(&mut self, value: &'e Expression, argument: &'static str) -> Option<&'e str> {
        let text = value.as_str();
        if text.is_none() {
            self.problem(value, Kind::NotText(argument));
        }
        text
    }

    fn unknown_argument(&mut self, attribute: &Attribute) {
        let key: &Ident = &attribute.key;
        self.problem(&attribute.key, Kind::UnknownArgument(key.as_str().to_owned()));
    }

    fn problem(&mut self, at: &impl Span, kind: Kind) {
        let place = self.place(at);
        self.problems.push(LockFileProblem { place, kind });
    }

    fn problem_at(&mut self, offset: usize, kind: Kind) {
        let place = Place::of_offset(self.path, self.text, offset);
        self.problems.push(LockFileProblem { place, kind });
    }

    fn place(&self, at: &impl Span) -> Place {
        let offset = at.span().map_or(0, |span| span.start);
        Place::of_offset(self.path, self.text, offset)
    }
}
