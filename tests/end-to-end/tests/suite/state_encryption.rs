//! Encrypted states and plans: what is stored, migration between encryptions, other states, untrusted
//! configurations, and files of OpenTofu.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use wardian_end_to_end::{Project, Seen};
use wardian_state_server::{Fault, Response, StateServer};

/// A value that must not be stored anywhere.
const SECRET: &str = "hunter2-hunter2";

const MAIN: &str = r#"
variable "passphrase" {
  sensitive = true
}

variable "secret" {
  default   = "hunter2-hunter2"
  sensitive = true
}

resource "terraform_data" "a" {
  input = var.secret
}

output "secret" {
  value     = terraform_data.a.output
  sensitive = true
}
"#;

const ENCRYPTION: &str = r#"
terraform {
  encryption {
    key_provider "pbkdf2" "p" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.p
    }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }
    plan {
      method   = method.aes_gcm.m
      enforced = true
    }
  }
}
"#;

/// A resource that waits until the file `finish` exists, after the secret was stored.
const WAITING: &str = "resource \"terraform_data\" \"b\" {\n  depends_on = [terraform_data.a]\n  provisioner \"local-exec\" {\n    \
                   command = \"echo started; for i in $(seq 600); do test -e finish && exit 0; sleep 0.1; done; exit 1\"\n  }\n}\n";

const PASSPHRASE: (&str, &str) = ("TF_VAR_passphrase", "correct-horse-battery-staple");

fn project() -> Project {
    Project::new(&[("main.tf", MAIN), ("encryption.tf", ENCRYPTION)])
}

/// Runs a command with the passphrase.
fn run(project: &Project, line: &str) -> Seen {
    project.run_with(line, "", &[PASSPHRASE])
}

/// Checks that no file below a directory contains the secret, except for the configuration, and returns
/// the paths of the files.
fn encrypted_files(project: &Project) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![project.path("")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let name = path.strip_prefix(project.path("")).unwrap().to_str().unwrap().to_owned();
            if path.extension().is_some_and(|extension| extension == "tf") {
                continue;
            }
            assert!(!contains_secret(&fs::read(&path).unwrap()), "{name} contains a plain value");
            found.push(name);
        }
    }
    found.sort();
    found
}

fn contains_secret(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
}

/// Joins wrapped lines.
fn unwrapped(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '│').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn stored(project: &Project) -> Value {
    serde_json::from_str(&project.read("terraform.tfstate")).unwrap()
}

#[test]
fn states_backups_and_plans_contain_no_plain_value() {
    let project = project();
    run(&project, "apply -auto-approve").success();
    run(&project, "plan -out=tfplan -var secret=hunter2-hunter2-b").success();
    run(&project, "apply tfplan").success();
    let files = encrypted_files(&project);
    for name in ["terraform.tfstate", "terraform.tfstate.backup", "tfplan"] {
        assert!(files.iter().any(|file| file == name), "{files:?}");
    }
    let state = stored(&project);
    assert_eq!(state["encryption_version"], "v0");
    assert_eq!(state["serial"], 2);
    assert!(state["meta"]["key_provider.pbkdf2.p"].is_string() && state["version"].is_null());
    let members: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 5, "{members:?}");
    assert_eq!(run(&project, "output -raw secret").success().out.trim(), "hunter2-hunter2-b");
    let pulled = run(&project, "state pull").success().out;
    assert_eq!(serde_json::from_str::<Value>(&pulled).unwrap()["version"], 4);
    assert!(contains_secret(pulled.as_bytes()));
    run(&project, "plan -detailed-exitcode -var secret=hunter2-hunter2-b").success();
    for line in ["show terraform.tfstate", "show terraform.tfstate.backup", "show", "state list"] {
        assert!(run(&project, line).success().out.contains("terraform_data.a"), "{line}");
    }
    assert!(run(&project, "show tfplan").success().out.contains("terraform_data.a"));
    assert!(run(&project, "apply tfplan").ended_with(1).errors.contains("stale"));
}

#[test]
fn wrong_or_missing_passphrase_changes_nothing() {
    let project = project();
    run(&project, "apply -auto-approve").success();
    run(&project, "plan -out=tfplan").success();
    let before = project.read("terraform.tfstate");
    let wrong = [("TF_VAR_passphrase", "another passphrase")];
    for line in ["apply -auto-approve", "output", "state list", "state rm terraform_data.a", "apply tfplan"] {
        let seen = project.run_with(line, "", &wrong).ended_with(1);
        let errors = unwrapped(&seen.errors);
        assert!(errors.contains("cannot be decrypted: method.aes_gcm.m"), "{line}: {errors}");
        assert!(errors.contains("Check the passphrase or the key"), "{line}: {errors}");
        assert!(!seen.text().contains("another passphrase"), "{line}");
        let seen = project.run_with(line, "", &[("TF_INPUT", "0")]).ended_with(1);
        assert!(seen.errors.contains("No value for required variable"), "{line}: {}", seen.text());
    }
    let short = [("TF_VAR_passphrase", "too short")];
    let seen = project.run_with("apply -auto-approve", "", &short).ended_with(1);
    assert!(seen.errors.contains("Unable to build encryption key data"), "{}", seen.text());
    assert!(!seen.text().contains("too short\""), "{}", seen.text());
    assert_eq!(project.read("terraform.tfstate"), before);
    // Without the configuration, nothing is lost, either.
    fs::remove_file(project.path("encryption.tf")).unwrap();
    for line in ["apply -auto-approve", "state list"] {
        let errors = unwrapped(&run(&project, line).ended_with(1).errors);
        assert!(errors.contains("the state is encrypted"), "{errors}");
    }
    assert_eq!(project.read("terraform.tfstate"), before);
}

#[test]
fn interrupted_apply_leaves_an_encrypted_journal() {
    let project = project();
    project.write("waiting.tf", WAITING);
    project.write("terraform.tfvars", "passphrase = \"correct-horse-battery-staple\"\n");
    let mut running = project.start("apply -auto-approve");
    running.wait_for("started");
    let files = encrypted_files(&project);
    assert!(files.iter().any(|file| file == ".terraform.tfstate.journal"), "{files:?}");
    running.kill();
    project.write("finish", "");
    let files = encrypted_files(&project);
    assert!(files.iter().any(|file| file == ".terraform.tfstate.journal"), "{files:?}");
    let seen = run(&project, "apply -auto-approve").success();
    assert!(seen.text().contains("recovered") || seen.text().contains("interrupted"), "{}", seen.text());
    let files = encrypted_files(&project);
    assert!(!files.iter().any(|file| file == ".terraform.tfstate.journal"), "{files:?}");
    run(&project, "plan -detailed-exitcode").success();
}

#[test]
fn state_that_cannot_be_stored_is_saved_encrypted() {
    let server = StateServer::start();
    let project = project();
    project.write("backend.tf", server.block("/state"));
    run(&project, "init").success();
    run(&project, "apply -auto-approve").success();
    assert!(!contains_secret(&server.state("/state").unwrap()));
    for _ in 0..9 {
        server.fail_next("POST", Fault::Answer(Response::new(500, "")));
    }
    let seen = run(&project, "apply -auto-approve -var secret=hunter2-hunter2-b").ended_with(1);
    assert!(seen.errors.contains("errored.tfstate"), "{}", seen.text());
    let files = encrypted_files(&project);
    assert!(files.iter().any(|file| file == "errored.tfstate"), "{files:?}");
    assert!(files.iter().any(|file| file.starts_with(".terraform/journals/")), "{files:?}");
    server.clear_faults();
    run(&project, "state push errored.tfstate").success();
    assert_eq!(run(&project, "output -raw secret").success().out.trim(), "hunter2-hunter2-b");
    assert!(!contains_secret(&server.state("/state").unwrap()));
    encrypted_files(&project);
}

#[test]
fn unfinished_state_is_stored_encrypted_and_recovered() {
    let server = StateServer::start();
    let project = project();
    project.write("backend.tf", server.block("/state"));
    project.write("waiting.tf", WAITING);
    run(&project, "init").success();
    let mut command = project.command("apply -auto-approve");
    command.env(PASSPHRASE.0, PASSPHRASE.1).env("TF_STATE_PERSIST_INTERVAL", "0").stdout(Stdio::null());
    let mut apply = command.spawn().unwrap();
    assert!(!contains_secret(&server.wait_for_state("/state")));
    encrypted_files(&project);
    apply.kill().unwrap();
    apply.wait().unwrap();
    server.set_lock("/state", None);
    project.write("finish", "");
    let seen = run(&project, "apply -auto-approve").success();
    assert!(unwrapped(&seen.text()).contains("Interrupted run recovered"), "{}", seen.text());
    run(&project, "plan -detailed-exitcode").success();
    assert!(!contains_secret(&server.state("/state").unwrap()));
    encrypted_files(&project);
}

#[test]
fn printed_state_is_encrypted() {
    let server = StateServer::start();
    let project = project();
    project.write("backend.tf", server.block("/state"));
    project.write("errored.tfstate/in-the-way", "");
    run(&project, "init").success();
    for _ in 0..9 {
        server.fail_next("POST", Fault::Answer(Response::new(500, "")));
    }
    let output = project
        .command("apply -auto-approve")
        .env(PASSPHRASE.0, PASSPHRASE.1)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(!contains_secret(&output.stdout) && !contains_secret(&output.stderr), "{text}");
    let line = text.lines().find(|line| line.starts_with("{\"serial\"")).unwrap().to_owned();
    project.write("kept.tfstate", line);
    server.clear_faults();
    run(&project, "state push kept.tfstate").success();
    assert_eq!(run(&project, "output -raw secret").success().out.trim(), SECRET);
}

/// The arguments of a target in the steps of a migration.
fn with_methods(state: &str) -> String {
    format!(
        r#"
terraform {{
  encryption {{
    key_provider "pbkdf2" "p" {{
      passphrase = var.passphrase
      iterations = 200000
    }}
    key_provider "pbkdf2" "q" {{
      passphrase    = "${{var.passphrase}} (new)"
      iterations    = 200000
      hash_function = "sha256"
    }}
    method "aes_gcm" "m" {{
      keys = key_provider.pbkdf2.p
    }}
    method "aes_gcm" "n" {{
      keys = key_provider.pbkdf2.q
    }}
    method "unencrypted" "none" {{}}
    state {{
      {state}
    }}
  }}
}}
"#
    )
}

#[test]
fn state_is_migrated_between_encryptions() {
    let project = Project::new(&[("main.tf", MAIN)]);
    run(&project, "apply -auto-approve").success();
    assert!(contains_secret(project.read("terraform.tfstate").as_bytes()));
    let id = project.state()["resources"][0]["instances"][0]["attributes"]["id"].clone();

    project.write("encryption.tf", with_methods("method = method.aes_gcm.m"));
    let errors = unwrapped(&run(&project, "apply -auto-approve").ended_with(1).errors);
    assert!(errors.contains("the state is not encrypted") && errors.contains("\"unencrypted\""), "{errors}");

    let entering = "method = method.aes_gcm.m\nfallback {\n method = method.unencrypted.none\n}";
    project.write("encryption.tf", with_methods(entering));
    let seen = run(&project, "apply -auto-approve").success();
    assert!(seen.text().contains("Unencrypted method configured"), "{}", seen.text());
    assert_eq!(encrypted_files(&project), ["terraform.tfstate", "terraform.tfstate.backup"]);
    assert_eq!(stored(&project)["serial"], 2);

    let rotating = "method = method.aes_gcm.n\nfallback {\n method = method.aes_gcm.m\n}";
    project.write("encryption.tf", with_methods(rotating));
    run(&project, "apply -auto-approve").success();
    assert!(stored(&project)["meta"]["key_provider.pbkdf2.q"].is_string());
    project.write("encryption.tf", with_methods("method = method.aes_gcm.n\nenforced = true"));
    let before = project.read("terraform.tfstate");
    run(&project, "apply -auto-approve").success();
    assert_eq!(project.read("terraform.tfstate"), before, "an unchanged state is not written");

    let leaving = "method = method.unencrypted.none\nfallback {\n method = method.aes_gcm.n\n}";
    project.write("encryption.tf", with_methods(leaving));
    run(&project, "apply -auto-approve").success();
    fs::remove_file(project.path("encryption.tf")).unwrap();
    run(&project, "plan -detailed-exitcode").success();
    assert_eq!(project.state()["resources"][0]["instances"][0]["attributes"]["id"], id);
    assert_eq!(project.state()["serial"], 4);
}

#[test]
fn environment_configures_encryption() {
    let project = Project::new(&[(
        "main.tf",
        "terraform {\n  encryption {\n    state {\n      enforced = true\n    }\n  }\n}\nresource \"terraform_data\" \"a\" \
         {\n  input = \"hunter2-hunter2\"\n}\n",
    )]);
    let seen = project.run("apply -auto-approve").ended_with(1);
    assert!(seen.errors.contains("Missing encryption method") && !project.has("terraform.tfstate"));
    let native = "key_provider \"pbkdf2\" \"p\" {\npassphrase = \"correct-horse-battery-staple\"\niterations = \
                  200000\n}\nmethod \"aes_gcm\" \"m\" {\nkeys = key_provider.pbkdf2.p\n}\nstate {\nmethod = method.aes_gcm.m\n}\n";
    project.run_with("apply -auto-approve", "", &[("TF_ENCRYPTION", native)]).success();
    assert_eq!(encrypted_files(&project), ["terraform.tfstate"]);
    let json = r#"{"key_provider":{"pbkdf2":{"p":{"passphrase":"correct-horse-battery-staple","iterations":200000}}},"method":{"aes_gcm":{"m":{"keys":"key_provider.pbkdf2.p"}}},"state":{"method":"method.aes_gcm.m"}}"#;
    project.run_with("plan -detailed-exitcode", "", &[("TF_ENCRYPTION", json)]).success();
    let seen = project.run_with("plan", "", &[("TF_ENCRYPTION", "stat {}")]).ended_with(1);
    assert!(seen.errors.contains("TF_ENCRYPTION line 1"), "{}", seen.text());
    let seen = project.run_with("validate", "", &[("TF_ENCRYPTION", native)]).success();
    assert!(!seen.text().contains("staple"), "{}", seen.text());
}

#[test]
fn encryption_of_plans_has_precedence_over_passphrase() {
    let project = project();
    run(&project, "plan -encrypt -out=tfplan").success();
    assert!(project.read("tfplan").contains("\"encryption_version\":\"v0\""));
    run(&project, "apply tfplan").success();
    // A plan with a passphrase remains readable, and one without encryption does not.
    let other = Project::new(&[("main.tf", MAIN)]);
    let passphrases = [PASSPHRASE, ("WARDIAN_PLAN_PASSPHRASE", "open sesame")];
    other.run_with("plan -encrypt -out=sealed", "", &passphrases).success();
    run(&other, "plan -out=plain").success();
    other.write("encryption.tf", ENCRYPTION);
    other.run_with("show sealed", "", &passphrases).success();
    let errors = unwrapped(&run(&other, "show plain").ended_with(1).errors);
    assert!(errors.contains("accepts only encrypted plans"), "{errors}");
    // A damaged plan.
    let plan = project.read("tfplan");
    for damaged in
        [&plan[..plan.len() / 2], &plan.replacen("\"encrypted_data\":\"", "\"encrypted_data\":\"AAAA", 1)]
    {
        project.write("damaged", damaged);
        run(&project, "apply damaged").ended_with(1);
    }
}

#[test]
fn workspaces_and_other_files_are_encrypted() {
    let project = project();
    run(&project, "apply -auto-approve").success();
    run(&project, "workspace new -state=terraform.tfstate other").success();
    run(&project, "state mv terraform_data.a terraform_data.b").success();
    run(&project, "state mv -state-out=moved.tfstate terraform_data.b terraform_data.c").success();
    run(&project, "workspace new empty").success();
    run(&project, "apply -auto-approve").success();
    encrypted_files(&project);
    assert!(run(&project, "show moved.tfstate").success().out.contains("terraform_data.c"));
}

#[test]
fn workspaces_of_backends_are_encrypted() {
    let server = StateServer::start();
    let project = project();
    run(&project, "apply -auto-approve").success();
    project.write("backend.tf", server.block("/migrated"));
    run(&project, "init -force-copy").success();
    let migrated: Value = serde_json::from_slice(&server.state("/migrated").unwrap()).unwrap();
    assert_eq!(migrated["encryption_version"], "v0");
    run(&project, "plan -detailed-exitcode").success();
    encrypted_files(&project);
}

#[test]
fn remote_states_are_decrypted() {
    let project = project();
    run(&project, "apply -auto-approve").success();
    let reader = |targets: &str| {
        let main = format!(
            r#"
terraform {{
  encryption {{
    key_provider "pbkdf2" "renamed" {{
      passphrase               = "correct-horse-battery-staple"
      iterations               = 200000
      encrypted_metadata_alias = "key_provider.pbkdf2.p"
    }}
    key_provider "pbkdf2" "other" {{
      passphrase               = "another passphrase"
      encrypted_metadata_alias = "key_provider.pbkdf2.p"
    }}
    method "aes_gcm" "m" {{
      keys = key_provider.pbkdf2.renamed
    }}
    method "aes_gcm" "other" {{
      keys = key_provider.pbkdf2.other
    }}
    remote_state_data_sources {{
      {targets}
    }}
  }}
}}
data "terraform_remote_state" "a" {{
  backend = "local"
  config = {{
    path = "{}"
  }}
}}
output "secret" {{
  value = data.terraform_remote_state.a.outputs.secret
}}
"#,
            project.path("terraform.tfstate").display()
        );
        Project::new(&[("main.tf", &main)])
    };
    for targets in [
        "default {\n method = method.aes_gcm.m\n}",
        "default {\n method = method.aes_gcm.other\n}\nremote_state_data_source \"a\" {\n method = method.aes_gcm.m\n}",
        "default {\n method = method.aes_gcm.other\n fallback {\n method = method.aes_gcm.m\n}\n}",
    ] {
        let reader = reader(targets);
        reader.run("apply -auto-approve").success();
        assert_eq!(reader.run("output -raw secret").success().out.trim(), SECRET);
    }
    for (targets, expected) in [
        ("", "the state is encrypted"),
        ("default {\n method = method.aes_gcm.other\n}", "Failed to decrypt remote state"),
        ("default {\n method = method.aes_gcm.absent\n}", "Reference to undeclared encryption method"),
    ] {
        let seen = reader(targets).run("plan").ended_with(1);
        assert!(unwrapped(&seen.errors).contains(expected), "{}", seen.text());
    }
}

#[test]
fn untrusted_configuration_starts_no_program() {
    let encryption = |body: &str| format!("terraform {{\n  encryption {{\n{body}\n  }}\n}}\n");
    let program = encryption(
        "key_provider \"external\" \"x\" {\n command = [\"touch\", \"started\"]\n}\nmethod \"aes_gcm\" \"m\" {\n keys = \
         key_provider.external.x\n}\nstate {\n method = method.aes_gcm.m\n}\nplan {\n method = method.aes_gcm.m\n}",
    );
    let project = Project::new(&[("main.tf", MAIN), ("encryption.tf", &program)]);
    // There is nothing to decrypt.
    run(&project, "plan -untrusted").success();
    let seen = run(&project, "plan -untrusted -out=tfplan").ended_with(1);
    assert!(seen.errors.contains("Key provider not permitted") && !project.has("tfplan"), "{}", seen.text());
    project.write("terraform.tfstate", "{}");
    let seen = run(&project, "plan -untrusted").ended_with(1);
    assert!(seen.errors.contains("Key provider not permitted"), "{}", seen.text());
    assert!(unwrapped(&seen.errors).contains("With -untrusted, key_provider.external.x is not used"));
    assert!(!project.has("started"));
    // The control: the program is started otherwise.
    run(&project, "apply -auto-approve").ended_with(1);
    assert!(!project.has("started"), "an invalid state is not decrypted");
    fs::remove_file(project.path("terraform.tfstate")).unwrap();
    run(&project, "apply -auto-approve").ended_with(1);
    assert!(project.has("started"));
}

#[test]
fn opentofu_and_wardian_read_each_others_states() {
    let found = Command::new("tofu").arg("version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: OpenTofu (`tofu`) is not installed");
        return;
    }
    let project = project();
    let tofu = |line: &str| {
        let output = Command::new("tofu")
            .args(line.split_whitespace())
            .current_dir(project.path(""))
            .env(PASSPHRASE.0, PASSPHRASE.1)
            .env("HOME", project.path("home"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "tofu {line}: {text}");
        text
    };
    run(&project, "apply -auto-approve").success();
    tofu("init");
    assert_eq!(tofu("output -raw secret").trim(), SECRET);
    tofu("apply -auto-approve -var secret=hunter2-hunter2-b");
    assert_eq!(run(&project, "output -raw secret").success().out.trim(), "hunter2-hunter2-b");
    run(&project, "apply -auto-approve").success();
    assert_eq!(tofu("output -raw secret").trim(), SECRET);
    encrypted_files(&project);
}

#[test]
fn keys_are_not_logged() {
    let project = project();
    let log = project.path("log");
    let log = Path::new(&log).to_str().unwrap().to_owned();
    let variables = [PASSPHRASE, ("TF_LOG", "trace"), ("TF_LOG_PATH", &*log)];
    project.run_with("apply -auto-approve", "", &variables).success();
    project.run_with("plan -out=tfplan", "", &variables).success();
    let text = project.read("log");
    assert!(text.len() > 1000 && text.contains("deriving a key"), "{text}");
    assert!(!text.contains(PASSPHRASE.1), "the log contains the passphrase");
}
