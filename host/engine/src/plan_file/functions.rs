//! Encodes the results of provider functions in a plan file.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::PlanFileError;
use crate::function_results::CallDigest;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FunctionContents {
    call: String,
    result: String,
}

pub(super) fn encode(results: &BTreeMap<CallDigest, CallDigest>) -> Vec<FunctionContents> {
    results
        .iter()
        .map(|(call, result)| FunctionContents { call: BASE64.encode(call), result: BASE64.encode(result) })
        .collect()
}

pub(super) fn decode(
    results: &[FunctionContents],
) -> Result<BTreeMap<CallDigest, CallDigest>, PlanFileError> {
    results.iter().map(|stored| Ok((digest(&stored.call)?, digest(&stored.result)?))).collect()
}

fn digest(text: &str) -> Result<CallDigest, PlanFileError> {
    let bytes = BASE64.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| PlanFileError::Damaged {
        part: "plan.json",
        problem: "the digest of a function's result is not valid".into(),
    })
}
