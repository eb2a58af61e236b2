//! Who may go on at once, and who waits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::NetworkError;

/// A number of places, and the queue for them. Clones are the same: whatever else connects
/// for the same plugin takes its turn where the requests do.
#[derive(Clone, Debug)]
pub struct Turns {
    places: Arc<Semaphore>,
    most: usize,
}

/// A place in the queue. Who waits for several answers one after the other takes the turns
/// in that order: otherwise answers that nobody reads yet could keep the one that is waited
/// for from being sent.
pub struct Turn {
    coming: Coming,
    most: usize,
}

type Coming = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + Sync>>;

/// One of those that go on. Dropped, its place is free for the next.
#[derive(Debug)]
pub struct GoingOn(#[expect(dead_code, reason = "held for its end")] OwnedSemaphorePermit);

impl Turns {
    /// So many at once, and one at least.
    pub fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(most)), most }
    }

    /// How many at once.
    pub fn most(&self) -> usize {
        self.most
    }

    /// A turn, behind all that were taken before.
    pub fn take(&self) -> Turn {
        let mut coming = Box::pin(Arc::clone(&self.places).acquire_owned());
        // Whoever asks first stands in the queue.
        let coming: Coming = match coming.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => Box::pin(std::future::ready(place)),
            Poll::Pending => coming,
        };
        Turn { coming, most: self.most }
    }
}

impl Turn {
    /// Waits until it comes.
    ///
    /// # Errors
    /// [`NetworkError::TooMany`], where it does not come in that time.
    pub async fn come(self, patience: Duration) -> Result<GoingOn, NetworkError> {
        match timeout(patience, self.coming).await {
            Ok(Ok(place)) => Ok(GoingOn(place)),
            _ => Err(NetworkError::TooMany(self.most)),
        }
    }
}
