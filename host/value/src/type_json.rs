//! Encodes types as JSON: in schemas, dynamic values, outputs and plans.
//!
//! | type | JSON |
//! |---|---|
//! | string, number, bool, any | `"string"`, `"number"`, `"bool"`, `"dynamic"` |
//! | list, set, map | `["list",T]`, `["set",T]`, `["map",T]` |
//! | object | `["object",{"a":T}]`, or `["object",{"a":T},["a"]]` with the names of optional attributes |
//! | tuple | `["tuple",[T,T]]` |

use std::collections::{BTreeMap, BTreeSet};

use crate::codec::{DecodeError, DecodeProblem, Failure};
use crate::json::reader::{Kind, Reader};
use crate::json::writer::{Escapes, write_string};
use crate::{ObjectType, Str, Type};

type Result<T> = std::result::Result<T, Failure<DecodeProblem>>;

impl Type {
    /// Returns the type as JSON, without white space and with sorted names.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    pub(crate) fn write_json(&self, out: &mut String) {
        let collection = |word: &str, element: &Self, out: &mut String| {
            out.push_str("[\"");
            out.push_str(word);
            out.push_str("\",");
            element.write_json(out);
            out.push(']');
        };
        match self {
            Self::Dynamic => out.push_str("\"dynamic\""),
            Self::Bool => out.push_str("\"bool\""),
            Self::Number => out.push_str("\"number\""),
            Self::String => out.push_str("\"string\""),
            Self::List(element) => collection("list", element, out),
            Self::Set(element) => collection("set", element, out),
            Self::Map(element) => collection("map", element, out),
            Self::Object(object) => {
                out.push_str("[\"object\",{");
                for (index, (name, ty)) in object.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, Escapes::Html, out);
                    out.push(':');
                    ty.write_json(out);
                }
                out.push('}');
                let mut optional =
                    object.iter().filter(|(name, _)| object.is_optional(name)).map(|(name, _)| name);
                if let Some(name) = optional.next() {
                    out.push_str(",[");
                    write_string(name, Escapes::Html, out);
                    for name in optional {
                        out.push(',');
                        write_string(name, Escapes::Html, out);
                    }
                    out.push(']');
                }
                out.push(']');
            }
            Self::Tuple(elements) => {
                out.push_str("[\"tuple\",[");
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    element.write_json(out);
                }
                out.push_str("]]");
            }
        }
    }

    /// Parses a type from JSON.
    ///
    /// # Errors
    /// Returns an error if the text is not JSON or not a type, or has more than
    /// [`crate::MAX_DEPTH`] levels of brackets.
    pub fn from_json(text: &str) -> std::result::Result<Self, DecodeError> {
        Ok(Self::from_json_bytes(text.as_bytes())?)
    }

    pub(crate) fn from_json_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes)?;
        let ty = Self::read_json(&mut reader)?;
        reader.end()?;
        Ok(ty)
    }

    pub(crate) fn read_json(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.peek()? {
            Kind::String => match &*reader.string()? {
                "dynamic" => Ok(Self::Dynamic),
                "bool" => Ok(Self::Bool),
                "number" => Ok(Self::Number),
                "string" => Ok(Self::String),
                _ => Err(DecodeProblem::Type("unknown type name").into()),
            },
            Kind::Array => Self::read_compound(reader),
            _ => Err(DecodeProblem::Type("a string or an array is expected").into()),
        }
    }

    fn read_compound(reader: &mut Reader<'_>) -> Result<Self> {
        const ARITY: DecodeProblem = DecodeProblem::Type("wrong number of elements");
        reader.open()?;
        let mut first = true;
        if !reader.next(b']', &mut first)? {
            return Err(ARITY.into());
        }
        let kind = reader.string()?;
        if !reader.next(b']', &mut first)? {
            return Err(ARITY.into());
        }
        let ty = match &*kind {
            "list" => Self::list(Self::read_json(reader)?),
            "set" => Self::set(Self::read_json(reader)?),
            "map" => Self::map(Self::read_json(reader)?),
            "tuple" => Self::read_tuple(reader)?,
            "object" => {
                let attributes = Self::read_attributes(reader)?;
                if !reader.next(b']', &mut first)? {
                    return Ok(Self::object(attributes));
                }
                let mut optional = Self::read_names(reader)?;
                let ty = ObjectType::with_optional(attributes.into_iter().map(|(name, ty)| {
                    let optional = optional.remove(&name);
                    (name, ty, optional)
                }));
                if !optional.is_empty() {
                    return Err(DecodeProblem::Type("an optional attribute is not declared").into());
                }
                Self::Object(ty.into())
            }
            _ => return Err(DecodeProblem::Type("unknown type kind").into()),
        };
        if reader.next(b']', &mut first)? {
            return Err(ARITY.into());
        }
        Ok(ty)
    }

    fn read_tuple(reader: &mut Reader<'_>) -> Result<Self> {
        if reader.peek()? != Kind::Array {
            return Err(DecodeProblem::Type("a tuple needs an array of types").into());
        }
        reader.open()?;
        let mut elements = Vec::new();
        let mut first = true;
        while reader.next(b']', &mut first)? {
            elements.push(Self::read_json(reader)?);
        }
        Ok(Self::tuple(elements))
    }

    fn read_attributes(reader: &mut Reader<'_>) -> Result<BTreeMap<Str, Self>> {
        if reader.peek()? != Kind::Object {
            return Err(DecodeProblem::Type("an object needs a map of types").into());
        }
        reader.open()?;
        let mut attributes = BTreeMap::new();
        let mut first = true;
        while reader.next(b'}', &mut first)? {
            let name = Str::new(&reader.key()?);
            let ty = Self::read_json(reader)?;
            if attributes.insert(name.clone(), ty).is_some() {
                return Err(DecodeProblem::Duplicate(name).into());
            }
        }
        Ok(attributes)
    }

    fn read_names(reader: &mut Reader<'_>) -> Result<BTreeSet<Str>> {
        if reader.peek()? != Kind::Array {
            return Err(DecodeProblem::Type("optional attributes need an array of names").into());
        }
        reader.open()?;
        let mut names = BTreeSet::new();
        let mut first = true;
        while reader.next(b']', &mut first)? {
            names.insert(Str::new(&reader.string()?));
        }
        Ok(names)
    }
}
