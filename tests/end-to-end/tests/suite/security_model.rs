//! Checks that the tests and attacks named in the security model exist.

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
    let (tested, _) = tested.split_once("## Findings of the review").unwrap();
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

#[test]
fn attacks_for_each_finding_exist_and_fail() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("../../docs/security-model.md")).unwrap();
    let (_, findings) = document.split_once("## Findings of the review").unwrap();
    let listed = |name: &str| std::fs::read_to_string(root.join("tests/hostile").join(name)).unwrap();
    let (known, open) = (listed("before.txt"), listed("open.txt"));
    let begins = |list: &str, start: &str| list.lines().any(|line| line.starts_with(start));
    let mut rows = 0;
    for row in findings.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [_, _, _, attacks] = &*cells else { panic!("{row} has no four cells") };
        assert!(!quoted(attacks).is_empty(), "{row} names no attack");
        for attack in quoted(attacks) {
            assert!(begins(&known, attack), "there is no attack {attack}");
            assert!(!begins(&open, attack), "{attack} succeeds");
        }
        rows += 1;
    }
    assert!(rows > 30, "{rows}");
}
