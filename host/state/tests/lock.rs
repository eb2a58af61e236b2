//! Lock conflicts within Wardian, and with Terraform if it is installed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use futures::executor::block_on;
use tempfile::TempDir;
use wardian_state::{BackupRule, LockError, LockInfo, LockRequest, State, StateFileOptions, StateManager};

fn options() -> StateFileOptions {
    StateFileOptions { terraform_version: "1.11.4".into(), backup: BackupRule::Off, read_from: None }
}

fn open(directory: &Path) -> StateManager {
    StateManager::open_file(directory.join("terraform.tfstate"), options())
}

fn once() -> LockRequest {
    LockRequest {
        operation: "OperationTypeApply".into(),
        info: String::new(),
        who: "somebody@somewhere".into(),
        version: "1.11.4".into(),
    }
}

fn note(directory: &Path) -> std::path::PathBuf {
    directory.join(".terraform.tfstate.lock.info")
}

#[test]
fn held_lock_error_names_the_holder() {
    let directory = TempDir::new().unwrap();
    let mut first = open(directory.path());
    let info = block_on(first.lock(&once())).unwrap().clone();
    assert_eq!(fs::metadata(note(directory.path())).unwrap().permissions().mode() & 0o777, 0o600);
    let stored: LockInfo = serde_json::from_slice(&fs::read(note(directory.path())).unwrap()).unwrap();
    assert_eq!(stored, info);
    assert!(info.created.ends_with('Z') && info.created.len() == "2026-01-01T00:00:00.123456789Z".len());

    let refused = block_on(open(directory.path()).lock(&once())).unwrap_err();
    let LockError::Held { holder: Some(holder), .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(**holder, info);
    assert!(refused.to_string().contains("locked by somebody@somewhere since"), "{refused}");

    // Another process that reads the file while it is locked does not release the lock.
    fs::read(directory.path().join("terraform.tfstate")).unwrap();
    assert!(block_on(open(directory.path()).lock(&once())).is_err());

    drop(first);
    assert!(!note(directory.path()).exists());
    assert!(!directory.path().join("terraform.tfstate").exists(), "nothing was written");
    block_on(open(directory.path()).lock(&once())).unwrap();
}

#[test]
fn symlink_as_lock_info_is_rejected() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("precious");
    fs::write(&target, "precious").unwrap();
    symlink(&target, note(directory.path())).unwrap();
    let error = block_on(open(directory.path()).lock(&once())).unwrap_err().to_string();
    assert!(error.contains(".terraform.tfstate.lock.info: it is a symbolic link"), "{error}");
    assert_eq!(fs::read_to_string(target).unwrap(), "precious");
    assert!(!directory.path().join("terraform.tfstate").exists());
}

#[test]
fn locked_state_is_written_in_place() {
    let directory = TempDir::new().unwrap();
    let mut file = open(directory.path());
    block_on(file.lock(&once())).unwrap();
    block_on(file.write(&State::default())).unwrap();
    assert!(block_on(open(directory.path()).lock(&once())).is_err());
    drop(file);
    assert!(directory.path().join("terraform.tfstate").exists());
}

fn terraform(directory: &Path, arguments: &[&str]) -> Option<Output> {
    let output = Command::new("terraform")
        .args(arguments)
        .current_dir(directory)
        .env_remove("TF_CLI_CONFIG_FILE")
        .env("CHECKPOINT_DISABLE", "1")
        .output();
    output.ok()
}

#[test]
fn wardian_and_terraform_respect_each_others_locks() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    fs::write(
        path.join("main.tf"),
        "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"touch started; for i in $(seq 300); do test -e finish && exit 0; sleep 0.1; done\"\n  }\n}\n",
    )
    .unwrap();
    let Some(output) = terraform(path, &["init", "-input=false"]) else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let mut ours = open(path);
    block_on(ours.lock(&once())).unwrap();
    let output = terraform(path, &["plan", "-no-color", "-input=false"]).unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("somebody@somewhere"), "{text}");
    drop(ours);

    let mut child = Command::new("terraform")
        .args(["apply", "-auto-approve", "-no-color", "-input=false"])
        .current_dir(path)
        .env_remove("TF_CLI_CONFIG_FILE")
        .env("CHECKPOINT_DISABLE", "1")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !path.join("started").exists() && start.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let refused = block_on(open(path).lock(&once())).unwrap_err();
    fs::write(path.join("finish"), "").unwrap();
    assert!(child.wait().unwrap().success());
    let LockError::Held { holder: Some(holder), .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(holder.operation, "OperationTypeApply");
    assert_eq!(holder.version, "1.11.4");

    // Terraform reads the files that Wardian writes.
    let mut ours = open(path);
    block_on(ours.lock(&once())).unwrap();
    let mut state = State::clone(&*block_on(ours.read()).unwrap());
    let address = "terraform_data.y[0]".parse().unwrap();
    let (_, provider, instance) =
        state.instances().next().map(|(a, p, i)| (a, p.clone(), i.clone())).unwrap();
    state.set_instance(&address, &provider, instance);
    block_on(ours.write(&state)).unwrap();
    drop(ours);
    let output = terraform(path, &["state", "list"]).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "terraform_data.x\nterraform_data.y[0]\n");
    let output = terraform(path, &["state", "pull"]).unwrap();
    let pulled = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(pulled.trim_end(), fs::read_to_string(path.join("terraform.tfstate")).unwrap().trim_end());
}
