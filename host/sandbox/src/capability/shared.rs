//! `wardian:plugin/shared`: memory that all instances of one provider configuration share in a run.
//!
//! Other provider configurations and other plugins have other memories. The values are registered as
//! sensitive values of each call that reads or writes them, so they are redacted in its output and its
//! records. Waits end when the run is interrupted.

mod memory;

use std::time::Duration;

use wardian_plugin::SensitiveValues;
use wardian_value::json;
use wasmtime::component::{HasSelf, Linker, Resource};

use super::Capability;
use crate::bindings::wardian::plugin::shared::{
    self, Expectation, Host, HostHeldLock, Rate as WitRate, SharedError, VersionedValue,
};
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

pub use memory::HeldLock;
pub(crate) use memory::SharedMemory;
use memory::{Expected, Rate, SharedProblem};

pub(super) struct Shared;

impl Capability for Shared {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName { path: "wardian:plugin/shared", major: 0, minor: 1 }];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        shared::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }
}

/// Registers a value: as text, and if it is JSON, also the strings in it.
fn register(secrets: &SensitiveValues, value: &[u8]) {
    let Ok(text) = std::str::from_utf8(value) else { return };
    secrets.add_text(text);
    if let Ok(parsed) = json::decode_simple(text) {
        secrets.add_all(&parsed);
    }
}

fn expected(expectation: Expectation) -> Expected {
    match expectation {
        Expectation::Any => Expected::Any,
        Expectation::Absent => Expected::Absent,
        Expectation::Version(version) => Expected::Version(version),
    }
}

fn error(problem: SharedProblem) -> SharedError {
    match problem {
        SharedProblem::Conflict(version) => SharedError::Conflict(version),
        SharedProblem::Limit(problem) => SharedError::Limit(problem),
    }
}

fn rate(rate: WitRate) -> Result<Rate, SharedError> {
    if rate.events == 0 || rate.seconds == 0 || rate.burst == 0 {
        return Err(SharedError::Limit(
            "a rate has at least one event per period, and a burst of one".into(),
        ));
    }
    let interval = Duration::from_secs(rate.seconds.into()) / rate.events;
    Ok(Rate { interval, burst: rate.burst })
}

impl Host for GuestState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<VersionedValue>> {
        let Some(found) = self.shared().get(&key) else { return Ok(None) };
        register(self.call().sensitive_values(), &found.value);
        Ok(Some(VersionedValue { value: found.value.to_vec(), version: found.version }))
    }

    async fn put(
        &mut self,
        key: String,
        value: Vec<u8>,
        expectation: Expectation,
    ) -> wasmtime::Result<Result<u64, SharedError>> {
        register(self.call().sensitive_values(), &value);
        Ok(self.shared().put(key, &value, expected(expectation)).map_err(error))
    }

    async fn remove(
        &mut self,
        key: String,
        expectation: Expectation,
    ) -> wasmtime::Result<Result<(), SharedError>> {
        Ok(self.shared().remove(&key, expected(expectation)).map_err(error))
    }

    async fn lock(
        &mut self,
        name: String,
        lease_milliseconds: u64,
    ) -> wasmtime::Result<Result<Resource<HeldLock>, SharedError>> {
        let mut interruption = self.interruption();
        let lease = Duration::from_millis(lease_milliseconds);
        let locked = tokio::select! {
            biased;
            locked = self.shared().lock(name, lease) => locked,
            () = interruption.wait() => return Ok(Err(SharedError::Interrupted)),
        };
        match locked {
            Ok(held) => Ok(Ok(self.table().push(held)?)),
            Err(problem) => Ok(Err(error(problem))),
        }
    }

    async fn take(&mut self, name: String, limit: WitRate) -> wasmtime::Result<Result<(), SharedError>> {
        let time = match rate(limit) {
            Ok(rate) => self.shared().reserve(name, rate).map_err(error),
            Err(problem) => Err(problem),
        };
        let time = match time {
            Ok(time) => time,
            Err(problem) => return Ok(Err(problem)),
        };
        let mut interruption = self.interruption();
        Ok(tokio::select! {
            biased;
            () = tokio::time::sleep_until(time) => Ok(()),
            () = interruption.wait() => Err(SharedError::Interrupted),
        })
    }
}

impl HostHeldLock for GuestState {
    async fn renew(&mut self, held: Resource<HeldLock>, lease_milliseconds: u64) -> wasmtime::Result<bool> {
        Ok(self.table().get(&held)?.renew(Duration::from_millis(lease_milliseconds)))
    }

    async fn drop(&mut self, held: Resource<HeldLock>) -> wasmtime::Result<()> {
        self.table().delete(held)?;
        Ok(())
    }
}
