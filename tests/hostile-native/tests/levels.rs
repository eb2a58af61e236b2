//! The level of confinement that is determined on kernels without single features.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]

use std::process::Command;

use wardian_confinement::{ConfinementLevel, supported_level};

/// Prints the level for the process of another test.
#[test]
fn level_of_this_process() {
    let supported = supported_level();
    println!("level: {} missing: {}", supported.level, supported.missing.as_deref().unwrap_or("nothing"));
}

/// Returns the line of a process without features.
fn level_without(features: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_wardian-hostile-native"))
        .args(["without", features])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "level_of_this_process", "--nocapture"])
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let line = stdout.lines().find_map(|line| Some(line.split_once("level: ")?.1.to_owned()));
    line.unwrap_or_else(|| panic!("{stdout}"))
}

#[test]
fn level_drops_with_each_missing_feature_and_names_it() {
    if supported_level().level != ConfinementLevel::Full {
        println!("skipped: {:?}", supported_level());
        return;
    }
    for (features, level, missing) in [
        ("none", "full", "nothing"),
        ("namespaces", "filtered", "user, mount and network namespaces"),
        ("socket-copies", "filtered", "copy the program's sockets"),
        ("listener", "namespaced", "seccomp filters that notify a supervisor"),
        ("landlock", "namespaced", "Landlock"),
        ("landlock,listener", "namespaced", "Landlock"),
        ("listener,namespaces", "files and ports", "notify a supervisor"),
        ("filters", "files and ports", "does not support seccomp filters"),
        ("landlock,namespaces", "none", "Landlock"),
        ("landlock,filters", "none", "seccomp"),
    ] {
        let line = level_without(features);
        assert!(line.starts_with(&format!("{level} missing: ")), "without {features}: {line}");
        assert!(line.contains(missing), "without {features}: {line}");
    }
}
