//! Decodes MessagePack to values.

use rmp::Marker;

use super::refinement;
use crate::codec::{
    Budget, DecodeError, DecodeProblem, Failure, MAX_DEPTH, assemble, index_step, required_name,
};
use crate::mapping::Entries;
use crate::{Number, ObjectType, PathStep, Str, Type, Value};

type Result<T> = std::result::Result<T, Failure<DecodeProblem>>;

/// Maximum number of attributes for which memory is allocated before they are decoded.
const MAX_RESERVED: usize = 32;

/// The number of unknown elements that can be created, in addition to one for each byte of the
/// input.
const SPARE_ELEMENTS: usize = 1024;

/// Decodes a value of a type. The memory is limited by the size of the input: a length is not
/// trusted before the elements have been read, and at most [`crate::MAX_VALUES`] values are
/// created. Optional attributes of `ty` are treated as required.
///
/// # Errors
/// Returns an error if the bytes are not MessagePack, do not match the type, continue after the
/// value, have more than [`crate::MAX_DEPTH`] levels, or contain more than [`crate::MAX_VALUES`]
/// values.
pub fn decode(bytes: &[u8], ty: &Type) -> std::result::Result<Value, DecodeError> {
    let mut decoder = Decoder {
        start: bytes.len(),
        rest: bytes,
        depth: 0,
        expandable: bytes.len() + SPARE_ELEMENTS,
        budget: Budget::new(),
    };
    let value = decoder.value(&ty.without_optional(), !ty.has_dynamic())?;
    if !decoder.rest.is_empty() {
        return Err(decoder.syntax("unexpected bytes after the value").into());
    }
    Ok(value)
}

pub(super) struct Decoder<'a> {
    /// The length of the complete input.
    start: usize,
    rest: &'a [u8],
    depth: usize,
    /// The number of elements that can still be created for unknown lists of known length. It is
    /// limited because the input contains no bytes for these elements.
    expandable: usize,
    budget: Budget,
}

impl<'a> Decoder<'a> {
    fn syntax(&self, what: &'static str) -> Failure<DecodeProblem> {
        DecodeProblem::Syntax { offset: self.start - self.rest.len(), what }.into()
    }

    /// Returns a decoder for an extension's payload.
    pub(super) fn within(&self, payload: &'a [u8]) -> Self {
        Self { start: payload.len(), rest: payload, depth: self.depth, expandable: 0, budget: Budget::new() }
    }

    /// Returns true if a list with this many unknown elements can be created.
    pub(super) fn may_expand(&mut self, length: Option<usize>) -> bool {
        let length = length.unwrap_or(0);
        if length > self.expandable || self.budget.spend(length).is_err() {
            return false;
        }
        self.expandable -= length;
        true
    }

    fn peek(&self) -> Result<Marker> {
        match self.rest.first() {
            Some(byte) => Ok(Marker::from_u8(*byte)),
            None => Err(self.syntax("unexpected end of input")),
        }
    }

    fn marker(&mut self) -> Result<Marker> {
        let marker = self.peek()?;
        self.rest = &self.rest[1..];
        Ok(marker)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.syntax("unexpected end of input")),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.syntax("unexpected end of input")),
        }
    }

    fn length8(&mut self) -> Result<usize> {
        Ok(usize::from(u8::from_be_bytes(self.array()?)))
    }

    fn length16(&mut self) -> Result<usize> {
        Ok(usize::from(u16::from_be_bytes(self.array()?)))
    }

    fn length32(&mut self) -> Result<usize> {
        let length = u32::from_be_bytes(self.array()?);
        usize::try_from(length).map_err(|_| self.syntax("a length is too large"))
    }

    /// Returns the error for an unexpected marker.
    fn unexpected(expected: &'static str, marker: Marker) -> Failure<DecodeProblem> {
        DecodeProblem::Unexpected { expected, found: describe(marker) }.into()
    }

    pub(super) fn bool(&mut self) -> Result<bool> {
        match self.marker()? {
            Marker::True => Ok(true),
            Marker::False => Ok(false),
            other => Err(Self::unexpected("a bool", other)),
        }
    }

    pub(super) fn integer(&mut self) -> Result<i64> {
        self.number()?.as_i64().ok_or_else(|| self.syntax("an integer is expected"))
    }

    pub(super) fn number(&mut self) -> Result<Number> {
        Ok(match self.peek()? {
            Marker::FixPos(value) => {
                self.marker()?;
                i64::from(value).into()
            }
            Marker::FixNeg(value) => {
                self.marker()?;
                i64::from(value).into()
            }
            Marker::FixStr(_)
            | Marker::Str8
            | Marker::Str16
            | Marker::Str32
            | Marker::Bin8
            | Marker::Bin16
            | Marker::Bin32 => Number::parse(self.text()?)?,
            _ => match self.marker()? {
                Marker::U8 => i64::from(u8::from_be_bytes(self.array()?)).into(),
                Marker::U16 => i64::from(u16::from_be_bytes(self.array()?)).into(),
                Marker::U32 => i64::from(u32::from_be_bytes(self.array()?)).into(),
                Marker::U64 => u64::from_be_bytes(self.array()?).into(),
                Marker::I8 => i64::from(i8::from_be_bytes(self.array()?)).into(),
                Marker::I16 => i64::from(i16::from_be_bytes(self.array()?)).into(),
                Marker::I32 => i64::from(i32::from_be_bytes(self.array()?)).into(),
                Marker::I64 => i64::from_be_bytes(self.array()?).into(),
                Marker::F32 => Number::from_f64(f64::from(f32::from_be_bytes(self.array()?)))?,
                Marker::F64 => Number::from_f64(f64::from_be_bytes(self.array()?))?,
                other => return Err(Self::unexpected("a number", other)),
            },
        })
    }

    fn blob(&mut self, expected: &'static str) -> Result<&'a [u8]> {
        let length = match self.marker()? {
            Marker::FixStr(length) => usize::from(length),
            Marker::Str8 | Marker::Bin8 => self.length8()?,
            Marker::Str16 | Marker::Bin16 => self.length16()?,
            Marker::Str32 | Marker::Bin32 => self.length32()?,
            other => return Err(Self::unexpected(expected, other)),
        };
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        let bytes = self.blob("a string")?;
        std::str::from_utf8(bytes).map_err(|_| self.syntax("a string is not valid UTF-8"))
    }

    pub(super) fn array_length(&mut self) -> Result<usize> {
        match self.marker()? {
            Marker::FixArray(length) => Ok(usize::from(length)),
            Marker::Array16 => self.length16(),
            Marker::Array32 => self.length32(),
            other => Err(Self::unexpected("an array", other)),
        }
    }

    pub(super) fn map_length(&mut self) -> Result<usize> {
        match self.marker()? {
            Marker::FixMap(length) => Ok(usize::from(length)),
            Marker::Map16 => self.length16(),
            Marker::Map32 => self.length32(),
            other => Err(Self::unexpected("a map", other)),
        }
    }

    /// Reads the code and payload of an extension.
    pub(super) fn extension(&mut self) -> Result<(i8, &'a [u8])> {
        let length = match self.marker()? {
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Ext8 => self.length8()?,
            Marker::Ext16 => self.length16()?,
            Marker::Ext32 => self.length32()?,
            other => return Err(Self::unexpected("an extension", other)),
        };
        let code = i8::from_be_bytes(self.array()?);
        Ok((code, self.take(length)?))
    }

    /// Skips the next value.
    pub(super) fn skip(&mut self) -> Result<()> {
        let mut pending = 1usize;
        while pending > 0 {
            pending -= 1;
            match self.peek()? {
                Marker::Null | Marker::True | Marker::False => drop(self.marker()?),
                Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
                    pending = pending.saturating_add(self.array_length()?);
                }
                Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => {
                    pending = pending.saturating_add(self.map_length()?.saturating_mul(2));
                }
                marker if is_extension(marker) => drop(self.extension()?),
                marker if is_blob(marker) => drop(self.blob("a string")?),
                _ => drop(self.number()?),
            }
        }
        Ok(())
    }

    /// Decodes a value. If `exact` is set, the type contains no dynamic type, so it is the type of
    /// the value.
    fn value(&mut self, ty: &Type, exact: bool) -> Result<Value> {
        self.budget.spend(1)?;
        let marker = self.peek()?;
        if is_extension(marker) {
            return refinement::read(self, ty);
        }
        if marker == Marker::Null {
            self.marker()?;
            return Ok(Value::null_exact(ty.clone()));
        }
        match ty {
            Type::Bool => Ok(Value::bool(self.bool()?)),
            Type::Number => Ok(Value::number(self.number()?)),
            Type::String => Ok(Value::string(self.text()?)),
            _ => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(DecodeProblem::TooDeep.into());
                }
                let value = self.compound(ty, exact)?;
                self.depth -= 1;
                Ok(value)
            }
        }
    }

    fn compound(&mut self, ty: &Type, exact: bool) -> Result<Value> {
        let expected_array = !matches!(ty, Type::Map(_) | Type::Object(_));
        let length = match (expected_array, self.peek()?) {
            (true, Marker::FixArray(_) | Marker::Array16 | Marker::Array32) => self.array_length()?,
            (false, Marker::FixMap(_) | Marker::Map16 | Marker::Map32) => self.map_length()?,
            (_, other) => return Err(Self::unexpected(required_name(ty), other)),
        };
        match ty {
            Type::List(element) | Type::Set(element) => {
                let elements = self.elements(length, |_| element, exact)?;
                assemble::sequence(ty, elements, exact)
            }
            Type::Tuple(types) => {
                if length != types.len() {
                    return Err(DecodeProblem::Length { expected: types.len(), found: length }.into());
                }
                let elements = self.elements(length, |index| &types[index], exact)?;
                Ok(assemble::tuple(ty, elements, exact))
            }
            Type::Map(element) => {
                let mut elements = Entries::default();
                for _ in 0..length {
                    let key = Str::new(self.text()?);
                    let value = self
                        .value(element, exact)
                        .map_err(|failure| failure.below(PathStep::Key(key.clone())))?;
                    elements.insert(key, value);
                }
                assemble::map(ty, elements, exact)
            }
            Type::Object(object) => self.object(ty, object, length, exact),
            Type::Dynamic | Type::Bool | Type::Number | Type::String => self.dynamic(length),
        }
    }

    fn elements<'t>(
        &mut self,
        length: usize,
        ty: impl Fn(usize) -> &'t Type,
        exact: bool,
    ) -> Result<Vec<Value>> {
        // Each element takes at least one byte. The initial capacity is limited, and grows while
        // elements are read.
        let mut elements = Vec::with_capacity(length.min(self.rest.len()).min(4096));
        for index in 0..length {
            let element = self.value(ty(index), exact);
            elements.push(element.map_err(|failure| failure.below(index_step(index)))?);
        }
        Ok(elements)
    }

    fn object(&mut self, ty: &Type, object: &ObjectType, length: usize, exact: bool) -> Result<Value> {
        if length != object.len() {
            return Err(DecodeProblem::Length { expected: object.len(), found: length }.into());
        }
        let mut attributes = Entries::with_capacity(length.min(MAX_RESERVED));
        for _ in 0..length {
            let name = self.text()?;
            let Some((name, attribute)) = object.entry(name) else {
                return Err(DecodeProblem::UnexpectedAttribute(Str::new(name)).into());
            };
            let value = self
                .value(attribute, exact)
                .map_err(|failure| failure.below(PathStep::Attribute(name.clone())))?;
            if attributes.insert(name.clone(), value) {
                return Err(DecodeProblem::Duplicate(name.clone()).into());
            }
        }
        Ok(assemble::object(ty, attributes, exact))
    }

    fn dynamic(&mut self, length: usize) -> Result<Value> {
        if length != 2 {
            return Err(DecodeProblem::Length { expected: 2, found: length }.into());
        }
        let ty = Type::from_json_bytes(self.blob("the JSON of a type")?)?.without_optional();
        let exact = !ty.has_dynamic();
        self.value(&ty, exact)
    }
}

fn is_extension(marker: Marker) -> bool {
    matches!(
        marker,
        Marker::FixExt1
            | Marker::FixExt2
            | Marker::FixExt4
            | Marker::FixExt8
            | Marker::FixExt16
            | Marker::Ext8
            | Marker::Ext16
            | Marker::Ext32
    )
}

fn is_blob(marker: Marker) -> bool {
    matches!(
        marker,
        Marker::FixStr(_)
            | Marker::Str8
            | Marker::Str16
            | Marker::Str32
            | Marker::Bin8
            | Marker::Bin16
            | Marker::Bin32
    )
}

fn describe(marker: Marker) -> &'static str {
    match marker {
        Marker::Null => "null",
        Marker::True | Marker::False => "a bool",
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => "an array",
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => "a map",
        Marker::Reserved => "a reserved byte",
        marker if is_blob(marker) => "a string",
        marker if is_extension(marker) => "an unknown value",
        _ => "a number",
    }
}
