//! Attacks by hostile components, in one table, with the number of contained attacks.
//!
//! Each attack is made by a component with the minimal grants that make it possible. An attack is
//! contained if it does not achieve its goal, the audit log has a record of every denial, and a
//! legitimate call succeeds afterwards. The other test modules check the details of each attack:
//! its cause and its message.
//!
//! | module | attacks |
//! |---|---|
//! | [`files`] | files, links, directories, the environment |
//! | [`network`] | addresses under all their names, other hosts, ports and methods, listening |
//! | [`harms`] | denial of service: loops, memory, handles, responses, output |
//! | [`memory`] | data retained after a call, or shared with another configuration |
//! | [`programs`] | programs and arguments that are not granted |
//! | [`code`] | files that are not plugins, and compiled code that was tampered with |

mod code;
mod files;
mod harms;
mod memory;
mod network;
mod programs;

use std::collections::BTreeMap;
use std::time::Duration;

use wardian_plugin::{CallContext, Provider};
use wardian_sandbox::SandboxLimits;

use crate::guest::{object, plan, read_probe, short, text};
pub(crate) use network::DISGUISES;

/// One attack and its outcome.
struct Attempt {
    wall: &'static str,
    tried: String,
    got: String,
    held: bool,
}

impl Attempt {
    fn new(wall: &'static str, tried: impl Into<String>, got: impl Into<String>, held: bool) -> Self {
        Self { wall, tried: tried.into(), got: got.into(), held }
    }
}

fn limits() -> SandboxLimits {
    SandboxLimits {
        memory: 64 << 20,
        computation: Duration::from_secs(2),
        remote_call: Duration::from_secs(4),
        ..short()
    }
}

/// Whether the next call succeeds as if there had been no attack.
async fn is_well(provider: &dyn Provider) -> bool {
    let response = plan(provider, "hostile_honest").await;
    response.diagnostics.is_empty() && response.planned_state == Some(object("because"))
}

/// Returns a probe's result, or its failure.
async fn answer(provider: &dyn Provider, input: &str) -> String {
    answer_for(&CallContext::default(), provider, input).await
}

async fn answer_for(context: &CallContext, provider: &dyn Provider, input: &str) -> String {
    let response = read_probe(context, provider, input).await;
    match response.state {
        Some(state) => text(&state, "result"),
        None => response
            .diagnostics
            .first()
            .map_or("denied: the call failed".into(), |told| format!("denied: {}", told.summary)),
    }
}

#[tokio::test]
async fn all_attacks_are_contained() {
    let mut attempts = files::attempts().await;
    attempts.extend(network::attempts().await);
    attempts.extend(harms::attempts().await);
    attempts.extend(memory::attempts().await);
    attempts.extend(programs::attempts().await);
    attempts.extend(code::attempts().await);

    let mut walls: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for attempt in &attempts {
        let (tried, held) = walls.entry(attempt.wall).or_default();
        *tried += 1;
        *held += usize::from(attempt.held);
        let got: String = attempt.got.chars().take(100).collect();
        let verdict = if attempt.held { "held" } else { "ESCAPED" };
        println!("{verdict:8}{:13}{:48} {}", attempt.wall, attempt.tried, got.replace('\n', " "));
    }
    for (wall, (tried, held)) in &walls {
        println!("{wall}: {tried} tried, {held} held");
    }
    let escaped: Vec<&str> =
        attempts.iter().filter(|attempt| !attempt.held).map(|attempt| &*attempt.tried).collect();
    println!("hostile: {} tried, {} held", attempts.len(), attempts.len() - escaped.len());
    assert!(escaped.is_empty(), "{escaped:#?}");
}
