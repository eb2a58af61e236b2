//! Attacks on the binary with hostile components, configurations and files. An attack succeeds if
//! the attacker achieves its goal.
//!
//! `before.txt` records the result of each attack on a version without a defence, to show that the
//! attack can succeed. `open.txt` lists the attacks that still succeed, with the reasons. An attack
//! that no longer succeeds must not be listed.
//!
//! `cargo xtask hostile` runs every attack and prints the numbers of attacks by family. Otherwise,
//! only a sample of the attacks runs; `WARDIAN_HOSTILE_SEED` selects the sample.
//! `WARDIAN_HOSTILE_ONLY` selects the attacks whose names contain its value.
//! `WARDIAN_HOSTILE_BEFORE` rewrites `before.txt`. With `WARDIAN_HOSTILE_REPORT`, results are only
//! printed.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test ends there")]
#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    clippy::unnecessary_wraps,
    reason = "the texts are short, and set-ups end with `?`"
)]

mod attack;
mod bounded;
mod exhaustion;
mod host_files;
mod lab;
mod links;
mod network;
mod programs;
mod random_components;
mod states;
mod terminal;
mod trust_by_name;
mod trusted_files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use attack::{Attack, Outcome, Verdict};

/// The minimum number of attacks that must have succeeded in `before.txt`.
const MIN_ATTACKS: usize = 120;
/// The sample contains one attack out of this number.
const SAMPLE: u64 = 4;

fn table() -> Vec<Attack> {
    [
        programs::attacks(),
        links::attacks(),
        trusted_files::attacks(),
        states::attacks(),
        exhaustion::attacks(),
        terminal::attacks(),
        network::attacks(),
        trust_by_name::attacks(),
        host_files::attacks(),
    ]
    .into_iter()
    .flat_map(attack::Table::into_attacks)
    .collect()
}

/// Returns the attacks to run: the attacks whose names contain a text, or all attacks, or a sample
/// of the cheap attacks.
fn selected() -> Vec<Attack> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let attacks = table().into_iter();
    if let Some(only) = variable("WARDIAN_HOSTILE_ONLY") {
        return attacks.filter(|attack| attack.full_name().contains(&only)).collect();
    }
    if variable("WARDIAN_HOSTILE_ALL").is_some() {
        return attacks.collect();
    }
    let seed = variable("WARDIAN_HOSTILE_SEED").unwrap_or_default();
    println!("a sample with the seed {seed:?}; `cargo xtask hostile` runs every attack");
    attacks
        .filter(|attack| !attack.is_heavy && hash(&seed, &attack.full_name()).is_multiple_of(SAMPLE))
        .collect()
}

/// Returns the FNV-1a hash of two texts.
fn hash(seed: &str, name: &str) -> u64 {
    let bytes = seed.bytes().chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        >> 8
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile").join(name)
}

/// Returns the lines `name: remark` of a checked-in file.
fn listed(name: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file(name)).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.filter_map(|line| line.split_once(": ")).map(|(name, rest)| (name.into(), rest.into())).collect()
}

/// Runs lightweight attacks on all processors, and then each expensive attack alone.
fn carry_out(attacks: &[Attack]) -> Vec<(&Attack, Outcome)> {
    let outcomes = Mutex::new(Vec::new());
    let one = |attack| {
        let started = Instant::now();
        let outcome = Attack::outcome(attack);
        println!("{}", line(attack, &outcome, started));
        outcomes.lock().unwrap().push((attack, outcome));
    };
    let light: Vec<&Attack> = attacks.iter().filter(|attack| !attack.is_heavy).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, |count| count.get()) {
            scope.spawn(|| {
                while let Some(attack) = light.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one(attack);
                }
            });
        }
    });
    attacks.iter().filter(|attack| attack.is_heavy).for_each(one);
    outcomes.into_inner().unwrap()
}

fn line(attack: &Attack, outcome: &Outcome, started: Instant) -> String {
    let (verdict, detail) = match outcome {
        Err(problem) => ("error", problem.clone()),
        Ok(Verdict::Unavailable(reason)) => ("unavailable", reason.clone()),
        Ok(verdict) => match (verdict.obtained(), verdict) {
            (Some(obtained), _) => ("ESCAPED", obtained),
            (None, Verdict::Cost(cost)) => ("held", cost.to_string()),
            (None, _) => ("held", String::new()),
        },
    };
    let detail = detail.escape_debug();
    let detail: String = detail.take(2000).collect();
    format!("attack {} {verdict} {:.1}s {detail}", attack.full_name(), started.elapsed().as_secs_f32())
}

#[test]
fn every_attack_fails() {
    let attacks = selected();
    let names: BTreeSet<String> = attacks.iter().map(Attack::full_name).collect();
    assert_eq!(names.len(), attacks.len(), "two attacks have the same name");
    let outcomes = carry_out(&attacks);
    if std::env::var_os("WARDIAN_HOSTILE_BEFORE").is_some() {
        record(&outcomes);
        return;
    }
    let before = listed("before.txt");
    let counted = attacks
        .iter()
        .filter(|attack| before.get(&attack.full_name()).is_some_and(|result| result == "escaped"));
    println!("{} of {} attacks succeeded without the defences", counted.count(), attacks.len());
    if std::env::var_os("WARDIAN_HOSTILE_REPORT").is_some() {
        return;
    }
    let open = listed("open.txt");
    let mut failures = Vec::new();
    for (attack, outcome) in &outcomes {
        let name = attack.full_name();
        let verdict = match outcome {
            Ok(Verdict::Unavailable(_)) => continue,
            Ok(verdict) => verdict,
            Err(problem) => {
                failures.push(format!("{name} could not be carried out: {problem}"));
                continue;
            }
        };
        match (verdict.obtained(), open.contains_key(&name)) {
            (None, false) => {}
            (Some(_), true) => println!("OPEN {name}: {}", open[&name]),
            (None, true) => failures.push(format!("{name} is held: remove it from open.txt")),
            (Some(obtained), false) => failures.push(format!("{name} ESCAPED: {obtained}")),
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Checks that every attack is recorded, and that enough attacks succeeded without a defence.
#[test]
fn every_attack_has_a_recorded_result() {
    let before = listed("before.txt");
    let names: BTreeSet<String> = table().iter().map(Attack::full_name).collect();
    let recorded: BTreeSet<String> = before.keys().cloned().collect();
    let unequal: Vec<&String> = names.symmetric_difference(&recorded).collect();
    assert!(
        unequal.is_empty(),
        "`cargo xtask hostile --binary PATH --record` rewrites before.txt: {unequal:?}"
    );
    let escaped = before.values().filter(|result| *result == "escaped").count();
    assert!(escaped >= MIN_ATTACKS, "{escaped}");
    for (name, reason) in listed("open.txt") {
        assert!(names.contains(&name) && !reason.is_empty(), "{name} is open and unknown");
    }
}

/// Merges results into the recorded results. An attack that could not run is also recorded, since
/// its target did not exist in that version.
fn record(outcomes: &[(&Attack, Outcome)]) {
    let mut before = listed("before.txt");
    let known: BTreeSet<String> = table().iter().map(Attack::full_name).collect();
    before.retain(|name, _| known.contains(name));
    for (attack, outcome) in outcomes {
        let result = match outcome {
            Ok(Verdict::Unavailable(_)) | Err(_) => "not applicable",
            Ok(verdict) if verdict.obtained().is_some() => "escaped",
            Ok(_) => "held",
        };
        before.insert(attack.full_name(), result.to_owned());
    }
    let lines: String = before.iter().map(|(name, result)| format!("{name}: {result}\n")).collect();
    let head = "# The result of each attack against a version without the defences, from\n\
                # `cargo xtask hostile --binary PATH --record`.\n";
    std::fs::write(file("before.txt"), format!("{head}{lines}")).unwrap();
}

impl Attack {
    fn outcome(attack: &Self) -> Outcome {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (attack.run)()))
            .unwrap_or_else(|_| Err("the attack panicked".into()))
    }
}
