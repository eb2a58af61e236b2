//! Attacks on the host, selected by the resource type.

use std::hint::black_box;
use std::time::Duration;

use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::bindings::wardian::plugin::log;
use crate::bindings::wardian::plugin::types::PathStep;
use crate::plugin::{Events, error, input, object};

/// All resource types.
pub(crate) const NAMES: &[&str] = &[
    "hostile_honest",
    "hostile_trap",
    "hostile_panic",
    "hostile_exit",
    "hostile_loop",
    "hostile_sleep",
    "hostile_naps",
    "hostile_recursion",
    "hostile_frames",
    "hostile_memory",
    "hostile_handles",
    "hostile_flood",
    "hostile_garbage",
    "hostile_wrong_type",
    "hostile_deep",
    "hostile_length",
    "hostile_huge",
    "hostile_gigabyte",
    "hostile_text",
    "hostile_no_text",
    "hostile_identity",
    "hostile_path",
];

/// Runs the behaviour of a resource type. Most behaviours do not return.
pub(crate) fn behave(type_name: &str, input: &str) {
    match type_name {
        "hostile_trap" => core::arch::wasm32::unreachable(),
        "hostile_panic" => panic!("the guest panics: {input}"),
        "hostile_exit" => std::process::exit(7),
        "hostile_loop" => loop {
            black_box(0);
        },
        "hostile_sleep" => std::thread::sleep(Duration::from_hours(1)),
        "hostile_naps" => (0..60).for_each(|_| std::thread::sleep(Duration::from_millis(15))),
        "hostile_recursion" => {
            black_box(descend(1));
        }
        "hostile_frames" => {
            black_box(descend_with_frames(1));
        }
        "hostile_memory" => eat_memory(),
        "hostile_handles" => loop {
            // The handle is never dropped.
            std::mem::forget(wit::ListEvents::new(Events::none()));
        },
        "hostile_flood" => flood(),
        _ => {}
    }
}

/// Exhausts the native stack before the guest's stack.
fn descend(depth: u64) -> u64 {
    if black_box(false) {
        return depth;
    }
    descend(depth + 1).rotate_left(3) ^ descend(depth + 2)
}

/// Exhausts the stack in the guest's memory.
fn descend_with_frames(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if black_box(false) { 0 } else { descend_with_frames(depth + 1) + frame[(depth % 64) as usize] }
}

fn eat_memory() {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    loop {
        eaten.push(vec![1; 1 << 20]);
        black_box(&eaten);
    }
}

fn flood() {
    for line in 0..100_000 {
        log::write(log::Level::Warn, "flood", &format!("line {line}"), &[]);
        println!("{line} on standard output");
        eprintln!("{line} on standard error");
    }
}

/// Returns a string that is not valid UTF-8.
#[allow(unsafe_code, reason = "there is no safe way to make an invalid string")]
fn no_text() -> String {
    // SAFETY: the guest does not read the string; the host must detect that it is invalid.
    unsafe { String::from_utf8_unchecked(black_box(vec![0xff, 0xfe])) }
}

pub(crate) fn plan(request: wit::PlanResourceChangeRequest) -> wit::PlanResourceChangeResponse {
    behave(&request.type_name, &input(&request.config));
    let mut response = wit::PlanResourceChangeResponse {
        planned_state: request.proposed_new_state,
        requires_replace: Vec::new(),
        planned_private: request.prior_private,
        diagnostics: Vec::new(),
        legacy_type_system: false,
        deferred: None,
        planned_identity: None,
    };
    match request.type_name.as_str() {
        "hostile_garbage" => response.planned_state = vec![0xc1, 0xff, 0x00],
        // The value is an integer instead of an object.
        "hostile_wrong_type" => response.planned_state = vec![0x07],
        // The value consists of nested arrays.
        "hostile_deep" => response.planned_state = vec![0x91; 1 << 20],
        // The value is a map that claims more than four billion entries.
        "hostile_length" => response.planned_state = vec![0xdf, 0xff, 0xff, 0xff, 0xff],
        "hostile_huge" => response.planned_private = vec![0; 100 << 20],
        "hostile_gigabyte" => response.planned_private = vec![1; 1 << 30],
        // The value is an object with an attribute that is not UTF-8.
        "hostile_text" => {
            response.planned_state = b"\x82\xa5input\xa2\xff\xfe\xa6result\xc0".to_vec();
        }
        "hostile_no_text" => response.diagnostics.push(error(&no_text())),
        "hostile_path" => {
            response.requires_replace =
                vec![vec![PathStep::AttributeName("input".into()), PathStep::ElementKeyInt(-1)]];
        }
        _ => {}
    }
    response
}

/// Applies a change; the type `hostile_identity` returns an invalid identity.
pub(crate) fn apply(request: wit::ApplyResourceChangeRequest) -> wit::ApplyResourceChangeResponse {
    let input = input(&request.config);
    behave(&request.type_name, &input);
    let garbage = request.type_name == "hostile_identity";
    wit::ApplyResourceChangeResponse {
        new_state: object(&input, "applied"),
        private: request.planned_private,
        diagnostics: Vec::new(),
        legacy_type_system: false,
        new_identity: garbage.then(|| vec![0xc1]),
    }
}
