//! Reads the modules of a configuration: the root module and the modules that it calls by a local
//! path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use hcl::{Block, Body, Expression};

use super::test_files;

/// The maximum depth of module calls, which ends the reading of a module that calls itself.
const MAX_DEPTH: usize = 16;

/// One module, with its top-level blocks.
pub(crate) struct Module {
    pub(crate) blocks: Vec<Block>,
    /// The modules that `module` blocks call, by the name of the call.
    pub(crate) calls: BTreeMap<String, usize>,
}

/// All modules of a configuration. The first one is the root module.
#[derive(Default)]
pub(crate) struct Modules {
    pub(crate) all: Vec<Module>,
    /// The sources of called modules that are not in a local directory.
    pub(crate) remote_sources: BTreeSet<String>,
    pub(crate) directories: Vec<PathBuf>,
    /// Files that could not be parsed as a whole, with the reason.
    pub(crate) unread_files: Vec<String>,
}

impl Modules {
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut modules = Self::default();
        let mut known = BTreeMap::new();
        modules.add(root, 0, &mut known)?;
        Ok(modules)
    }

    /// Loads a configuration with its test files, which are in its directory and in a directory below
    /// it. The blocks of the test files become blocks of the root module, and the modules that their
    /// runs execute become modules that the root module calls.
    pub(crate) fn load_with_tests(root: &Path, test_directory: &str) -> Result<Self> {
        let mut modules = Self::default();
        let mut known = BTreeMap::new();
        let index = modules.add(root, 0, &mut known)?;
        let mut blocks = Vec::new();
        for directory in [root.to_owned(), root.join(test_directory)] {
            if directory.is_dir() {
                blocks.extend(modules.blocks(&directory, ".tftest.hcl")?);
            }
        }
        for source in test_files::local_sources(&blocks) {
            let executed = root.join(&source);
            if executed.is_dir() {
                let executed = modules.add(&executed, 1, &mut known)?;
                modules.all[index].calls.insert(format!("run {source}"), executed);
            }
        }
        modules.all[index].blocks.extend(test_files::blocks_with_usage(blocks));
        Ok(modules)
    }

    fn add(&mut self, directory: &Path, depth: usize, known: &mut BTreeMap<PathBuf, usize>) -> Result<usize> {
        let canonical =
            directory.canonicalize().with_context(|| format!("cannot open {}", directory.display()))?;
        if let Some(index) = known.get(&canonical) {
            return Ok(*index);
        }
        let blocks = self.blocks(&canonical, ".tf")?;
        let index = self.all.len();
        known.insert(canonical.clone(), index);
        self.directories.push(canonical.clone());
        self.all.push(Module { blocks: Vec::new(), calls: BTreeMap::new() });
        let mut calls = BTreeMap::new();
        for block in blocks.iter().filter(|block| block.identifier() == "module") {
            let Some(name) = label(block, 0) else { continue };
            let Some(Expression::String(source)) = attribute(block, "source") else { continue };
            if !source.starts_with("./") && !source.starts_with("../") {
                self.remote_sources.insert(source.clone());
                continue;
            }
            let called = canonical.join(source);
            if depth < MAX_DEPTH && called.is_dir() {
                calls.insert(name.to_owned(), self.add(&called, depth + 1, known)?);
            }
        }
        self.all[index] = Module { blocks, calls };
        Ok(index)
    }

    /// Whether the root module selects a backend.
    pub(crate) fn has_backend(&self) -> bool {
        let root = self.all.first().map_or(&[][..], |module| module.blocks.as_slice());
        let settings = root.iter().filter(|block| block.identifier() == "terraform");
        settings
            .flat_map(|block| block.body().blocks())
            .any(|block| ["backend", "cloud"].contains(&block.identifier()))
    }

    fn blocks(&mut self, directory: &Path, ending: &str) -> Result<Vec<Block>> {
        let mut files = Vec::new();
        for entry in
            fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?
        {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            if name.ends_with(&format!("{}.json", ending.trim_end_matches(".hcl"))) {
                self.unread_files.push(format!("{}: JSON is not read", path.display()));
            } else if name.ends_with(ending) {
                files.push(path);
            }
        }
        files.sort();
        let mut blocks = Vec::new();
        for file in files {
            let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let text = String::from_utf8_lossy(&text);
            let found = hcl::parse(&text).or_else(|error| {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim();
                self.unread_files.push(format!("{}: {reason}", file.display()));
                Ok::<_, anyhow::Error>(readable_parts(&text))
            })?;
            blocks.extend(found.into_blocks());
        }
        Ok(blocks)
    }
}

/// Returns the blocks that can be parsed in a file that hcl-rs cannot parse as a whole, such as a file
/// with an object that repeats a key. Each part begins with a line that is not indented.
fn readable_parts(text: &str) -> Body {
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_start = line.starts_with(|first: char| first.is_ascii_alphabetic());
        match parts.last_mut() {
            Some(part) if !is_start => {
                part.push_str(line);
                part.push('\n');
            }
            _ => parts.push(format!("{line}\n")),
        }
    }
    let bodies = parts.iter().filter_map(|part| hcl::parse(part).ok());
    bodies.flat_map(Body::into_inner).collect()
}

pub(crate) fn label(block: &Block, index: usize) -> Option<&str> {
    block.labels().get(index).map(hcl::structure::BlockLabel::as_str)
}

/// Returns the expression of an argument.
pub(crate) fn attribute<'a>(block: &'a Block, name: &str) -> Option<&'a Expression> {
    block.body().attributes().find(|attribute| attribute.key() == name).map(hcl::Attribute::expr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn called_modules_are_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let child = directory.path().join("child");
        fs::create_dir(&child).unwrap();
        let root = r#"
            module "one" { source = "./child" }
            module "two" { source = "./child" }
            module "far" { source = "acme/net/null" }
        "#;
        fs::write(directory.path().join("main.tf"), root).unwrap();
        fs::write(child.join("main.tf"), "locals { a = 1 }").unwrap();
        let bad = "locals {\n  a = { b = 1, b = 2 }\n}\nvariable \"c\" {\n}\n";
        fs::write(child.join("bad.tf"), bad).unwrap();
        let modules = Modules::load(directory.path()).unwrap();
        assert_eq!(modules.all.len(), 2);
        assert_eq!(modules.all[0].calls, [("one".to_owned(), 1), ("two".to_owned(), 1)].into());
        assert_eq!(modules.remote_sources, ["acme/net/null".to_owned()].into());
        assert_eq!(modules.unread_files.len(), 1);
        let kinds: Vec<&str> = modules.all[1].blocks.iter().map(Block::identifier).collect();
        assert_eq!(kinds, ["variable", "locals"]);
    }

    #[test]
    fn module_that_calls_itself_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("a")).unwrap();
        fs::write(directory.path().join("a/main.tf"), "module \"x\" {\n  source = \"../a\"\n}\n").unwrap();
        let modules = Modules::load(&directory.path().join("a")).unwrap();
        assert_eq!(modules.all.len(), 1);
    }
}
