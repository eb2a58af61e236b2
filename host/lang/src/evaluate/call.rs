//! Evaluates function calls.

use std::sync::Arc;

use wardian_diagnostic::{
    Diagnostic, Diagnostics, FunctionNote, ParameterNote, SignatureNote, SourceFile, Span,
};
use wardian_value::{Marks, Refinement, Type, Value, convert};

use super::{Evaluated, Evaluation};
use crate::budget::{Allowance, ELEMENT, Exceeded};
use crate::functions::{self, Body, Failure, Function, Lazy, signature};
use crate::node::{Call, Kind, Node, Target};
use crate::provider_call::{CallParts, ProviderCall};
use crate::{Expression, ParameterSignature, TypeConstraint};

/// Returns the error in a call that does not depend on values.
pub(crate) fn check_call(file: &Arc<SourceFile>, node: &Node, call: &Call) -> Option<Diagnostic> {
    match &call.target {
        Target::Unknown => Some(unknown(call, file)),
        Target::BuiltIn(function) if !call.expands => {
            check_count(function, call.arguments.len(), call, node, file)
                .map(|problem| with_function_note(problem, function, call))
        }
        _ => None,
    }
}

fn unknown(call: &Call, file: &Arc<SourceFile>) -> Diagnostic {
    functions::unknown(&call.name, Span::new(file, call.name_span.0, call.name_span.1))
}

/// Returns the span of an argument in errors. The elements of the expanded last argument have its
/// span.
fn argument_span(call: &Call, position: usize, text: &str) -> Option<(usize, usize)> {
    let last = call.arguments.last()?;
    match call.arguments.get(position) {
        Some(argument) if !call.expands || position + 1 < call.arguments.len() => {
            Some(argument.beginning(text))
        }
        _ => Some((last.start, last.end)),
    }
}

/// Adds the function and the position of its call to a diagnostic.
fn with_function_note(mut problem: Diagnostic, function: &Function, call: &Call) -> Diagnostic {
    let note = FunctionNote { called_as: call.name.clone(), signature: Some(signature_note(function)) };
    problem.function = Some(Box::new(note));
    problem
}

fn signature_note(function: &Function) -> SignatureNote {
    let signature = signature(function);
    let note =
        |parameter: ParameterSignature| ParameterNote { name: parameter.name.into(), ty: parameter.ty };
    SignatureNote {
        name: signature.name.into(),
        parameters: signature.parameters.into_iter().map(note).collect(),
        variadic: signature.variadic.map(note),
        result: signature.result,
    }
}

fn check_count(
    function: &Function,
    given: usize,
    call: &Call,
    node: &Node,
    file: &Arc<SourceFile>,
) -> Option<Diagnostic> {
    let expected = function.parameters.len();
    let plural = if expected == 1 { "" } else { "s" };
    if given < expected {
        let missing = function.parameters.get(given).map_or("", |parameter| parameter.name);
        let at_least = if function.variadic.is_some() { "at least " } else { "" };
        return Some(
            Diagnostic::error(
                "Not enough function arguments",
                format!(
                    "The function \"{}\" takes {at_least}{expected} argument{plural}; the argument for \
                     \"{missing}\" is missing.",
                    call.name
                ),
            )
            .at(Span::new(file, node.end.saturating_sub(1), node.end)),
        );
    }
    if given > expected && function.variadic.is_none() {
        let (start, end) = argument_span(call, expected, file.text()).unwrap_or((node.start, node.end));
        let span = Span::new(file, start, end);
        return Some(
            Diagnostic::error(
                "Too many function arguments",
                format!("The function \"{}\" takes only {expected} argument{plural}.", call.name),
            )
            .at(span),
        );
    }
    None
}

impl Evaluation<'_> {
    pub(super) fn call(&mut self, call: &Call, node: &Node) -> Evaluated {
        match &call.target {
            Target::Unknown => Err(unknown(call, self.file).into()),
            Target::BuiltIn(function) => match function.body {
                Body::Lazy(Lazy::Try) => self.try_each(call, node),
                Body::Lazy(Lazy::Can) => self.can(call, node),
                Body::Lazy(Lazy::Convert) => self.convert(function, call, node),
                _ => match self.arguments(call, node)? {
                    Some(arguments) => self.built_in(function, call, arguments, node),
                    None => Ok(Value::unknown(Type::Dynamic)),
                },
            },
            Target::Provider { provider, function } => {
                let Some(arguments) = self.arguments(call, node)? else {
                    return Ok(Value::unknown(Type::Dynamic));
                };
                let mut marks = Marks::NONE;
                let values: Vec<Value> = arguments
                    .into_iter()
                    .map(|value| {
                        marks |= value.inside_marks();
                        value.unmark_deep()
                    })
                    .collect();
                let parts = CallParts { call, node, file: self.file };
                let call = ProviderCall::new(provider, function, &values, marks.is_sensitive(), parts);
                let result = self.scope.call_provider_function(&call)?;
                self.spend_value(&result, node)?;
                Ok(result.with_marks(marks))
            }
        }
    }

    /// Evaluates the arguments and expands the last one if requested; returns `None` if their
    /// number is unknown.
    fn arguments(&mut self, call: &Call, node: &Node) -> Result<Option<Vec<Value>>, Diagnostics> {
        const SUMMARY: &str = "Invalid expanding argument value";
        let mut values = self.all(&call.arguments)?;
        let Some(last) = call.arguments.last().filter(|_| call.expands) else {
            return Ok(Some(values));
        };
        let Some(expanded) = values.pop() else { return Ok(Some(values)) };
        let place = (last.start, last.end);
        if expanded.is_null() {
            let detail = "The argument to be expanded (before \"...\") is null.";
            return Err(self.problem_at(SUMMARY, detail, place, node).into());
        }
        let marks = expanded.marks();
        let elements = match expanded.ty() {
            Type::Dynamic => return Ok(None),
            Type::List(_) | Type::Set(_) | Type::Tuple(_) => match expanded.as_elements() {
                Some(elements) => elements,
                None => return Ok(None),
            },
            ty => {
                let detail = format!(
                    "The argument to be expanded (before \"...\") must be a list, set or tuple, \
                     not a {}.",
                    ty.friendly_name()
                );
                return Err(self.problem_at(SUMMARY, &detail, place, node).into());
            }
        };
        self.spend(elements.len(), ELEMENT, node)?;
        values.extend(elements.iter().map(|element| element.clone().with_marks(marks)));
        Ok(Some(values))
    }

    fn built_in(
        &mut self,
        function: &Function,
        call: &Call,
        mut arguments: Vec<Value>,
        node: &Node,
    ) -> Evaluated {
        if let Some(diagnostic) = check_count(function, arguments.len(), call, node, self.file) {
            return Err(with_function_note(diagnostic, function, call).into());
        }
        if matches!(function.body, Body::Template(_))
            && let Some(failure) = template_problem(call, &arguments)
        {
            return Err(self.failed(function, failure, call, node));
        }
        let mut marks = Marks::NONE;
        let mut unknown = false;
        let mut dynamic = false;
        for (position, value) in arguments.iter_mut().enumerate() {
            let Some(parameter) = function.parameter(position) else { continue };
            let ty = parameter.ty.ty();
            if *value.ty() != ty && ty != Type::Dynamic {
                *value = match convert::convert(value, &ty) {
                    Ok(value) => {
                        self.spend_value(&value, node)?;
                        value
                    }
                    Err(error) => {
                        let failure = Failure::Argument(position, error.to_string());
                        return Err(self.failed(function, failure, call, node));
                    }
                };
            }
            if value.is_null() && !parameter.null {
                let failure = Failure::argument(position, "it must not be null");
                return Err(self.failed(function, failure, call, node));
            }
            if !parameter.marked && !value.inside_marks().is_empty() {
                marks |= value.inside_marks();
                if value.marks() != value.inside_marks() {
                    self.spend_value(value, node)?;
                }
                *value = value.unmark_deep();
            }
            // The result is unknown for null, too: `format("%v", null)` is unknown.
            if *value.ty() == Type::Dynamic && !parameter.dynamic {
                dynamic = true;
            } else if !value.is_known() && !parameter.unknown {
                unknown = true;
            }
        }
        if dynamic || unknown {
            // Marks of nested values are excluded, because the result may not contain these values.
            marks = arguments.iter().fold(marks, |marks, argument| marks | argument.marks());
        }
        if dynamic {
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        }
        if unknown {
            let ty = match function.result.ty(&arguments) {
                Ok(ty) => ty,
                Err(failure) => {
                    return Err(self.failed(function, function.classify(failure), call, node));
                }
            };
            let result = if function.nullable { Value::unknown(ty) } else { unknown_result(ty) };
            return Ok(result.with_marks(marks));
        }
        let outcome = match function.body {
            Body::Pure(body) => body(&arguments),
            Body::Expanding(body) => {
                body(&arguments, Allowance(self.meter.budget.remaining(self.meter.spent)))
            }
            Body::Scoped(body) | Body::Template(body) => body(&arguments, self.scope),
            // `Lazy` bodies are evaluated by the caller, so this case does not occur.
            Body::Lazy(_) => Ok(Value::unknown(Type::Dynamic)),
        };
        match outcome {
            Ok(value) => {
                self.spend(1, value.owned_size(), node)?;
                self.checked(value.with_marks(marks), node)
            }
            Err(failure) => {
                let mut found = self.failed(function, function.classify(failure), call, node);
                if marks.is_sensitive() {
                    conceal(&mut found);
                }
                Err(found)
            }
        }
    }

    fn failed(&mut self, function: &Function, failure: Failure, call: &Call, node: &Node) -> Diagnostics {
        let summary = match &failure {
            Failure::Argument(..) => "Invalid function argument",
            _ => "Error in function call",
        };
        let is_about_call = matches!(failure, Failure::CallArgument(..));
        match failure {
            Failure::Argument(position, message) | Failure::CallArgument(position, message) => {
                let name = function.parameter(position).map_or("", |parameter| parameter.name);
                let detail = format!("The argument for \"{name}\" of \"{}\": {message}.", function.name);
                let argument = call.arguments.get(position).or(call.arguments.last());
                let place =
                    argument.map_or((node.start, node.end), |argument| (argument.start, argument.end));
                let span = if is_about_call {
                    call.opening()
                } else {
                    argument_span(call, position, self.file.text()).unwrap_or(place)
                };
                let problem = self.problem_at(summary, &detail, place, node).at(self.span(span));
                self.with_function_note(problem, function, call).into()
            }
            Failure::Call(message) => {
                let detail = format!("The call of \"{}\" failed: {message}.", function.name);
                let problem = self.problem(summary, &detail, node).at(self.span(call.opening()));
                self.with_function_note(problem, function, call).into()
            }
            Failure::Elsewhere(found) => found,
            Failure::TooLarge => {
                // The call would exceed any limit.
                let exceeded = self.meter.budget.exceeded(u64::MAX).unwrap_or(Exceeded::Expression);
                let problem = self.meter.budget.diagnostic(exceeded).at(self.span(call.opening()));
                self.with_function_note(problem, function, call).into()
            }
        }
    }

    /// Adds the function note, unless errors may be discarded: in that case, there can be many of
    /// them.
    fn with_function_note(&self, problem: Diagnostic, function: &Function, call: &Call) -> Diagnostic {
        if self.tentative { problem } else { with_function_note(problem, function, call) }
    }

    /// Returns the first argument that evaluates without error.
    fn try_each(&mut self, call: &Call, node: &Node) -> Evaluated {
        for argument in &call.arguments {
            match self.attempt(argument) {
                // The evaluation of an unknown value may still fail, so the result is unknown.
                Ok(value) if !value.is_wholly_known() => {
                    return Ok(Value::unknown(Type::Dynamic).with_marks(value.inside_marks()));
                }
                Ok(value) => return Ok(value),
                Err(_) => self.check_limit(argument)?,
            }
        }
        if call.arguments.is_empty() {
            let detail = "The function \"try\" takes at least one argument.";
            return Err(self
                .problem("Error in function call", detail, node)
                .at(self.span(call.opening()))
                .into());
        }
        let mut problems = Diagnostics::new();
        if !self.tentative {
            for argument in &call.arguments {
                problems.extend(self.node(argument).err().unwrap_or_default());
            }
        }
        let mut detail = "No argument of \"try\" could be evaluated:".to_owned();
        for problem in &problems {
            detail.push_str("\n  - ");
            detail.push_str(&problem.to_string());
        }
        Err(self.problem("Error in function call", &detail, node).at(self.span(call.opening())).into())
    }

    /// Evaluates an expression whose errors may be discarded. If the error is needed, the caller
    /// evaluates the expression again.
    pub(super) fn attempt(&mut self, node: &Node) -> Evaluated {
        let outer = std::mem::replace(&mut self.tentative, true);
        let result = self.node(node);
        self.tentative = outer;
        result
    }

    /// Returns an error if the evaluation has exceeded a limit. Attempts cannot suppress this
    /// error.
    pub(super) fn check_limit(&self, node: &Node) -> Result<(), Diagnostics> {
        match self.meter.budget.exceeded(self.meter.spent) {
            Some(exceeded) => Err(self.over_limit(exceeded, node)),
            None => Ok(()),
        }
    }

    fn convert(&mut self, function: &Function, call: &Call, node: &Node) -> Evaluated {
        let [value, ty] = call.arguments.as_slice() else {
            let detail = "The function \"convert\" takes a value and a type.";
            return Err(self.problem("Error in function call", detail, node).into());
        };
        if call.expands {
            let detail = "The type cannot come from an expanded argument.";
            return Err(self.problem("Invalid expanding argument value", detail, node).into());
        }
        let constraint = TypeConstraint::parse(&Expression::new(self.file, Arc::clone(ty)))?;
        let value = self.node(value)?;
        let converted = constraint
            .apply(&value)
            .map_err(|reason| self.failed(function, Failure::Argument(0, reason), call, node))?;
        self.spend_value(&converted, node)?;
        Ok(converted)
    }

    fn can(&mut self, call: &Call, node: &Node) -> Evaluated {
        let [argument] = call.arguments.as_slice() else {
            let detail = "The function \"can\" takes one argument.";
            return Err(self
                .problem("Error in function call", detail, node)
                .at(self.span(call.opening()))
                .into());
        };
        if call.expands {
            return match self.arguments(call, node)?.as_deref() {
                Some([value]) if value.is_wholly_known() => Ok(Value::bool(true)),
                Some([_]) => Ok(Value::unknown(Type::Bool)),
                None => Ok(Value::unknown(Type::Dynamic)),
                Some(_) => {
                    let detail = "The function \"can\" takes one argument.";
                    Err(self.problem("Error in function call", detail, node).into())
                }
            };
        }
        Ok(match self.attempt(argument) {
            Ok(value) if !value.is_wholly_known() => Value::unknown(Type::Bool),
            Ok(_) => Value::bool(true),
            Err(_) => {
                self.check_limit(argument)?;
                Value::bool(false)
            }
        })
    }
}

/// Returns an error if the template argument of a call is a template literal, since such a template
/// can be written directly in the configuration.
fn template_problem(call: &Call, arguments: &[Value]) -> Option<Failure> {
    let is_reference = match call.arguments.first().map(|argument| &argument.kind) {
        Some(Kind::Name(_) | Kind::Slot { .. }) => true,
        Some(Kind::Traverse { source, .. }) => matches!(source.kind, Kind::Slot { .. }),
        _ => false,
    };
    let ty = arguments.first()?.ty();
    if !is_reference {
        let reason = "the template must be a reference to a string defined elsewhere, such as a local \
            value; to render a template literal, write it without this function";
        Some(Failure::argument(0, reason))
    } else if arguments.first().is_some_and(Value::is_known) && *ty != Type::String {
        Some(Failure::argument(0, format!("the template must be a string, not a {}", ty.friendly_name())))
    } else {
        None
    }
}

/// Replaces messages that may contain a sensitive argument.
fn conceal(found: &mut Diagnostics) {
    for diagnostic in found.iter_mut() {
        "The error is not shown, because an argument is sensitive.".clone_into(&mut diagnostic.detail);
    }
}

fn unknown_result(ty: Type) -> Value {
    Value::unknown_with(ty, Refinement::not_null())
}
