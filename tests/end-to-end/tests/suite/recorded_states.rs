//! States that a provider records while it creates an object: kills, traps, limits and interrupts.
//!
//! An object of the provider is a file that is named after its number and a random ID. The provider
//! records the ID, and then creates the file. An object that was created twice would leave two files
//! with the same number, and a lost object would leave a file that is not in the state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wardian_end_to_end::{Project, test_guest};

const COUNT: usize = 12;
/// The number of kills; `cargo xtask hostile records` makes more.
const KILLS: &str = "WARDIAN_RECORDED_KILLS";
const DEFAULT_KILLS: usize = 6;

const MAIN: &str = r#"
terraform {
  required_providers {
    hostile = { source = "example.com/test/hostile" }
  }
}

variable "inputs" {
  type = list(string)
}

resource "hostile_recorded" "a" {
  count = length(var.inputs)
  input = var.inputs[count.index]
}
"#;

const POLICY: &str = r#"
plugin "example.com/test/hostile" {
  allow filesystem {
    directories = ["files"]
    access      = ["read", "write"]
  }

  limits {
    cpu_time = "2s"
    memory   = "64 MiB"
  }
}
"#;

/// A pseudorandom number generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn project() -> Option<Project> {
    let guest = fs::read(test_guest("hostile")?).unwrap_or_default();
    let project = Project::new(&[("main.tf", MAIN), ("wardian.policy.hcl", POLICY)]);
    let path = "terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm";
    project.write(path, guest);
    project.write("files/.keep", "");
    project.run("init").success();
    Some(project)
}

/// Writes the inputs of all objects.
fn set_inputs(project: &Project, inputs: impl IntoIterator<Item = String>) {
    let inputs: Vec<String> = inputs.into_iter().collect();
    let text = serde_json::json!({ "inputs": inputs }).to_string();
    project.write("terraform.tfvars.json", text);
}

/// Returns the number of files by object number, the IDs of all files, and the IDs in the state.
#[allow(clippy::unwrap_used, reason = "a test ends there")]
fn objects(project: &Project) -> (BTreeMap<String, usize>, BTreeSet<String>, BTreeMap<String, bool>) {
    let mut by_number = BTreeMap::new();
    let mut present = BTreeSet::new();
    for entry in fs::read_dir(project.path("files")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some((number, id)) = name.split_once('-') else { continue };
        *by_number.entry(number.to_owned()).or_default() += 1;
        present.insert(id.to_owned());
    }
    let state = project.state();
    let resources = state["resources"].as_array().cloned().unwrap_or_default();
    let instances = resources.iter().flat_map(|one| one["instances"].as_array().cloned().unwrap_or_default());
    let stored = instances
        .map(|one| (one["attributes"]["id"].as_str().unwrap().to_owned(), one["status"] == "tainted"))
        .collect();
    (by_number, present, stored)
}

/// Completes all objects, and checks that each exists once and is in the state.
fn assert_complete(project: &Project, generation: usize) {
    set_inputs(project, (0..COUNT).map(|number| format!("{number}|calm|0|{generation}")));
    project.run("apply -auto-approve").success();
    project.run("plan -detailed-exitcode").success();
    let (by_number, present, stored) = objects(project);
    assert_eq!(by_number.len(), COUNT, "generation {generation}");
    assert!(by_number.values().all(|files| *files == 1), "generation {generation}: {by_number:?}");
    assert_eq!(present, stored.keys().cloned().collect(), "generation {generation}");
    assert!(stored.values().all(|tainted| !tainted), "generation {generation}");
}

fn seed() -> u64 {
    let seed = std::env::var("WARDIAN_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| u64::from(now.subsec_nanos()))
    });
    println!("WARDIAN_TEST_SEED={seed}");
    // A seed of zero would generate only zeros.
    seed.wrapping_mul(0x9E37_79B9) | 1
}

#[test]
fn failures_after_recorded_states_lose_and_duplicate_nothing() {
    let Some(project) = project() else { return };
    let mut chance = Chance(seed());
    let failures = std::env::var(KILLS).ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_KILLS);
    let mut interrupted = 0;
    for generation in 0..failures {
        // Destroys all objects of the previous generation.
        set_inputs(&project, []);
        project.run("apply -auto-approve").success();
        let modes = ["calm", "trap", "panic", "memory", "garbage", "calm", "calm", "trap"];
        // An endless loop takes until its CPU time limit, so only one object of some generations has one.
        let looping = (generation == 1 || chance.below(8) == 0).then(|| chance.below(COUNT as u64));
        set_inputs(
            &project,
            (0..COUNT).map(|number| {
                let is_looping = looping == Some(number as u64);
                let mode = if is_looping { "loop" } else { modes[number % modes.len()] };
                format!("{number}|{mode}|{}|{generation}", chance.below(60))
            }),
        );
        let mut apply = project.start("apply -auto-approve");
        let is_killed = chance.below(4) > 0;
        if is_killed {
            let limit = Duration::from_micros(chance.below(400_000));
            let begun = Instant::now();
            // The time in which components are loaded is not interesting.
            while begun.elapsed() < Duration::from_mins(1)
                && !apply.has_ended()
                && !project.has(".terraform.tfstate.journal")
            {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(limit);
            interrupted += usize::from(!apply.has_ended());
            apply.kill();
        } else {
            let (status, seen) = apply.finish(Duration::from_mins(2));
            assert_eq!(status.code(), Some(1), "{seen}");
            interrupted += 1;
        }
        // The recovered state contains each object that exists.
        project.run("apply -refresh-only -auto-approve").success();
        let (by_number, present, stored) = objects(&project);
        assert!(by_number.values().all(|files| *files == 1), "generation {generation}: {by_number:?}");
        let lost: Vec<&String> = present.iter().filter(|id| !stored.contains_key(*id)).collect();
        assert!(lost.is_empty(), "generation {generation}: {lost:?} are not in the state");
        assert_complete(&project, generation);
    }
    println!("{interrupted} of {failures} applies failed or were killed in progress");
    assert!(interrupted > 0);
}

#[test]
fn failed_creation_leaves_a_tainted_object_and_failed_update_the_recorded_value() {
    let Some(project) = project() else { return };
    set_inputs(&project, ["a|trap|0".to_owned(), "b|calm|0".to_owned()]);
    project.run("apply -auto-approve").ended_with(1);
    let (_, present, stored) = objects(&project);
    assert_eq!(present.len(), 2);
    assert_eq!(stored.values().filter(|tainted| **tainted).count(), 1, "{stored:?}");
    set_inputs(&project, ["a|calm|0".to_owned(), "b|trap|0".to_owned()]);
    project.run("apply -auto-approve").ended_with(1);
    let state = project.state();
    let instances = state["resources"][0]["instances"].as_array().cloned().unwrap_or_default();
    let updated = &instances[1];
    assert_eq!(updated["attributes"]["input"], "b|trap|0");
    assert_eq!(updated["attributes"]["result"], "recorded");
    assert!(updated.get("status").is_none(), "an update does not taint: {updated}");
}

#[test]
fn interrupt_ends_a_long_creation_with_its_recorded_state() {
    let Some(project) = project() else { return };
    set_inputs(&project, ["a|calm|60000".to_owned()]);
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("hostile_recorded.a[0]: Creating...");
    let begun = Instant::now();
    while objects_in_directory(&project) == 0 && begun.elapsed() < Duration::from_mins(1) {
        thread::sleep(Duration::from_millis(5));
    }
    let begun = Instant::now();
    apply.interrupt();
    let (status, seen) = apply.finish(Duration::from_mins(1));
    println!("the apply ended {:?} after the interrupt", begun.elapsed());
    assert_eq!(status.code(), Some(1), "{seen}");
    // On an idle machine, this takes less than a second.
    assert!(begun.elapsed() < Duration::from_secs(5), "the creation ended after {:?}", begun.elapsed());
    let (_, present, stored) = objects(&project);
    assert_eq!(present, stored.keys().cloned().collect());
    assert!(stored.values().all(|tainted| *tainted), "{stored:?}");
}

#[test]
fn second_interrupt_keeps_the_recorded_state() {
    let Some(project) = project() else { return };
    set_inputs(&project, ["a|sleep|0".to_owned()]);
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("hostile_recorded.a[0]: Creating...");
    let begun = Instant::now();
    while objects_in_directory(&project) == 0 && begun.elapsed() < Duration::from_mins(1) {
        thread::sleep(Duration::from_millis(5));
    }
    apply.interrupt();
    apply.wait_for("Interrupt received.");
    apply.interrupt();
    let (status, seen) = apply.finish(Duration::from_mins(1));
    assert_eq!(status.code(), Some(1), "{seen}");
    let (_, present, stored) = objects(&project);
    assert_eq!(present, stored.keys().cloned().collect());
    assert!(stored.values().all(|tainted| *tainted), "{stored:?}");
}

fn objects_in_directory(project: &Project) -> usize {
    let entries = fs::read_dir(project.path("files")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().contains('-')).count()
}
