//! A tree of the names in an archive, which detects duplicate names and resolves symbolic links.
//!
//! The time to add a name is proportional to the name's length. Resolving all links takes at most
//! [`MAX_LINK_STEPS`] steps.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;

use crate::entry_name::EntryName;
use crate::error::ArchiveError;

/// Maximum number of links that are followed to resolve one link.
const MAX_FOLLOWED_LINKS: usize = 40;

/// Maximum number of path components that are followed to resolve all links of an archive.
const MAX_LINK_STEPS: usize = 10_000_000;

type NodeId = usize;

const ROOT: NodeId = 0;

/// The kind of entry that a name refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Directory,
    File,
    /// A symbolic link with its target.
    Link(String),
}

struct Node {
    parent: NodeId,
    kind: NodeKind,
}

pub(crate) struct NameTree {
    nodes: Vec<Node>,
    children: HashMap<(NodeId, Box<str>), NodeId>,
    max_entries: usize,
    ignores_case: bool,
}

/// The directories that a new name requires, each as the length of its prefix of the name.
pub(crate) type NewDirectories = Vec<usize>;

impl NameTree {
    pub(crate) fn new(max_entries: usize, ignores_case: bool) -> Self {
        let root = Node { parent: ROOT, kind: NodeKind::Directory };
        Self { nodes: vec![root], children: HashMap::new(), max_entries, ignores_case }
    }

    /// Adds a name. Returns the directories that did not exist before; for a directory, they
    /// include the name itself.
    pub(crate) fn add(&mut self, name: &EntryName, kind: NodeKind) -> Result<NewDirectories, ArchiveError> {
        let text = name.as_str();
        let repeated = || ArchiveError::RepeatedName { name: text.to_owned() };
        let mut new_directories = Vec::new();
        let mut at = ROOT;
        let mut end = 0;
        for part in text.split('/') {
            end += part.len();
            let is_last = end == text.len();
            let key = (at, self.key(part));
            let wanted = if is_last { &kind } else { &NodeKind::Directory };
            at = match self.children.get(&key) {
                Some(found) => {
                    let both_directories = self.is_directory(*found) && *wanted == NodeKind::Directory;
                    if !both_directories {
                        return Err(repeated());
                    }
                    *found
                }
                None => {
                    if self.nodes.len() > self.max_entries {
                        return Err(ArchiveError::TooManyEntries { limit: self.max_entries });
                    }
                    if *wanted == NodeKind::Directory {
                        new_directories.push(end);
                    }
                    let id = self.nodes.len();
                    self.nodes.push(Node { parent: at, kind: wanted.clone() });
                    self.children.insert(key, id);
                    id
                }
            };
            end += 1;
        }
        Ok(new_directories)
    }

    /// Returns the normalized form of a path component. Equivalent components have the same form.
    fn key(&self, part: &str) -> Box<str> {
        if !self.ignores_case {
            return part.into();
        }
        part.nfc().flat_map(char::to_lowercase).nfc().collect()
    }

    fn is_directory(&self, node: NodeId) -> bool {
        self.nodes.get(node).is_some_and(|node| node.kind == NodeKind::Directory)
    }

    /// Checks that each link resolves to a path inside the archive, even through other links. A
    /// target that does not exist is allowed.
    pub(crate) fn check_links(&self, links: &[(EntryName, String)]) -> Result<(), ArchiveError> {
        let mut steps = 0;
        for (name, target) in links {
            let parent = self.find_parent(name);
            if !parent.is_some_and(|parent| self.is_inside(parent, target, &mut steps)) {
                let (name, target) = (name.as_str().to_owned(), target.clone());
                return Err(ArchiveError::UnsafeLink { name, target });
            }
            if steps > MAX_LINK_STEPS {
                return Err(ArchiveError::TooManyLinks);
            }
        }
        Ok(())
    }

    fn find_parent(&self, name: &EntryName) -> Option<NodeId> {
        let (parents, _) = name.as_str().rsplit_once('/').unwrap_or_default();
        let parts = parents.split('/').filter(|part| !part.is_empty());
        parts.into_iter().try_fold(ROOT, |at, part| self.children.get(&(at, self.key(part))).copied())
    }

    /// Whether a path that is relative to a directory stays inside the archive.
    fn is_inside(&self, directory: NodeId, target: &str, steps: &mut usize) -> bool {
        if target.is_empty() || target.starts_with('/') || target.contains(['\\', '\0']) {
            return false;
        }
        // The components in reverse order: the next one to resolve is the last element.
        let mut left: Vec<&str> = target.split('/').rev().collect();
        let mut at = directory;
        // The number of path components below `at` that do not exist.
        let mut missing = 0_usize;
        let mut followed = 0;
        while let Some(part) = left.pop() {
            *steps += 1;
            if *steps > MAX_LINK_STEPS {
                return true;
            }
            match part {
                "" | "." => {}
                ".." if missing > 0 => missing -= 1,
                ".." if at == ROOT => return false,
                ".." => at = self.nodes.get(at).map_or(ROOT, |node| node.parent),
                _ if missing > 0 => missing += 1,
                _ => match self.children.get(&(at, self.key(part))) {
                    None => missing += 1,
                    Some(found) => match self.nodes.get(*found).map(|node| &node.kind) {
                        Some(NodeKind::Link(target)) => {
                            followed += 1;
                            if followed > MAX_FOLLOWED_LINKS || target.starts_with('/') {
                                return false;
                            }
                            left.extend(target.split('/').rev());
                        }
                        // A file has no children, so the rest of the path does not exist.
                        Some(NodeKind::File | NodeKind::Directory) | None => at = *found,
                    },
                },
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ArchiveLimits;

    fn name(text: &str) -> EntryName {
        EntryName::parse(text.as_bytes(), &ArchiveLimits::for_module_package()).unwrap().unwrap()
    }

    fn tree(ignores_case: bool, files: &[&str]) -> Result<NameTree, ArchiveError> {
        let mut tree = NameTree::new(100, ignores_case);
        for file in files {
            let kind = if file.ends_with('/') { NodeKind::Directory } else { NodeKind::File };
            tree.add(&name(file), kind)?;
        }
        Ok(tree)
    }

    #[test]
    fn new_directories_are_returned_once() {
        let mut tree = tree(false, &[]).unwrap();
        assert_eq!(tree.add(&name("a/b/c"), NodeKind::File).unwrap(), [1, 3]);
        assert_eq!(tree.add(&name("a/d"), NodeKind::Directory).unwrap(), [3]);
        assert!(tree.add(&name("a/b"), NodeKind::Directory).unwrap().is_empty());
        assert!(tree.add(&name("a/d/e"), NodeKind::File).unwrap().is_empty());
    }

    #[test]
    fn duplicate_names_are_rejected() {
        for files in [&["a", "a"][..], &["a", "a/b"], &["a/b", "a"], &["a/", "a"], &["a", "a/"]] {
            for ignores_case in [false, true] {
                assert!(
                    matches!(tree(ignores_case, files), Err(ArchiveError::RepeatedName { .. })),
                    "{files:?}"
                );
            }
        }
        assert!(tree(true, &["a/", "a/", "A/b", "a/c"]).is_ok());
        for (one, two) in [("a.txt", "A.TXT"), ("é", "e\u{301}"), ("Ä/x", "ä/X"), ("A/b", "a")] {
            assert!(tree(false, &[one, two]).is_ok(), "{one}");
            assert!(matches!(tree(true, &[one, two]), Err(ArchiveError::RepeatedName { .. })), "{one}");
        }
    }

    #[test]
    fn parent_directories_count_toward_the_entry_limit() {
        let mut tree = NameTree::new(4, false);
        tree.add(&name("a/b/c"), NodeKind::File).unwrap();
        tree.add(&name("a/b/d"), NodeKind::File).unwrap();
        let error = tree.add(&name("a/b/e"), NodeKind::File).unwrap_err();
        assert!(matches!(error, ArchiveError::TooManyEntries { limit: 4 }), "{error}");
    }

    fn check(links: &[(&str, &str)], files: &[&str]) -> Result<(), ArchiveError> {
        let mut tree = tree(false, files).unwrap();
        let links: Vec<_> = links.iter().map(|(link, target)| (name(link), (*target).to_owned())).collect();
        for (link, target) in &links {
            tree.add(link, NodeKind::Link(target.clone())).unwrap();
        }
        tree.check_links(&links)
    }

    #[test]
    fn links_within_the_archive_are_accepted() {
        for links in [
            &[("l", "a/b")][..],
            &[("x/l", "../a/b")],
            &[("l", ".")],
            &[("x/y/l", "../..")],
            &[("l", "missing/../other")],
            &[("l", "m"), ("m", "a"), ("n", "l/b")],
            &[("l", "a/b/../../a")],
            &[("l", "./a//b")],
        ] {
            check(links, &["a/b"]).unwrap();
        }
    }

    #[test]
    fn links_out_of_the_archive_are_rejected() {
        for links in [
            &[("l", "/etc/passwd")][..],
            &[("l", "..")],
            &[("l", "../x")],
            &[("x/l", "../../x")],
            &[("l", "a/../../x")],
            &[("l", "missing/../../x")],
            &[("l", "")],
            &[("l", "a\\b")],
            // The first link points to the root, so `..` after it points outside.
            &[("x/y/l", "../.."), ("m", "x/y/l/../z")],
            &[("m", "x/y/l/../z"), ("x/y/l", "../..")],
            &[("l", "m"), ("m", "l")],
            &[("l", "l")],
            &[("l", "l/x")],
        ] {
            let error = check(links, &["a/b"]).unwrap_err();
            assert!(matches!(error, ArchiveError::UnsafeLink { .. }), "{links:?}: {error}");
        }
    }

    #[test]
    fn nested_links_take_bounded_time() {
        let mut links: Vec<(String, String)> =
            (0..30).map(|index| (format!("l{index}"), format!("l{0}/../l{0}", index + 1))).collect();
        links.push(("l30".to_owned(), "d".to_owned()));
        let links: Vec<_> = links.iter().map(|(link, target)| (link.as_str(), target.as_str())).collect();
        let error = check(&links, &["d/"]).unwrap_err();
        assert!(matches!(error, ArchiveError::UnsafeLink { .. }), "{error}");
    }
}
