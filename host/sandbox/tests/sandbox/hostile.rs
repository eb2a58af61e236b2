//! What a hostile guest tries, in one table, and how much of it was held.
//!
//! Each attempt is one call on a provider that has the least that lets the attempt be
//! made. It is held if what it is after did not come about, and the provider serves the
//! next call. The other modules say more of each: why it fails, and in which words.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wardian_plugin::{ClientCapabilities, PlanRequest, PrivateBytes, Provider, ReadDataSourceRequest};
use wardian_sandbox::{Grants, Limits};
use wardian_value::Value;

use crate::guest::{allow, deny, granted, load, object, object_type, plan, short, text};

/// What is granted.
#[derive(Clone, Copy, Debug)]
enum With {
    Nothing,
    /// The project, to read and to write.
    Project,
    /// The project but what is denied in it.
    Fenced,
    /// The project, to read.
    Reading,
}

/// What a probe tries to reach: it must be refused.
const REACHES: &[(With, &str)] = &[
    (With::Nothing, "read:/etc/passwd"),
    (With::Nothing, "read:terraform.tfstate"),
    (With::Nothing, "read:/home/ada/.ssh/id_rsa"),
    (With::Nothing, "list:/home/ada/.ssh"),
    (With::Nothing, "read:/proc/self/environ"),
    (With::Nothing, "read:/proc/self/maps"),
    (With::Nothing, "list:/"),
    (With::Nothing, "list:."),
    (With::Nothing, "write:/tmp/x"),
    (With::Nothing, "write:x"),
    (With::Nothing, "create:600|/tmp/x"),
    (With::Nothing, "create:600|x"),
    (With::Nothing, "set-mode:777|/etc/passwd"),
    (With::Project, "read:/etc/passwd"),
    (With::Project, "read:/proc/self/environ"),
    (With::Project, "read:../outside"),
    (With::Project, "read:directory/../../outside"),
    (With::Project, "write:../outside"),
    (With::Project, "remove:../outside"),
    (With::Project, "list:.."),
    (With::Project, "look:../outside"),
    (With::Project, "read:planted"),
    (With::Project, "read:planted-up/outside"),
    (With::Project, "write:planted"),
    (With::Project, "symlink:/etc/passwd|mine"),
    (With::Project, "symlink:../outside|mine"),
    (With::Project, "symlink:directory/../../outside|mine"),
    (With::Project, "hardlink:../outside|mine"),
    (With::Project, "rename:../outside|mine"),
    (With::Project, "rename:file|../mine"),
    (With::Project, "create:600|../mine"),
    (With::Project, "create:600|planted-up/mine"),
    (With::Project, "create:4755|mine"),
    (With::Project, "create-directory:700|../mine"),
    (With::Project, "set-mode:777|planted"),
    (With::Project, "write:wardian.policy.hcl"),
    (With::Project, "write:.terraform.lock.hcl"),
    (With::Project, "write:.terraform/providers/x"),
    (With::Project, "rename:file|.terraform.lock.hcl"),
    (With::Project, "symlink:file|.terraform.lock.hcl"),
    (With::Project, "read:pipe"),
    (With::Fenced, "read:terraform.tfstate"),
    (With::Fenced, "read:directory/../terraform.tfstate"),
    (With::Fenced, "read:state-link"),
    (With::Fenced, "read:state-hard-link"),
    (With::Fenced, "look:terraform.tfstate"),
    (With::Fenced, "write:terraform.tfstate"),
    (With::Fenced, "rename:terraform.tfstate|taken"),
    (With::Fenced, "hardlink:terraform.tfstate|taken"),
    (With::Fenced, "rename:file|terraform.tfstate"),
    (With::Fenced, "read:keys/key"),
    (With::Fenced, "list:keys"),
    (With::Fenced, "rename:keys|taken"),
    (With::Fenced, "rename:keys/key|taken"),
    (With::Fenced, "rename:directory|keys"),
    (With::Fenced, "remove-directory:keys"),
    (With::Fenced, "create:600|keys/new"),
    (With::Fenced, "set-mode:777|keys"),
    (With::Reading, "write:file"),
    (With::Reading, "write:new"),
    (With::Reading, "append:file"),
    (With::Reading, "truncate:file"),
    (With::Reading, "resize:file|0"),
    (With::Reading, "touch:file"),
    (With::Reading, "touch:directory"),
    (With::Reading, "remove:file"),
    (With::Reading, "rename:file|other"),
    (With::Reading, "hardlink:file|other"),
    (With::Reading, "symlink:file|other"),
    (With::Reading, "make-directory:new"),
    (With::Reading, "remove-directory:directory"),
    (With::Reading, "create:600|new"),
    (With::Reading, "create:600|file"),
    (With::Reading, "create-directory:700|new"),
    (With::Reading, "set-mode:777|file"),
];

/// What a plan of a type tries to do to the host: the call must fail, or be cut short.
const HARMS: &[&str] = &[
    "hostile_trap",
    "hostile_panic",
    "hostile_exit",
    "hostile_loop",
    "hostile_sleep",
    "hostile_recursion",
    "hostile_frames",
    "hostile_memory",
    "hostile_handles",
    "hostile_garbage",
    "hostile_wrong_type",
    "hostile_deep",
    "hostile_length",
    "hostile_huge",
];

struct Project {
    root: tempfile::TempDir,
    before: String,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        for directory in ["directory", "keys"] {
            fs::create_dir_all(project.join(directory)).unwrap();
        }
        for file in ["file", "terraform.tfstate", "keys/key", ".terraform.lock.hcl", "../outside"] {
            fs::write(project.join(file), format!("this is {file}")).unwrap();
        }
        for (target, link) in
            [("../outside", "planted"), ("..", "planted-up"), ("terraform.tfstate", "state-link")]
        {
            std::os::unix::fs::symlink(target, project.join(link)).unwrap();
        }
        fs::hard_link(project.join("terraform.tfstate"), project.join("state-hard-link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(project.join("pipe")).status().unwrap().success());
        let mut project = Self { root, before: String::new() };
        project.before = project.all();
        project
    }

    fn path(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn provider(&self, with: With) -> Arc<dyn Provider> {
        let rules = match with {
            With::Nothing => return load(limits()).provider(Grants::nothing()),
            With::Project => allow("read write", &["."]),
            With::Fenced => allow("read write", &["."]) + &deny("read write", &["terraform.tfstate", "keys"]),
            With::Reading => allow("read", &["."]),
        };
        load(limits()).provider(granted(&self.path(), &rules))
    }

    /// Every path, with what is in it, what may be done to it, and when it was changed.
    fn all(&self) -> String {
        let mut text = String::new();
        let mut pending = vec![self.root.path().to_owned()];
        while let Some(path) = pending.pop() {
            let about = fs::symlink_metadata(&path).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions());
            let content = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let modified = if about.is_file() { about.modified().ok() } else { None };
            let content = String::from_utf8_lossy(&content);
            writeln!(text, "{} {mode:o} {content} {modified:?}", path.display()).unwrap();
            if about.is_dir() {
                let mut entries: Vec<_> =
                    fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
                entries.sort();
                pending.extend(entries);
            }
        }
        text
    }
}

fn limits() -> Limits {
    Limits {
        memory: 64 << 20,
        computation: Duration::from_secs(2),
        remote_call: Duration::from_secs(4),
        ..short()
    }
}

/// Whether the next call is served as if nothing had been.
async fn is_well(provider: &dyn Provider) -> bool {
    let response = plan(provider, "hostile_honest").await;
    response.diagnostics.is_empty() && response.planned_state == Some(object("because"))
}

/// What a probe says, or what is told of it.
async fn answer(provider: &dyn Provider, input: &str) -> String {
    let request = ReadDataSourceRequest {
        type_name: "hostile_probe".into(),
        config: object(input),
        provider_meta: None,
        capabilities: ClientCapabilities::default(),
    };
    match provider.read_data_source(request).await.state {
        Some(state) => text(&state, "result"),
        None => "denied: the call failed".into(),
    }
}

async fn fails(provider: &dyn Provider, type_name: &str) -> bool {
    let request = PlanRequest {
        type_name: type_name.into(),
        prior_state: Value::null(object_type()),
        proposed_new_state: object("x"),
        config: object("x"),
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = provider.plan_resource_change(request).await;
    response.planned_state.is_none()
        && response.diagnostics.iter().any(wardian_plugin::PluginDiagnostic::is_error)
}

#[tokio::test]
async fn all_is_held() {
    let mut escaped = Vec::new();
    let mut tried = 0;
    let project = Project::new();
    for (with, attempt) in REACHES {
        let provider = project.provider(*with);
        let answer = answer(&*provider, attempt).await;
        let refused = ["refused: ", "denied: ", "failed: ", "not found", "this component has no network"]
            .iter()
            .any(|word| answer.starts_with(word));
        tried += 1;
        if !refused || project.all() != project.before || !is_well(&*provider).await {
            escaped.push(format!("{with:?} {attempt}: {answer}"));
        }
    }
    let provider = project.provider(With::Nothing);
    for type_name in HARMS {
        tried += 1;
        if !fails(&*provider, type_name).await || !is_well(&*provider).await {
            escaped.push((*type_name).to_owned());
        }
    }
    // What is not asked for by a call: what is there without asking.
    for (attempt, expected) in [
        ("environment", "[] Args { inner: [] }"),
        ("configured", "not at all"),
        ("held", "refused: nothing is held"),
    ] {
        tried += 1;
        let answer = answer(&*project.provider(With::Nothing), attempt).await;
        if answer != expected {
            escaped.push(format!("{attempt}: {answer}"));
        }
    }
    println!("hostile: {tried} tried, {} held", tried - escaped.len());
    assert!(escaped.is_empty(), "{escaped:#?}");
}
