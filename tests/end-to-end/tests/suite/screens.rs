//! Output on terminals with 80 and with 60 columns.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use wardian_end_to_end::{Project, assert_seen_text};

const WIDTHS: [&str; 2] = ["80", "60"];

/// Runs a command with a terminal width, and returns its output. Lines of files and plans are not
/// wrapped.
fn screen(project: &Project, line: &str, width: &str) -> String {
    let seen = project.run_with(line, "", &[("COLUMNS", width)]);
    format!("{}{}", seen.out, seen.errors)
}

#[track_caller]
fn assert_fits(text: &str, width: &str) {
    let width: usize = width.parse().unwrap();
    for line in text.lines() {
        let line = line.replace("[ELAPSED]", "0s");
        let is_code = line.trim_start_matches('│').starts_with("  ");
        assert!(is_code || line.chars().count() <= width, "{width}: {line}");
    }
}

#[test]
fn help_fits_the_screen() {
    let project = Project::new(&[]);
    for width in WIDTHS {
        for (name, line) in
            [("help", "-help"), ("help_plan", "plan -help"), ("help_environment", "help environment")]
        {
            let text = screen(&project, line, width);
            assert_fits(&text, width);
            assert_seen_text!(format!("screen_{name}_{width}"), text);
        }
    }
}

#[test]
fn init_plan_and_apply_fit_the_screen() {
    for width in WIDTHS {
        let project = Project::new(&[(
            "main.tf",
            "resource \"random_integer\" \"port\" {\n  min = 8080\n  max = 8080\n}\nresource \"terraform_data\" \"a\" {\n  \
             input = random_integer.port.result\n}\noutput \"port\" {\n  value = random_integer.port.result\n}\n",
        )]);
        for (name, line) in [("init", "init"), ("plan", "plan"), ("apply", "apply -auto-approve")] {
            let text = screen(&project, line, width);
            assert_fits(&text, width);
            assert_seen_text!(format!("screen_{name}_{width}"), text);
        }
    }
}

#[test]
fn error_and_denial_fit_the_screen() {
    let long = format!(
        "output \"a\" {{\n  value = \"{}${{var.undeclared}}{}\"\n}}\n",
        "x".repeat(500),
        "y".repeat(500)
    );
    let outside = "data \"local_file\" \"a\" {\n  filename = \"/etc/hostname\"\n}\n";
    for width in WIDTHS {
        let project = Project::new(&[("main.tf", &long)]);
        let text = screen(&project, "validate", width);
        assert!(text.lines().all(|line| line.chars().count() <= width.parse().unwrap()), "{text}");
        assert_seen_text!(format!("screen_error_{width}"), text);
        let project = Project::new(&[("main.tf", outside)]);
        project.run("init").success();
        assert_seen_text!(format!("screen_denial_{width}"), screen(&project, "plan", width));
    }
}
