//! An acceptance test: its providers, its environment and its steps.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wardian_sdk::export::Service;
use wardian_sdk::http::{Error, Request, Response};
use wardian_sdk::testing::in_process::InProcessProvider;
use wardian_sdk::testing::{CapturedLogs, TestClock};

use crate::environment::Environment;
use crate::failure::{Failure, TestFailure};
use crate::in_process::ProviderFactory;
use crate::provider_source::TestedProviders;
use crate::recording::{RecordedHttp, RecordingError};
use crate::run::Run;
use crate::step::Step;
use crate::tested_state::TestedState;

/// Time after which a call of a provider fails.
const CALL_LIMIT: Duration = Duration::from_mins(20);

pub(crate) type DestroyCheck = Box<dyn Fn(&TestedState) -> Result<(), String> + Send + Sync>;

/// An acceptance test of a provider.
///
/// The test plans and applies each step with Wardian's engine, on a state in memory. After each apply, a
/// second plan must be empty. At the end, also after a failure, the test destroys all objects.
///
/// Waits of the provider take no time unless it sends requests to a real server: a
/// [`TestClock`] replaces the clock.
///
/// ```
/// use wardian_acceptance::{AcceptanceTest, StateCheck, Step, json};
///
/// AcceptanceTest::new(wardian_provider_random::provider)
///     .step(
///         Step::apply(r#"resource "random_id" "a" { byte_length = 8 }"#)
///             .check(StateCheck::value("random_id.a", "byte_length", json!(8)))
///             .check(StateCheck::matches("random_id.a", "hex", "^[0-9a-f]{16}$")),
///     )
///     .run();
/// ```
#[must_use = "a test is executed by `run`"]
pub struct AcceptanceTest {
    providers: Vec<(String, ProviderFactory)>,
    pub(crate) steps: Vec<Step>,
    environment: Environment,
    uses_real_time: bool,
    recording: Option<RecordedHttp>,
    pub(crate) destroy_check: Option<DestroyCheck>,
    call_limit: Duration,
}

impl AcceptanceTest {
    /// Creates a test of the provider that a function returns. The test calls the function for each
    /// provider configuration.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud"));
    /// ```
    pub fn new<P: Into<Service>>(provider: impl Fn() -> P + Send + Sync + 'static) -> Self {
        let test = Self {
            providers: Vec::new(),
            steps: Vec::new(),
            environment: Environment::default(),
            uses_real_time: false,
            recording: None,
            destroy_check: None,
            call_limit: CALL_LIMIT,
        };
        test.provider(provider)
    }

    /// Adds another provider, to which the configurations of the steps can refer.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud"))
    ///     .provider(wardian_provider_random::provider);
    /// ```
    pub fn provider<P: Into<Service>>(mut self, provider: impl Fn() -> P + Send + Sync + 'static) -> Self {
        let factory: ProviderFactory = Arc::new(move || InProcessProvider::new(provider()));
        let name = factory().name().to_owned();
        self.providers.push((name, factory));
        self
    }

    /// Adds a step.
    ///
    /// ```
    /// # use wardian_acceptance::{AcceptanceTest, Step};
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).step(Step::apply(""));
    /// ```
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Sends the provider's HTTP requests to a function.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// use wardian_sdk::http::Response;
    ///
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud"))
    ///     .mock_http(|request| Ok(Response::new(404, format!("no {}", request.url()))));
    /// ```
    pub fn mock_http(
        mut self,
        respond: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        self.environment.http = Some(Arc::new(respond));
        self
    }

    /// Replays the provider's HTTP requests from a recording, or records them; see [`RecordedHttp`].
    ///
    /// ```
    /// # use wardian_acceptance::{AcceptanceTest, recorded_http};
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud"))
    ///     .http(recorded_http("tests/recordings/server.json"));
    /// ```
    pub fn http(mut self, recording: RecordedHttp) -> Self {
        self.recording = Some(recording);
        self
    }

    /// Sends the provider's HTTP requests to real servers, without a recording. The provider waits as long as it
    /// asks for.
    ///
    /// ```no_run
    /// # use wardian_acceptance::{AcceptanceTest, Step};
    /// AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).live_http().step(Step::apply("")).run();
    /// ```
    #[cfg(feature = "network")]
    pub fn live_http(mut self) -> Self {
        self.uses_real_time = true;
        self.environment.http = Some(crate::http_client::live_handler());
        self
    }

    /// Replaces the clock of the provider, so that the test can read and advance it.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// use wardian_sdk::testing::TestClock;
    ///
    /// let clock = TestClock::new();
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).clock(&clock);
    /// ```
    pub fn clock(mut self, clock: &TestClock) -> Self {
        self.environment.clock = Some(clock.clone());
        self
    }

    /// Lets the provider use the machine's clock and wait.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).real_time();
    /// ```
    pub fn real_time(mut self) -> Self {
        self.uses_real_time = true;
        self
    }

    /// Captures the log of the provider.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// use wardian_sdk::testing::CapturedLogs;
    ///
    /// let logs = CapturedLogs::new();
    /// AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).logs(&logs).run();
    /// logs.assert_lacks("password");
    /// ```
    pub fn logs(mut self, logs: &CapturedLogs) -> Self {
        self.environment.logs = logs.clone();
        self
    }

    /// Checks, after the final destroy, that the objects no longer exist at the service. The function
    /// receives the state before the destroy.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).check_destroy(|state| {
    ///     for server in state.managed() {
    ///         // Requests the server from the API.
    ///         let _ = server;
    ///     }
    ///     Ok(())
    /// });
    /// ```
    pub fn check_destroy(
        mut self,
        check: impl Fn(&TestedState) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.destroy_check = Some(Box::new(check));
        self
    }

    /// Sets the time after which a call of a provider fails, 20 minutes by default.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud"))
    ///     .call_limit(std::time::Duration::from_secs(60));
    /// ```
    pub fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// Executes the test.
    ///
    /// # Panics
    /// Panics if a step or the final destroy fails. The message names the step, and contains all errors.
    ///
    /// ```
    /// # use wardian_acceptance::AcceptanceTest;
    /// AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).run();
    /// ```
    #[track_caller]
    #[expect(clippy::panic, reason = "fails the calling test")]
    pub fn run(self) {
        if let Err(failure) = self.try_run() {
            panic!("{failure}");
        }
    }

    /// Executes the test, and returns its failures.
    ///
    /// # Errors
    /// Returns an error if a step or the final destroy fails.
    ///
    /// ```
    /// # use wardian_acceptance::{AcceptanceTest, Step};
    /// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud")).step(Step::apply("resource {"));
    /// assert!(test.try_run().is_err());
    /// ```
    pub fn try_run(mut self) -> Result<(), TestFailure> {
        let name = self.providers.first().map(|(name, _)| name.clone()).unwrap_or_default();
        let mut failures = Vec::new();
        let mut session = None;
        if let Some(recording) = self.recording.take() {
            match recording.open() {
                Ok(opened) => {
                    self.uses_real_time |= opened.is_recording();
                    self.environment.http = Some(opened.handler());
                    session = Some(opened);
                }
                Err(error) => {
                    failures.push(Failure::of_test("the recording cannot be used", error.to_string()));
                }
            }
        }
        if failures.is_empty() {
            failures = self.run_on_thread();
            // A recording of a failed test is not written.
            let finished = session.filter(|session| failures.is_empty() || !session.is_recording());
            if let Some(Err(error)) = finished.map(|session| session.finish()) {
                let summary = match error {
                    RecordingError::NotRecorded(_) => "a request has no recording",
                    _ => "the recording cannot be written",
                };
                failures.push(Failure::of_test(summary, error.to_string()));
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(TestFailure::new(name, failures)) }
    }

    /// Runs the steps on a thread of their own, since a test may already run in an asynchronous runtime.
    fn run_on_thread(mut self) -> Vec<Failure> {
        if !self.uses_real_time && self.environment.clock.is_none() {
            self.environment.clock = Some(TestClock::new());
        }
        let source = Arc::new(TestedProviders {
            providers: std::mem::take(&mut self.providers),
            environment: self.environment.clone(),
            call_limit: self.call_limit,
        });
        let test = &self;
        let body = move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(Run::new(test, source).execute()),
                Err(error) => vec![Failure::of_test("the test cannot be started", format!("{error}."))],
            }
        };
        thread::scope(|scope| match scope.spawn(body).join() {
            Ok(failures) => failures,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}
