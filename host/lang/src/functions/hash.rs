//! The hash functions, `uuid` and `bcrypt`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use uuid::Uuid;
use wardian_value::{Type, Value};

use super::{Body, Failure, Function, Outcome, Parameter, ResultType};
use super::{file, number, string, text, whole};
use crate::Scope;

const STR: &[Parameter] = &[string("str")];
const PATH: &[Parameter] = &[string("path")];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("bcrypt", STR, ResultType::String, Body::Scoped(bcrypt)).variadic(number("cost")),
    of_text("md5", in_hex::<Md5>),
    of_text("sha1", in_hex::<Sha1>),
    of_text("sha256", in_hex::<Sha256>),
    of_text("sha512", in_hex::<Sha512>),
    of_text("base64sha256", in_base64::<Sha256>),
    of_text("base64sha512", in_base64::<Sha512>),
    of_file("filemd5", file_in_hex::<Md5>),
    of_file("filesha1", file_in_hex::<Sha1>),
    of_file("filesha256", file_in_hex::<Sha256>),
    of_file("filesha512", file_in_hex::<Sha512>),
    of_file("filebase64sha256", file_in_base64::<Sha256>),
    of_file("filebase64sha512", file_in_base64::<Sha512>),
    Function::new("uuid", &[], ResultType::String, Body::Scoped(random_uuid)),
    Function::new("uuidv5", &[string("namespace"), string("name")], ResultType::String, Body::Pure(uuidv5)),
];

const fn of_text(name: &'static str, body: fn(&[Value]) -> Outcome) -> Function {
    Function::new(name, STR, ResultType::String, Body::Pure(body))
}

const fn of_file(name: &'static str, body: fn(&[Value], &dyn Scope) -> Outcome) -> Function {
    Function::new(name, PATH, ResultType::String, Body::Scoped(body))
}

fn in_hex<D: Digest>(arguments: &[Value]) -> Outcome {
    Ok(Value::string(hex::encode(D::digest(text(arguments, 0)).as_slice())))
}

fn in_base64<D: Digest>(arguments: &[Value]) -> Outcome {
    Ok(Value::string(STANDARD.encode(D::digest(text(arguments, 0)).as_slice())))
}

fn content(path: &str, scope: &dyn Scope) -> Result<Vec<u8>, Failure> {
    file::read(path, 0, scope).map_err(Failure::into_call)
}

fn file_in_hex<D: Digest>(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    let content = content(text(arguments, 0), scope)?;
    Ok(Value::string(hex::encode(D::digest(content).as_slice())))
}

fn file_in_base64<D: Digest>(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    let content = content(text(arguments, 0), scope)?;
    Ok(Value::string(STANDARD.encode(D::digest(content).as_slice())))
}

/// Computes a bcrypt hash. A cost less than the minimum is replaced by the default cost.
fn bcrypt(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    const USUAL: i64 = 10;
    if arguments.len() > 2 {
        return Err(Failure::call("one or two arguments are needed"));
    }
    let cost = if arguments.len() > 1 { whole(arguments, 1)? } else { USUAL };
    let cost = if cost < 4 { USUAL } else { cost };
    let cost = u32::try_from(cost)
        .ok()
        .filter(|cost| *cost <= 31)
        .ok_or_else(|| Failure::argument(1, "the cost must not be greater than 31"))?;
    if text(arguments, 0).len() > 72 {
        return Err(Failure::argument(0, "only strings of up to 72 bytes can be hashed with bcrypt"));
    }
    let Some(salt) = scope.random_bytes() else { return Ok(super::unknown_result(Type::String)) };
    let parts = bcrypt::hash_with_salt(text(arguments, 0), cost, salt)
        .map_err(|error| Failure::Call(error.to_string()))?;
    Ok(Value::string(parts.format_for_version(bcrypt::Version::TwoA)))
}

fn random_uuid(_arguments: &[Value], scope: &dyn Scope) -> Outcome {
    Ok(match scope.random_bytes() {
        Some(bytes) => Value::string(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()),
        None => super::unknown_result(Type::String),
    })
}

fn uuidv5(arguments: &[Value]) -> Outcome {
    let namespace = match text(arguments, 0) {
        "dns" => Uuid::NAMESPACE_DNS,
        "url" => Uuid::NAMESPACE_URL,
        "oid" => Uuid::NAMESPACE_OID,
        "x500" => Uuid::NAMESPACE_X500,
        other => Uuid::parse_str(other)
            .map_err(|_| Failure::argument(0, format!("{other:?} is not dns, url, oid, x500 or a UUID")))?,
    };
    Ok(Value::string(Uuid::new_v5(&namespace, text(arguments, 1).as_bytes()).to_string()))
}
