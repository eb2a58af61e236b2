//! A plugin's process: calls to it, and its termination.
//!
//! A process terminates in one of three ways: it exits on request, it is killed, or it crashes.
//! From the start of the process, a task waits for its termination and detects each of these cases,
//! so the process never remains as a zombie.

use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use prost::Message;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::process::ChildStderr;
use tokio::sync::{Notify, RwLock, mpsc, watch};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Code, Status, Streaming};
use tracing::{Instrument as _, Span};
use wardian_plugin::transport::{PluginFailure, format_seconds};
use wardian_plugin::{CallContext, CallsInFlight, PluginCall, call_span, printable};

use crate::ProtocolVersion;
use crate::codec::{Messages, Undecodable};
use crate::cpu_limit::CpuLimit;
use crate::failure::{self, Aftermath, EndedProcess};
use crate::http2::{Http2Connection, Http2Error};
use crate::launch::StartedProcess;
use crate::method::RpcMethod;
use crate::protocol::plugin::{grpccontroller, grpcstdio};
use crate::stderr::{self, CrashOutput, StderrSource};
use wardian_process::Spawner;

/// Time limit for a process to exit after a request.
const GRACE: Duration = Duration::from_secs(2);
/// Time limit for a process to terminate after it was killed.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// Time limit for reading standard error after the process has ended, since a child process may
/// still hold it open.
const STDERR_PATIENCE: Duration = Duration::from_millis(500);
/// Maximum number of bytes of a message in either direction.
pub(crate) const MAX_MESSAGE_LENGTH: usize = 256 << 20;
/// The origin of HTTP requests to a plugin.
const ORIGIN: &str = "http://localhost";

/// A process, and the task that waits for it.
pub(crate) struct Running {
    kill: Arc<Notify>,
    /// The exit status, after the process has ended.
    end: watch::Receiver<Option<Arc<str>>>,
    words: CrashOutput,
    /// Whether the bridge killed the process. In that case, the exit status has no meaning.
    killed: AtomicBool,
    /// The reason why the bridge killed the process.
    by_us: Arc<OnceLock<String>>,
    _spawner: Arc<Spawner>,
    _sockets: TempDir,
}

impl Running {
    pub(crate) fn watch(
        started: StartedProcess,
        stderr: Option<ChildStderr>,
        source: StderrSource,
        words: CrashOutput,
        spawner: Arc<Spawner>,
        sockets: TempDir,
        cpu_limit: Option<CpuLimit>,
    ) -> Self {
        let StartedProcess { mut child, confined } = started;
        let kill = Arc::new(Notify::new());
        let (ended, end) = watch::channel(None);
        let by_us = Arc::<OnceLock<String>>::default();
        let reason = Arc::clone(&by_us);
        let (told, heard) = (Arc::clone(&kill), words.clone());
        let listening = stderr.map(|stderr| tokio::spawn(stderr::listen(source, stderr, heard)));
        tokio::spawn(async move {
            let process = child.id();
            let group = process.and_then(|id| Pid::from_raw(id.cast_signed()));
            let exceeded = async {
                match (&cpu_limit, process) {
                    (Some(limit), Some(process)) => limit.exceeded(process).await,
                    _ => std::future::pending().await,
                }
            };
            let killed = async {
                tokio::select! {
                    () = told.notified() => {}
                    exceeded = exceeded => {
                        let _ = reason.set(exceeded);
                    }
                }
            };
            let status = tokio::select! {
                status = child.wait() => status,
                () = killed => {
                    if let Some(group) = group {
                        // The process and its group may already have terminated.
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                    let _ = child.start_kill();
                    child.wait().await
                }
            };
            // Kills the descendants of a confined process.
            drop(confined);
            if let Some(listening) = listening {
                let _ = timeout(STDERR_PATIENCE, listening).await;
            }
            let how = status.map_or_else(|error| error.to_string(), |status: ExitStatus| status.to_string());
            // The receiver may have been dropped.
            let _ = ended.send(Some(how.into()));
        });
        Self { kill, end, words, killed: AtomicBool::new(false), by_us, _spawner: spawner, _sockets: sockets }
    }

    /// Returns the exit status if the process ends within this time.
    pub(crate) async fn wait_for_end(&self, patience: Duration) -> Option<Arc<str>> {
        let mut end = self.end.clone();
        let ended = timeout(patience, end.wait_for(Option::is_some)).await;
        ended.ok()?.ok()?.clone()
    }

    /// Returns the exit status if the process exited and the bridge did not kill it.
    pub(crate) fn own_end(&self) -> Option<String> {
        if self.killed.load(Ordering::Acquire) {
            return None;
        }
        self.end.borrow().as_deref().map(str::to_owned)
    }

    pub(crate) fn crash_output(&self) -> Option<String> {
        self.words.text()
    }

    fn kill(&self) {
        if self.end.borrow().is_none() {
            self.killed.store(true, Ordering::Release);
        }
        self.kill.notify_one();
    }

    pub(crate) async fn kill_and_wait(&self) {
        self.kill();
        self.wait_for_end(KILL_PATIENCE).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill.notify_one();
    }
}

/// The owner of the process, which terminates it.
pub(crate) enum Owner {
    /// The bridge, which started the process.
    Us(Running),
    /// The external program that started the process.
    SomebodyElse,
}

impl Owner {
    fn running(&self) -> Option<&Running> {
        match self {
            Self::Us(running) => Some(running),
            Self::SomebodyElse => None,
        }
    }

    /// Terminates a process that the bridge has started, and reports the reason to the other calls
    /// of the process.
    fn end(&self, why: impl FnOnce() -> String) -> Aftermath {
        let Some(running) = self.running() else { return Aftermath::LeftAlone };
        let _ = running.by_us.set(why());
        running.kill();
        Aftermath::Ended
    }
}

/// A running plugin that can be called.
pub(crate) struct Process {
    source: StderrSource,
    version: ProtocolVersion,
    transport: Http2Connection,
    owner: Owner,
    /// Locked for reading by calls, and for writing to terminate the process.
    in_use: RwLock<()>,
    closing: AtomicBool,
    /// The calls that the process is executing.
    calls: Arc<CallsInFlight>,
}

impl Process {
    pub(crate) fn new(
        source: StderrSource,
        version: ProtocolVersion,
        transport: Http2Connection,
        owner: Owner,
        calls: Arc<CallsInFlight>,
    ) -> Self {
        let process = Self {
            source,
            version,
            transport,
            owner,
            in_use: RwLock::new(()),
            closing: AtomicBool::new(false),
            calls,
        };
        // The output of a process that was started externally is read by the program that started
        // it.
        if process.owner.running().is_some() {
            process.listen_to_output();
        }
        process
    }

    pub(crate) fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Whether the process may still respond.
    pub(crate) fn is_alive(&self) -> bool {
        !self.closing.load(Ordering::Acquire)
            && !self.transport.is_closed()
            && self.owner.running().is_none_or(|running| running.end.borrow().is_none())
    }

    /// Reads the plugin's standard output stream over the connection. Not every plugin supports it.
    fn listen_to_output(&self) {
        let (mut grpc, source) = (self.grpc(MAX_MESSAGE_LENGTH), self.source.clone());
        tokio::spawn(async move {
            let Ok(answer) = open_stream(&mut grpc, grpcstdio::STREAM_STDIO, ()).await else { return };
            let mut stream = answer;
            while let Ok(Some(output)) = stream.message().await {
                stderr::unexpected_output(&source, &output.data);
            }
        });
    }

    fn grpc(&self, largest_answer: usize) -> Grpc<Http2Connection> {
        Grpc::with_origin(self.transport.clone(), Uri::from_static(ORIGIN))
            .max_decoding_message_size(largest_answer)
            .max_encoding_message_size(MAX_MESSAGE_LENGTH)
    }

    /// Makes a unary call, which fails if the response is not received within `limit`.
    pub(crate) async fn unary<Q, A>(
        &self,
        context: &CallContext,
        method: RpcMethod<Q, A>,
        request: Q,
        limit: Duration,
        largest_answer: usize,
    ) -> Result<A, PluginFailure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let _call = self.begin(context, method.name()).await?;
        let mut grpc = self.grpc(largest_answer);
        let span = self.span(context, method.name());
        span.record("bytes_sent", request.encoded_len());
        let answer = timeout(limit, async {
            grpc.ready().await.map_err(|broken| Status::from_error(Box::new(broken)))?;
            let path = http::uri::PathAndQuery::from_static(method.path());
            grpc.unary(tonic::Request::new(request), path, Messages::<Q, A>::new()).await
        });
        match answer.instrument(span.clone()).await {
            Ok(Ok(answer)) => {
                let answer = answer.into_inner();
                if !span.is_disabled() {
                    span.record("bytes_received", answer.encoded_len());
                }
                Ok(answer)
            }
            Ok(Err(status)) => Err(self.failed(status, largest_answer).await),
            Err(_) => Err(self.timed_out(method.name(), limit)),
        }
    }

    /// Makes a streaming call, whose responses are passed to `each` until it stops the call. The
    /// call fails if not all responses are received within the time limit.
    pub(crate) async fn stream<Q, A, B>(
        &self,
        context: &CallContext,
        method: RpcMethod<Q, A>,
        request: Q,
        limit: Duration,
        mut each: impl FnMut(A) -> std::ops::ControlFlow<B> + Send,
    ) -> Result<Option<B>, PluginFailure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let _call = self.begin(context, method.name()).await?;
        let mut grpc = self.grpc(MAX_MESSAGE_LENGTH);
        let answers = timeout(limit, async {
            let mut stream = open_stream(&mut grpc, method, request).await?;
            while let Some(answer) = stream.message().await? {
                if let std::ops::ControlFlow::Break(result) = each(answer) {
                    return Ok(Some(result));
                }
            }
            Ok(None)
        });
        match answers.instrument(self.span(context, method.name())).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(status)) => Err(self.failed(status, MAX_MESSAGE_LENGTH).await),
            Err(_) => Err(self.timed_out(method.name(), limit)),
        }
    }

    /// Makes a call with a stream of requests, which fails if the response is not received within
    /// `limit`. The requests are produced while they are sent.
    pub(crate) async fn upload<Q, A>(
        &self,
        context: &CallContext,
        method: RpcMethod<Q, A>,
        requests: impl Iterator<Item = Q> + Send,
        limit: Duration,
    ) -> Result<A, PluginFailure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let _call = self.begin(context, method.name()).await?;
        let mut grpc = self.grpc(MAX_MESSAGE_LENGTH);
        let (sender, receiver) = mpsc::channel(1);
        let producing = async move {
            for request in requests {
                // The call has ended; its response contains the reason.
                if sender.send(request).await.is_err() {
                    break;
                }
            }
        };
        let calling = async {
            grpc.ready().await.map_err(|broken| Status::from_error(Box::new(broken)))?;
            let path = http::uri::PathAndQuery::from_static(method.path());
            let request = tonic::Request::new(Requests(receiver));
            grpc.client_streaming(request, path, Messages::<Q, A>::new()).await
        };
        let answer = timeout(limit, async { tokio::join!(producing, calling).1 });
        match answer.instrument(self.span(context, method.name())).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.failed(status, MAX_MESSAGE_LENGTH).await),
            Err(_) => Err(self.timed_out(method.name(), limit)),
        }
    }

    fn span(&self, context: &CallContext, function: &str) -> Span {
        call_span(&self.source.plugin, function, context.address().map_or("", |address| address))
    }

    /// Registers the sensitive values of a call until the process ends.
    pub(crate) fn keep_secrets(&self, context: &CallContext) {
        self.source.secrets.keep(context.sensitive_values().clone());
    }

    /// Begins a call, which ends when the result is dropped. Until then, the process is not closed, and
    /// the sensitive values of the call are removed from the plugin's output.
    async fn begin(
        &self,
        context: &CallContext,
        function: &'static str,
    ) -> Result<impl Sized + use<'_>, PluginFailure> {
        let in_use = self.in_use.read().await;
        if self.closing.load(Ordering::Acquire) {
            return Err(PluginFailure::Closed);
        }
        let secrets = self.source.secrets.begin(context.sensitive_values().clone());
        let in_flight = self.calls.begin(PluginCall::new(&self.source.plugin, function, None, context));
        Ok((in_flight, secrets, in_use))
    }

    fn timed_out(&self, call: &str, limit: Duration) -> PluginFailure {
        // Other calls of the same process will not receive a response either.
        let aftermath =
            self.owner.end(|| format!("{call} returned no response within {}", format_seconds(limit)));
        failure::timed_out(limit, aftermath)
    }

    /// Returns the failure for an error status. Either the plugin returned the status, or its process
    /// or connection ended.
    async fn failed(&self, status: Status, largest_answer: usize) -> PluginFailure {
        let source = std::error::Error::source(&status);
        if source.is_some_and(|source| source.is::<Undecodable>()) {
            return PluginFailure::InvalidResponse(format!(
                "{}.",
                source.map(ToString::to_string).unwrap_or_default()
            ));
        }
        let broken = source.and_then(|source| source.downcast_ref::<Http2Error>());
        if let Some(problem @ Http2Error::NotGrpc { .. }) = broken {
            return PluginFailure::InvalidResponse(format!("{problem}."));
        }
        let is_over = broken.is_some_and(Http2Error::is_of_all);
        let broken = broken.map(ToString::to_string);
        if broken.is_some() || status.code() == Code::Unavailable {
            // The process may have returned the status immediately before it exited.
            let patience = if broken.is_some() { GRACE } else { STDERR_PATIENCE };
            if let Some(running) = self.owner.running()
                && let Some(how) = running.wait_for_end(patience).await
            {
                return PluginFailure::from(EndedProcess {
                    status: how.to_string(),
                    last_output: running.crash_output(),
                    reason: running.by_us.get().cloned(),
                });
            }
        }
        if let Some(broken) = broken {
            if is_over || self.transport.ends_within(STDERR_PATIENCE).await {
                return failure::lost_connection(
                    &broken,
                    self.owner.end(|| "its connection was lost".into()),
                );
            }
            return PluginFailure::InvalidResponse(format!("{}.", printable(&broken)));
        }
        // tonic uses this message for a response that is too large.
        if status.code() == Code::OutOfRange && status.message().contains("decoded message length too large")
        {
            return failure::too_much_data(largest_answer);
        }
        failure::error_status(status.code(), status.message())
    }

    /// Terminates the process when its calls have ended. If possible, first requests the process to
    /// exit.
    pub(crate) async fn shut_down(&self) {
        let closing = self.closing.swap(true, Ordering::AcqRel);
        let Some(running) = self.owner.running() else { return };
        if closing {
            running.wait_for_end(GRACE).await;
            return;
        }
        let _alone = timeout(GRACE, self.in_use.write()).await;
        if running.end.borrow().is_none() {
            let mut grpc = self.grpc(MAX_MESSAGE_LENGTH);
            let asking = async {
                grpc.ready().await.map_err(|broken| Status::from_error(Box::new(broken)))?;
                let path = http::uri::PathAndQuery::from_static(grpccontroller::SHUTDOWN.path());
                let request = tonic::Request::new(crate::protocol::plugin::Empty {});
                grpc.unary(request, path, Messages::<_, crate::protocol::plugin::Empty>::new()).await
            };
            // The process may exit before it has responded, so an error is expected here.
            let _ = timeout(GRACE, asking).await;
            if running.wait_for_end(GRACE).await.is_none() {
                tracing::warn!(
                    target: "wardian::plugin",
                    plugin = &*self.source.plugin,
                    "the plugin did not exit on request, and was killed"
                );
            }
        }
        running.kill_and_wait().await;
    }
}

/// The requests of a call with a stream of requests.
struct Requests<Q>(mpsc::Receiver<Q>);

impl<Q> Stream for Requests<Q> {
    type Item = Q;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Q>> {
        self.0.poll_recv(context)
    }
}

async fn open_stream<Q, A>(
    grpc: &mut Grpc<Http2Connection>,
    method: RpcMethod<Q, A>,
    request: Q,
) -> Result<Streaming<A>, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    grpc.ready().await.map_err(|broken| Status::from_error(Box::new(broken)))?;
    let path = http::uri::PathAndQuery::from_static(method.path());
    let answer = grpc.server_streaming(tonic::Request::new(request), path, Messages::<Q, A>::new()).await?;
    Ok(answer.into_inner())
}
