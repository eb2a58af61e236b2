//! Completion in shells, and manual pages.

use std::fs;
use std::process::{Command, Stdio};

use wardian_end_to_end::{Project, Tmux, binary};

const STATE: &str = r#"{"version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "l",
    "outputs": {}, "resources": [
        {"mode": "managed", "type": "null_resource", "name": "web", "provider": "provider[\"registry.terraform.io/hashicorp/null\"]",
         "instances": [{"index_key": "a b", "attributes": {}}]},
        {"mode": "managed", "type": "null_resource", "name": "zone", "provider": "provider[\"registry.terraform.io/hashicorp/null\"]",
         "instances": [{"attributes": {}}]}
    ]}"#;

fn project() -> Project {
    Project::new(&[
        ("terraform.tfstate", STATE),
        (
            "main.tf",
            "variable \"region\" {\n  description = \"The region\"\n}\nresource \"null_resource\" \"web\" {}\n",
        ),
        ("stage.tfvars", ""),
        ("terraform.tfstate.d/stage/terraform.tfstate", ""),
    ])
}

fn is_installed(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !found {
        println!("skipped: {shell} is not installed");
    }
    found
}

#[test]
fn complete_command_protocol_is_supported() {
    let project = project();
    let complete = |line: &str| {
        let seen =
            project.run_with("anything", "", &[("COMP_LINE", line), ("COMP_POINT", &line.len().to_string())]);
        assert_eq!((seen.code, seen.errors.as_str()), (Some(0), ""));
        seen.out
    };
    assert_eq!(complete("wardian workspace s"), "select\nshow\n");
    assert_eq!(complete("terraform workspace select st"), "stage\n");
    assert_eq!(complete("wardian taint null_resource.z"), "null_resource.zone\n");
    assert_eq!(complete("wardian plan -target=null_resource.web["), "null_resource.web\\[\\\"a\\ b\\\"\\]\n");
}

#[test]
fn invalid_environment_does_not_prevent_completion() {
    let project = project();
    let variables = [("TF_CLI_ARGS", "-bad 'quote"), ("WARDIAN_OUTPUT", "other"), ("TF_WORKSPACE", "../x")];
    let seen = project.run_with("completion fish -- workspace sel", "", &variables);
    assert_eq!((seen.code, seen.out.as_str()), (Some(0), "select\tSelect another workspace\n"));
}

#[test]
fn completion_writes_no_file() {
    let project = project();
    let before = listed(&project);
    for line in ["taint n", "plan -var=", "workspace select s", "apply s", "state show n"] {
        project
            .run_with(&format!("completion zsh -- {line}"), "", &[("WARDIAN_AUDIT", "audit.log")])
            .success();
    }
    assert_eq!(listed(&project), before);
}

#[expect(clippy::unwrap_used, reason = "the test has failed")]
fn listed(project: &Project) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(project.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn encrypted_plans_and_states_cause_no_prompt() {
    let project = project();
    project.run("init").success();
    project
        .run_with(
            "plan -encrypt -var=region=x -out=secret.plan",
            "",
            &[("WARDIAN_PLAN_PASSPHRASE", "correct horse")],
        )
        .success();
    let seen = project.run("completion fish -- apply s").success();
    assert_eq!((seen.out.as_str(), seen.errors.as_str()), ("secret.plan\t\n", ""));
    project.write(
        "terraform.tfstate",
        r#"{"serial": 1, "lineage": "l", "meta": {"a": "b"}, "encrypted_data": "AAAA", "encryption_version": "v0"}"#,
    );
    let seen = project.run("completion fish -- taint n").success();
    assert_eq!((seen.out.as_str(), seen.errors.as_str()), ("", ""));
}

#[test]
fn addresses_in_modules_without_state_are_completed() {
    let project = project();
    project.write("net.tf", "module \"net\" {\n  source = \"./net\"\n}\n");
    project.write("net/main.tf", "resource \"null_resource\" \"link\" {}\n");
    let seen = project.run("completion fish -- plan -target=module.net.").success();
    assert_eq!(seen.out, "-target=module.net.null_resource.link\t\n");
}

/// Returns the candidates for a line in bash, as its completion function sets them.
#[expect(clippy::unwrap_used, reason = "the test has failed")]
fn in_bash(project: &Project, line: &str) -> String {
    let script = format!(
        "eval \"$({binary} completion bash)\"\nCOMP_LINE={line}\nCOMP_POINT=${{#COMP_LINE}}\n\
         _wardian_complete {binary}\nprintf '%s|\\n' \"${{COMPREPLY[@]}}\"\n",
        binary = binary().display(),
        line = format_args!("'{}'", line.replace('\'', "'\\''")),
    );
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &script])
        .current_dir(project.path(""))
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn bash_completes() {
    if !is_installed("bash") {
        return;
    }
    let project = project();
    assert_eq!(in_bash(&project, "wardian works"), "workspace |\n");
    assert_eq!(in_bash(&project, "wardian plan --var"), "--var-file=|\n--var=|\n");
    assert_eq!(in_bash(&project, "wardian plan -var=re"), "region=|\n");
    assert_eq!(in_bash(&project, "wardian taint 'null_resource.w"), "null_resource.web[\"a b\"]|\n");
}

#[test]
fn bash_completes_on_a_terminal() {
    let project = project();
    let Some(tmux) = Tmux::start(&project, &["bash", "--norc", "--noprofile"], (100, 24)) else { return };
    tmux.shows("$");
    tmux.enters("eval \"$(wardian completion bash)\"; clear");
    tmux.types("wardian taint null_resource.w");
    tmux.press(&["Tab"]);
    tmux.shows("null_resource.web\\[\\\"a\\ b\\\"\\]");
    tmux.press(&["C-u"]);
    tmux.types("wardian plan -var-f");
    tmux.press(&["Tab"]);
    tmux.shows("-var-file=");
    // With several candidates, bash lists them at the second key press.
    tmux.press(&["Tab", "Tab"]);
    tmux.shows("stage.tfvars");
}

#[test]
fn zsh_completes_on_a_terminal() {
    let project = project();
    let Some(tmux) = Tmux::start(&project, &["zsh", "-f", "-i"], (100, 24)) else { return };
    tmux.enters("eval \"$(wardian completion zsh)\"; clear; echo ready");
    tmux.until("ready", |screen| screen.lines().any(|line| line == "ready"));
    tmux.types("wardian worksp");
    tmux.press(&["Tab"]);
    tmux.shows("wardian workspace");
    tmux.types("sel");
    tmux.press(&["Tab"]);
    tmux.shows("wardian workspace select");
    tmux.types("sta");
    tmux.press(&["Tab"]);
    tmux.shows("wardian workspace select stage");
    tmux.press(&["C-u"]);
    tmux.types("wardian plan -target=null_resource.z");
    tmux.press(&["Tab"]);
    tmux.shows("-target=null_resource.zone");
    tmux.press(&["C-u"]);
    tmux.types("wardian plan -var-f");
    tmux.press(&["Tab"]);
    tmux.shows("wardian plan -var-file=");
    tmux.press(&["C-u"]);
    link_in_home(&project);
    tmux.types("~/bin/wardian worksp");
    tmux.press(&["Tab"]);
    tmux.shows("bin/wardian workspace");
}

/// Creates a link to the program in the home directory.
#[expect(clippy::unwrap_used, reason = "the test has failed")]
fn link_in_home(project: &Project) {
    let folder = project.path("home/bin");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(binary(), folder.join("wardian")).unwrap();
}

#[test]
fn fish_completes() {
    if !is_installed("fish") {
        return;
    }
    let project = project();
    let complete = |line: &str| {
        let script = format!("{} completion fish | source; complete -C '{line}'", binary().display());
        let path =
            format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("fish")
            .args(["--no-config", "-c", &script])
            .current_dir(project.path(""))
            .env("HOME", project.path("home"))
            .env("PATH", path)
            .output()
            .unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(complete("wardian workspace sel"), "select\tSelect another workspace\n");
    assert_eq!(complete("wardian plan -var re"), "region=\tThe region\n");
    assert!(complete("wardian plan -var-f").starts_with("-var-file=\t"));
    link_in_home(&project);
    assert_eq!(complete("~/bin/wardian workspace sel"), "select\tSelect another workspace\n");
    assert_eq!(complete("wardian plan -replace=null_resource.w"), "-replace=null_resource.web[\"a b\"]\n");
}

#[test]
fn elvish_completes_on_a_terminal() {
    let project = project();
    let Some(tmux) = Tmux::start(&project, &["elvish", "-norc"], (100, 24)) else { return };
    tmux.enters("eval (wardian completion elvish | slurp); echo re''ady");
    tmux.shows("ready");
    tmux.types("wardian workspace select sta");
    tmux.press(&["Tab"]);
    tmux.shows("wardian workspace select stage");
    tmux.press(&["C-u"]);
    tmux.types("wardian plan -var-f");
    tmux.press(&["Tab"]);
    // Elvish quotes words with an equals sign.
    tmux.shows("wardian plan '-var-file='");
}

#[test]
fn powershell_completes() {
    if !is_installed("pwsh") {
        return;
    }
    let project = project();
    let complete = |line: &str| {
        let script = format!(
            "wardian completion powershell | Out-String | Invoke-Expression; \
             (TabExpansion2 '{line}' {}).CompletionMatches | ForEach-Object {{ $_.CompletionText }}",
            line.len()
        );
        let path =
            format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("pwsh")
            .args(["-NoProfile", "-NonInteractive", "-Command", &script])
            .current_dir(project.path(""))
            .env("HOME", project.path("home"))
            .env("PATH", path)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(complete("wardian workspace sel"), "select\n");
    assert_eq!(complete("wardian workspace select sta"), "stage\n");
    assert_eq!(complete("wardian plan -var-f"), "-var-file=\n");
}

#[test]
fn completion_is_installed_and_removed() {
    let project = Project::new(&[("home/.bashrc", "alias a=b\n"), ("home/.zshrc", "")]);
    let home = project.path("home").display().to_string();
    let run = |line: &str| project.run_with(line, "", &[("HOME", &home)]);
    let seen = run("-install-autocomplete").success();
    assert!(seen.out.contains(".bashrc") && seen.out.contains(".zshrc"), "{}", seen.out);
    let installed = project.read("home/.bashrc");
    assert!(installed.contains("wardian completion bash"), "{installed}");
    run("--install-autocomplete").success();
    assert_eq!(project.read("home/.bashrc"), installed);
    run("-uninstall-autocomplete").success();
    assert_eq!(project.read("home/.bashrc"), "alias a=b\n");
    assert_eq!(project.read("home/.zshrc"), "");
    let empty = project.path("empty").display().to_string();
    let seen = project.run_with("-install-autocomplete", "", &[("HOME", &empty)]);
    assert!(seen.code == Some(1) && seen.errors.contains("No shell found"), "{}", seen.errors);
}

#[test]
fn manual_pages_are_written() {
    let project = Project::new(&[]);
    let seen = project.run("man").success();
    assert!(seen.out.starts_with(".TH \"WARDIAN\" 1"), "{}", seen.out);
    project.run("man pages").success();
    assert!(project.read("pages/wardian-state-rm.1").contains(".SH \"SYNOPSIS\""));
    assert!(project.read("pages/wardian-plan.1").contains("\\-var\\-file=PATH"));
}
