//! Decodes JSON text to typed values.

use super::reader::{Kind, Reader};
use crate::codec::{DecodeError, DecodeProblem, Failure, assemble, index_step, required_name};
use crate::mapping::Entries;
use crate::{Number, ObjectType, PathStep, Str, Type, Value};

type Result<T> = std::result::Result<T, Failure<DecodeProblem>>;

/// Decodes a value of a type from the JSON encoding of state files and the plugin protocol. A
/// scalar of another type is accepted if no information is lost (a number for a string, `"1"` for a
/// bool). Absent attributes become null. Optional attributes of `ty` are treated as required.
///
/// # Errors
/// Returns an error if the text is not JSON, does not match the type, has more than
/// [`crate::MAX_DEPTH`] levels, or contains more than [`crate::MAX_VALUES`] values.
pub fn decode(text: impl AsRef<[u8]>, ty: &Type) -> std::result::Result<Value, DecodeError> {
    let mut reader = Reader::new(text.as_ref())?;
    let value = Decoder { reader: &mut reader }.value(&ty.without_optional(), !ty.has_dynamic())?;
    reader.end()?;
    Ok(value)
}

/// Maximum number of attributes for which memory is allocated before they are decoded.
const MAX_RESERVED: usize = 32;

struct Decoder<'a, 'r> {
    reader: &'r mut Reader<'a>,
}

impl Decoder<'_, '_> {
    /// Decodes a value. If `exact` is set, the type contains no dynamic type, so it is the type of
    /// the value.
    fn value(&mut self, ty: &Type, exact: bool) -> Result<Value> {
        self.reader.budget.spend(1)?;
        let kind = self.reader.peek()?;
        if kind == Kind::Null {
            self.reader.null()?;
            return Ok(Value::null_exact(ty.clone()));
        }
        match (ty, kind) {
            (Type::Dynamic, Kind::Object) => self.dynamic(),
            (Type::Bool, Kind::Bool) => Ok(Value::bool(self.reader.bool()?)),
            (Type::Bool, Kind::String) => match &*self.reader.string()? {
                "true" | "1" => Ok(Value::bool(true)),
                "false" | "0" => Ok(Value::bool(false)),
                _ => Err(DecodeProblem::Unexpected { expected: "a bool", found: "a string" }.into()),
            },
            (Type::Number, Kind::Number) => Ok(Value::number(Number::parse(self.reader.number()?)?)),
            (Type::Number, Kind::String) => Ok(Value::number(Number::parse(&self.reader.string()?)?)),
            (Type::String, Kind::String) => Ok(Value::string(&*self.reader.string()?)),
            (Type::String, Kind::Number) => Ok(Value::string(self.reader.number()?)),
            (Type::String, Kind::Bool) => {
                Ok(Value::string(if self.reader.bool()? { "true" } else { "false" }))
            }
            (Type::List(element) | Type::Set(element), Kind::Array) => {
                let elements = self.elements(element, exact)?;
                assemble::sequence(ty, elements, exact)
            }
            (Type::Tuple(types), Kind::Array) => self.tuple(ty, types, exact),
            (Type::Map(element), Kind::Object) => {
                let elements = self.map(element, exact)?;
                assemble::map(ty, elements, exact)
            }
            (Type::Object(object), Kind::Object) => self.object(ty, object, exact),
            _ => Err(DecodeProblem::Unexpected { expected: required_name(ty), found: kind.name() }.into()),
        }
    }

    fn elements(&mut self, element: &Type, exact: bool) -> Result<Vec<Value>> {
        self.reader.open()?;
        let (mut elements, mut first) = (Vec::new(), true);
        while self.reader.next(b']', &mut first)? {
            let value = self.value(element, exact);
            elements.push(value.map_err(|failure| failure.below(index_step(elements.len())))?);
        }
        Ok(elements)
    }

    fn tuple(&mut self, ty: &Type, types: &[Type], exact: bool) -> Result<Value> {
        self.reader.open()?;
        let (mut elements, mut first) = (Vec::new(), true);
        while self.reader.next(b']', &mut first)? {
            let Some(element) = types.get(elements.len()) else {
                let (expected, found) = (types.len(), elements.len() + 1);
                return Err(DecodeProblem::Length { expected, found }.into());
            };
            let value = self.value(element, exact);
            elements.push(value.map_err(|failure| failure.below(index_step(elements.len())))?);
        }
        if elements.len() != types.len() {
            let (expected, found) = (types.len(), elements.len());
            return Err(DecodeProblem::Length { expected, found }.into());
        }
        Ok(assemble::tuple(ty, elements, exact))
    }

    fn map(&mut self, element: &Type, exact: bool) -> Result<Entries> {
        self.reader.open()?;
        let (mut elements, mut first) = (Entries::default(), true);
        while self.reader.next(b'}', &mut first)? {
            let key = Str::new(&self.reader.key()?);
            let value = self.value(element, exact);
            let value = value.map_err(|failure| failure.below(PathStep::Key(key.clone())))?;
            elements.insert(key, value);
        }
        Ok(elements)
    }

    fn object(&mut self, ty: &Type, object: &ObjectType, exact: bool) -> Result<Value> {
        self.reader.open()?;
        let (mut attributes, mut first) = (Entries::with_capacity(object.len().min(MAX_RESERVED)), true);
        while self.reader.next(b'}', &mut first)? {
            let name = self.reader.key()?;
            let Some((name, attribute)) = object.entry(&name) else {
                return Err(DecodeProblem::UnexpectedAttribute(Str::new(&name)).into());
            };
            let value = self.value(attribute, exact);
            let value = value.map_err(|failure| failure.below(PathStep::Attribute(name.clone())))?;
            attributes.insert(name.clone(), value);
        }
        if attributes.len() < object.len() {
            self.reader.budget.spend(object.len() - attributes.len())?;
            for (name, attribute) in object.iter() {
                if !attributes.contains_key(name) {
                    attributes.insert(name.clone(), Value::null_exact(attribute.clone()));
                }
            }
        }
        Ok(assemble::object(ty, attributes, exact))
    }

    /// Decodes a value of dynamic type. The members `type` and `value` can be in either order; the
    /// value is decoded after its type.
    fn dynamic(&mut self) -> Result<Value> {
        self.reader.open()?;
        let (mut ty, mut value, mut waiting, mut first) = (None, None, None, true);
        while self.reader.next(b'}', &mut first)? {
            let key = self.reader.key()?;
            match (&*key, &ty) {
                ("type", _) => ty = Some(Type::read_json(self.reader)?.without_optional()),
                ("value", Some(ty)) => value = Some(self.value(ty, !ty.has_dynamic())?),
                ("value", None) => {
                    self.reader.peek()?;
                    waiting = Some(self.reader.position());
                    self.reader.skip()?;
                }
                (other, _) => return Err(DecodeProblem::UnexpectedAttribute(Str::new(other)).into()),
            }
        }
        match (ty, value, waiting) {
            (Some(_), Some(value), _) => Ok(value),
            (Some(ty), None, Some(start)) => {
                let end = self.reader.position();
                self.reader.rewind(start);
                let value = self.value(&ty, !ty.has_dynamic())?;
                self.reader.rewind(end);
                Ok(value)
            }
            _ => Err(DecodeProblem::IncompleteDynamic.into()),
        }
    }
}
