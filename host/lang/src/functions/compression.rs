//! The functions that compress text with gzip and encode it in Base64. All implementations produce
//! the same decompressed bytes, but the compressed bytes and their number depend on the compressor.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use wardian_value::Value;

use super::{Body, Failure, Function, Outcome, Parameter, ResultType};
use super::{encoding, string, text};

const STR: &[Parameter] = &[string("str")];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("base64gunzip", STR, ResultType::String, Body::Pure(base64gunzip)),
    Function::new("base64gzip", STR, ResultType::String, Body::Pure(base64gzip)),
];

/// Maximum decompressed size. It is limited because a few bytes can expand to any size.
const MAX_DECOMPRESSED: u64 = 64 * 1024 * 1024;

fn base64gzip(arguments: &[Value]) -> Outcome {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(text(arguments, 0).as_bytes()).and_then(|()| encoder.finish());
    let packed = packed.map_err(|error| Failure::call(format!("the text cannot be compressed: {error}")))?;
    Ok(Value::string(STANDARD.encode(packed)))
}

fn base64gunzip(arguments: &[Value]) -> Outcome {
    let packed = encoding::decode(text(arguments, 0))?;
    let mut unpacked = Vec::new();
    GzDecoder::new(packed.as_slice())
        .take(MAX_DECOMPRESSED + 1)
        .read_to_end(&mut unpacked)
        .map_err(|error| Failure::argument(0, format!("the content is not in gzip format: {error}")))?;
    if u64::try_from(unpacked.len()).map_or(true, |length| length > MAX_DECOMPRESSED) {
        return Err(Failure::argument(0, format!("it decompresses to more than {MAX_DECOMPRESSED} bytes")));
    }
    let text = String::from_utf8(unpacked)
        .map_err(|_| Failure::argument(0, "the decompressed content is not UTF-8 text"))?;
    Ok(Value::string(text))
}
