//! Handles function calls.

use wardian_value::Value;

use super::Service;
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::{FunctionError, codec};

impl Service {
    pub(crate) fn call_function(
        &self,
        name: &str,
        arguments: &[Vec<u8>],
    ) -> Result<Vec<u8>, protocol::FunctionError> {
        self.function_answer(name, arguments)
            .map_err(|error| protocol::FunctionError { text: error.text, function_argument: error.argument })
    }

    fn function_answer(&self, name: &str, arguments: &[Vec<u8>]) -> Result<Vec<u8>, FunctionError> {
        let Some(function) = self.parts.functions.get(name) else {
            return Err(FunctionError::new(format!("the provider has no function {name:?}")));
        };
        let signature = &function.signature;
        let least = signature.parameters.len();
        if arguments.len() < least || (arguments.len() > least && signature.variadic.is_none()) {
            return Err(FunctionError::new(format!(
                "{least} arguments are required, got {}",
                arguments.len()
            )));
        }
        let arguments: Vec<Value> = (0u64..)
            .zip(arguments)
            .zip(signature.parameters.iter().chain(signature.variadic.iter().cycle()))
            .map(|((index, bytes), parameter)| {
                codec::decode(bytes, &parameter.ty).map_err(|error| FunctionError::argument(index, error))
            })
            .collect::<Result<_, _>>()?;
        let answer = (function.run)(&arguments, signature)?;
        codec::encode(&answer, &signature.returns).map_err(FunctionError::new)
    }
}
