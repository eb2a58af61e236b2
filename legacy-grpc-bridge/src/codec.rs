//! Encodes and decodes messages in tonic's frames.
//!
//! A separate codec is needed, since a response that cannot be decoded must be distinguished from
//! an error that the plugin itself returns: in the former case, the source of the error is
//! [`Undecodable`].

use std::marker::PhantomData;
use std::sync::Arc;

use prost::Message;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};

/// The source of a status for a response that cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[error("its response is not a valid protocol message: {0}")]
pub(crate) struct Undecodable(prost::DecodeError);

pub(crate) struct Messages<Q, A>(PhantomData<fn(Q) -> A>);

impl<Q, A> Messages<Q, A> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<Q: Message + 'static, A: Message + Default + 'static> Codec for Messages<Q, A> {
    type Encode = Q;
    type Decode = A;
    type Encoder = Writing<Q>;
    type Decoder = Reading<A>;

    fn encoder(&mut self) -> Self::Encoder {
        Writing(PhantomData)
    }

    fn decoder(&mut self) -> Self::Decoder {
        Reading(PhantomData)
    }
}

pub(crate) struct Writing<Q>(PhantomData<fn(Q)>);

impl<Q: Message> Encoder for Writing<Q> {
    type Item = Q;
    type Error = Status;

    fn encode(&mut self, message: Q, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

pub(crate) struct Reading<A>(PhantomData<fn() -> A>);

impl<A: Message + Default> Decoder for Reading<A> {
    type Item = A;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<A>, Status> {
        A::decode(buffer).map(Some).map_err(|error| {
            let mut status = Status::new(Code::Internal, error.to_string());
            status.set_source(Arc::new(Undecodable(error)));
            status
        })
    }
}
