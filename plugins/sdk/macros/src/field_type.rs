//! Recognizes the standard types of fields, as far as their tokens show.

use syn::{GenericArgument, PathArguments, Type};

/// A field's type.
#[derive(Clone)]
pub(crate) struct FieldType {
    /// The wrapper that permits null.
    pub(crate) wrapper: Wrapper,
    /// The type inside the wrapper.
    pub(crate) inner: Type,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapper {
    None,
    Option,
    Attr,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Bool,
    /// An integer type with its name.
    Integer(&'static str),
    Number,
    List(Box<Kind>),
    Set(Box<Kind>),
    Map(Box<Kind>),
    Dynamic,
    /// An alias, a struct, or another type that only the compiler knows.
    Other,
    /// A type that no attribute can have, with the remedy.
    Impossible(&'static str),
}

const INTEGERS: [&str; 12] =
    ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];

impl FieldType {
    pub(crate) fn new(ty: &Type) -> Self {
        let wrapper = match name(ty).as_deref() {
            Some("Option") => Wrapper::Option,
            Some("Attr") => Wrapper::Attr,
            _ => Wrapper::None,
        };
        let inner = match wrapper {
            Wrapper::None => ty.clone(),
            _ => arguments(ty).into_iter().next().unwrap_or(ty).clone(),
        };
        Self { wrapper, kind: Kind::new(&inner), inner }
    }

    /// Returns whether the type represents null, as far as the tokens show.
    pub(crate) fn accepts_null(&self) -> bool {
        self.wrapper != Wrapper::None || matches!(self.kind, Kind::Dynamic | Kind::Other)
    }
}

impl Kind {
    fn new(ty: &Type) -> Self {
        let Some(name) = name(ty) else {
            return match ty {
                Type::Reference(_) => {
                    Self::Impossible("a state owns its values: use `String` or another owned type")
                }
                Type::Tuple(_) => {
                    Self::Impossible("use a struct with `#[derive(Schema)]`, which names its parts")
                }
                Type::Array(_) | Type::Slice(_) => {
                    Self::Impossible("use `Vec<_>`, with `validate(size(..))` for its length")
                }
                Type::BareFn(_)
                | Type::Ptr(_)
                | Type::TraitObject(_)
                | Type::ImplTrait(_)
                | Type::Never(_) => {
                    Self::Impossible("a field is data: use `#[serde(skip)]` if it is not part of the state")
                }
                _ => Self::Other,
            };
        };
        let arguments = arguments(ty);
        let argument =
            |index: usize| Box::new(arguments.get(index).map_or(Self::Other, |ty| FieldType::new(ty).kind));
        match name.as_str() {
            "String" => Self::Text,
            "bool" => Self::Bool,
            "f64" | "f32" => Self::Number,
            "Number" => Self::Impossible("use `f64`, or `Dynamic` for numbers that need more digits"),
            "Dynamic" => Self::Dynamic,
            "Vec" => Self::List(argument(0)),
            "BTreeSet" | "HashSet" => Self::Set(argument(0)),
            "BTreeMap" | "HashMap" => match *argument(0) {
                Self::Text | Self::Other => Self::Map(argument(1)),
                _ => Self::Impossible("the keys of a map are strings: use `BTreeMap<String, _>`"),
            },
            "char" => Self::Impossible("use `String`, with `validate(length(1..=1))`"),
            "Box" | "Rc" | "Arc" | "Cow" => Self::Impossible("use the type inside the pointer"),
            "Duration" | "SystemTime" | "Instant" => Self::Impossible(
                "use `Text<DurationFormat>` or `Text<TimeFormat>`, which keep the user's spelling",
            ),
            "PathBuf" | "OsString" => Self::Impossible("use `String`"),
            other => match INTEGERS.iter().find(|known| **known == other) {
                Some(integer) => Self::Integer(integer),
                None => Self::Other,
            },
        }
    }

    /// Returns the description for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Bool => "a bool",
            Self::Integer(_) => "an integer",
            Self::Number => "a number",
            Self::List(_) => "a list",
            Self::Set(_) => "a set",
            Self::Map(_) => "a map",
            Self::Dynamic => "a dynamic value",
            Self::Other | Self::Impossible(_) => "another type",
        }
    }

    /// Returns the first type inside this type that no attribute can have.
    pub(crate) fn impossible(&self) -> Option<&'static str> {
        match self {
            Self::Impossible(remedy) => Some(remedy),
            Self::List(element) | Self::Set(element) | Self::Map(element) => element.impossible(),
            _ => None,
        }
    }
}

/// Returns the last segment of a path.
fn name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) if path.qself.is_none() => {
            path.path.segments.last().map(|segment| segment.ident.to_string())
        }
        Type::Group(group) => name(&group.elem),
        Type::Paren(paren) => name(&paren.elem),
        _ => None,
    }
}

fn arguments(ty: &Type) -> Vec<&Type> {
    match ty {
        Type::Path(path) => match path.path.segments.last().map(|segment| &segment.arguments) {
            Some(PathArguments::AngleBracketed(all)) => all
                .args
                .iter()
                .filter_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        },
        Type::Group(group) => arguments(&group.elem),
        Type::Paren(paren) => arguments(&paren.elem),
        _ => Vec::new(),
    }
}

/// Returns whether the tokens of a type contain a name.
pub(crate) fn mentions(ty: &Type, wanted: &str) -> bool {
    name(ty).as_deref() == Some(wanted) || arguments(ty).iter().any(|argument| mentions(argument, wanted))
}
