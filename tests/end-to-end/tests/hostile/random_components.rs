//! Random components: reading a component with any content does not exceed the limits on memory and
//! time, and does not crash the host.
//!
//! The regular tests try a few components; `cargo xtask hostile --components-for MINUTES` tries
//! other components, with a new seed, until the time has passed.

use std::fs;
use std::time::{Duration, Instant};

use wardian_end_to_end::{test_guest, wasm};

use crate::attack::{Cost, Verdict};
use crate::lab::Lab;

/// The number of components that the regular tests try.
const SAMPLE: usize = 12;

/// A pseudo-random sequence (xorshift64*).
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 16).unwrap_or_default() % limit.max(1)
    }

    /// Returns a number whose magnitude is also random. Small numbers are therefore as frequent as
    /// large ones.
    fn up_to(&mut self, limit: usize) -> usize {
        let bits = limit.ilog2() as usize + 1;
        let magnitude = 1 << (self.below(bits) + 1);
        1 + self.below(magnitude).min(limit - 1)
    }
}

/// Returns a component that is expensive for its size, or a damaged real component.
fn component(choices: &mut Choices, real: &[Vec<u8>]) -> Vec<u8> {
    match choices.below(9) {
        0 => wasm::nested_components(choices.up_to(30), choices.up_to(8)),
        1 => wasm::nested_modules(choices.up_to(30), choices.up_to(64)),
        2 => wasm::locals_in_loops(choices.up_to(50_000), choices.up_to(300)),
        3 => wasm::empty_functions(choices.up_to(300_000)),
        4 => wasm::many_locals(choices.up_to(3_000)),
        5 => wasm::nested_blocks(choices.up_to(1_000_000)),
        6 => wasm::branch_tables(choices.up_to(100), choices.up_to(65_000)),
        7 => wasm::doubled_types(choices.up_to(90)),
        _ => damaged(choices, real),
    }
}

/// Returns a real component with some bytes changed, removed or repeated.
fn damaged(choices: &mut Choices, real: &[Vec<u8>]) -> Vec<u8> {
    let at = choices.below(real.len());
    let mut bytes = real.get(at).cloned().unwrap_or_default();
    for _ in 0..choices.up_to(16) {
        let at = choices.below(bytes.len());
        let length = choices.up_to(4096).min(bytes.len() - at);
        match choices.below(4) {
            0 => bytes.truncate(at.max(1)),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes[at] = u8::try_from(choices.next() & 0xff).unwrap_or_default(),
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}

#[test]
fn random_components_stay_within_the_limits() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let minutes = variable("WARDIAN_HOSTILE_MINUTES");
    let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seed = variable("WARDIAN_HOSTILE_SEED")
        .unwrap_or_else(|| if minutes.is_some() { clock().as_secs() } else { 20_261_123 });
    println!("the seed is {seed}");
    let mut choices = Choices(seed.max(1));
    let real: Vec<Vec<u8>> = ["hostile", "hostile-network", "hostile-provisioner"]
        .into_iter()
        .filter_map(test_guest)
        .filter_map(|path| fs::read(path).ok())
        .collect();
    let (started, mut tried, mut compiled) = (Instant::now(), 0, 0);
    let mut highest = Cost { memory: 0, time: Duration::ZERO, is_killed: false };
    let is_over = |tried: usize| match minutes {
        Some(minutes) => started.elapsed() >= Duration::from_secs(minutes * 60),
        None => tried >= SAMPLE,
    };
    while !is_over(tried) {
        let bytes = component(&mut choices, &real);
        let lab = Lab::with_component(&bytes).unwrap();
        lab.write("main.tf", crate::lab::configuration(&[(crate::lab::HOSTILE, &["honest"])]));
        // The CPU time limits detect excessive cost, so the wall-clock limit can allow for a busy
        // machine.
        let run = lab.run_and_kill("plan -input=false", Duration::from_mins(10), &[]).unwrap();
        let cost = Cost::from(&run);
        let is_accepted = run.says("Compiling");
        if let Some(reached) = Verdict::Cost(cost).obtained() {
            keep(&bytes);
            panic!("component {tried} of the seed {seed}, {} bytes: {reached}", bytes.len());
        }
        if run.code.is_none() {
            keep(&bytes);
            panic!("component {tried} of the seed {seed}: the host crashed:\n{}", run.text());
        }
        highest.memory = highest.memory.max(cost.memory);
        highest.time = highest.time.max(cost.time);
        tried += 1;
        compiled += usize::from(is_accepted);
    }
    println!("{tried} components, {compiled} of them compiled; at most {highest}");
    assert!(tried > 0);
}

/// Writes a component that exceeds a limit to a file for analysis.
fn keep(bytes: &[u8]) {
    let path = std::env::temp_dir().join("wardian-component-above-limits.wasm");
    if fs::write(&path, bytes).is_ok() {
        println!("the component is in {}", path.display());
    }
}
