//! Checks that the tests named in the security model exist.

use std::path::Path;

/// Returns the words in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn tests_named_in_the_security_model_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/security-model.md")).unwrap();
    let (_, tested) = document.split_once("## How each claim is tested").unwrap();
    let mut named = 0;
    for row in tested.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [_, file, tests] = &*cells else { panic!("{row} has no three cells") };
        let [file] = &*quoted(file) else { panic!("{row} names no file") };
        let source =
            std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(!quoted(tests).is_empty(), "{row} names no test");
        for test in quoted(tests) {
            assert!(source.contains(&format!("fn {test}(")), "{file} has no test {test}");
            named += 1;
        }
    }
    assert!(named > 30, "{named}");
}
