//! Limits the number of concurrent requests.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::NetworkError;

/// A fair semaphore. Clones share it: other connections of the same plugin also use its permits.
#[derive(Clone, Debug)]
pub struct RequestLimiter {
    semaphore: Arc<Semaphore>,
    limit: usize,
}

/// A position in the queue. A caller that waits for several responses one after the other must take
/// its tickets in that order. Otherwise, responses that have not been read yet could hold all
/// permits, and the awaited request would never be sent.
pub struct Ticket {
    waiting: Acquire,
    limit: usize,
}

type Acquire = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + Sync>>;

/// A permit for one request. Dropping it releases the permit.
#[derive(Debug)]
pub struct Permit(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl RequestLimiter {
    /// Creates a limiter for a number of concurrent requests, at least one.
    pub fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self { semaphore: Arc::new(Semaphore::new(limit)), limit }
    }

    /// Returns the maximum number of concurrent requests.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns a ticket at the end of the queue.
    pub fn ticket(&self) -> Ticket {
        let mut waiting = Box::pin(Arc::clone(&self.semaphore).acquire_owned());
        // The first poll enters the queue.
        let waiting: Acquire = match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Box::pin(std::future::ready(permit)),
            Poll::Pending => waiting,
        };
        Ticket { waiting, limit: self.limit }
    }
}

impl Ticket {
    /// Waits for the permit.
    ///
    /// # Errors
    /// Returns [`NetworkError::LimitReached`] if no permit is available within the timeout.
    pub async fn acquire(self, timeout_after: Duration) -> Result<Permit, NetworkError> {
        match timeout(timeout_after, self.waiting).await {
            Ok(Ok(permit)) => Ok(Permit(permit)),
            _ => Err(NetworkError::LimitReached(self.limit)),
        }
    }
}
