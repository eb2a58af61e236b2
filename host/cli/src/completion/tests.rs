use std::fs;
use std::path::Path;

use super::*;

const STATE: &str = r#"{"version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "l",
    "outputs": {"url": {"value": "SECRET", "type": "string"}},
    "resources": [
        {"mode": "managed", "type": "t", "name": "a", "provider": "p", "instances": [{}]},
        {"module": "module.m", "mode": "managed", "type": "t", "name": "b", "provider": "p",
         "instances": [{"index_key": "x y"}, {"index_key": "z\u001b[2J"}]},
        {"mode": "data", "type": "t", "name": "c", "provider": "p", "instances": [{"index_key": 0}]}
    ]}"#;

const CONFIGURATION: &str = r#"
variable "region" {
  description = "The region.\nOther line."
}
variable "size" {}
resource "t" "new" {}
data "t" "c" {}
module "m" { source = "./m" }
"#;

fn directory() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("terraform.tfstate"), STATE).unwrap();
    fs::write(path.join("main.tf"), CONFIGURATION).unwrap();
    fs::write(path.join("more.tf.json"), r#"{"resource": {"t": {"json": {}}}}"#).unwrap();
    fs::write(path.join("a.tfvars"), "").unwrap();
    fs::create_dir_all(path.join("terraform.tfstate.d/stage")).unwrap();
    fs::create_dir_all(path.join("modules/.hidden")).unwrap();
    folder
}

/// Returns the candidates for a line as words, in a directory.
fn words(directory: &Path, line: &[&str]) -> Vec<String> {
    let chdir = format!("-chdir={}", directory.display());
    let words: Vec<&str> = std::iter::once(chdir.as_str()).chain(line.iter().copied()).collect();
    let environment = ProcessEnvironment::default();
    candidates(&words, &environment).into_iter().map(|candidate| candidate.text).collect()
}

#[track_caller]
fn check(line: &[&str], expected: &[&str]) {
    let folder = directory();
    assert_eq!(words(folder.path(), line), expected, "{line:?}");
}

#[test]
fn commands_are_completed() {
    check(&["pl"], &["plan", "plugin"]);
    check(&["state", "s"], &["show"]);
    check(&["help", "wor"], &["workspace"]);
    check(&["unknown", ""], &[]);
    check(&["policy", "learn", "--", "pla"], &["plan"]);
}

#[test]
fn options_have_the_typed_dashes() {
    check(&["plan", "-var"], &["-var-file=", "-var="]);
    check(&["plan", "--var"], &["--var-file=", "--var="]);
    check(&["-inst"], &["-install-autocomplete"]);
    check(&["plan", "-lock=t"], &["-lock=true"]);
    check(&["graph", "-format", ""], &["dot", "mermaid"]);
}

#[test]
fn addresses_are_read_from_state_and_configuration() {
    check(&["taint", ""], &["module.m.t.b[\"x y\"]", "module.m.t.b[\"z\\u001b[2J\"]", "t.a"]);
    check(&["plan", "-replace=t."], &["-replace=t.a"]);
    check(&["plan", "-target", "t."], &["t.a", "t.json", "t.new"]);
    check(
        &["plan", "-target=module.m"],
        &[
            "-target=module.m",
            "-target=module.m.t.b",
            "-target=module.m.t.b[\"x y\"]",
            "-target=module.m.t.b[\"z\\u001b[2J\"]",
        ],
    );
    check(&["state", "show", "data"], &["data.t.c", "data.t.c[0]"]);
    check(&["state", "rm", "t.a", "t"], &["t.a"]);
    check(&["import", ""], &["t.json", "t.new"]);
    check(&["import", "t.new", ""], &[]);
    check(&["output", ""], &["url"]);
}

#[test]
fn addresses_in_called_modules_are_read_from_their_directories() {
    let folder = directory();
    let path = folder.path();
    let write = |name: &str, text: &str| {
        fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
        fs::write(path.join(name), text).unwrap();
    };
    write(
        "m/main.tf",
        "resource \"t\" \"inner\" {}\naction \"t\" \"run\" {}\nmodule \"n\" { source = \"far/away\" }\n",
    );
    write("m/data.tf.json", r#"{"data": {"t": {"d": {}}}, "module": {"self": {"source": "./"}}}"#);
    write(
        ".terraform/modules/modules.json",
        r#"{"Modules": [{"Key": "m.n", "Source": "far/away", "Dir": "far"}]}"#,
    );
    write("far/main.tf", "resource \"t\" \"deep\" {}\nmodule \"absent\" { source = \"not/installed\" }\n");
    assert_eq!(
        words(path, &["plan", "-target=module.m.t."]),
        [
            "-target=module.m.t.b",
            "-target=module.m.t.b[\"x y\"]",
            "-target=module.m.t.b[\"z\\u001b[2J\"]",
            "-target=module.m.t.inner"
        ]
    );
    assert_eq!(
        words(path, &["plan", "-target=module.m.module.n"]),
        [
            "-target=module.m.module.n",
            "-target=module.m.module.n.module.absent",
            "-target=module.m.module.n.t.deep"
        ]
    );
    assert_eq!(words(path, &["import", "module.m.module.n."]), ["module.m.module.n.t.deep"]);
    assert_eq!(words(path, &["import", "module.m.data"]), [""; 0]);
    assert_eq!(words(path, &["plan", "-invoke=module.m.a"]), ["-invoke=module.m.action.t.run"]);
    // A module that calls itself does not prevent completion.
    assert!(words(path, &["plan", "-target=module.m.module.self.module.self.t."]).len() == 1);
}

#[test]
fn encrypted_files_are_not_read() {
    let folder = directory();
    let path = folder.path();
    let state = r#"{"serial": 1, "lineage": "l", "meta": {"k": "x"}, "encrypted_data": "AAAA", "encryption_version": "v0"}"#;
    fs::write(path.join("terraform.tfstate"), state).unwrap();
    assert_eq!(words(path, &["taint", ""]), [""; 0]);
    assert_eq!(words(path, &["plan", "-target=t."]), ["-target=t.json", "-target=t.new"]);
}

#[test]
fn workspaces_variables_and_files_are_completed() {
    check(&["workspace", "select", ""], &["default", "stage"]);
    check(&["plan", "-var", ""], &["region=", "size="]);
    check(&["plan", "-var=reg"], &["-var=region="]);
    check(
        &["plan", "-var-file="],
        &["-var-file=a.tfvars", "-var-file=modules/", "-var-file=terraform.tfstate.d/"],
    );
    check(&["apply", ""], &["modules/", "terraform.tfstate.d/"]);
    check(&["plan", "-out=modules/.h"], &["-out=modules/.hidden/"]);
    check(&["-chdir=modules/", "plan", "-out=x"], &[]);
    check(&["plugin", "inspect", "hashicorp/n"], &["hashicorp/null"]);
}

#[test]
fn damaged_files_do_not_prevent_completion() {
    let folder = directory();
    fs::write(folder.path().join("terraform.tfstate"), "{").unwrap();
    fs::write(folder.path().join("broken.tf"), "resource \"t\" \"other\" {}\nresource {{{\"\u{1b}").unwrap();
    fs::write(folder.path().join("broken.tf.json"), "[").unwrap();
    assert!(words(folder.path(), &["plan", "-target=t."]).contains(&"-target=t.new".to_owned()));
    assert_eq!(words(folder.path(), &["taint", ""]), [""; 0]);
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(words(&empty.path().join("missing"), &["taint", ""]), [""; 0]);
}

#[test]
fn shells_receive_lines() {
    let environment = ProcessEnvironment::default();
    let response = |arguments: &[&str]| {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        response_to(&arguments, &environment)
    };
    assert_eq!(response(&["completion", "bash"]), None);
    assert_eq!(response(&["plan", "bash", "--"]), None);
    let line = ["completion", "bash", "--", "x=1 wardian workspace sel", " =:"];
    assert_eq!(response(&line).as_deref(), Some(""));
    let line = ["completion", "bash", "--", "wardian workspace sel", " =:"];
    assert_eq!(response(&line).as_deref(), Some("select \n"));
    let expected = "word\tselect\tSelect another workspace\n";
    assert_eq!(response(&["completion", "zsh", "--", "workspace", "sel"]).as_deref(), Some(expected));
    let expected = "select\tSelect another workspace\n";
    assert_eq!(response(&["completion", "fish", "--", "workspace", "'sel"]).as_deref(), Some(expected));
    assert_eq!(response_to_line("terraform wor", &environment), "workspace\n");
}

#[test]
fn scripts_name_the_program() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let shell = CompletionShell::from_name(shell).unwrap();
        let script = script(shell, "terraform");
        assert!(script.contains("terraform") && !script.contains("PROGRAM"), "{script}");
    }
}
