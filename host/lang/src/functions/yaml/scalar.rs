//! Resolves the values of plain scalars in YAML.
//!
//! | text | value |
//! |---|---|
//! | `null`, `~`, empty text | null |
//! | `true`, `yes`, `on`, `y`, `false`, `no`, `off`, `n` | a bool |
//! | `1`, `-1.5e3`, `.5`, `0x1F`, `0o17`, `.inf` | a number |
//! | `2001-12-14`, `2001-12-14 21:59:43` | a string: the time in RFC 3339 format |
//! | other text; all quoted or multi-line text | a string |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::{ScalarStyle, Tag};
use wardian_value::{Number, Type, Value};

use super::super::date;

const CORE: &str = "tag:yaml.org,2002:";

/// Returns the name of a core tag, such as `str` of `!!str`.
pub(super) fn core_tag(tag: &Tag) -> Option<&str> {
    if tag.handle == CORE {
        return Some(&tag.suffix);
    }
    if tag.handle.is_empty() { tag.suffix.strip_prefix(CORE) } else { None }
}

/// Returns the value of a scalar, or a description of its error.
pub(super) fn resolve(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let string = || Ok(Value::string(text));
    let name = match tag {
        None => None,
        Some(tag) => Some(core_tag(tag).ok_or_else(|| format!("the tag {tag} is unknown"))?),
    };
    let quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
    match name {
        None if quoted => string(),
        // A block scalar without content.
        None if style != ScalarStyle::Plain && text.is_empty() => Ok(Value::null(Type::String)),
        None if style != ScalarStyle::Plain => string(),
        None => Ok(plain(text)?.unwrap_or_else(|| Value::string(text))),
        Some("str") => string(),
        Some("binary") => {
            let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
            match STANDARD.decode(joined) {
                Ok(_) => string(),
                Err(_) => Err("a value tagged as !!binary is not valid Base64".into()),
            }
        }
        Some("null") if !quoted || !text.is_empty() => Ok(Value::null(Type::Dynamic)),
        Some("bool" | "int" | "float" | "null" | "timestamp") if quoted => string(),
        Some(name @ ("bool" | "int" | "float" | "timestamp")) => {
            plain(text)?.ok_or_else(|| format!("{text:?} is not a valid !!{name}"))
        }
        Some(name) => Err(format!("the tag !!{name} is not allowed here")),
    }
}

/// Returns the value of a plain scalar; `None` if it is a string.
fn plain(text: &str) -> Result<Option<Value>, String> {
    let infinity = |text: &str| Number::parse(text).map(Value::number).ok();
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::null(Type::Dynamic)),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(Value::bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Value::bool(false))
        }
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => infinity("Inf"),
        "-.inf" | "-.Inf" | "-.INF" => infinity("-Inf"),
        ".nan" | ".NaN" | ".NAN" => return Err("NaN is not supported".into()),
        _ => number(text)?.or_else(|| time(text)),
    })
}

fn number(text: &str) -> Result<Option<Value>, String> {
    let too_large = |()| format!("the number {text} is too large");
    for (prefix, base) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|digit| digit.is_digit(base))
        {
            let number = u64::from_str_radix(digits, base).map_err(|_| too_large(()))?;
            return Ok(Some(Value::number(Number::from(number))));
        }
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent));
    if !is_number {
        return Ok(None);
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    Number::parse(text).map(|number| Some(Value::number(number))).map_err(|_| too_large(()))
}

/// Returns a timestamp for a date, or a date and a time. The components may consist of one digit.
fn time(text: &str) -> Option<Value> {
    let (date, clock) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some((&text[at..=at], &text[at + 1..]))),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    let date = format!("{year}-{}-{}", two_digits(month)?, two_digits(day)?);
    let Some((separator, rest)) = clock else {
        return date::shown(&format!("{date}T00:00:00Z")).map(Value::string);
    };
    let (clock, zone) = if separator == " " {
        (rest.trim_start_matches(' '), "Z")
    } else {
        rest.split_at(rest.find(['Z', '+', '-'])?)
    };
    let mut parts = clock.split(':');
    let (hour, minute, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (second, fraction) = match seconds.split_once(['.', ',']) {
        Some((_, "")) => return None,
        Some((second, fraction)) => (second, fraction),
        None => (seconds, "0"),
    };
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let clock = format!("{}:{}:{}", two_digits(hour)?, two_digits(minute)?, two_digits(second)?);
    date::shown(&format!("{date}T{clock}.{fraction}{zone}")).map(Value::string)
}

fn two_digits(part: &str) -> Option<String> {
    let digits = matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| format!("{part:0>2}"))
}
