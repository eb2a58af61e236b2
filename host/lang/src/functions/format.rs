//! The functions `format` and `formatlist`.
//!
//! | verb          | argument | result                                       |
//! |---------------|---------|----------------------------------------------|
//! | `%v`          | any     | the string form of a primitive; JSON for other values |
//! | `%#v`         | any     | JSON                                         |
//! | `%t`          | bool    | `true` or `false`                            |
//! | `%b %o %d %x %X` | whole number | in base 2, 8, 10, 16                   |
//! | `%e %E %f %g %G` | number | scientific, decimal, the shorter of the two |
//! | `%s`          | string  | itself                                       |
//! | `%q`          | string  | quoted                                       |
//!
//! Flags (`+`, `-`, `#`, `0`, space), a width, a precision after a dot, and an argument number
//! in brackets may precede the verb.

use num_bigint::BigInt;
use wardian_value::{Number, Refinement, Str, Type, Value, convert, graphemes};

use super::encoding::json_text;
use super::{Body, Failure, Function, Outcome, ResultType};
use super::{any, string, text, unknown_result};
use crate::budget::Allowance;
use crate::evaluate::safe_prefix;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("format", &[string("format")], ResultType::String, Body::Expanding(format))
        .variadic(any("args").null().unknown()),
    Function::new("formatlist", &[string("format")], ResultType::ListOfString, Body::Expanding(formatlist))
        .variadic(any("args").null().unknown()),
];

/// A `%...` directive of a format.
#[derive(Default)]
struct Directive {
    source: String,
    offset: usize,
    verb: char,
    plus: bool,
    minus: bool,
    space: bool,
    sharp: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
    argument: usize,
}

enum Part {
    Literal(String),
    Directive(Directive),
}

fn parse(source: &str) -> Result<Vec<Part>, Failure> {
    let mut parts = Vec::new();
    let mut rest = source;
    let mut next_argument = 1;
    while let Some(percent) = rest.find('%') {
        if percent > 0 {
            parts.push(Part::Literal(rest[..percent].to_owned()));
        }
        let offset = source.len() - rest.len() + percent;
        rest = &rest[percent + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            parts.push(Part::Literal("%".to_owned()));
            rest = after;
            continue;
        }
        let start = rest;
        let mut directive = Directive { offset, ..Directive::default() };
        loop {
            match rest.as_bytes().first() {
                Some(b'+') => directive.plus = true,
                Some(b'-') => directive.minus = true,
                Some(b' ') => directive.space = true,
                Some(b'#') => directive.sharp = true,
                Some(b'0') => directive.zero = true,
                _ => break,
            }
            rest = &rest[1..];
        }
        directive.width = count(&mut rest)?;
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            directive.precision = Some(count(&mut rest)?.unwrap_or(0));
        }
        if let Some(after) = rest.strip_prefix('[') {
            rest = after;
            let number = count(&mut rest)?.filter(|number| *number > 0);
            let (Some(number), Some(after)) = (number, rest.strip_prefix(']')) else {
                return Err(invalid_format(format!("the argument number at offset {offset} is incomplete")));
            };
            rest = after;
            next_argument = number;
        }
        let Some(verb) = rest.chars().next() else {
            return Err(invalid_format(format!("the verb after % at offset {offset} is missing")));
        };
        rest = &rest[verb.len_utf8()..];
        directive.source = format!("%{}", &start[..start.len() - rest.len()]);
        if !"vtbodxXeEfgGsq".contains(verb) {
            return Err(invalid_format(format!(
                "{verb:?} in {:?} at offset {offset} is not a verb",
                directive.source
            )));
        }
        directive.verb = verb;
        directive.argument = next_argument;
        next_argument += 1;
        parts.push(Part::Directive(directive));
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.to_owned()));
    }
    Ok(parts)
}

fn count(rest: &mut &str) -> Result<Option<usize>, Failure> {
    const LIMIT: usize = 100_000;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if end == 0 {
        return Ok(None);
    }
    let number = rest[..end].parse().ok().filter(|number| *number <= LIMIT);
    *rest = &rest[end..];
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(invalid_format(format!("a width or precision is greater than {LIMIT}"))),
    }
}

fn format(arguments: &[Value], allowance: Allowance) -> Outcome {
    let (format, given) = (text(arguments, 0), &arguments[1..]);
    if !given.iter().all(Value::is_wholly_known) {
        // When the arguments are known, they are checked against the format.
        let literal = format.find('%').map_or(format, |percent| &format[..percent]);
        let prefix = safe_prefix(literal);
        let prefix = (!prefix.is_empty()).then(|| Str::new(prefix));
        let refinement = Refinement { not_null: true, prefix, ..Refinement::default() };
        return Ok(Value::unknown_with(Type::String, refinement));
    }
    let parts = parse(format)?;
    check_used(&parts, given.len())?;
    render(&parts, given, allowance)
}

fn render(parts: &[Part], given: &[Value], allowance: Allowance) -> Outcome {
    let mut result = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => result.push_str(literal),
            Part::Directive(directive) => {
                let value = argument(directive, given)?;
                result.push_str(&rendered(directive, value)?);
                super::check_length(result.len(), allowance)?;
            }
        }
    }
    Ok(Value::string(result))
}

fn check_used(parts: &[Part], given: usize) -> Result<(), Failure> {
    let used = used_arguments(parts);
    if used >= given {
        return Ok(());
    }
    Err(Failure::argument(used + 1, format!("there are {given} arguments, but the format uses only {used}")))
}

fn used_arguments(parts: &[Part]) -> usize {
    parts
        .iter()
        .map(|part| match part {
            Part::Literal(_) => 0,
            Part::Directive(directive) => directive.argument,
        })
        .max()
        .unwrap_or(0)
}

fn argument<'v>(directive: &Directive, given: &'v [Value]) -> Result<&'v Value, Failure> {
    given.get(directive.argument - 1).ok_or_else(|| {
        Failure::call(format!(
            "{:?} at offset {} needs argument {}, but there are {}",
            directive.source,
            directive.offset,
            directive.argument,
            given.len()
        ))
    })
}

fn formatlist(arguments: &[Value], allowance: Allowance) -> Outcome {
    let given = &arguments[1..];
    let mut length: Option<(usize, usize)> = None;
    let mut unknown = false;
    for (position, argument) in given.iter().enumerate() {
        if !matches!(argument.ty(), Type::List(_) | Type::Set(_) | Type::Tuple(_)) || argument.is_null() {
            continue;
        }
        match (argument.as_elements(), length) {
            (None, _) => unknown = true,
            (Some(items), None) => length = Some((position, items.len())),
            (Some(items), Some((first, expected))) if items.len() != expected => {
                return Err(Failure::argument(
                    position + 1,
                    format!("it has {} elements, but argument {} has {expected}", items.len(), first + 1),
                ));
            }
            _ => {}
        }
    }
    if unknown {
        return Ok(unknown_result(Type::list(Type::String)));
    }
    let parts = parse(text(arguments, 0))?;
    let rows = length.map_or(1, |(_, length)| length);
    let mut results = Vec::with_capacity(rows);
    let mut size = 0_usize;
    for row in 0..rows {
        let mut values = Vec::with_capacity(given.len());
        values.extend(given.iter().map(
            |argument| match argument.as_elements().filter(|_| !argument.is_null()) {
                Some(items) => items.get(row).cloned().unwrap_or_else(|| argument.clone()),
                None => argument.clone(),
            },
        ));
        let result = if values.iter().all(Value::is_wholly_known) {
            check_used(&parts, given.len()).map_err(Failure::into_call)?;
            render(&parts, &values, allowance)?
        } else {
            unknown_result(Type::String)
        };
        size = size.saturating_add(result.as_str().map_or(0, str::len));
        super::check_length(size, allowance)?;
        results.push(result);
    }
    Ok(Value::list(Type::String, results))
}

fn invalid_format(reason: String) -> Failure {
    Failure::CallArgument(0, reason)
}

fn rendered(directive: &Directive, value: &Value) -> Result<String, Failure> {
    let unsuitable = |reason: &str| {
        Failure::CallArgument(
            directive.argument,
            format!("{reason} for {:?} at offset {}", directive.source, directive.offset),
        )
    };
    let needs = |ty: &Type, name: &str| -> Result<Value, Failure> {
        let reason = format!("a {name} is needed");
        let value = convert::convert(value, ty).map_err(|_| unsuitable(&reason))?;
        if value.is_null() { Err(unsuitable(&format!("{reason}, not null"))) } else { Ok(value) }
    };
    match directive.verb {
        'v' => {
            let plain = if directive.sharp { None } else { value.as_str() };
            if let Some(text) = plain {
                return Ok(padded(directive, text));
            }
            match value.as_number().filter(|_| !directive.sharp) {
                Some(number) => Ok(padded(directive, &shortest(number, None))),
                None => Ok(padded(directive, &json_text(value)?)),
            }
        }
        't' => {
            let value = needs(&Type::Bool, "bool")?;
            let truth = value.as_bool().unwrap_or(false);
            Ok(if truth { "true" } else { "false" }.to_owned())
        }
        'b' | 'd' | 'o' | 'x' | 'X' => {
            let value = needs(&Type::Number, "number")?;
            let whole = value.as_number().and_then(Number::to_integer);
            let whole = whole.ok_or_else(|| unsuitable("a whole number is needed"))?;
            Ok(integer(directive, &whole))
        }
        'e' | 'E' | 'f' | 'g' | 'G' => {
            let value = needs(&Type::Number, "number")?;
            let zero = Number::from(0_i64);
            let number = value.as_number().unwrap_or(&zero);
            let text = match directive.verb {
                'f' => decimal(number, directive.precision.unwrap_or(6)),
                'e' | 'E' => scientific(number, directive.precision.unwrap_or(6)),
                _ => shortest(number, directive.precision),
            };
            let text = if directive.verb.is_uppercase() { text.to_uppercase() } else { text };
            Ok(numeric(directive, &text))
        }
        's' => {
            let value = needs(&Type::String, "string")?;
            Ok(padded(directive, &truncated(directive, value.as_str().unwrap_or(""))))
        }
        _ => {
            let value = needs(&Type::String, "string")?;
            let quoted = json_text(&value)?;
            Ok(padded(directive, &quoted))
        }
    }
}

fn truncated(directive: &Directive, text: &str) -> String {
    match directive.precision {
        Some(limit) => graphemes(text).take(limit).collect(),
        None => text.to_owned(),
    }
}

/// Returns the text padded to the width with spaces, or zeros if requested.
fn padded(directive: &Directive, text: &str) -> String {
    let missing = directive.width.unwrap_or(0).saturating_sub(graphemes(text).count());
    if directive.minus {
        format!("{text}{}", " ".repeat(missing))
    } else if directive.zero {
        format!("{}{text}", "0".repeat(missing))
    } else {
        format!("{}{text}", " ".repeat(missing))
    }
}

/// Adds a sign according to the flags; padding zeros follow the sign.
fn numeric(directive: &Directive, text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None if directive.plus => ("+", text),
        None if directive.space => (" ", text),
        None => ("", text),
    };
    if directive.zero && !directive.minus {
        let missing = directive.width.unwrap_or(0).saturating_sub(sign.len() + digits.chars().count());
        return format!("{sign}{}{digits}", "0".repeat(missing));
    }
    padded(directive, &format!("{sign}{digits}"))
}

fn integer(directive: &Directive, whole: &BigInt) -> String {
    let (radix, prefix) = match directive.verb {
        'b' => (2, "0b"),
        'o' => (8, "0"),
        'x' => (16, "0x"),
        'X' => (16, "0X"),
        _ => (10, ""),
    };
    let mut digits = whole.magnitude().to_str_radix(radix);
    if directive.verb == 'X' {
        digits = digits.to_uppercase();
    }
    if let Some(precision) = directive.precision {
        digits = format!("{}{digits}", "0".repeat(precision.saturating_sub(digits.len())));
    }
    let sign = if whole.sign() == num_bigint::Sign::Minus { "-" } else { "" };
    let prefix = if directive.sharp { prefix } else { "" };
    numeric(directive, &format!("{sign}{prefix}{digits}"))
}

/// A number as its decimal digits and the exponent of the first digit. The first digit is not zero.
struct Digits {
    negative: bool,
    values: Vec<u8>,
    exponent: i64,
}

impl Digits {
    fn from_number(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).map(|byte| byte.wrapping_sub(b'0')).collect();
        if all.iter().any(|digit| *digit > 9) {
            return None;
        }
        let zeros = all.iter().take_while(|digit| **digit == 0).count();
        let mut digits = all[zeros..].to_vec();
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let exponent = if digits.is_empty() {
            0
        } else {
            i64::try_from(whole.len()).unwrap_or(0) - i64::try_from(zeros).unwrap_or(0) - 1
        };
        Some(Self { negative, values: digits, exponent })
    }

    /// Rounds to `keep` digits, half to even. The exponent may increase.
    fn round(&mut self, keep: i64) {
        let Ok(keep) = usize::try_from(keep) else {
            self.values.clear();
            return;
        };
        if self.values.len() <= keep {
            return;
        }
        let tail = self.values.split_off(keep);
        let odd = self.values.last().is_some_and(|digit| digit % 2 == 1);
        let half = tail[0] == 5 && tail[1..].iter().all(|digit| *digit == 0);
        if tail[0] > 5 || (tail[0] == 5 && (!half || odd)) {
            let mut at = keep;
            loop {
                if at == 0 {
                    self.values.insert(0, 1);
                    self.values.truncate(keep.max(1));
                    self.exponent += 1;
                    break;
                }
                at -= 1;
                if self.values[at] == 9 {
                    self.values[at] = 0;
                } else {
                    self.values[at] += 1;
                    break;
                }
            }
        }
    }

    fn digit(&self, place: i64) -> char {
        usize::try_from(place)
            .ok()
            .and_then(|place| self.values.get(place))
            .map_or('0', |digit| char::from(b'0' + digit))
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }
}

fn infinite(number: &Number) -> String {
    if *number < Number::from(0_i64) { "-Inf" } else { "+Inf" }.to_owned()
}

fn decimal(number: &Number, precision: usize) -> String {
    let Some(mut digits) = Digits::from_number(number) else { return infinite(number) };
    let places = i64::try_from(precision).unwrap_or(0);
    digits.round(digits.exponent + 1 + places);
    fixed(&digits, precision)
}

fn fixed(digits: &Digits, precision: usize) -> String {
    let whole: String = if digits.exponent < 0 || digits.values.is_empty() {
        "0".to_owned()
    } else {
        (0..=digits.exponent).map(|place| digits.digit(place)).collect()
    };
    let places = i64::try_from(precision).unwrap_or(0);
    let fraction: String = (1..=places).map(|place| digits.digit(digits.exponent + place)).collect();
    let dot = if precision > 0 { "." } else { "" };
    format!("{}{whole}{dot}{fraction}", digits.sign())
}

fn scientific(number: &Number, precision: usize) -> String {
    let Some(mut digits) = Digits::from_number(number) else { return infinite(number) };
    let places = i64::try_from(precision).unwrap_or(0);
    digits.round(places + 1);
    let fraction: String = (1..=places).map(|place| digits.digit(place)).collect();
    with_exponent(&digits, &fraction)
}

fn with_exponent(digits: &Digits, fraction: &str) -> String {
    let dot = if fraction.is_empty() { "" } else { "." };
    let sign = if digits.exponent < 0 { '-' } else { '+' };
    format!("{}{}{dot}{fraction}e{sign}{:02}", digits.sign(), digits.digit(0), digits.exponent.abs())
}

/// Returns scientific notation if the exponent is less than -4, or not less than the precision (6
/// if no precision is given and all digits are shown); otherwise returns decimal notation.
fn shortest(number: &Number, precision: Option<usize>) -> String {
    let Some(mut digits) = Digits::from_number(number) else { return infinite(number) };
    let mut limit = 6;
    if let Some(precision) = precision {
        limit = i64::try_from(precision.max(1)).unwrap_or(1);
        digits.round(limit);
        while digits.values.last() == Some(&0) {
            digits.values.pop();
        }
    }
    let count = i64::try_from(digits.values.len()).unwrap_or(0);
    if precision.is_some() && limit > count && count > digits.exponent {
        limit = count;
    }
    if digits.exponent < -4 || digits.exponent >= limit {
        let fraction: String = (1..count).map(|place| digits.digit(place)).collect();
        return with_exponent(&digits, &fraction);
    }
    let places = usize::try_from(count - digits.exponent - 1).unwrap_or(0);
    fixed(&digits, places)
}
