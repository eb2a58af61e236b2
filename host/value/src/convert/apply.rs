//! Converts values, as the table in the module `convert` specifies.

use super::error::{ConversionError, ConversionProblem};
use super::possible::{common_element, explain, is_possible};
use super::unify::{unify, unify_in};
use crate::codec::{Failure, index_step};
use crate::mapping::{Entries, Mapping};
use crate::{Number, NumberError, PathStep, Refinement, Type, Value, View};

type Result<T> = std::result::Result<T, Failure<ConversionProblem>>;

/// Converts a value to a type if the table in the module documentation allows it. A value that
/// already has the type is shared. Absent optional attributes become null.
///
/// # Errors
/// Returns an error if there is no conversion between the types, or if this value cannot be converted.
pub fn convert(value: &Value, ty: &Type) -> std::result::Result<Value, ConversionError> {
    if value.ty() == ty || matches!(ty, Type::Dynamic) {
        return Ok(value.clone());
    }
    Ok(convert_checked(value, ty)?)
}

fn convert_checked(value: &Value, ty: &Type) -> Result<Value> {
    if !is_possible(value.ty(), ty) {
        return Err(explain(value.ty(), ty));
    }
    let plain = ty.without_optional();
    Target { ty, plain: &plain, exact: !ty.has_dynamic() }.convert(value)
}

/// The type to which a value is converted.
#[derive(Clone, Copy)]
struct Target<'a> {
    ty: &'a Type,
    /// The type without optional attributes.
    plain: &'a Type,
    /// True if the type contains no dynamic type. In this case, `plain` is the type of every
    /// result.
    exact: bool,
}

impl<'a> Target<'a> {
    fn part(self, ty: &'a Type, plain: &'a Type) -> Self {
        Self { ty, plain, exact: self.exact }
    }

    fn convert(self, value: &Value) -> Result<Value> {
        if value.ty() == self.plain || matches!(self.ty, Type::Dynamic) {
            return Ok(value.clone());
        }
        if !value.marks().is_empty() {
            let marks = value.marks();
            return Ok(self.convert(&value.clone().unmark())?.with_marks(marks));
        }
        match value.view() {
            View::Null => Ok(Value::null_exact(fill_dynamic(value.ty(), self.plain))),
            View::Unknown => Ok(unknown(value, fill_dynamic(value.ty(), self.plain))),
            _ => self.convert_known(value),
        }
    }

    fn convert_known(self, value: &Value) -> Result<Value> {
        match (value.view(), self.ty, self.plain) {
            (View::Number(number), Type::String, _) => Ok(Value::string(number.to_string())),
            (View::Bool(value), Type::String, _) => Ok(Value::string(if value { "true" } else { "false" })),
            (View::String(text), Type::Number, _) => match Number::parse(text) {
                Ok(number) => Ok(Value::number(number)),
                Err(NumberError::NotANumber) => Err(ConversionProblem::Required(Type::Number).into()),
                Err(error) => Err(ConversionProblem::Number(error).into()),
            },
            (View::String(text), Type::Bool, _) => parse_bool(text),
            (
                View::List(elements) | View::Set(elements) | View::Tuple(elements),
                Type::List(element) | Type::Set(element),
                Type::List(plain) | Type::Set(plain),
            ) => self.sequence(value, elements, element, plain),
            (View::Tuple(elements), Type::Tuple(types), Type::Tuple(plains))
                if elements.len() == types.len() =>
            {
                let parts = elements.iter().zip(types.iter().zip(plains.iter()));
                let converted = parts.enumerate().map(|(index, (element, (ty, plain)))| {
                    let result = self.part(ty, plain).convert(element);
                    result.map_err(|failure| failure.below(index_step(index)))
                });
                let converted: Vec<Value> = converted.collect::<Result<_>>()?;
                Ok(if self.exact {
                    Value::sequence(self.plain.clone(), converted.into())
                } else {
                    Value::tuple(converted)
                })
            }
            (View::Map(elements) | View::Object(elements), Type::Map(element), Type::Map(plain)) => {
                self.map(value, elements, element, plain)
            }
            (View::Map(elements) | View::Object(elements), Type::Object(_), Type::Object(_)) => {
                self.object(value, elements)
            }
            // The type of the value was not known when the conversion was checked.
            _ => Err(explain(value.ty(), self.ty)),
        }
    }

    fn object(self, value: &Value, parts: Mapping<'_>) -> Result<Value> {
        let (Type::Object(object), Type::Object(plain)) = (self.ty, self.plain) else {
            return Err(explain(value.ty(), self.ty));
        };
        let is_map = matches!(value.ty(), Type::Map(_));
        let mut attributes = Entries::default();
        let mut missing = Vec::new();
        for ((name, ty), (_, plain)) in object.iter().zip(plain.iter()) {
            let converted = match parts.get(name) {
                Some(part) => self.part(ty, plain).convert(part).map_err(|failure| {
                    let name = name.clone();
                    failure.below(if is_map { PathStep::Key(name) } else { PathStep::Attribute(name) })
                })?,
                None if object.is_optional(name) => Value::null_exact(plain.clone()),
                None => {
                    missing.push(name.clone());
                    continue;
                }
            };
            attributes.insert(name.clone(), converted);
        }
        if !missing.is_empty() {
            return Err(ConversionProblem::MissingAttributes(missing).into());
        }
        Ok(if self.exact {
            Value::mapping(self.plain.clone(), attributes.build())
        } else {
            Value::from_attributes(attributes.build())
        })
    }

    fn sequence(
        self,
        value: &Value,
        elements: &[Value],
        element: &'a Type,
        plain: &'a Type,
    ) -> Result<Value> {
        let is_set = matches!(self.ty, Type::Set(_));
        let name = if is_set { "set" } else { "list" };
        let common = match (element, value.ty()) {
            (Type::Dynamic, Type::Tuple(types)) => {
                let types: Vec<&Type> = types.iter().collect();
                common_element(&types).ok_or(ConversionProblem::NoCommonType(name))?
            }
            (Type::Dynamic, collection) => collection.element().cloned().unwrap_or(Type::Dynamic),
            _ => plain.clone(),
        };
        let target: Target<'_> = if matches!(element, Type::Dynamic) {
            Target { ty: &common, plain: &common, exact: !common.has_dynamic() }
        } else {
            Target { ty: element, plain, exact: self.exact }
        };
        let converted = elements
            .iter()
            .enumerate()
            .map(|(index, part)| target.convert(part).map_err(|failure| failure.below(index_step(index))));
        let mut converted: Vec<Value> = converted.collect::<Result<_>>()?;
        let element = target.common_element_type(converted.iter_mut(), value.ty().element(), name)?;
        if is_set {
            return Ok(Value::set(element, converted));
        }
        // The number of elements of a set with unknown elements is unknown: some may turn out to
        // be equal.
        if matches!(value.ty(), Type::Set(_)) && elements.len() > 1 && !value.is_wholly_known() {
            return Ok(Value::unknown(Type::list(element)));
        }
        Ok(Value::list(element, converted))
    }

    fn map(self, value: &Value, elements: Mapping<'_>, element: &'a Type, plain: &'a Type) -> Result<Value> {
        let common = match (element, value.ty()) {
            (Type::Dynamic, Type::Object(object)) => {
                let types: Vec<&Type> = object.iter().map(|(_, ty)| ty).collect();
                common_element(&types).ok_or(ConversionProblem::NoCommonType("map"))?
            }
            (Type::Dynamic, collection) => collection.element().cloned().unwrap_or(Type::Dynamic),
            _ => plain.clone(),
        };
        let target: Target<'_> = if matches!(element, Type::Dynamic) {
            Target { ty: &common, plain: &common, exact: !common.has_dynamic() }
        } else {
            Target { ty: element, plain, exact: self.exact }
        };
        let mut converted = Entries::default();
        for (key, part) in elements {
            let result = target.convert(part).map_err(|failure| failure.below(PathStep::Key(key.clone())))?;
            converted.insert(key.clone(), result);
        }
        let element = target.common_element_type(converted.values_mut(), value.ty().element(), "map")?;
        Ok(Value::map(element, converted))
    }

    /// Returns the common type of converted elements. If the target type contains a dynamic type,
    /// the types of the elements may differ, and are unified unless the collection is a set.
    /// Unknown types, such as the type of null, are replaced by the type of the other elements.
    fn common_element_type<'v>(
        self,
        elements: impl Iterator<Item = &'v mut Value>,
        before: Option<&Type>,
        collection: &'static str,
    ) -> Result<Type> {
        if self.exact {
            return Ok(self.plain.clone());
        }
        let mut elements: Vec<&mut Value> = elements.collect();
        let Some(first) = elements.first() else {
            return Ok(before.map_or_else(|| self.plain.clone(), |before| fill_dynamic(before, self.plain)));
        };
        let first = first.ty().clone();
        if elements.iter().all(|element| *element.ty() == first) {
            return Ok(first);
        }
        // Different element types of a set are never unified.
        if collection == "set" {
            return Err(ConversionProblem::NoCommonType(collection).into());
        }
        let types: Vec<Type> = elements.iter().map(|element| element.ty().clone()).collect();
        let types: Vec<&Type> = types.iter().collect();
        let common = unify_in(&types);
        let common = common.ok_or(ConversionProblem::NoCommonType(collection))?;
        for element in &mut elements {
            let converted = convert_checked(element, &common)?;
            if *converted.ty() != common {
                return Err(ConversionProblem::NoCommonType(collection).into());
            }
            **element = converted;
        }
        Ok(common)
    }
}

fn parse_bool(text: &str) -> Result<Value> {
    match text {
        "true" | "1" => Ok(Value::bool(true)),
        "false" | "0" => Ok(Value::bool(false)),
        _ if text.eq_ignore_ascii_case("true") => Err(ConversionProblem::BoolInLowercase(true).into()),
        _ if text.eq_ignore_ascii_case("false") => Err(ConversionProblem::BoolInLowercase(false).into()),
        _ => Err(ConversionProblem::Required(Type::Bool).into()),
    }
}

/// Returns an unknown value of the new type, with the parts of the refinement that still apply.
fn unknown(value: &Value, ty: Type) -> Value {
    let mut refinement = Refinement { not_null: value.is_definitely_not_null(), ..Refinement::default() };
    match (value.ty(), &ty) {
        (Type::Object(object), Type::Map(_)) => {
            (refinement.min_length, refinement.max_length) = (Some(object.len()), Some(object.len()));
        }
        (Type::Tuple(types), Type::List(_)) => {
            (refinement.min_length, refinement.max_length) = (Some(types.len()), Some(types.len()));
        }
        (Type::Tuple(types), Type::Set(_)) => {
            (refinement.min_length, refinement.max_length) = (Some(types.len().min(1)), Some(types.len()));
        }
        (from, to) if from.is_collection() && to.is_collection() => {
            let before = value.refinement();
            let min = before.and_then(|before| before.min_length);
            // Set elements may turn out to be equal, but at least one remains.
            refinement.min_length =
                if matches!(to, Type::Set(_)) { min.map(|length| length.min(1)) } else { min };
            refinement.max_length = before.and_then(|before| before.max_length);
        }
        _ => {}
    }
    refinement.min_length = refinement.min_length.filter(|length| *length > 0);
    Value::unknown_with(ty, refinement)
}

/// Returns `to` with its dynamic types replaced by the corresponding types of `from`. This is the
/// type of nulls and unknown values.
fn fill_dynamic(from: &Type, to: &Type) -> Type {
    if matches!(from, Type::Dynamic) || !to.has_dynamic() {
        return to.clone();
    }
    let common = |types: Vec<Type>| unify(&types).unwrap_or(Type::Dynamic);
    let element_of = |from: &Type| match from {
        Type::Tuple(types) => common(types.to_vec()),
        Type::Object(object) => common(object.iter().map(|(_, ty)| ty.clone()).collect()),
        from => from.element().cloned().unwrap_or(Type::Dynamic),
    };
    match (from, to) {
        (_, Type::Dynamic) => from.clone(),
        (_, Type::List(element)) => Type::list(fill_dynamic(&element_of(from), element)),
        (_, Type::Set(element)) => Type::set(fill_dynamic(&element_of(from), element)),
        (_, Type::Map(element)) => Type::map(fill_dynamic(&element_of(from), element)),
        (Type::Tuple(types), Type::Tuple(wanted)) if types.len() == wanted.len() => {
            Type::tuple(types.iter().zip(wanted.iter()).map(|(from, to)| fill_dynamic(from, to)))
        }
        (Type::Object(object), Type::Object(wanted)) => Type::object(wanted.iter().map(|(name, to)| {
            let from = object.attribute(name).unwrap_or(&Type::Dynamic);
            (name.clone(), fill_dynamic(from, to))
        })),
        (Type::Map(element), Type::Object(wanted)) => {
            Type::object(wanted.iter().map(|(name, to)| (name.clone(), fill_dynamic(element, to))))
        }
        _ => to.clone(),
    }
}
