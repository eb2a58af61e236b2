//! Measures the time to load, instantiate and call a component.
//!
//! `calls COMPONENT.wasm [RESOURCE_TYPE]` prints `name<TAB>value<TAB>unit`. The component is a
//! provider with a resource type that plans without network access, by default `null_resource`.
//! Each value is the median of many measurements.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_plugin::{
    CallContext, ClientCapabilities, ConfigKind, PlanRequest, PrivateBytes, Provider, ValidateConfigRequest,
    has_errors,
};
use wardian_sandbox::{CacheDirectories, Grants, LoadedPlugin, Sandbox, SandboxOptions};
use wardian_value::Value;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: calls COMPONENT.wasm [RESOURCE_TYPE]")?;
    let type_name = arguments.next().unwrap_or_else(|| "null_resource".into());
    let bytes = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(&bytes, &type_name))
}

async fn measure(bytes: &[u8], type_name: &str) -> Result<(), Failed> {
    let place = Place::new()?;
    let set_up = median(20, || sandbox(&place).map(drop))?;
    print("sandbox set up", set_up, Unit::Milliseconds);

    let compiling = Instant::now();
    let sandbox = sandbox(&place)?;
    let plugin = sandbox.load("bench", bytes, None, None, &|_| {})?;
    print("load cold", compiling.elapsed(), Unit::Milliseconds);
    let digest = *plugin.digest();
    let load = |known| sandbox.load("bench", bytes, known, None, &|_| {}).map(drop).map_err(Failed::from);
    let warm = median(30, || load(Some(digest)))?;
    print("load warm", warm, Unit::Milliseconds);
    let unknown = median(30, || load(None))?;
    print("load warm, digest not known", unknown, Unit::Milliseconds);

    let first = Instant::now();
    let provider = plugin.provider(Grants::nothing());
    let schema =
        provider.schema(&CallContext::default()).await.map_err(|reported| format!("{reported:?}"))?;
    print("first schema call", first.elapsed(), Unit::Microseconds);
    let resource = schema.resources.get(type_name).ok_or("there is no such resource type")?;

    let validate = request(type_name, &resource.block.empty_value());
    let with_start = median_of_calls(400, || fresh_call(&plugin, &validate)).await?;
    let without = median_of_calls(4_000, || call(&provider, &validate)).await?;
    print("instantiate", with_start.saturating_sub(without), Unit::Microseconds);
    print("validate call", without, Unit::Microseconds);
    let plan = plan_request(type_name, &resource.block.empty_value(), resource.implied_type());
    let planned = median_of_calls(4_000, || plan_once(&provider, &plan)).await?;
    print("plan call", planned, Unit::Microseconds);
    Ok(())
}

/// Makes a call on a new instance. Also returns the instance, to let the caller drop it.
async fn fresh_call(
    plugin: &LoadedPlugin,
    request: &ValidateConfigRequest,
) -> Result<Arc<dyn Provider>, Failed> {
    let provider = plugin.provider(Grants::nothing());
    call(&provider, request).await?;
    Ok(provider)
}

async fn call(provider: &Arc<dyn Provider>, request: &ValidateConfigRequest) -> Result<(), Failed> {
    let reported =
        provider.validate_config(&CallContext::default(), ConfigKind::Resource, request.clone()).await;
    if has_errors(&reported) { Err(format!("{reported:?}").into()) } else { Ok(()) }
}

async fn plan_once(provider: &Arc<dyn Provider>, request: &PlanRequest) -> Result<(), Failed> {
    let response = provider.plan_resource_change(&CallContext::default(), request.clone()).await;
    match response.planned_state {
        Some(_) => Ok(()),
        None => Err(format!("{:?}", response.diagnostics).into()),
    }
}

fn request(type_name: &str, config: &Value) -> ValidateConfigRequest {
    ValidateConfigRequest {
        type_name: type_name.into(),
        config: config.clone(),
        capabilities: ClientCapabilities::default(),
    }
}

fn plan_request(type_name: &str, config: &Value, ty: &wardian_value::Type) -> PlanRequest {
    PlanRequest {
        type_name: type_name.into(),
        prior_state: Value::null(ty.clone()),
        proposed_new_state: config.clone(),
        config: config.clone(),
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    }
}

fn sandbox(place: &Place) -> Result<Sandbox, Failed> {
    let sandbox =
        Sandbox::new(SandboxOptions { cache: Some(place.directories()), ..SandboxOptions::default() })?;
    match sandbox.cache_refusal() {
        Some(refusal) => Err(refusal.to_string().into()),
        None => Ok(sandbox),
    }
}

fn median(count: usize, mut run: impl FnMut() -> Result<(), Failed>) -> Result<Duration, Failed> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed());
    }
    Ok(middle(times))
}

async fn median_of_calls<T, F: Future<Output = Result<T, Failed>>>(
    count: usize,
    mut call: impl FnMut() -> F,
) -> Result<Duration, Failed> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        let kept = call().await?;
        times.push(started.elapsed());
        drop(kept);
    }
    Ok(middle(times))
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

enum Unit {
    Milliseconds,
    Microseconds,
}

fn print(name: &str, time: Duration, unit: Unit) {
    let seconds = time.as_secs_f64();
    match unit {
        Unit::Milliseconds => println!("{name}\t{:.3}\tms", seconds * 1e3),
        Unit::Microseconds => println!("{name}\t{:.2}\tµs", seconds * 1e6),
    }
}

/// A directory for this process. It is removed when this value is dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self, Failed> {
        let path = std::env::temp_dir().join(format!("wardian-calls-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    fn directories(&self) -> CacheDirectories {
        CacheDirectories { code: self.0.join("code"), key: self.0.join("key") }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
