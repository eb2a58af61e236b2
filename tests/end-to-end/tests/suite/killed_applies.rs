//! Applies that are killed at random times, and concurrent applies.
//!
//! Each apply creates a hundred files, each named after its number and a random ID. An object that
//! was created twice would leave two files with the same number, and a lost object would leave a
//! file that is not in the state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wardian_end_to_end::Project;

const COUNT: usize = 100;
const KILLS: usize = 50;
const PROJECTS: usize = 5;

const MAIN: &str = r#"
variable "generation" {
  type = number
}

resource "random_id" "name" {
  count       = 100
  byte_length = 4
  keepers     = { generation = var.generation }
}

resource "local_file" "file" {
  count    = 100
  filename = "files/${count.index}-${random_id.name[count.index].hex}"
  content  = random_id.name[count.index].hex
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

fn journal_size(project: &Project) -> u64 {
    fs::metadata(project.path(".terraform.tfstate.journal")).map_or(0, |data| data.len())
}

/// Returns the duration of an `apply` that is not killed, and the size of its journal.
fn undisturbed(project: &Project, generation: usize) -> (Duration, u64) {
    let started = Instant::now();
    let mut apply = project.start(&format!("apply -auto-approve -var generation={generation}"));
    let mut size = 0;
    while !apply.has_ended() {
        size = size.max(journal_size(project));
        thread::sleep(Duration::from_micros(200));
    }
    (started.elapsed(), size)
}

/// Returns the number of files by object number, and the files recorded in the state.
#[allow(clippy::unwrap_used, reason = "a test ends there")]
fn files(project: &Project) -> (BTreeMap<String, usize>, BTreeSet<String>, BTreeSet<String>) {
    let mut by_number = BTreeMap::new();
    let mut present = BTreeSet::new();
    for entry in fs::read_dir(project.path("files")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (number, _) = name.split_once('-').unwrap();
        *by_number.entry(number.to_owned()).or_default() += 1;
        present.insert(format!("files/{name}"));
    }
    let state = project.state();
    let resources = state["resources"].as_array().unwrap();
    let file = resources.iter().find(|resource| resource["type"] == "local_file").unwrap();
    let instances = file["instances"].as_array().unwrap();
    let stored =
        instances.iter().map(|one| one["attributes"]["filename"].as_str().unwrap().to_owned()).collect();
    assert!(instances.iter().all(|one| one.get("deposed").is_none()), "an object was left over");
    (by_number, present, stored)
}

/// Kills an `apply` at a random time, and completes it with another `apply`.
fn kill_once(project: &Project, generation: usize, chance: &mut Chance, whole: (Duration, u64)) -> bool {
    let mut apply = project.start(&format!("apply -auto-approve -var generation={generation}"));
    let started = Instant::now();
    if chance.below(2) == 0 {
        let limit = u64::try_from(whole.0.as_micros()).unwrap_or(u64::MAX);
        thread::sleep(Duration::from_micros(chance.below(limit)));
    } else {
        let size = chance.below(whole.1);
        while journal_size(project) < size && !apply.has_ended() && started.elapsed() < whole.0 * 20 {
            thread::sleep(Duration::from_micros(200));
        }
    }
    let was_killed = !apply.has_ended();
    apply.kill();
    project.run(&format!("apply -auto-approve -var generation={generation}")).success();
    project.run(&format!("plan -detailed-exitcode -var generation={generation}")).success();
    let (by_number, present, stored) = files(project);
    assert_eq!(by_number.len(), COUNT, "generation {generation}");
    assert!(by_number.values().all(|files| *files == 1), "generation {generation}: {by_number:?}");
    assert_eq!(present, stored, "generation {generation}");
    was_killed
}

#[test]
fn killed_apply_neither_loses_nor_duplicates_objects() {
    let seed =
        std::env::var("WARDIAN_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| u64::from(now.subsec_nanos()))
        });
    println!("WARDIAN_TEST_SEED={seed}");
    let killed: usize = thread::scope(|scope| {
        let projects: Vec<_> = (0..PROJECTS)
            .map(|number| {
                scope.spawn(move || {
                    // A seed of zero would generate only zeros.
                    let mut chance = Chance((seed ^ (number as u64 + 1)).wrapping_mul(0x9E37_79B9) | 1);
                    let project = Project::new(&[("main.tf", MAIN)]);
                    project.run("init").success();
                    let whole = undisturbed(&project, 0);
                    let kills = 1..=KILLS / PROJECTS;
                    kills.filter(|number| kill_once(&project, *number, &mut chance, whole)).count()
                })
            })
            .collect();
        projects.into_iter().map(|project| project.join().unwrap()).sum()
    });
    // Some applies may finish before they are killed.
    assert!(killed >= KILLS / 2, "only {killed} were killed in time");
}

#[test]
fn recovery_reports_changes_in_progress() {
    let project =
        Project::new(&[("main.tf", "resource \"time_sleep\" \"a\" {\n  create_duration = \"60s\"\n}\n")]);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("Creating...");
    apply.kill();
    project.write("main.tf", "");
    let seen = project.run("apply -auto-approve").success();
    assert!(seen.out.contains("time_sleep.a (create)"), "{}", seen.text());
    // The recovery is reported once.
    let seen = project.run("plan").success();
    assert!(!seen.out.contains("time_sleep.a"), "{}", seen.text());
}

#[test]
fn concurrent_applies_wait_for_each_other() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("init").success();
    let line = "apply -auto-approve -lock-timeout=60s -var generation=1";
    let (first, second) = (project.start(line), project.start(line));
    for apply in [first, second] {
        let (status, seen) = apply.finish(Duration::from_mins(2));
        assert_eq!(status.code(), Some(0), "{seen}");
    }
    let (by_number, present, stored) = files(&project);
    assert_eq!(by_number.len(), COUNT);
    assert_eq!(present, stored);
}
