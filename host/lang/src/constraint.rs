//! Type constraints: `list(object({ a = optional(string, "x") }))`.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_value::{ObjectType, Str, Type, Value, View, convert};

use crate::{Call, Expression};

/// A type to which values are converted, with the defaults of optional attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeConstraint {
    /// The type; attributes may be optional.
    pub ty: Type,
    /// The defaults of absent attributes.
    pub defaults: Option<Box<Defaults>>,
}

/// The defaults of a type and of its nested types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// For an object: defaults by attribute.
    pub values: BTreeMap<Str, Value>,
    /// Defaults of nested types, by attribute name. For tuples, the key is the decimal index; for
    /// the elements of a collection, it is the empty name.
    pub children: BTreeMap<Str, Defaults>,
}

/// The key of [`Defaults::children`] for the elements of a collection.
const ELEMENT: &str = "";

impl TypeConstraint {
    /// Returns the constraint that accepts any type.
    pub fn any() -> Self {
        Self::from_type(Type::Dynamic)
    }

    /// Returns a type without defaults.
    pub fn from_type(ty: Type) -> Self {
        Self { ty, defaults: None }
    }

    /// Parses a type constraint in the syntax of `variable` blocks. The legacy quoted forms
    /// (`"string"`, `"list"`, `"map"`) are accepted.
    ///
    /// # Errors
    ///
    /// Returns an error if the expression is not a type.
    pub fn parse(expression: &Expression) -> Result<Self, Diagnostics> {
        let legacy = match expression.as_keyword() {
            Some(keyword) => legacy_collection(keyword),
            None => expression.as_quoted().and_then(legacy_quoted_type),
        };
        match legacy {
            Some(ty) => Ok(Self::from_type(ty)),
            None => parse(expression),
        }
    }

    /// Adds the defaults and converts the value.
    ///
    /// # Errors
    ///
    /// Returns a description of the problem, as part of a sentence, if the value cannot be converted.
    pub fn apply(&self, value: &Value) -> Result<Value, String> {
        let completed = match &self.defaults {
            Some(defaults) => defaults.apply(value),
            None => value.clone(),
        };
        convert::convert(&completed, &self.ty).map_err(|error| error.to_string())
    }
}

fn legacy_quoted_type(name: &str) -> Option<Type> {
    if name == "string" { Some(Type::String) } else { legacy_collection(name) }
}

/// Returns the legacy types without an element type, which cannot be nested.
fn legacy_collection(name: &str) -> Option<Type> {
    Some(match name {
        "list" => Type::list(Type::Dynamic),
        "map" => Type::map(Type::Dynamic),
        _ => return None,
    })
}

fn invalid(detail: impl Into<String>, span: &Span) -> Diagnostics {
    Diagnostic::error("Invalid type specification", detail).at(span.clone()).into()
}

fn parse(expression: &Expression) -> Result<TypeConstraint, Diagnostics> {
    if let Some(name) = expression.as_keyword() {
        return keyword(name, expression.span());
    }
    let Some(call) = expression.as_call() else {
        return Err(invalid(
            "A type is required here: one of string, number, bool and any, or list(...), set(...), \
             map(...), object({...}) and tuple([...]).",
            expression.span(),
        ));
    };
    let takes_one =
        |name: &str, span: &Span| invalid(format!("The type \"{name}\" takes exactly one argument."), span);
    let argument = match (&*call.name, call.arguments.as_slice()) {
        ("optional", _) => return Err(optional_outside(&call.name_span)),
        (name @ ("string" | "number" | "bool" | "any"), _) => {
            let detail = format!("The type \"{name}\" takes no argument.");
            return Err(invalid(detail, &arguments_span(expression, &call)));
        }
        ("list" | "set" | "map" | "object" | "tuple", [argument]) => argument,
        (name @ ("list" | "set" | "map" | "object" | "tuple"), [_, second, .., last]) => {
            let (second, last) = (second.span(), last.span());
            return Err(takes_one(name, &Span::new(&second.file, second.start, last.end)));
        }
        (name @ ("list" | "set" | "map" | "object" | "tuple"), [_, second]) => {
            return Err(takes_one(name, second.span()));
        }
        (name @ ("list" | "set" | "map" | "object" | "tuple"), []) => {
            return Err(takes_one(name, &arguments_span(expression, &call)));
        }
        (name, _) => return Err(unknown(name, expression.span())),
    };
    match &*call.name {
        "list" => Ok(collection(parse(argument)?, Type::list)),
        "set" => Ok(collection(parse(argument)?, Type::set)),
        "map" => Ok(collection(parse(argument)?, Type::map)),
        "object" => object(argument),
        _ => tuple(argument),
    }
}

/// Returns the span of the arguments of a call with their parentheses.
fn arguments_span(expression: &Expression, call: &Call) -> Span {
    let (name, whole) = (&call.name_span, expression.span());
    Span::new(&whole.file, name.end.min(whole.end), whole.end)
}

fn optional_outside(span: &Span) -> Diagnostics {
    invalid("optional(...) is only allowed for an attribute of an object type.", span)
}

fn unknown(name: &str, span: &Span) -> Diagnostics {
    const NAMES: [&str; 9] = ["any", "bool", "list", "map", "number", "object", "set", "string", "tuple"];
    let meant = wardian_diagnostic::did_you_mean(name, NAMES);
    invalid(format!("\"{name}\" is not a type.{meant}"), span)
}

fn keyword(name: &str, span: &Span) -> Result<TypeConstraint, Diagnostics> {
    Ok(TypeConstraint::from_type(match name {
        "string" => Type::String,
        "number" => Type::Number,
        "bool" => Type::Bool,
        "any" => Type::Dynamic,
        "list" | "map" | "set" | "object" | "tuple" => {
            return Err(invalid(format!("The type \"{name}\" needs an argument in parentheses."), span));
        }
        _ => return Err(unknown(name, span)),
    }))
}

fn collection(element: TypeConstraint, make: fn(Type) -> Type) -> TypeConstraint {
    let defaults = element.defaults.map(|inner| {
        Box::new(Defaults {
            values: BTreeMap::new(),
            children: BTreeMap::from([(Str::new(ELEMENT), *inner)]),
        })
    });
    TypeConstraint { ty: make(element.ty), defaults }
}

fn tuple(argument: &Expression) -> Result<TypeConstraint, Diagnostics> {
    let Some(items) = argument.as_tuple_items() else {
        return Err(invalid(
            "A tuple type needs a list of element types: tuple([string, number]).",
            argument.span(),
        ));
    };
    let mut problems = Diagnostics::new();
    let mut types = Vec::with_capacity(items.len());
    let mut defaults = Defaults::default();
    for (index, item) in items.iter().enumerate() {
        if let Some(constraint) = problems.collect(parse(item)) {
            if let Some(inner) = constraint.defaults {
                defaults.children.insert(index.to_string().into(), *inner);
            }
            types.push(constraint.ty);
        }
    }
    problems.into_result(TypeConstraint { ty: Type::tuple(types), defaults: defaults.boxed() })
}

fn object(argument: &Expression) -> Result<TypeConstraint, Diagnostics> {
    let Some(items) = argument.as_object_items() else {
        return Err(invalid(
            "An object type needs a map from attribute names to types: object({ name = string }).",
            argument.span(),
        ));
    };
    let mut problems = Diagnostics::new();
    let mut attributes: Vec<(Str, Type, bool)> = Vec::with_capacity(items.len());
    let mut defaults = Defaults::default();
    for (key, item) in &items {
        let Some(name) = key.as_keyword().map(Str::new) else {
            problems.extend(invalid("An attribute name without quotes is required here.", key.span()));
            continue;
        };
        if attributes.iter().any(|(known, _, _)| *known == name) {
            let detail = format!("The object type already has an attribute \"{name}\".");
            problems.extend(invalid(detail, key.span()));
            continue;
        }
        let attribute = problems.collect(attribute(item));
        let Some((constraint, optional, default)) = attribute else { continue };
        if let Some(inner) = constraint.defaults {
            defaults.children.insert(name.clone(), *inner);
        }
        if let Some(default) = default {
            defaults.values.insert(name.clone(), default);
        }
        attributes.push((name, constraint.ty, optional));
    }
    let ty = Type::Object(Arc::new(ObjectType::with_optional(attributes)));
    problems.into_result(TypeConstraint { ty, defaults: defaults.boxed() })
}

type AttributeConstraint = (TypeConstraint, bool, Option<Value>);

fn attribute(item: &Expression) -> Result<AttributeConstraint, Diagnostics> {
    let Some(call) = item.as_call().filter(|call| &*call.name == "optional") else {
        return Ok((parse(item)?, false, None));
    };
    let (ty, default) = match call.arguments.as_slice() {
        [ty] => (ty, None),
        [ty, default] => (ty, Some(default)),
        _ => {
            let detail = "optional(...) takes a type and, optionally, a default.";
            return Err(invalid(detail, &arguments_span(item, &call)));
        }
    };
    let constraint = parse(ty)?;
    let Some(default) = default else { return Ok((constraint, true, None)) };
    let value = default.evaluate_constant()?;
    let value = constraint.apply(&value).map_err(|reason| {
        let detail = format!("This default does not match the attribute's type: {reason}.");
        Diagnostics::from(
            Diagnostic::error("Invalid default value for optional attribute", detail)
                .at(default.span().clone()),
        )
    })?;
    Ok((constraint, true, Some(value)))
}

impl Defaults {
    fn boxed(self) -> Option<Box<Self>> {
        if self.values.is_empty() && self.children.is_empty() { None } else { Some(Box::new(self)) }
    }

    /// Returns the value with defaults for attributes that are absent or null.
    pub fn apply(&self, value: &Value) -> Value {
        if value.is_null() || !value.is_known() {
            return value.clone();
        }
        let marks = value.marks();
        let element = self.children.get(ELEMENT);
        let result = match value.view() {
            // If defaults give elements different types, the subsequent conversion unifies the
            // types; until then, the elements form a tuple.
            View::List(items) | View::Set(items) | View::Tuple(items) => {
                Value::tuple(items.iter().enumerate().map(|(index, item)| {
                    let inner = element.or_else(|| self.children.get(index.to_string().as_str()));
                    inner.map_or_else(|| item.clone(), |defaults| defaults.apply(item))
                }))
            }
            View::Map(items) | View::Object(items) => {
                let mut completed: BTreeMap<Str, Value> = items
                    .iter()
                    .map(|(name, item)| {
                        let inner = element.or_else(|| self.children.get(name));
                        let item = inner.map_or_else(|| item.clone(), |inner| inner.apply(item));
                        (name.clone(), item)
                    })
                    .collect();
                for (name, default) in &self.values {
                    if completed.get(name).is_none_or(Value::is_null) {
                        let inner = self.children.get(name);
                        let default = inner.map_or_else(|| default.clone(), |inner| inner.apply(default));
                        completed.insert(name.clone(), default);
                    }
                }
                Value::object(completed)
            }
            _ => return value.clone(),
        };
        result.with_marks(marks)
    }
}
