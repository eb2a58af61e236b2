//! Generates arbitrary values from the input's bytes.

use arbitrary::{Arbitrary as _, Result, Unstructured};
use wardian_value::{Bound, Marks, Number, Refinement, Str, Type, Value, View};

const DEPTH: usize = 3;

/// Strings that pass a function's first check of its arguments.
const TEXTS: &[&str] = &[
    "",
    "a",
    "x,y",
    "é",
    "e\u{301}",
    "a\nb\n",
    " x ",
    "0",
    "-1.50",
    "1e9",
    "true",
    "null",
    "%d%[1]s%5.2f%%",
    "%v %#v %q %x",
    "10.0.0.0/8",
    "fd00::/48",
    "10.1.2.3",
    "::ffff:10.0.0.1/100",
    "([a-z]+)(?P<n>.)?",
    "^(a|b)*$",
    "(",
    "$1-${n}",
    "2018-01-02T23:12:01Z",
    "2020-02-29T00:00:00-12:30",
    "YYYY-MM-DD'T'hh:mm:ssZ",
    "1h30m",
    "-2562047h",
    "YQ==",
    "{\"a\":[1,null]}",
    "a: [1, ~, !!binary YQ==]\nb: &x {c: .inf}\nd: *x\n",
    "a,b\n1,\"2\"\n",
    "H4sIAAAAAAAA/ypJLS4BAAAA//8BAAD//wx+f9gEAAAA",
    "%41+b",
    "**/*.{tf,x}",
    "a/../b",
    "~",
    "UTF-16LE",
    "${a}%{ if true }x%{ endif }",
    "dns",
    "<>&\u{2028}",
];

/// Returns an argument for a parameter of that type, usually a valid one.
///
/// # Errors
///
/// Returns an error if the input is exhausted.
pub fn any_argument(input: &mut Unstructured<'_>, ty: &Type) -> Result<Value> {
    let ty = if input.ratio(1, 8)? { any_type(input, DEPTH)? } else { settled(input, ty)? };
    any_value(input, &ty, DEPTH)
}

/// Returns a type without `any` for the elements of a collection: all elements have one type, even
/// if a parameter allows any type.
fn settled(input: &mut Unstructured<'_>, ty: &Type) -> Result<Type> {
    Ok(match ty {
        Type::List(element) if **element == Type::Dynamic => Type::list(any_type(input, DEPTH - 1)?),
        Type::Set(element) if **element == Type::Dynamic => Type::set(any_type(input, DEPTH - 1)?),
        Type::Map(element) if **element == Type::Dynamic => Type::map(any_type(input, DEPTH - 1)?),
        ty => ty.clone(),
    })
}

fn any_type(input: &mut Unstructured<'_>, depth: usize) -> Result<Type> {
    let most = if depth == 0 { 2 } else { 7 };
    Ok(match input.int_in_range(0..=most)? {
        0 => Type::String,
        1 => Type::Number,
        2 => Type::Bool,
        3 => Type::list(any_type(input, depth - 1)?),
        4 => Type::map(any_type(input, depth - 1)?),
        5 => Type::set(any_type(input, depth - 1)?),
        6 => Type::tuple(several(input, |input| any_type(input, depth - 1))?),
        _ => Type::object(several(input, |input| Ok((any_name(input)?, any_type(input, depth - 1)?)))?),
    })
}

fn several<T>(
    input: &mut Unstructured<'_>,
    mut one: impl FnMut(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = input.int_in_range(0..=4)?;
    (0..count).map(|_| one(input)).collect()
}

fn any_name(input: &mut Unstructured<'_>) -> Result<Str> {
    Ok(Str::new(input.choose(&["a", "b", "c", "key", "1", "é", "", "a-b"])?))
}

fn any_text(input: &mut Unstructured<'_>) -> Result<Str> {
    if input.ratio(1, 2)? {
        return Ok(Str::new(input.choose(TEXTS)?));
    }
    Ok(Str::new(<&str>::arbitrary(input)?))
}

fn any_number(input: &mut Unstructured<'_>) -> Result<Number> {
    let text = match input.int_in_range(0..=4)? {
        0 | 1 => return Ok(Number::from(i64::from(i8::arbitrary(input)?))),
        2 => return Ok(Number::from(i64::arbitrary(input)?)),
        3 => return Ok(Number::from_f64(f64::arbitrary(input)?).unwrap_or_else(|_| Number::from(0_i64))),
        _ => *input.choose(&[
            "0.1",
            "1e100",
            "-1e-100",
            "1e999",
            "0.5",
            "9007199254740993",
            "1e30000",
            "2147483648",
        ])?,
    };
    Ok(Number::parse(text).unwrap_or_else(|_| Number::from(7_i64)))
}

fn any_value(input: &mut Unstructured<'_>, ty: &Type, depth: usize) -> Result<Value> {
    let marks = match input.int_in_range(0..=23)? {
        0 => return Ok(Value::null(ty.clone())),
        1 => return Ok(Value::unknown_with(ty.clone(), any_refinement(input, ty)?)),
        2 => Marks::SENSITIVE,
        3 => Marks::EPHEMERAL,
        4 => Marks::SENSITIVE | Marks::EPHEMERAL,
        _ => Marks::NONE,
    };
    let inner = depth.saturating_sub(1);
    let value = match ty {
        Type::Bool => Value::bool(bool::arbitrary(input)?),
        Type::Number => Value::number(any_number(input)?),
        Type::String => Value::string(any_text(input)?),
        Type::List(element) => {
            Value::list((**element).clone(), several(input, |input| any_value(input, element, inner))?)
        }
        Type::Set(element) => {
            Value::set((**element).clone(), several(input, |input| any_value(input, element, inner))?)
        }
        Type::Map(element) => Value::map(
            (**element).clone(),
            several(input, |input| Ok((any_name(input)?, any_value(input, element, inner)?)))?,
        ),
        Type::Tuple(types) => {
            Value::tuple(types.iter().map(|ty| any_value(input, ty, inner)).collect::<Result<Vec<_>>>()?)
        }
        Type::Object(object) => Value::object(
            object
                .iter()
                .map(|(name, ty)| Ok((name.clone(), any_value(input, ty, inner)?)))
                .collect::<Result<Vec<_>>>()?,
        ),
        Type::Dynamic => {
            let ty = any_type(input, depth)?;
            any_value(input, &ty, depth)?
        }
    };
    Ok(value.with_marks(marks))
}

fn any_refinement(input: &mut Unstructured<'_>, ty: &Type) -> Result<Refinement> {
    let mut refinement = Refinement { not_null: bool::arbitrary(input)?, ..Refinement::default() };
    match ty {
        Type::String if bool::arbitrary(input)? => refinement.prefix = Some(any_text(input)?),
        Type::Number if bool::arbitrary(input)? => {
            refinement.lower = Some(Bound { value: any_number(input)?, inclusive: bool::arbitrary(input)? });
        }
        Type::List(_) | Type::Set(_) | Type::Map(_) if bool::arbitrary(input)? => {
            refinement.min_length = Some(input.int_in_range(0..=2)?);
            refinement.max_length = Some(input.int_in_range(2..=5)?);
        }
        _ => {}
    }
    Ok(refinement)
}

/// Replaces some nested values with unknown values; marks are preserved.
///
/// # Errors
///
/// Returns an error if the input is exhausted.
pub fn hidden(input: &mut Unstructured<'_>, value: &Value) -> Result<Value> {
    let mut choices = Vec::new();
    for _ in 0..16 {
        choices.push(input.int_in_range(0..=7_u8)?);
    }
    let mut choices = choices.iter().copied().cycle();
    Ok(value.transform(&mut |_, part| match choices.next() {
        Some(0) => unknown_of(&part, Refinement::default()),
        Some(1) => unknown_of(&part, facts(&part)),
        Some(2) => match part.view() {
            View::Set(elements) => {
                let element = part.ty().element().cloned().unwrap_or(Type::Dynamic);
                let hide = |element: &Value| match choices.next() {
                    Some(0..=3) => Value::unknown(element.ty().clone()),
                    _ => element.clone(),
                };
                Value::set(element, elements.iter().map(hide).collect::<Vec<_>>()).with_marks(part.marks())
            }
            _ => part,
        },
        _ => part,
    }))
}

fn unknown_of(part: &Value, refinement: Refinement) -> Value {
    // An unknown value keeps its own refinements: other refinements could contradict them.
    if !part.is_known() {
        return part.clone();
    }
    Value::unknown_with(part.ty().clone(), refinement).with_marks(part.inside_marks())
}

/// Returns refinements that are true for a known value.
fn facts(part: &Value) -> Refinement {
    let mut refinement = Refinement { not_null: !part.is_null(), ..Refinement::default() };
    match part.view() {
        View::String(text) => {
            let prefix: String = text.chars().take(2).collect();
            // A prefix may end between characters that normalization combines.
            refinement.prefix = text.starts_with(&*Str::new(&prefix)).then(|| Str::new(&prefix));
        }
        View::Number(number) => {
            refinement.lower = Some(Bound { value: number.clone(), inclusive: true });
        }
        View::List(elements) => refinement.max_length = Some(elements.len() + 1),
        View::Map(elements) => refinement.min_length = Some(elements.len()),
        _ => {}
    }
    refinement
}
