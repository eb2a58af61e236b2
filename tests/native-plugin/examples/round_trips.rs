//! Measures the overhead of the bridge.
//!
//! `round_trips FAKE SERVED` prints `name<TAB>value<TAB>unit`. `FAKE` is this crate's native
//! plugin, which does almost no work itself; `SERVED` is a component that is bundled as a native
//! plugin. The time of a call is the median of many calls, and the time of a start is the time of
//! the fastest start, to exclude the effect of other load on the machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, NativePackage, NativePlugin, Security};
use wardian_plugin::{
    CallContext, ClientCapabilities, ConfigureRequest, PlanRequest, PrivateBytes, Provider, has_errors,
};
use wardian_value::{Type, Value};

type Failed = Box<dyn std::error::Error>;

const CALLS: usize = 1_000;
const STARTS: usize = 15;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(fake), Some(served)) = (arguments.next(), arguments.next()) else {
        return Err("usage: round_trips FAKE SERVED".into());
    };
    let bridge = Bridge::new(NativeLimits::default());
    print("bridge: plan call", plan_call(&bridge, &fake).await?.as_secs_f64() * 1e6, "µs");
    // The two plugins are measured alternately. Other load therefore affects both.
    let (mut bare, mut of_component) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        bare.push(start(&bridge, &fake).await?);
        of_component.push(start(&bridge, &served).await?);
    }
    let (bare, of_component) = (fastest(&bare), fastest(&of_component));
    print("start of a native plugin, to its schema", bare.as_secs_f64() * 1e3, "ms");
    print("start of a served plugin, to its schema", of_component.as_secs_f64() * 1e3, "ms");
    let more = of_component.saturating_sub(bare);
    print("start-up overhead of serving", more.as_secs_f64() * 1e3, "ms");
    Ok(())
}

fn plugin(bridge: &Bridge, executable: &Path) -> NativePlugin {
    let variable = |name: &str| Some((name.into(), std::env::var_os(name)?));
    bridge.plugin(NativePackage {
        name: Arc::from("acme/measured"),
        executable: executable.to_owned(),
        environment: ["PATH", "HOME", "WARDIAN_CACHE_DIR"].into_iter().filter_map(variable).collect(),
        working_directory: std::env::temp_dir(),
        socket_directory: std::env::temp_dir(),
        security: Security::MutualTls,
        confinement: None,
        content: None,
    })
}

/// Returns the time from the start of a process to its first response.
async fn start(bridge: &Bridge, executable: &Path) -> Result<Duration, Failed> {
    let plugin = plugin(bridge, executable);
    let provider = plugin.provider();
    let begun = Instant::now();
    let schema =
        provider.schema(&CallContext::default()).await.map_err(|diagnostics| format!("{diagnostics:?}"))?;
    let taken = begun.elapsed();
    if schema.resources.is_empty() {
        return Err(format!("{} has no resources", executable.display()).into());
    }
    provider.close().await;
    plugin.close().await;
    Ok(taken)
}

async fn plan_call(bridge: &Bridge, fake: &Path) -> Result<Duration, Failed> {
    let plugin = plugin(bridge, fake);
    let provider = plugin.provider();
    let configuration = ConfigureRequest {
        terraform_version: "1.11.4".into(),
        config: Value::object([("greeting", Value::null(Type::String))]),
        capabilities: ClientCapabilities::default(),
    };
    let diagnostics = provider.configure(&CallContext::default(), configuration).await;
    if has_errors(&diagnostics) {
        return Err(format!("{diagnostics:?}").into());
    }
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let begun = Instant::now();
        plan_once(&*provider).await?;
        times.push(begun.elapsed());
    }
    provider.close().await;
    plugin.close().await;
    Ok(middle(times))
}

async fn plan_once(provider: &dyn Provider) -> Result<(), Failed> {
    let thing = Value::object([
        ("environment", Value::null(Type::list(Type::String))),
        ("id", Value::null(Type::String)),
        ("name", Value::string("measured")),
        ("size", Value::number(3)),
    ]);
    let request = PlanRequest {
        type_name: "fake_thing".into(),
        prior_state: Value::null(thing.ty().clone()),
        config: thing.clone(),
        proposed_new_state: thing,
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = provider.plan_resource_change(&CallContext::default(), request).await;
    match response.planned_state {
        Some(_) => Ok(()),
        None => Err(format!("{:?}", response.diagnostics).into()),
    }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn fastest(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or_default()
}

fn print(name: &str, value: f64, unit: &str) {
    println!("{name}\t{value:.2}\t{unit}");
}
