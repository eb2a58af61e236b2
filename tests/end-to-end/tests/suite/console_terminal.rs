//! The command `console` on a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use wardian_end_to_end::{Project, Terminal};

const PROMPT: &str = "> ";

#[test]
fn console_evaluates_typed_expressions() {
    let project = Project::new(&[("main.tf", "locals {\n  port = 8080\n}\n")]);
    let mut terminal = Terminal::running("console", &project, &[("TERM", "xterm")]);
    terminal.until(PROMPT);
    assert!(terminal.types("local.port + 1\r", "8081").contains("local.port + 1"));
    terminal.until(PROMPT);
    terminal.types("[1,\r", ": ");
    terminal.types("2]\r", "[\r\n  1,\r\n  2,\r\n]\r\n");
    terminal.until(PROMPT);
    // An error does not end the console, and is shown in color.
    assert!(terminal.types("local.prt\r", "╵").contains("\u{1b}[31m"));
    terminal.until(PROMPT);
    terminal.ends("exit\r");

    let history = project.path("data/wardian/console_history");
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&history).unwrap().contains("local.port + 1"));
    // In the next session, the history contains "exit", the error and the list.
    let mut terminal = Terminal::running("console", &project, &[("TERM", "xterm")]);
    terminal.until(PROMPT);
    terminal.types("\u{1b}[A\u{1b}[A\u{1b}[A\r", "[\r\n  1,\r\n  2,\r\n]\r\n");
    terminal.until(PROMPT);
    terminal.ends("\u{4}");
}

#[test]
fn control_c_clears_the_line_or_exits_the_console() {
    let project = Project::new(&[]);
    let mut terminal = Terminal::running("console", &project, &[("TERM", "xterm")]);
    terminal.until(PROMPT);
    terminal.types("f(\r", ": ");
    terminal.types("\u{3}", PROMPT);
    terminal.types("nonsense", "nonsense");
    terminal.types("\u{3}", PROMPT);
    terminal.types("20 + 22\r", "\r\n42\r\n");
    terminal.until(PROMPT);
    terminal.ends("\u{3}");
}

#[test]
fn dumb_terminal_receives_plain_text() {
    let project = Project::new(&[]);
    for variables in [[("TERM", "dumb"), ("COLUMNS", "80")], [("TERM", "xterm"), ("NO_COLOR", "1")]] {
        let mut terminal = Terminal::running("console", &project, &variables);
        terminal.until(PROMPT);
        let shown = terminal.types("nope.x\r", "╵");
        assert!(!shown.contains("\u{1b}[31m"), "{shown:?}");
        terminal.until(PROMPT);
        terminal.ends("exit\r");
    }
}
