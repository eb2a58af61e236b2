//! The thread of one provider configuration. Types of the SDK are not [`Send`], so a provider is created,
//! called and dropped on one thread, which executes one call at a time, like a component.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use wardian_plugin::transport::{PluginFailure, format_seconds};
use wardian_sdk::bindings::exports::wardian::plugin::provider as wit;
use wardian_sdk::testing::in_process::{InProcessAction, InProcessList, InProcessProvider};

use crate::environment::Environment;

/// Creates a provider on the current thread.
pub(crate) type ProviderFactory = Arc<dyn Fn() -> InProcessProvider + Send + Sync>;

type Job = Box<dyn FnOnce(&mut Slot) + Send>;

/// A provider that is called on its own thread. The thread ends when this value is dropped.
pub(crate) struct ProviderThread {
    jobs: mpsc::Sender<Job>,
    call_limit: Duration,
}

/// The provider, and the requests of its host that last for several calls.
pub(crate) struct Guest {
    pub(crate) provider: InProcessProvider,
    pub(crate) lists: HashMap<u64, InProcessList>,
    pub(crate) actions: HashMap<u64, InProcessAction>,
    next_key: u64,
}

impl Guest {
    /// Returns an unused key of a list or an action.
    pub(crate) fn new_key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key
    }
}

/// The place of a provider, which is empty after a panic.
struct Slot {
    factory: ProviderFactory,
    guest: Option<Guest>,
    configuration: Option<wit::ConfigureProviderRequest>,
}

impl ProviderThread {
    /// Starts the thread of a provider.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a thread.
    pub(crate) fn start(
        name: &str,
        factory: ProviderFactory,
        environment: Environment,
        call_limit: Duration,
    ) -> std::io::Result<Self> {
        let (jobs, received) = mpsc::channel::<Job>();
        thread::Builder::new().name(format!("provider {name}")).spawn(move || {
            environment.enter(|| {
                let mut slot = Slot { factory, guest: None, configuration: None };
                while let Ok(job) = received.recv() {
                    job(&mut slot);
                }
            });
        })?;
        Ok(Self { jobs, call_limit })
    }

    /// Executes a call. A panic of the provider is a failure of this call; for the next call, the provider
    /// is created and configured again.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Guest) -> R + Send + 'static,
    ) -> Result<R, PluginFailure> {
        self.run(move |slot| slot.call(work)).await
    }

    /// Configures the provider, and retains the configuration for a provider that is created again.
    pub(crate) async fn configure(
        &self,
        request: wit::ConfigureProviderRequest,
    ) -> Result<Vec<wardian_sdk::bindings::wardian::plugin::types::Diagnostic>, PluginFailure> {
        self.run(move |slot| {
            let reported = slot.call({
                let request = request.clone();
                move |guest| guest.provider.configure_provider(&request)
            });
            slot.configuration = Some(request);
            reported
        })
        .await
    }

    async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Slot) -> Result<R, PluginFailure> + Send + 'static,
    ) -> Result<R, PluginFailure> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |slot| {
            // The receiver is gone if the run has ended.
            let _ = sender.send(work(slot));
        });
        self.jobs.send(job).map_err(|_| PluginFailure::Closed)?;
        match tokio::time::timeout(self.call_limit, receiver).await {
            Ok(received) => received.map_err(|_| PluginFailure::Closed)?,
            Err(_) => Err(PluginFailure::transport(
                "Provider call takes too long",
                format!("the call did not end within {}.", format_seconds(self.call_limit)),
            )),
        }
    }
}

impl Slot {
    fn call<R>(&mut self, work: impl FnOnce(&mut Guest) -> R) -> Result<R, PluginFailure> {
        // After a panic, the provider is dropped, so a broken invariant has no effect.
        match catch_unwind(AssertUnwindSafe(|| work(self.guest()))) {
            Ok(result) => Ok(result),
            Err(panic) => {
                self.guest = None;
                Err(PluginFailure::transport("Provider panicked", format!("{}.", message(&*panic))))
            }
        }
    }

    fn guest(&mut self) -> &mut Guest {
        self.guest.get_or_insert_with(|| {
            let provider = (self.factory)();
            if let Some(request) = &self.configuration {
                // The provider has accepted this configuration before.
                let _ = provider.configure_provider(request);
            }
            Guest { provider, lists: HashMap::new(), actions: HashMap::new(), next_key: 0 }
        })
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the panic has no message").trim_end_matches('.').to_owned()
}
