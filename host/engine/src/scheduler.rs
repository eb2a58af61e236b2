//! Walks a graph: visits ready nodes and runs their operations.
//!
//! Everything except operations runs on the calling task, one step at a time in a stable order;
//! operations run concurrently on the runtime's threads, up to the given limit. Dependents of a
//! failed node are not visited, but all other nodes are.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tracing::Instrument as _;

use crate::graph::{self, Graph, NodeId, Progress};
use crate::stop::{Stop, StopSignal};

/// The target of log lines about nodes and their operations.
const GRAPH_TARGET: &str = "wardian::graph";

/// A running operation.
pub type TaskFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub enum VisitResult<P> {
    /// The node is done.
    Done,
    /// The node failed: its dependents are not visited.
    Failed,
    /// The node is done when these operations are done.
    Operations(Vec<P>),
}

pub enum StartResult<T> {
    /// The operation runs.
    Running(TaskFuture<T>),
    /// The operation is already done.
    Done,
    /// The operation could not be started.
    Failed,
}

impl<T> StartResult<T> {
    /// Wraps an operation so that it can be started.
    pub fn running(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self::Running(Box::pin(work))
    }
}

/// The result of an operation.
pub enum StepResult<P> {
    Succeeded,
    Failed,
    /// The operation succeeded, and is followed by another operation of the same node.
    Continue(P),
}

impl<P> From<bool> for StepResult<P> {
    fn from(well: bool) -> Self {
        if well { Self::Succeeded } else { Self::Failed }
    }
}

/// The actions of a walk at each node.
pub trait Walker {
    /// An operation that has not started yet. There can be many of them, so the type should be
    /// small.
    type Pending;
    type Outcome: Send + 'static;

    /// Returns the name of a node, for log lines.
    fn describe(&self, node: NodeId) -> String;

    /// Visits a node whose dependencies are done.
    fn visit(&mut self, node: NodeId) -> VisitResult<Self::Pending>;

    /// Starts an operation when the limit allows one more.
    fn start(&mut self, pending: Self::Pending) -> StartResult<Self::Outcome>;

    /// Records the outcome of an operation.
    fn finish(&mut self, outcome: Self::Outcome) -> StepResult<Self::Pending>;

    /// Records that the task of an operation panicked or was aborted.
    fn on_task_panic(&mut self, problem: String);

    /// Requests that providers stop gracefully.
    fn stop(&mut self) -> TaskFuture<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// All nodes that could be visited were visited.
    Completed,
    /// The walk was stopped after the running operations had ended.
    Stopped,
    /// The walk was stopped at once, and running operations were aborted.
    Abandoned,
}

/// Walks the graph.
pub async fn walk<N, W: Walker>(
    graph: &Graph<N>,
    walker: &mut W,
    parallelism: usize,
    stop: &mut StopSignal,
) -> WalkEnd {
    stop.begin_walk();
    let mut progress = Progress::new(graph);
    let mut failed = vec![false; graph.node_count()];
    // The number of unfinished operations of each node.
    let mut open = vec![0_usize; graph.node_count()];
    let mut queue: VecDeque<(NodeId, W::Pending)> = VecDeque::new();
    let mut running = FuturesUnordered::new();
    let mut stopping: Option<TaskFuture<()>> = None;
    let mut asked = stop.current();
    loop {
        while asked == Stop::No
            && let Some(node) = progress.next_ready()
        {
            if graph::dependencies(graph, node).any(|dependency| failed[dependency.index()]) {
                failed[node.index()] = true;
                progress.finish(graph, node);
                continue;
            }
            tracing::debug!(
                target: GRAPH_TARGET,
                node = walker.describe(node),
                after = progress.last_dependency(node).map(|dependency| walker.describe(dependency)),
                "visiting a node",
            );
            match walker.visit(node) {
                VisitResult::Operations(operations) if !operations.is_empty() => {
                    open[node.index()] = operations.len();
                    queue.extend(operations.into_iter().map(|operation| (node, operation)));
                }
                VisitResult::Failed => {
                    failed[node.index()] = true;
                    progress.finish(graph, node);
                }
                VisitResult::Done | VisitResult::Operations(_) => progress.finish(graph, node),
            }
        }
        let mut freed = false;
        while asked == Stop::No
            && running.len() < parallelism.max(1)
            && let Some((node, pending)) = queue.pop_front()
        {
            match walker.start(pending) {
                StartResult::Running(operation) => {
                    let span =
                        tracing::info_span!(target: GRAPH_TARGET, "operation", node = walker.describe(node));
                    let task = tokio::spawn(operation.instrument(span));
                    running.push(async move { (node, AbortOnDrop(task).await) });
                }
                other => {
                    failed[node.index()] |= matches!(other, StartResult::Failed);
                    open[node.index()] -= 1;
                    if open[node.index()] == 0 {
                        progress.finish(graph, node);
                        freed = true;
                    }
                }
            }
        }
        if freed {
            continue;
        }
        if running.is_empty() {
            // A stop between two operations ends the walk immediately.
            return if asked == Stop::No { WalkEnd::Completed } else { WalkEnd::Stopped };
        }
        tokio::select! {
            biased;
            now = stop.wait_beyond(asked) => {
                asked = now;
                if now == Stop::Now {
                    return WalkEnd::Abandoned;
                }
                stopping = Some(walker.stop());
            }
            () = async { match stopping.as_mut() {
                Some(stopping) => stopping.await,
                None => std::future::pending().await,
            } } => stopping = None,
            Some((node, ended)) = running.next() => {
                let finished = match ended {
                    Ok(outcome) => walker.finish(outcome),
                    Err(problem) => {
                        walker.on_task_panic(problem.to_string());
                        StepResult::Failed
                    }
                };
                match finished {
                    StepResult::Continue(next) => {
                        queue.push_front((node, next));
                        continue;
                    }
                    StepResult::Failed => failed[node.index()] = true,
                    StepResult::Succeeded => {}
                }
                open[node.index()] -= 1;
                if open[node.index()] == 0 {
                    progress.finish(graph, node);
                }
            }
        }
    }
}

/// A task that is aborted when its future is dropped.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}
