//! `wardian test`: interruptions, records of real objects, parallel runs, and its output. The suite
//! `test-command` compares its results with those of Terraform.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use wardian_end_to_end::{Project, Running, assert_seen};

const LIMIT: Duration = Duration::from_mins(2);

/// Creates a file, then waits for some seconds, and then creates another file.
const SLOW: &str = r#"variable "seconds" {
  type = number
}

resource "local_file" "first" {
  filename = "first.txt"
  content  = "x"
}

resource "time_sleep" "slow" {
  create_duration = "${var.seconds}s"
  depends_on      = [local_file.first]
}

resource "local_file" "last" {
  filename   = "last.txt"
  content    = "x"
  depends_on = [time_sleep.slow]
}
"#;

const FILE: &str = r#"variable "name" {
  type = string
}

resource "local_file" "made" {
  filename = "${var.name}.txt"
  content  = "x"
}
"#;

fn initialized(files: &[(&str, &str)]) -> Project {
    let project = Project::new(files);
    project.run("init").success();
    project
}

/// Starts tests, and returns while the first of their two runs waits.
fn started(project: &Project) -> Running {
    let running = project.start("test");
    wait_until("the record of the test contains time_sleep.slow", || {
        let records = fs::read_dir(project.path(".terraform/test")).into_iter().flatten().flatten();
        records.into_iter().any(|entry| {
            let record = fs::read(entry.path()).unwrap_or_default();
            String::from_utf8_lossy(&record).contains("time_sleep.slow")
        })
    });
    running
}

fn wait_until(condition: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LIMIT, "not within {LIMIT:?}: {condition}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn slow_project(seconds: u32) -> Project {
    let tests =
        format!("variables {{\n  seconds = {seconds}\n}}\n\nrun \"first\" {{\n}}\n\nrun \"second\" {{\n}}\n");
    initialized(&[("main.tf", SLOW), ("main.tftest.hcl", &tests)])
}

#[test]
fn first_interrupt_skips_the_other_runs_and_destroys_all_objects() {
    let project = slow_project(3);
    let running = started(&project);
    running.interrupt();
    let (status, seen) = running.finish(LIMIT);
    assert_eq!(status.code(), Some(1), "{seen}");
    assert!(seen.contains("Interrupt received."), "{seen}");
    assert!(seen.contains("run \"second\"... skip"), "{seen}");
    assert!(seen.contains("main.tftest.hcl... tearing down"), "{seen}");
    assert!(!seen.contains("need to be cleaned up manually"), "{seen}");
    assert!(!project.has("first.txt") && !project.has("last.txt"), "{seen}");
    let cleaned = project.run("test cleanup").success();
    assert!(cleaned.out.contains("0 objects destroyed."), "{}", cleaned.text());
}

#[test]
fn second_interrupt_stops_immediately_and_keeps_the_record() {
    let project = slow_project(300);
    let mut running = started(&project);
    running.interrupt();
    // Two simultaneous interrupts would be received as one.
    running.wait_for("Interrupt received.");
    running.interrupt();
    let (status, seen) = running.finish(LIMIT);
    assert_eq!(status.code(), Some(1), "{seen}");
    assert!(seen.contains("local_file.first"), "{seen}");
    assert!(project.has("first.txt"), "{seen}");
    cleans_up_what_is_left(&project);
}

#[test]
fn objects_of_a_killed_test_are_listed_and_cleaned_up() {
    let project = slow_project(300);
    started(&project).kill();
    let refused = project.run("test").ended_with(1);
    assert!(refused.errors.contains("time_sleep.slow of main.tftest.hcl/first"), "{}", refused.text());
    cleans_up_what_is_left(&project);
}

/// Checks that the objects of a stopped test block further tests until they are cleaned up.
fn cleans_up_what_is_left(project: &Project) {
    let refused = project.run("test").ended_with(1);
    assert!(refused.errors.contains("Objects of an earlier test remain"), "{}", refused.text());
    assert!(refused.errors.contains("local_file.first of main.tftest.hcl/first"), "{}", refused.text());
    assert!(project.has("first.txt"));
    let cleaned = project.run("test cleanup").success();
    assert!(cleaned.out.contains("1 object destroyed."), "{}", cleaned.text());
    assert!(!project.has("first.txt"));
    let tests = project.read("main.tftest.hcl").replace("seconds = 300", "seconds = 0");
    project.write("main.tftest.hcl", tests);
    let passed = project.run("test").success();
    assert!(passed.out.contains("Success! 2 passed, 0 failed."), "{}", passed.text());
}

#[test]
fn skip_cleanup_keeps_objects_until_a_cleanup() {
    let tests = "run \"kept\" {\n  skip_cleanup = true\n  variables {\n    name = \"kept\"\n  }\n}\n";
    let project = initialized(&[("main.tf", FILE), ("main.tftest.hcl", tests)]);
    project.run("test").success();
    assert!(project.has("kept.txt"));
    let refused = project.run("test").ended_with(1);
    assert!(refused.errors.contains("local_file.made of main.tftest.hcl/kept"), "{}", refused.text());
    let repaired = project.run("test cleanup -repair").success();
    assert!(project.has("kept.txt"), "{}", repaired.text());
    project.run("test cleanup").success();
    assert!(!project.has("kept.txt"));
    project.run("test").success();
}

#[test]
fn failed_clean_up_can_be_repeated() {
    let tests = "run \"main\" {\n  variables {\n    name = \"protected\"\n  }\n}\n";
    let protected = FILE.replace("  content", "  lifecycle {\n    prevent_destroy = true\n  }\n  content");
    let project = initialized(&[("main.tf", &protected), ("main.tftest.hcl", tests)]);
    let failed = project.run("test").ended_with(1);
    assert!(failed.out.contains("Failure! 1 passed, 0 failed."), "{}", failed.text());
    assert!(failed.errors.contains("  - local_file.made\n"), "{}", failed.text());
    let failed = project.run("test cleanup").ended_with(1);
    assert!(failed.errors.contains("  - local_file.made\n"), "{}", failed.text());
    assert!(project.has("protected.txt"));
    project.write("main.tf", FILE);
    project.run("test cleanup -repair").success();
    assert!(!project.has("protected.txt"));
    project.run("test").success();
}

/// Each run waits for a file that the other one creates.
#[test]
fn parallel_runs_with_different_states_overlap() {
    let main = r#"variable "own" {
  type = string
}

variable "other" {
  type = string
}

resource "terraform_data" "waiting" {
  provisioner "local-exec" {
    command = "touch ${var.own}; for i in $(seq 1200); do test -e ${var.other} && exit 0; sleep 0.1; done; exit 1"
  }
}
"#;
    let run = |own: &str, other: &str| {
        format!(
            "run \"{own}\" {{\n  parallel  = true\n  state_key = \"{own}\"\n  variables {{\n    own   = \"{own}\"\n    other = \
             \"{other}\"\n  }}\n}}\n"
        )
    };
    let tests = run("left", "right") + &run("right", "left");
    let project = initialized(&[("main.tf", main), ("main.tftest.hcl", &tests)]);
    let seen = project.run("test").success();
    assert!(seen.out.contains("Success! 2 passed, 0 failed."), "{}", seen.text());
}

#[test]
fn verbose_output_of_a_selected_file() {
    let main = r#"variable "name" {
  type    = string
  default = "main"
}

resource "terraform_data" "main" {
  input = var.name
}

output "name" {
  value = upper(terraform_data.main.output)
}
"#;
    let tests = r#"run "planned" {
  command = plan
}

run "applied" {
  variables {
    name = "other"
  }
  assert {
    condition     = output.name == "Other"
    error_message = "The name is not capitalized."
  }
}
"#;
    let project = initialized(&[
        ("main.tf", main),
        ("main.tftest.hcl", tests),
        ("other.tftest.hcl", "run \"not_selected\" {\n}\n"),
    ]);
    assert_seen!("test_verbose", project.run("test -verbose -filter=main.tftest.hcl"));
}

#[test]
fn untrusted_tests_only_plan_with_mocks() {
    let apply = "run \"applies\" {\n  variables {\n    name = \"a\"\n  }\n}\n";
    let plan = apply.replace("{\n  variables", "{\n  command = plan\n  variables");
    let mock = "mock_provider \"local\" {\n}\n\n";
    let project = initialized(&[("main.tf", FILE)]);
    for (tests, reason) in [
        (apply.to_owned(), "Apply of an untrusted configuration"),
        (format!("{mock}{apply}"), "Apply of an untrusted configuration"),
        (plan.clone(), "Provider not mocked"),
    ] {
        project.write("main.tftest.hcl", tests);
        let seen = project.run("test -untrusted").ended_with(1);
        assert!(seen.errors.contains(reason), "{}", seen.text());
        assert!(!project.has("a.txt"));
    }
    project.write("main.tftest.hcl", format!("{mock}{plan}"));
    let seen = project.run("test -untrusted").success();
    assert!(seen.out.contains("Success! 1 passed, 0 failed."), "{}", seen.text());
}

#[test]
fn untrusted_cleanup_destroys_nothing() {
    let tests = "run \"kept\" {\n  skip_cleanup = true\n  variables {\n    name = \"kept\"\n  }\n}\n";
    let project = initialized(&[("main.tf", FILE), ("main.tftest.hcl", tests)]);
    project.run("test").success();
    let seen = project.run("test cleanup -untrusted").ended_with(1);
    assert!(project.has("kept.txt"), "{}", seen.text());
}

/// Names and messages that contain control characters, and the end of a section of XML.
#[test]
fn names_and_messages_cannot_control_a_terminal_or_a_document() {
    let tests = r#"run "fails" {
  command = plan
  assert {
    condition     = var.text == "x"
    error_message = "\u001b]0;title\u0007\u001b[2J ]]> <b a=\"1\"> ${var.text}\u202e"
  }
}
"#;
    let main = "variable \"text\" {\n  type    = string\n  default = \"\\u001b[31m\\u0007\"\n}\n\noutput \"text\" {\n  value = var.text\n}\n";
    let name = "red\u{1b}[31m<&\u{202e}.tftest.hcl";
    let project = initialized(&[("main.tf", main), (name, tests)]);
    let seen = project.run("test -verbose -junit-xml=junit.xml").ended_with(1);
    assert!(seen.out.contains("Failure! 0 passed, 1 failed."), "{}", seen.text());
    let document = project.read("junit.xml");
    for (place, text) in [("stdout", &seen.out), ("stderr", &seen.errors), ("junit.xml", &document)] {
        let is_bad = |character: char| character.is_control() && character != '\n';
        assert!(!text.contains(is_bad), "{place}: {text:?}");
        assert!(place == "junit.xml" || !text.contains('\u{202e}'), "{place}: {text:?}");
    }
    assert_eq!(document.matches("<testcase ").count(), 1, "{document}");
    assert!(!document.contains("\"red\u{1b}") && document.contains("&lt;&amp;"), "{document}");
    // The end of a section in the message does not end the section.
    assert_eq!(
        document.matches("]]>").count(),
        1 + document.matches("]]]]><![CDATA[>").count(),
        "{document}"
    );
    let json = project.run("test -json").ended_with(1);
    for line in json.out.lines() {
        let event: Result<Value, _> = serde_json::from_str(line);
        assert!(event.is_ok() && !line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn invalid_run_name_is_reported_without_control_characters() {
    let project = initialized(&[("main.tf", "")]);
    project.write("main.tftest.hcl", "run \"a\\u001b[31m\u{1b}[2J\" {\n}\n");
    let seen = project.run("test").ended_with(1);
    assert!(!format!("{}{}", seen.out, seen.errors).contains('\u{1b}'), "{}", seen.text());
}
