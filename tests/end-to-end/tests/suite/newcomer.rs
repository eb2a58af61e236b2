//! Mistakes that new users make, and situations that they encounter.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use wardian_end_to_end::{Project, Seen, Terminal};

const DATA: &str = "resource \"terraform_data\" \"a\" {\n  input = 1\n}\n";

#[track_caller]
fn assert_told(seen: &Seen, texts: &[&str]) {
    let shown = format!("{}{}", seen.out, seen.errors);
    // A message may be wrapped across lines of its frame.
    let flat = shown.replace("\n│ ", " ").replace('\n', " ");
    for text in texts {
        assert!(flat.contains(text), "{text}\n{}", seen.text());
    }
}

/// Writes a file whose name is not UTF-8: `caf\xe9` and a suffix.
fn write_latin_1(project: &Project, suffix: &str, text: &str) {
    let name = [b"caf\xe9", suffix.as_bytes()].concat();
    let path = project.path("").join(std::ffi::OsString::from_vec(name));
    fs::write(path, text).unwrap();
}

#[test]
fn files_with_names_that_are_not_utf_8_are_read() {
    let project = Project::new(&[("main.tf", "variable \"v\" {}\n")]);
    write_latin_1(&project, ".tf", "resource \"terraform_data\" \"a\" {\n  input = var.v\n}\n");
    write_latin_1(&project, ".auto.tfvars", "v = \"from the file\"\n");
    project.run("apply -auto-approve").success();
    assert!(project.run("state show terraform_data.a").out.contains("\"from the file\""));
    // The plan destroys no object that this file declares, so the file was read.
    project.run("plan -detailed-exitcode").success();
    project.run("plan -out=p -replace=terraform_data.a").success();
    project.run("apply p").success();
    write_latin_1(&project, ".tf", "resource {\n");
    assert_told(&project.run("validate").ended_with(1), &["on caf\u{fffd}.tf line 1"]);
}

#[test]
fn plan_is_saved_under_a_name_that_is_not_utf_8() {
    let project = Project::new(&[("main.tf", DATA)]);
    let out = std::ffi::OsString::from_vec(b"-out=p\xe9".to_vec());
    let ended = project.command("plan").arg(out).stdout(Stdio::null()).status().unwrap();
    assert!(ended.success());
    let name = std::ffi::OsString::from_vec(b"p\xe9".to_vec());
    assert!(project.path("").join(name).is_file());
}

#[test]
fn typed_sensitive_value_is_not_echoed() {
    let variables = "variable \"secret\" {\n  sensitive = true\n}\nvariable \"name\" {}\n";
    let project = Project::new(&[("main.tf", variables)]);
    let mut terminal = Terminal::running("plan", &project, &[("TERM", "xterm")]);
    terminal.until("var.name");
    terminal.until("Enter a value:");
    let shown = terminal.types("visible\r", "var.secret");
    assert!(shown.contains("visible"), "{shown}");
    terminal.until("Enter a value:");
    let shown = terminal.types("hunter2\r", "No changes");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn lines_pasted_into_the_console_are_all_evaluated() {
    let project = Project::new(&[]);
    let mut terminal = Terminal::running("console", &project, &[("TERM", "xterm")]);
    terminal.until("> ");
    // In bracketed paste mode, the terminal encloses pasted text in escape sequences.
    terminal.types("\u{1b}[200~1000 + 1\n2000 + 2\n3000 + 3\u{1b}[201~\r", "1001");
    terminal.until("2002");
    terminal.until("3003");
}

#[test]
fn suggested_grant_adds_the_denied_access() {
    let outside = tempfile::tempdir().unwrap();
    let directory = outside.path().canonicalize().unwrap();
    let text = format!(
        "resource \"local_file\" \"outside\" {{\n  filename = \"{}/sub/hello.txt\"\n  content  = \"x\"\n}}\nresource \
         \"local_file\" \"inside\" {{\n  filename = \"greeting.txt\"\n  content  = \"x\"\n}}\n",
        directory.display()
    );
    let project = Project::new(&[("main.tf", &text)]);
    project.run("init").success();
    let mut steps = 0;
    loop {
        let seen = project.run("apply -auto-approve");
        if seen.code == Some(0) {
            break;
        }
        steps += 1;
        assert!(steps <= 2, "the advice does not help:\n{}", seen.text());
        let shown = format!("{}{}", seen.out, seen.errors);
        let line = shown.lines().find(|line| line.contains("wardian policy grant")).unwrap_or_else(|| {
            panic!("no advice:\n{shown}");
        });
        let (_, command) = line.split_once("wardian ").unwrap();
        project.run(command.trim()).success();
    }
    assert_eq!(steps, 1);
    assert!(directory.join("sub/hello.txt").is_file());
    assert!(project.has("greeting.txt"));
}

#[test]
fn suggested_grant_for_denied_read_names_the_directory() {
    let outside = tempfile::tempdir().unwrap();
    let directory = outside.path().canonicalize().unwrap().join("a directory");
    fs::create_dir(&directory).unwrap();
    let file = directory.join("file.txt");
    fs::write(&file, "content").unwrap();
    let text = format!("data \"local_file\" \"a\" {{\n  filename = \"{}\"\n}}\n", file.display());
    let project = Project::new(&[("main.tf", &text)]);
    project.run("init").success();
    let seen = project.run("plan").ended_with(1);
    let advice = format!(
        "wardian policy grant hashicorp/local filesystem '-directories={}' -access=read",
        directory.display()
    );
    let shown =
        format!("{}{}", seen.out, seen.errors).replace("[FOLDER]", &project.path("").display().to_string());
    assert!(shown.contains(&advice), "{advice}\n{shown}");
    project.run(advice.strip_prefix("wardian ").unwrap()).success();
    project.run("plan").success();
}

#[test]
fn output_to_a_full_disk_is_an_error() {
    let project = Project::new(&[("main.tf", "output \"a\" {\n  value = 1\n}\n")]);
    project.run("apply -auto-approve").success();
    for line in ["state pull", "output -json", "show -json", "output a"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = project.command(line).stdout(full).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {errors}");
        assert!(
            errors.contains("Output is not complete") && errors.contains("No space left"),
            "{line}: {errors}"
        );
    }
}

#[test]
fn space_next_to_variable_name_is_reported() {
    let project = Project::new(&[("main.tf", "variable \"n\" {\n  default = 1\n}\n")]);
    let seen = project.run("plan -var 'n = 1'").ended_with(1);
    assert_told(&seen, &["Invalid -var option", "Did you mean -var=\"n=1\"?"]);
    project.run("plan -var 'n= 1'").success();
}

#[test]
fn undeclared_variables_are_listed_in_file_order() {
    let project = Project::new(&[
        ("main.tf", "variable \"n\" {\n  default = 1\n}\n"),
        ("terraform.tfvars", "zeta = 1\nalpha = 2\nmid = 3\nomega = 4\n"),
    ]);
    let seen = project.run("plan").success();
    assert_told(
        &seen,
        &[
            "no variable \"zeta\"",
            "elsewhere: terraform.tfvars line 2",
            "2 more variables are set in files without being declared: mid, omega.",
        ],
    );
}

#[test]
fn directory_and_configuration_file_are_not_saved_plans() {
    let project = Project::new(&[("main.tf", DATA), ("other.txt", "x")]);
    assert_told(&project.run("apply .").ended_with(1), &["is a directory", "-chdir=DIR"]);
    assert_told(
        &project.run("apply main.tf").ended_with(1),
        &["main.tf is a configuration file, not a saved plan", "all configuration files"],
    );
    assert_told(
        &project.run("apply other.txt").ended_with(1),
        &["other.txt is not a saved plan", "`plan -out=FILE`"],
    );
    for line in ["apply nope", "show nope", "plan -var-file=nope", "state push nope"] {
        let seen = project.run(line).ended_with(1);
        assert!(!seen.errors.contains("os error"), "{}", seen.text());
    }
}

#[test]
fn damaged_states_are_explained() {
    let project = Project::new(&[("main.tf", DATA)]);
    project.write("terraform.tfstate", "{\n<<<<<<< HEAD\n  \"version\": 4,\n");
    assert_told(&project.run("plan").ended_with(1), &["line 2 is a conflict marker"]);
    project.write("terraform.tfstate", "{\"version\": 4, \"lineage\": \"ab");
    assert_told(
        &project.run("plan").ended_with(1),
        &["ends in the middle of a value, at line 1", "truncated"],
    );
    project.write("terraform.tfstate", "version = 4\n");
    assert_told(&project.run("plan").ended_with(1), &["not valid JSON at line 1, column 1"]);
}

#[test]
fn plan_in_read_only_directory_takes_no_lock() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: the permissions of a directory do not apply to root");
        return;
    }
    let project = Project::new(&[("main.tf", DATA)]);
    let folder = project.path("");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let seen = project.run("plan");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_told(&seen.ended_with(1), &["-lock=false"]);
}

#[test]
fn errors_for_unreachable_modules_and_unsupported_backends_suggest_alternatives() {
    let source = |source: &str| format!("module \"vpc\" {{\n  source = \"{source}\"\n}}\n");
    for (address, server) in [
        ("terraform-aws-modules/vpc/aws", "registry.terraform.io"),
        ("git::https://example.com/vpc.git?ref=v1.2.0", "https://example.com/vpc.git"),
    ] {
        let seen = Project::new(&[("main.tf", &source(address))]).run("init").ended_with(1);
        assert_told(&seen, &[server, "network access is disabled", "\"./modules/vpc\""]);
        assert!(!seen.errors.contains(&format!("./{address}")), "{}", seen.text());
    }
    let seen = Project::new(&[("main.tf", &source("modules/vpc"))]).run("init").ended_with(1);
    assert_told(&seen, &["Invalid module source address", "write \"./modules/vpc\""]);
    let backend = |name: &str| format!("terraform {{\n  backend \"{name}\" {{}}\n}}\n");
    let seen = Project::new(&[("main.tf", &backend("locl"))]).run("init").ended_with(1);
    assert_told(&seen, &["Unsupported backend type", "Did you mean \"local\"?"]);
    let seen = Project::new(&[("main.tf", &backend("oss"))]).run("init").ended_with(1);
    assert_told(&seen, &["Backend not supported", "backend_override.tf", "init -reconfigure"]);
}

#[test]
fn missing_provider_error_names_mirror_directories() {
    let project = Project::new(&[("main.tf", "resource \"aws_instance\" \"a\" {}\n")]);
    let seen = project.run("init").ended_with(1);
    assert_told(
        &seen,
        &[
            "~/.terraform.d/plugins",
            "registry.terraform.io/hashicorp/aws/terraform-provider-aws_VERSION_OS_ARCH.zip",
            "registry.terraform.io/hashicorp/aws/VERSION/OS_ARCH/",
        ],
    );
}

#[test]
fn answer_that_probably_means_yes_is_explained() {
    let project = Project::new(&[("main.tf", DATA)]);
    let seen = project.run_with("apply", "y\n", &[]).ended_with(1);
    assert_told(&seen, &["\"y\" is not \"yes\", so nothing was approved.", "Apply cancelled."]);
    let seen = project.run_with("apply", "no\n", &[]).ended_with(1);
    assert!(!seen.out.contains("is not \"yes\""), "{}", seen.text());
}

#[test]
fn invalid_argument_in_the_environment_names_its_variable() {
    let project = Project::new(&[("main.tf", DATA)]);
    let seen = project.run_with("plan", "", &[("TF_CLI_ARGS_plan", "-bogus")]).ended_with(1);
    assert_told(&seen, &["The environment variable TF_CLI_ARGS_plan contains this argument."]);
}

#[test]
fn interrupt_at_a_prompt_ends_the_command() {
    let project = Project::new(&[("main.tf", DATA)]);
    let mut terminal = Terminal::running("apply", &project, &[("TERM", "xterm")]);
    terminal.until("Enter a value:");
    terminal.interrupt();
    let shown = terminal.until("before it changed anything");
    assert!(shown.contains("Interrupt received.") && !shown.contains("running operations"), "{shown}");
}
