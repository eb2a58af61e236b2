//! Compares the files below `docs/` with the layout that registries publish.
//!
//! A registry publishes `docs/index.md` and the pages in the directories of [`DIRECTORIES`]; it truncates large
//! pages, and rejects a release with more than [`MAX_PAGES`] of them. Before this layout, pages were in
//! `website/docs`; a release must not contain both. The check reads names and sizes, and changes nothing.
//! Cost: linear in the number of files.

use std::fs;
use std::io;
use std::path::Path;

use super::{DocumentationError, MAX_PAGE_BYTES};

/// The maximum number of pages of a release.
pub const MAX_PAGES: usize = 2_000;

/// The directories below `docs/` whose pages registries publish.
pub const DIRECTORIES: [&str; 7] =
    ["actions", "data-sources", "ephemeral-resources", "functions", "guides", "list-resources", "resources"];

/// The directory with translations of pages to other languages, which has a layout of its own.
const TRANSLATIONS: &str = "cdktf";

/// The directory of the earlier layout.
const EARLIER_LAYOUT: &str = "website/docs";

/// A file or directory that registries do not publish as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnpublishedFile {
    EarlierLayout,
    UnknownDirectory(String),
    UnknownFile(String),
    NestedDirectory(String),
    TooLarge { path: String, bytes: u64 },
    TooManyPages(usize),
}

impl std::fmt::Display for UnpublishedFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::EarlierLayout => write!(
                formatter,
                "{EARLIER_LAYOUT} has the earlier layout, and registries reject both layouts together; move its \
                 texts to templates/, and remove it"
            ),
            Self::UnknownDirectory(path) => write!(
                formatter,
                "registries do not publish {path}; they publish docs/index.md and the directories {}",
                DIRECTORIES.join(", ")
            ),
            Self::UnknownFile(path) => {
                write!(formatter, "registries do not publish {path}; pages have the extension .md")
            }
            Self::NestedDirectory(path) => {
                write!(
                    formatter,
                    "registries do not publish {path}, because the directory is nested; move its pages up"
                )
            }
            Self::TooLarge { path, bytes } => write!(
                formatter,
                "{path} has {bytes} bytes, and registries show at most {MAX_PAGE_BYTES} bytes of a page; divide it"
            ),
            Self::TooManyPages(count) => {
                write!(
                    formatter,
                    "there are {count} pages, and registries publish at most {MAX_PAGES} of a release"
                )
            }
        }
    }
}

/// Returns the problems of the files in a project, sorted by path.
///
/// # Errors
/// Returns an error if a directory cannot be read.
pub fn problems(directory: &Path) -> Result<Vec<UnpublishedFile>, DocumentationError> {
    let mut problems = Vec::new();
    if directory.join(EARLIER_LAYOUT).is_dir() {
        problems.push(UnpublishedFile::EarlierLayout);
    }
    let mut pages = 0;
    for entry in entries(&directory.join("docs"))? {
        let path = format!("docs/{}", entry.name);
        if !entry.is_directory {
            file(&path, entry.bytes, &mut pages, &mut problems);
        } else if DIRECTORIES.contains(&entry.name.as_str()) {
            for inner in entries(&directory.join(&path))? {
                let path = format!("{path}/{}", inner.name);
                if inner.is_directory {
                    problems.push(UnpublishedFile::NestedDirectory(path));
                } else {
                    file(&path, inner.bytes, &mut pages, &mut problems);
                }
            }
        } else if entry.name != TRANSLATIONS {
            problems.push(UnpublishedFile::UnknownDirectory(path));
        }
    }
    if pages > MAX_PAGES {
        problems.push(UnpublishedFile::TooManyPages(pages));
    }
    Ok(problems)
}

fn file(path: &str, bytes: u64, pages: &mut usize, problems: &mut Vec<UnpublishedFile>) {
    if Path::new(path).extension().is_none_or(|extension| extension != "md") {
        problems.push(UnpublishedFile::UnknownFile(path.to_owned()));
        return;
    }
    *pages += 1;
    if usize::try_from(bytes).map_or(true, |bytes| bytes > MAX_PAGE_BYTES) {
        problems.push(UnpublishedFile::TooLarge { path: path.to_owned(), bytes });
    }
}

pub(super) struct Entry {
    pub(super) name: String,
    is_directory: bool,
    bytes: u64,
}

/// Returns the entries of a directory, sorted; none if it does not exist.
pub(super) fn entries(directory: &Path) -> Result<Vec<Entry>, DocumentationError> {
    let failed = |source| DocumentationError::Read { path: directory.to_owned(), source };
    let read = match fs::read_dir(directory) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in read {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let metadata = entry.metadata().map_err(failed)?;
        found.push(Entry { name, is_directory: metadata.is_dir(), bytes: metadata.len() });
    }
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_registries_do_not_publish_are_found() {
        let project = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: usize| {
            let path = project.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x".repeat(bytes)).unwrap();
        };
        assert_eq!(problems(project.path()).unwrap(), []);
        for directory in DIRECTORIES {
            write(&format!("docs/{directory}/zone.md"), MAX_PAGE_BYTES);
        }
        write("docs/index.md", 1);
        write("docs/cdktf/python/resources/zone.md", 1);
        assert_eq!(problems(project.path()).unwrap(), []);

        write("docs/index.html", 1);
        write("docs/resources/large.md", MAX_PAGE_BYTES + 1);
        write("docs/resources/dns/zone.md", 1);
        write("docs/resource/zone.md", 1);
        write("website/docs/r/zone.html.markdown", 1);
        let found = problems(project.path()).unwrap();
        let expected = [
            UnpublishedFile::EarlierLayout,
            UnpublishedFile::UnknownFile("docs/index.html".to_owned()),
            UnpublishedFile::UnknownDirectory("docs/resource".to_owned()),
            UnpublishedFile::NestedDirectory("docs/resources/dns".to_owned()),
            UnpublishedFile::TooLarge { path: "docs/resources/large.md".to_owned(), bytes: 500_001 },
        ];
        assert_eq!(found, expected);
        for problem in &found {
            let text = problem.to_string();
            assert!(text.contains("registries"), "{text}");
        }
    }

    #[test]
    fn pages_of_a_release_are_counted() {
        let mut found = Vec::new();
        let mut pages = 0;
        for number in 0..=MAX_PAGES {
            file(&format!("docs/resources/a{number}.md"), 1, &mut pages, &mut found);
        }
        assert_eq!((pages, found), (MAX_PAGES + 1, Vec::new()));
    }
}
