//! Attacks on files. Every probe must be denied, no file may change, and the audit log must have a
//! record of each denial.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_monitor::AuditLog;
use wardian_plugin::Provider;

use super::{Attempt, answer, is_well, limits};
use crate::guest::{allow, deny, granted_and_recorded, load};

/// The grants for a probe.
#[derive(Clone, Copy, Debug)]
enum With {
    Nothing,
    /// The project, for reading and writing.
    Project,
    /// The project except for its denied files.
    Fenced,
    /// The project, for reading.
    Reading,
    /// One directory of the project for reading and writing, and another directory for reading.
    Two,
}

/// Probes of files that must be denied.
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
    (With::Project, "list:/proc/self/fd"),
    (With::Project, "write:/etc/cron.d/mine"),
    (With::Project, "look:/home/somebody/.ssh"),
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
    (With::Two, "rename:keys/key|directory/taken"),
    (With::Two, "rename:directory|keys/taken"),
    (With::Two, "hardlink:keys/key|directory/taken"),
    (With::Two, "hardlink:file|directory/taken"),
    (With::Two, "rename:file|directory/taken"),
    (With::Two, "symlink:../file|directory/link"),
    (With::Two, "read:file"),
    (With::Two, "read:directory/../file"),
    (With::Two, "list:."),
    (With::Two, "look:absent"),
    (With::Two, "read:/etc/passwd"),
];

/// Probes that fail before a decision: a mode with setuid, a pipe, a path through a missing
/// directory.
const NOT_DECIDED: &[&str] = &["create:4755|mine", "read:pipe", "write:.terraform/providers/x"];

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

    fn provider(&self, with: With) -> (Arc<dyn Provider>, Arc<AuditLog>) {
        let rules = match with {
            With::Nothing => String::new(),
            With::Project => allow("read write", &["."]),
            With::Fenced => allow("read write", &["."]) + &deny("read write", &["terraform.tfstate", "keys"]),
            With::Reading => allow("read", &["."]),
            With::Two => allow("read write", &["directory"]) + &allow("read", &["keys"]),
        };
        let log = Arc::new(AuditLog::disabled());
        (load(limits()).provider(granted_and_recorded(&self.path(), &rules, &log)), log)
    }

    /// Returns every path with its content, mode and time of change.
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

pub(super) async fn attempts() -> Vec<Attempt> {
    let project = Project::new();
    let mut attempts = Vec::new();
    for (with, probe) in REACHES {
        let (provider, log) = project.provider(*with);
        let got = answer(&*provider, probe).await;
        let is_refused =
            ["refused: ", "denied: ", "failed: ", "not found"].iter().any(|word| got.starts_with(word));
        let is_recorded = NOT_DECIDED.contains(probe) || is_denied(&log);
        let held = is_refused && is_recorded && project.all() == project.before && is_well(&*provider).await;
        attempts.push(Attempt::new("files", format!("{with:?} {probe}"), got, held));
    }
    attempts.extend(rights_that_are_there_without_asking(&project).await);
    attempts
}

/// Whether an access of the probe was denied. Denials in the schema call are ignored, since the
/// provider also tries to open a file there.
fn is_denied(log: &AuditLog) -> bool {
    log.denials().iter().any(|denied| denied.record.call == "read-data-source")
}

async fn rights_that_are_there_without_asking(project: &Project) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    for (probe, expected) in [
        ("environment", "[] Args { inner: [] }"),
        ("configured", "not at all"),
        ("held", "refused: nothing is held"),
    ] {
        let got = answer(&*project.provider(With::Nothing).0, probe).await;
        let held = got == expected;
        attempts.push(Attempt::new("environment", probe.to_owned(), got, held));
    }
    attempts
}
