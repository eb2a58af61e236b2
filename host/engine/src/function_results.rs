//! Records the results of provider functions, to detect a function that returns different results
//! for the same arguments: an apply must compute the same values as its plan.
//!
//! Only digests are stored, since arguments and results can be sensitive or large.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use wardian_address::ProviderAddress;
use wardian_value::{Type, Value, msgpack};

/// The SHA-256 of a call or of a result.
pub type CallDigest = [u8; 32];

/// The digests of results, by the digest of the provider, the function and the arguments.
#[derive(Clone, Debug, Default)]
pub struct FunctionResults(Arc<Mutex<BTreeMap<CallDigest, CallDigest>>>);

/// Whether a call returned the same result as an earlier call with the same arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// The call returned the same result, is the first such call, or has unknown values.
    Consistent,
    /// The call returned a different result.
    Inconsistent,
}

impl FunctionResults {
    /// Returns the results of a plan.
    pub fn from_plan(planned: &BTreeMap<CallDigest, CallDigest>) -> Self {
        Self(Arc::new(Mutex::new(planned.clone())))
    }

    pub fn recorded(&self) -> BTreeMap<CallDigest, CallDigest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the result of a call, and compares it with the recorded result.
    pub fn record(
        &self,
        provider: &ProviderAddress,
        function: &str,
        arguments: &[Value],
        result: &Value,
    ) -> Consistency {
        let known = result.is_wholly_known() && arguments.iter().all(Value::is_wholly_known);
        let digests = || Some((digest_of_call(provider, function, arguments)?, digest_of(result)?));
        let Some((call, result)) = known.then(digests).flatten() else { return Consistency::Consistent };
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *noted.entry(call).or_insert(result) == result {
            Consistency::Consistent
        } else {
            Consistency::Inconsistent
        }
    }
}

/// Returns the digest of a call. Each field is preceded by its length. Therefore, the encodings of
/// different calls are never equal.
fn digest_of_call(provider: &ProviderAddress, function: &str, arguments: &[Value]) -> Option<CallDigest> {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(part);
    };
    add(provider.to_string().as_bytes());
    add(function.as_bytes());
    for argument in arguments {
        add(&msgpack::encode(argument, &Type::Dynamic).ok()?);
    }
    Some(digest.finalize().into())
}

fn digest_of(value: &Value) -> Option<CallDigest> {
    Some(Sha256::digest(msgpack::encode(value, &Type::Dynamic).ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_result_for_same_call_is_inconsistent() {
        let results = FunctionResults::default();
        let provider: ProviderAddress = "example.com/test/memory".parse().unwrap();
        let note = |results: &FunctionResults, arguments: &[&str], result: Value| {
            let arguments: Vec<Value> = arguments.iter().map(|text| Value::string(*text)).collect();
            results.record(&provider, "f", &arguments, &result)
        };
        assert_eq!(note(&results, &["a", "b"], Value::string("1")), Consistency::Consistent);
        assert_eq!(note(&results, &["a", "b"], Value::string("1")), Consistency::Consistent);
        assert_eq!(note(&results, &["ab"], Value::string("2")), Consistency::Consistent);
        assert_eq!(note(&results, &["a", "b"], Value::unknown(Type::String)), Consistency::Consistent);
        assert_eq!(note(&results, &["a", "b"], Value::string("2")), Consistency::Inconsistent);
        let later = FunctionResults::from_plan(&results.recorded());
        assert_eq!(note(&later, &["ab"], Value::string("3")), Consistency::Inconsistent);
    }
}
