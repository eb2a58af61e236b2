//! Finds the test files of a root module, and reads each file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wardian_diagnostic::Diagnostics;
use wardian_lang::{parse_body, parse_json_body};
use wardian_value::Str;

use super::{LoadedTests, TestFile};
use crate::files::Files;
use crate::load::directory::{is_json, read_text};

/// Reads the test files in the root module's directory and in the test directory, which is relative to
/// it.
pub fn load_tests(
    files: &dyn Files,
    directory: &Path,
    test_directory: &Path,
    problems: &mut Diagnostics,
) -> LoadedTests {
    let mut tests = LoadedTests::default();
    for directory in [directory.to_owned(), directory.join(test_directory)] {
        let Ok(names) = files.list(&directory) else { continue };
        for name in names {
            let path = directory.join(&name);
            let name = name.to_string_lossy();
            if !name.ends_with(".tftest.hcl") && !name.ends_with(".tftest.json") {
                continue;
            }
            let Some(source) = read_text(files, &path, problems) else { continue };
            tests.sources.push(Arc::clone(&source));
            let (_, found) = if is_json(&name) { parse_json_body(&source) } else { parse_body(&source) };
            problems.extend(found);
            let path = Str::new(&path.to_string_lossy());
            let file = TestFile {
                path: path.clone(),
                source,
                runs: Vec::new(),
                variables: BTreeMap::new(),
                providers: BTreeMap::new(),
                overrides: Vec::new(),
                parallel: false,
                skip_cleanup: false,
            };
            tests.files.insert(path, file);
        }
    }
    tests
}
