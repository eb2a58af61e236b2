//! Clocks and randomness that return the same values in every run, if a policy requires this.
//!
//! - The wall clock is fixed.
//! - The monotonic clock begins at zero with each call. Each reading advances it by a microsecond,
//!   and each wait by the requested time. Therefore, no wait is endless; the guest also waits in
//!   real time.
//! - Randomness is derived only from the plugin, the call and the call's resource; it does not
//!   depend on which calls run concurrently. It is therefore not secret: anyone who knows these
//!   inputs can compute it, and any password that was generated from it.
//!
//! An instance serves only one call (see [`crate::pool`]). Therefore, memory from an earlier call
//! cannot affect a later call.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand_core::TryRng;
use wardian_address::ProviderAddress;
use wardian_plugin::PluginCall;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// The time from the start of 1970 to the start of 2000: 10,957 days.
const MOMENT: Duration = Duration::from_hours(10_957 * 24);
/// The nanoseconds by which a reading advances the monotonic clock.
const LOOK: u64 = 1_000;

/// The deterministic clock and randomness of an instance. Clones share their state.
#[derive(Clone)]
pub(crate) struct Deterministic {
    plugin: Arc<str>,
    clock: Arc<AtomicU64>,
    secure: Randomness,
    insecure: Randomness,
}

#[derive(Clone)]
struct Randomness(Arc<Mutex<blake3::OutputReader>>);

#[derive(Clone, Copy)]
enum Kind {
    Secure,
    Insecure,
    Seed,
}

impl Deterministic {
    pub(crate) fn new(plugin: &ProviderAddress, call: &PluginCall) -> Self {
        let plugin: Arc<str> = plugin.to_string().into();
        let randomness = |kind| Randomness(Arc::new(Mutex::new(seeded(&plugin, call, kind))));
        Self {
            secure: randomness(Kind::Secure),
            insecure: randomness(Kind::Insecure),
            clock: Arc::default(),
            plugin,
        }
    }

    /// Replaces the host's clocks and randomness in an instance.
    pub(super) fn instantiate(&self, call: &PluginCall, wasi: &mut WasiCtxBuilder) {
        let mut seed = [0; 16];
        seeded(&self.plugin, call, Kind::Seed).fill(&mut seed);
        wasi.wall_clock(StandingClock)
            .monotonic_clock(AdvancingClock(Arc::clone(&self.clock)))
            .secure_random(self.secure.clone())
            .insecure_random(self.insecure.clone())
            .insecure_random_seed(u128::from_le_bytes(seed));
    }

    /// Resets the clock and the randomness for a call.
    pub(super) fn begin_call(&self, call: &PluginCall) {
        self.clock.store(0, Ordering::Relaxed);
        self.secure.restart(seeded(&self.plugin, call, Kind::Secure));
        self.insecure.restart(seeded(&self.plugin, call, Kind::Insecure));
    }

    /// Advances the clock by the time that the guest waits.
    pub(super) fn wait(&self, nanoseconds: u64) {
        advance(&self.clock, nanoseconds);
    }

    /// Advances the clock to the time until which the guest waits.
    pub(super) fn wait_until(&self, when: u64) {
        self.wait(when.saturating_sub(advance(&self.clock, 0)));
    }
}

fn advance(clock: &AtomicU64, nanoseconds: u64) -> u64 {
    let advanced = |now: u64| Some(now.saturating_add(nanoseconds));
    clock.try_update(Ordering::Relaxed, Ordering::Relaxed, advanced).unwrap_or_default()
}

fn seeded(plugin: &str, call: &PluginCall, kind: Kind) -> blake3::OutputReader {
    let kind = match kind {
        Kind::Secure => "secure",
        Kind::Insecure => "insecure",
        Kind::Seed => "seed",
    };
    let type_name = call.type_name.as_ref().map(|name| name.as_str()).unwrap_or_default();
    let subject = call.context.address().map(|address| &**address).unwrap_or_default();
    let mut hasher = blake3::Hasher::new_derive_key("Wardian 2026 deterministic randomness of plugins");
    for part in [kind, plugin, call.function, type_name, subject] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize_xof()
}

struct StandingClock;

impl HostWallClock for StandingClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        MOMENT
    }
}

struct AdvancingClock(Arc<AtomicU64>);

impl HostMonotonicClock for AdvancingClock {
    fn resolution(&self) -> u64 {
        LOOK
    }

    fn now(&self) -> u64 {
        advance(&self.0, LOOK)
    }
}

impl Randomness {
    fn restart(&self, reader: blake3::OutputReader) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reader;
    }
}

impl TryRng for Randomness {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wardian_plugin::CallContext;

    use super::*;

    fn randomness(address: &str, function: &'static str, subject: Option<&str>) -> u64 {
        let plugin = ProviderAddress::parse(address).unwrap();
        let start = PluginCall::outside_of_calls(&Arc::from("x"));
        let deterministic = Deterministic::new(&plugin, &start);
        let context = subject.map_or_else(CallContext::default, CallContext::new);
        let call = PluginCall { function, context, ..start };
        deterministic.begin_call(&call);
        deterministic.secure.clone().try_next_u64().unwrap()
    }

    #[test]
    fn randomness_depends_on_plugin_call_and_resource() {
        let one = || randomness("acme/x", "plan-resource-change", Some("a.b"));
        assert_eq!(one(), one());
        for other in [
            randomness("acme/y", "plan-resource-change", Some("a.b")),
            randomness("acme/x", "apply-resource-change", Some("a.b")),
            randomness("acme/x", "plan-resource-change", Some("a.c")),
            randomness("acme/x", "plan-resource-change", None),
        ] {
            assert_ne!(one(), other);
        }
    }

    #[test]
    fn reading_the_clock_advances_it() {
        let clock = Arc::new(AtomicU64::new(0));
        let looked = AdvancingClock(Arc::clone(&clock));
        assert!(looked.now() < looked.now());
        clock.store(u64::MAX, Ordering::Relaxed);
        assert_eq!((looked.now(), looked.now()), (u64::MAX, u64::MAX));
    }
}
