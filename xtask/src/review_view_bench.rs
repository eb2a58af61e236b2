//! Measures the terminal view of a plan with 10,000 changes, and completion with a large state.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use wait4::Wait4 as _;

use crate::bench_table::{Row, median, megabytes};
use crate::measure;
use crate::progress::{Step, note};

const CHANGES: usize = 10_000;
const OPEN_MILLISECONDS: f64 = 300.0;
const KEY_MILLISECONDS: f64 = 16.0;
const VIEW_MEGABYTES: f64 = 150.0;
const COMPLETION_MILLISECONDS: f64 = 30.0;

const OPENINGS: usize = 5;
/// The keys that are pressed. They unfold all groups, move the selection, and use the filters, the search, the
/// list of attributes and the graph. Each key changes the frame.
const KEYS: &str = "+jjjjjjjjjjudx/node\u{7f}\u{7f}\u{1b}jjuujjh \u{1b}jxjjg\u{1b}jjj-j+jjjj?\u{1b}jjj";
/// A frame has ended if nothing was written during this time.
const FRAME_PAUSE: Duration = Duration::from_millis(3);
const COMPLETIONS: usize = 20;

/// The maximum time for one response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Text at the end of a frame.
const FRAME_END: &str = "q: quit";

pub(crate) fn rows(directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let step = Step::start("Measuring the terminal view and completion");
    fs::create_dir_all(directory)?;
    fs::write(directory.join("plan.json"), plan().to_string())?;
    fs::write(directory.join("terraform.tfstate"), state().to_string())?;
    let mut rows = completion_rows(directory, wardian)?;
    if Command::new("script").arg("--version").output().is_ok() {
        rows.extend(view_rows(directory, wardian)?);
    } else {
        note("skipped the measurements of the terminal view: `script` of util-linux is not installed");
    }
    step.done("measured");
    Ok(rows)
}

/// Returns a plan with changes of two kinds.
fn plan() -> Value {
    let change = |index: usize| {
        let side = |release: &str| {
            json!({
                "ami": "ami-0abc", "instance_type": "m7g.large", "private_ip": format!("10.0.{}.{}", index / 256, index % 256),
                "tags": {"Name": format!("node-{index}"), "release": release},
            })
        };
        let (actions, before) = if index.is_multiple_of(3) {
            (json!(["create"]), Value::Null)
        } else {
            (json!(["update"]), side("v1"))
        };
        json!({
            "address": format!("module.service[\"s{}\"].aws_instance.node[{index}]", index % 97),
            "mode": "managed", "type": "aws_instance", "name": "node",
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {
                "actions": actions, "before": before, "after": side("v2"), "after_unknown": {},
                "before_sensitive": {}, "after_sensitive": {},
            },
        })
    };
    let changes: Vec<Value> = (0..CHANGES).map(change).collect();
    json!({
        "format_version": "1.2", "terraform_version": "1.11.4", "resource_changes": changes,
        "applyable": true, "complete": true, "errored": false,
    })
}

fn state() -> Value {
    let instances: Vec<Value> = (0..CHANGES)
        .map(|index| json!({"index_key": index, "schema_version": 0, "attributes": {"id": index.to_string(), "triggers": null}}))
        .collect();
    json!({
        "version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "bench", "outputs": {},
        "resources": [{
            "mode": "managed", "type": "null_resource", "name": "node",
            "provider": "provider[\"registry.terraform.io/hashicorp/null\"]", "instances": instances,
        }],
    })
}

fn completion_rows(directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, line) in [
        ("completion of an option", "wardian plan -ta"),
        ("completion of an address, state of 10,000 instances", "wardian taint null_resource.node[123"),
    ] {
        let mut times = Vec::new();
        for _ in 0..COMPLETIONS {
            let mut command = Command::new(wardian);
            command.current_dir(directory).args(["completion", "bash", "--", line, " \t\n\"'@><=;|&(:"]);
            times.push(measure::once(&mut command)?.wall);
        }
        rows.push(row(what, &mut times, COMPLETION_MILLISECONDS));
    }
    Ok(rows)
}

fn row(what: &str, times: &mut [Duration], target: f64) -> Row {
    times.sort_unstable();
    Row {
        what: what.to_owned(),
        unit: "ms".to_owned(),
        ours: median(times).as_secs_f64() * 1e3,
        target: Some(target),
        terraform: None,
    }
}

fn view_rows(directory: &Path, wardian: &Path) -> Result<Vec<Row>> {
    let (mut openings, mut presses, mut peak) = (Vec::new(), Vec::new(), 0);
    for _ in 0..OPENINGS {
        let viewed = view(directory, wardian, "plan.json", KEYS)?;
        openings.push(viewed.opening);
        presses.extend(viewed.presses);
        peak = peak.max(viewed.peak_bytes);
    }
    presses.sort_unstable();
    let at = |place: usize| presses.get(place).copied().unwrap_or_default();
    let (percentile, slowest) = (at(presses.len() * 95 / 100), at(presses.len() - 1));
    let saved_peak = save_plan(directory, wardian)?;
    let (mut saved_openings, mut saved_view_peak) = (Vec::new(), 0);
    for _ in 0..OPENINGS {
        let viewed = view(directory, wardian, "saved.plan", "")?;
        saved_openings.push(viewed.opening);
        saved_view_peak = saved_view_peak.max(viewed.peak_bytes);
    }
    note(&format!("planning 10,000 objects for the saved plan used {:.0} MB", megabytes(saved_peak)));
    let one = |what: &str, unit: &str, ours: f64, target: Option<f64>| Row {
        what: format!("terminal view of 10,000 changes: {what}"),
        unit: unit.to_owned(),
        ours,
        target,
        terraform: None,
    };
    Ok(vec![
        row("terminal view of 10,000 changes: first frame", &mut openings, OPEN_MILLISECONDS),
        one("frame after a key, 95 of 100", "ms", percentile.as_secs_f64() * 1e3, Some(KEY_MILLISECONDS)),
        one("frame after a key, slowest", "ms", slowest.as_secs_f64() * 1e3, None),
        one("peak memory", "MB", megabytes(peak), Some(VIEW_MEGABYTES)),
        row(
            "terminal view of a saved plan of 10,000 changes: first frame",
            &mut saved_openings,
            OPEN_MILLISECONDS,
        ),
        one("peak memory with a saved plan", "MB", megabytes(saved_view_peak), Some(VIEW_MEGABYTES)),
    ])
}

/// Saves a plan that creates objects of the built-in provider. Returns the peak memory.
fn save_plan(directory: &Path, wardian: &Path) -> Result<u64> {
    let project = directory.join("project");
    fs::create_dir_all(&project)?;
    let configuration =
        format!("resource \"terraform_data\" \"node\" {{\n  count = {CHANGES}\n  input = count.index\n}}\n");
    fs::write(project.join("main.tf"), configuration)?;
    let mut command = Command::new(wardian);
    command.current_dir(&project).args(["plan", "-out=../saved.plan"]);
    Ok(measure::once(&mut command)?.peak_bytes)
}

struct Viewed {
    opening: Duration,
    presses: Vec<Duration>,
    peak_bytes: u64,
}

/// Opens the view of a plan on a terminal, and presses keys.
fn view(directory: &Path, wardian: &Path, file: &str, keys: &str) -> Result<Viewed> {
    let line = format!("stty cols 100 rows 30; exec '{}' show -review {file}", wardian.display());
    let mut command = Command::new("script");
    command
        .args(["-q", "-e", "-f", "-c", &line, "/dev/null"])
        .current_dir(directory)
        .env("TERM", "xterm-256color")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().context("could not start `script`")?;
    let mut keyboard = child.stdin.take().context("there is no input")?;
    let mut output = child.stdout.take().context("there is no output")?;
    let (sender, screen) = channel();
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = output.read(&mut bytes) {
            let part = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).into_owned();
            if sender.send(part).is_err() {
                break;
            }
        }
    });
    let mut shown = String::new();
    while !shown.contains(FRAME_END) {
        shown.push_str(&part(&screen)?);
    }
    let opening = started.elapsed();
    let mut presses = Vec::new();
    for key in keys.chars() {
        // The rest of the previous frame.
        while screen.recv_timeout(FRAME_PAUSE).is_ok() {}
        let pressed = Instant::now();
        keyboard.write_all(key.encode_utf8(&mut [0; 4]).as_bytes())?;
        keyboard.flush()?;
        part(&screen).with_context(|| format!("after the key {key:?}"))?;
        let mut shown = pressed.elapsed();
        // A frame can consist of several parts.
        while screen.recv_timeout(FRAME_PAUSE).is_ok() {
            shown = pressed.elapsed();
        }
        presses.push(shown);
    }
    keyboard.write_all(b"q")?;
    keyboard.flush()?;
    drop(keyboard);
    let ended = child.wait4()?;
    if !ended.status.success() {
        bail!("the terminal view ended with {}", ended.status);
    }
    Ok(Viewed { opening, presses, peak_bytes: ended.rusage.maxrss })
}

fn part(screen: &Receiver<String>) -> Result<String> {
    screen.recv_timeout(TIMEOUT).context("the terminal view shows nothing")
}
