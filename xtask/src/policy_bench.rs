//! Measures the cost of enforcing policies and recording each access: the same apply with and
//! without policies, and an HTTP request through the sandbox and natively.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::bench_table::Row;
use crate::comparison::{measured, run, write};
use crate::guests::{self, Artifact};
use crate::measure::Measurement;
use crate::process;
use crate::progress::{Step, note};
use crate::workspace::Workspace;

/// The example in the sandbox crate that prints `name<TAB>value<TAB>unit`.
const REQUESTS: &str = "examples/requests";

/// The targets for policies and for audit records: their share of a run of a thousand calls, in
/// percent.
const ENFORCEMENT_PERCENT: f64 = 2.0;
const AUDIT_PERCENT: f64 = 5.0;
/// The target for the additional cost of a request, compared with a native request.
const REQUEST_MICROSECONDS: f64 = 100.0;

/// Number of runs of each kind. Runs of different kinds alternate, and the minimum CPU time of each
/// kind is used, because the difference is smaller than the variation caused by other load on the
/// machine.
pub(crate) const RUNS: usize = 15;

const CONFIGURATION: &str = r#"terraform {
  required_providers {
    local = {
      source = "hashicorp/local"
    }
  }
}

resource "local_file" "bench" {
  count    = 1000
  filename = "made/${count.index}.txt"
  content  = "number ${count.index}"
}
"#;

/// Grants the access that the configuration needs, with many other rules that do not match.
const POLICY: &str = r#"plugin "*" {
  deny network {
    hosts = ["**.internal.example.com", "10.0.0.0/8"]
  }
  deny filesystem {
    directories = ["keys", "/srv/other"]
  }
}

plugin "hashicorp/local" {
  allow filesystem {
    directories = ["made", "read"]
    access      = ["read", "write"]
  }
}
"#;

const APPLY: &[&str] = &["apply", "-input=false", "-auto-approve"];
const RECORDED: &[&str] = &["apply", "-input=false", "-auto-approve", "-audit-log=audit.jsonl"];

pub(crate) fn rows(
    directory: &Path,
    wardian: &Path,
    workspace: &Workspace,
    artifacts: &[Artifact],
) -> Result<Vec<Row>> {
    let step = Step::start("Measuring policies and audit log");
    let mut rows = applies(directory, wardian)?;
    rows.extend(request_rows(workspace, artifacts)?);
    step.done("measured");
    Ok(rows)
}

fn applies(directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let folders = [directory.join("trusted"), directory.join("policy"), directory.join("recorded")];
    for folder in &folders {
        write(&folder.join("main.tf"), CONFIGURATION)?;
        run(wardian, folder, &["init", "-input=false"])?;
    }
    let [trusted, policy, recorded] = &folders;
    write(&policy.join("wardian.policy.hcl"), POLICY)?;
    let kinds = [(trusted, APPLY), (policy, APPLY), (recorded, RECORDED)];
    let mut least = [Duration::MAX; 3];
    let mut quickest = [Duration::MAX; 3];
    // The first round fills the caches.
    for round in 0..=RUNS {
        for (place, (folder, arguments)) in kinds.iter().enumerate() {
            let Measurement { wall, processors, .. } = measured(wardian, folder, arguments)?;
            put_aside(folder, round)?;
            if let (Some(least), Some(quickest)) = (least.get_mut(place), quickest.get_mut(place))
                && round > 0
            {
                *least = processors.min(*least);
                *quickest = wall.min(*quickest);
            }
        }
    }
    let [plain, with_policy, with_record] = least.map(|time| time.as_secs_f64() * 1e3);
    let more = |time: f64| (time / plain - 1.0) * 100.0;
    let row = |what: &str, unit: &str, ours: f64, target: Option<f64>| Row {
        what: what.to_owned(),
        unit: unit.to_owned(),
        ours,
        target,
        terraform: None,
    };
    let [wall, ..] = quickest.map(|time| time.as_secs_f64() * 1e3);
    Ok(vec![
        row("apply of 1000 files", "ms", wall, None),
        row("its CPU time", "ms", plain, None),
        row("added share with a policy", "%", more(with_policy), Some(ENFORCEMENT_PERCENT)),
        row("added share with an audit log", "%", more(with_record), Some(AUDIT_PERCENT)),
    ])
}

/// Moves the files to another directory. The next run then creates all of them again. The files are
/// not deleted, since a file system may reuse recently deleted inodes, and that can take longer
/// than a complete run.
fn put_aside(folder: &Path, round: usize) -> Result<()> {
    let made = folder.join("made");
    let count = fs::read_dir(&made).with_context(|| format!("could not read {}", made.display()))?.count();
    if count != 1000 {
        bail!("{} contains {count} files instead of 1000 after an apply", made.display());
    }
    for name in ["made", "terraform.tfstate", "audit.jsonl"] {
        let path = folder.join(name);
        if path.exists() {
            fs::rename(&path, folder.join(format!("{name}.{round}")))?;
        }
    }
    Ok(())
}

fn request_rows(workspace: &Workspace, artifacts: &[Artifact]) -> Result<Vec<Row>> {
    let program = workspace.host_program(REQUESTS);
    if !program.is_file() {
        note(&format!("skipped the measurements of requests: {} does not exist", program.display()));
        return Ok(Vec::new());
    }
    let Some(guest) = artifacts.iter().find(|artifact| artifact.name == "hostile-network") else {
        note("skipped the measurements of requests: the test component hostile-network has not been built");
        return Ok(Vec::new());
    };
    let mut command = Command::new(&program);
    let folder = guests::place(&guests::directory(workspace), guest.purpose);
    command.arg(folder.join(format!("{}.wasm", guest.name))).current_dir(&workspace.root);
    process::output(&mut command)?.lines().map(request_row).collect()
}

fn request_row(line: &str) -> Result<Row> {
    let mut parts = line.split('\t');
    let (Some(what), Some(value), Some("µs"), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        bail!("{REQUESTS} printed `{line}`, which is not a name, a value and µs, separated by tabs");
    };
    Ok(Row {
        what: what.to_owned(),
        unit: "µs".into(),
        ours: value.parse().with_context(|| format!("{REQUESTS} printed `{value}` instead of a number"))?,
        target: (what == "request beyond native").then_some(REQUEST_MICROSECONDS),
        terraform: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_row_over_its_target_is_detected() {
        assert!(request_row("request beyond native\t100.1\tµs").unwrap().exceeds_target());
        assert!(!request_row("request beyond native\t99\tµs").unwrap().exceeds_target());
        assert!(request_row("request, native\t400\tµs").unwrap().target.is_none());
        assert!(request_row("request, native\t0.4\tms").is_err());
    }
}
