//! One RPC: where it is and which messages cross.

use std::fmt;
use std::marker::PhantomData;

/// An RPC of a service, as `proto/` describes it: `Q` is asked, `A` answered.
pub struct RpcMethod<Q, A> {
    path: &'static str,
    messages: PhantomData<fn(Q) -> A>,
}

impl<Q, A> RpcMethod<Q, A> {
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
    pub(crate) const fn with_answer<B>(self) -> RpcMethod<Q, B> {
        RpcMethod::new(self.path)
    }
}

impl<Q, A> Clone for RpcMethod<Q, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q, A> Copy for RpcMethod<Q, A> {}

impl<Q, A> fmt::Debug for RpcMethod<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}
