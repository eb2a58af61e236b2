//! One RPC: where it is and which messages cross.

use std::fmt;
use std::marker::PhantomData;

/// An RPC of a service, as `proto/` describes it: `Q` is asked, `A` answered.
pub struct Method<Q, A> {
    path: &'static str,
    messages: PhantomData<fn(Q) -> A>,
}

impl<Q, A> Method<Q, A> {
    /// An RPC at a path, `/package.Service/Name`.
    pub const fn new(path: &'static str) -> Self {
        Self { path, messages: PhantomData }
    }

    /// `/package.Service/Name`
    pub const fn path(self) -> &'static str {
        self.path
    }

    /// The last part of the path.
    pub fn name(self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The same RPC, whose answer is read as another message of the same form.
    pub(crate) const fn with_answer<B>(self) -> Method<Q, B> {
        Method::new(self.path)
    }
}

impl<Q, A> Clone for Method<Q, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q, A> Copy for Method<Q, A> {}

impl<Q, A> fmt::Debug for Method<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}
