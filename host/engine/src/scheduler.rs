//! Walks a graph: visits what is ready, runs operations, goes on.
//!
//! Everything but the operations happens on the calling task, one thing at a time
//! and in a stable order; operations run concurrently on the runtime's threads, at
//! most as many as are allowed. What depends on something that failed is left out;
//! everything else is still done.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use crate::graph::{Graph, NodeId, Progress};
use crate::stop::{Stop, StopSignal};

/// Work on a provider.
pub type Operation<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What visiting a node came to.
pub enum Visit<P> {
    /// It is done.
    Done,
    /// It failed: nothing that depends on it is visited.
    Failed,
    /// It is done when these are.
    Operations(Vec<P>),
}

/// What starting an operation came to.
pub enum Start<T> {
    /// It runs.
    Running(Operation<T>),
    /// It was done at once.
    Done,
    /// It could not be started.
    Failed,
}

impl<T> Start<T> {
    /// It runs, on behalf of what people know by this address.
    pub fn running(subject: String, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self::Running(Box::pin(wardian_plugin::on_behalf_of(subject, work)))
    }
}

/// What the end of an operation came to.
pub enum Finished<P> {
    /// It went well.
    Well,
    /// It failed.
    Badly,
    /// It went well, and another one goes on from there, in its place.
    Then(P),
}

impl<P> From<bool> for Finished<P> {
    fn from(well: bool) -> Self {
        if well { Self::Well } else { Self::Badly }
    }
}

/// What a walk does at each node.
pub trait Walker {
    /// An operation that is not started: cheap to keep, as there may be many.
    type Pending;
    /// What an operation comes to.
    type Outcome: Send + 'static;

    /// All that the node depends on is done.
    fn visit(&mut self, node: NodeId) -> Visit<Self::Pending>;

    /// There is room for one more operation.
    fn start(&mut self, pending: Self::Pending) -> Start<Self::Outcome>;

    /// An operation ended.
    fn finish(&mut self, outcome: Self::Outcome) -> Finished<Self::Pending>;

    /// An operation was broken off or panicked.
    fn lost(&mut self, problem: String);

    /// An orderly end is asked for: providers may be told.
    fn stop(&mut self) -> Operation<()>;
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// Everything that could be was visited.
    Fully,
    /// It was stopped; what was in flight is done.
    Stopped,
    /// It was stopped at once; what was in flight is given up.
    Abandoned,
}

/// Walks the graph.
pub async fn walk<W: Walker>(
    graph: &Graph,
    walker: &mut W,
    parallelism: usize,
    stop: &mut StopSignal,
) -> Walked {
    let mut progress = Progress::new(graph);
    let mut failed = vec![false; graph.size()];
    // Operations that a node still waits for.
    let mut open = vec![0_usize; graph.size()];
    let mut queue: VecDeque<(NodeId, W::Pending)> = VecDeque::new();
    let mut running = FuturesUnordered::new();
    let mut stopping: Option<Operation<()>> = None;
    let mut asked = stop.current();
    loop {
        while asked == Stop::No
            && let Some(node) = progress.next_ready()
        {
            if graph.dependencies(node).iter().any(|d| failed[d.index()]) {
                failed[node.index()] = true;
                progress.finish(graph, node);
                continue;
            }
            match walker.visit(node) {
                Visit::Operations(operations) if !operations.is_empty() => {
                    open[node.index()] = operations.len();
                    queue.extend(operations.into_iter().map(|operation| (node, operation)));
                }
                Visit::Failed => {
                    failed[node.index()] = true;
                    progress.finish(graph, node);
                }
                Visit::Done | Visit::Operations(_) => progress.finish(graph, node),
            }
        }
        let mut freed = false;
        while asked == Stop::No
            && running.len() < parallelism.max(1)
            && let Some((node, pending)) = queue.pop_front()
        {
            match walker.start(pending) {
                Start::Running(operation) => {
                    let task = tokio::spawn(operation);
                    running.push(async move { (node, AbortOnDrop(task).await) });
                }
                other => {
                    failed[node.index()] |= matches!(other, Start::Failed);
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
            // Whoever asks for a stop between two operations asks in vain for more.
            return if asked == Stop::No { Walked::Fully } else { Walked::Stopped };
        }
        tokio::select! {
            biased;
            now = stop.beyond(asked) => {
                asked = now;
                if now == Stop::Now {
                    return Walked::Abandoned;
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
                        walker.lost(problem.to_string());
                        Finished::Badly
                    }
                };
                match finished {
                    Finished::Then(next) => {
                        queue.push_front((node, next));
                        continue;
                    }
                    Finished::Badly => failed[node.index()] = true,
                    Finished::Well => {}
                }
                open[node.index()] -= 1;
                if open[node.index()] == 0 {
                    progress.finish(graph, node);
                }
            }
        }
    }
}

/// A task that ends when nobody waits for it any more.
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
