//! Functions whose results cannot be compared with the output of Terraform's console.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_lang::{EmptyScope, ReferenceSubject, Resolved, Scope, parse_expression};
use wardian_value::{Marks, Type, Value};

struct Random;

impl Scope for Random {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        match subject.to_string().as_str() {
            "local.secret" => Ok(Resolved::Whole(Value::string("s").with_marks(Marks::SENSITIVE))),
            "local.template" => Ok(Resolved::Whole(Value::string("x${a}"))),
            "local.lines" => Ok(Resolved::Whole(Value::string("a ${~ 1 ~}\n\n  b\r\n  ${~ 2}"))),
            "local.number" => Ok(Resolved::Whole(Value::from(1))),
            "local.templates" => Ok(Resolved::Whole(Value::list(Type::String, [Value::string("${a}!")]))),
            "local.later" => Ok(Resolved::Whole(
                Value::unknown(Type::list(Type::String)).with_marks(Marks::SENSITIVE | Marks::EPHEMERAL),
            )),
            name => Err(Diagnostic::error("Undeclared", name).at(span.clone()).into()),
        }
    }

    fn random_bytes(&self) -> Option<[u8; 16]> {
        Some([7; 16])
    }
}

fn evaluated(text: &str, scope: &dyn Scope) -> Result<Value, String> {
    parse_expression(&SourceFile::new("main.tf", text))
        .and_then(|expression| expression.evaluate(scope))
        .map_err(|problems| problems.to_string())
}

fn text(expression: &str) -> String {
    let value = evaluated(expression, &Random).unwrap();
    value.as_str().unwrap().to_owned()
}

fn refused(expression: &str) -> String {
    evaluated(expression, &Random).unwrap_err()
}

#[test]
fn bcrypt_hashes_can_be_verified() {
    for (expression, cost) in [("bcrypt(\"a\", 4)", "04"), ("bcrypt(\"a\", 5)", "05")] {
        let hash = text(expression);
        assert!(hash.starts_with(&format!("$2a${cost}$")), "{hash}");
        assert!(bcrypt::verify("a", &hash).unwrap());
    }
    assert!(refused("bcrypt(\"a\", 32)").contains("31"));
    assert!(refused("bcrypt(join(\"\", range(100)), 4)").contains("72"));
    assert!(refused("bcrypt(\"a\", 4, 4)").contains("one or two"));
    assert!(!evaluated("bcrypt(\"a\", 4)", &EmptyScope).unwrap().is_known());
}

#[test]
fn gzip_round_trips() {
    assert_eq!(text("base64gunzip(base64gzip(\"héllo\"))"), "héllo");
    assert_eq!(text("base64gunzip(base64gzip(\"\"))"), "");
    // Terraform's output for "test".
    assert_eq!(text("base64gunzip(\"H4sIAAAAAAAA/ypJLS4BAAAA//8BAAD//wx+f9gEAAAA\")"), "test");
    assert!(refused("base64gunzip(\"dGVzdA==\")").contains("gzip"));
    assert!(refused("base64gunzip(\"%\")").contains("base64"));
}

#[test]
fn cidrcontains_accepts_addresses_and_networks() {
    for (expression, expected) in [
        ("cidrcontains(\"10.0.0.0/8\", \"10.1.2.3\")", true),
        ("cidrcontains(\"10.0.0.0/8\", \"11.1.2.3\")", false),
        ("cidrcontains(\"10.0.0.0/8\", \"10.1.0.0/16\")", true),
        ("cidrcontains(\"10.1.0.0/16\", \"10.0.0.0/8\")", false),
        ("cidrcontains(\"fd00::/8\", \"fd12::1\")", true),
        ("cidrcontains(\"::/0\", \"fd12::/16\")", true),
        ("cidrcontains(\"0.0.0.0/0\", \"255.255.255.255\")", true),
    ] {
        assert_eq!(evaluated(expression, &EmptyScope).unwrap(), Value::bool(expected), "{expression}");
    }
    assert!(refused("cidrcontains(\"10.0.0.0/8\", \"::1\")").contains("IPv4"));
    assert!(refused("cidrcontains(\"10.0.0.0/8\", \"x\")").contains("contained_ip_or_prefix"));
}

#[test]
fn urldecode_decodes_escapes() {
    assert_eq!(text("urldecode(\"a+b%20c%C3%A9%2B\")"), "a b cé+");
    assert_eq!(text("urldecode(urlencode(\"mailto:é?x=1&y= z\"))"), "mailto:é?x=1&y= z");
    for invalid in ["%", "%2", "%zz", "%ff"] {
        refused(&format!("urldecode(\"{invalid}\")"));
    }
}

#[test]
fn convert_accepts_type_argument() {
    let set = evaluated("convert([1, 1, \"2\"], set(string))", &EmptyScope).unwrap();
    assert_eq!(set.ty().to_string(), "set(string)");
    let object =
        evaluated("convert({ a = 1 }, object({ a = string, b = optional(number, 5) }))", &EmptyScope);
    assert_eq!(object.unwrap(), Value::object([("a", Value::string("1")), ("b", Value::from(5))]));
    assert_eq!(evaluated("convert(null, string)", &EmptyScope).unwrap(), Value::null(Type::String));
    assert!(evaluated("convert(local.secret, any)", &Random).unwrap().marks().is_sensitive());
    refused("convert(\"a\", number)");
    refused("convert(\"a\", \"b\")");
    refused("convert(\"a\")");
    // The type argument is neither a reference nor a function call.
    let parsed = parse_expression(&SourceFile::new("main.tf", "convert(local.a, list(string))")).unwrap();
    assert_eq!(parsed.references().len(), 1);
    assert!(parsed.check().is_empty());
}

#[test]
fn strip_markers_stop_at_line_end() {
    assert_eq!(text("templatestring(local.lines, {})"), "a1\n  b\r\n2");
}

#[test]
fn templatestring_requires_a_reference() {
    assert_eq!(text("templatestring(local.template, { a = 1 })"), "x1");
    assert_eq!(text("templatestring(local.templates[0], { a = 1 })"), "1!");
    assert_eq!(text("[for t in local.templates : templatestring(t, { a = 1 })][0]"), "1!");
    for invalid in
        ["\"x\"", "(local.template)", "\"${local.template}\"", "upper(local.template)", "local.number"]
    {
        refused(&format!("templatestring({invalid}, {{}})"));
    }
}

#[test]
fn unknown_values_keep_their_marks() {
    for call in [
        "reverse(local.later)",
        "flatten(local.later)",
        "chunklist(local.later, 2)",
        "element(local.later, 0)",
        "slice(local.later, 0, 1)",
        "concat(local.later, [])",
        "values({ a = local.later })[0]",
        "values(zipmap([\"a\"], local.later))",
        "setproduct(local.later, local.later)",
        "one(local.later)",
    ] {
        let value = evaluated(call, &Random).unwrap();
        assert!(!value.is_wholly_known(), "{call}");
        assert!(value.inside_marks().contains(Marks::SENSITIVE | Marks::EPHEMERAL), "{call}");
    }
}

#[test]
fn unknown_results_may_be_null() {
    for call in [
        "element(local.later, 0) == null",
        "lookup(zipmap(local.later, local.later), \"a\", null) == null",
        "one(local.later) == null",
        "one(toset(local.later)) == null",
    ] {
        assert!(!evaluated(call, &Random).unwrap().is_known(), "{call}");
    }
}

#[test]
fn rsadecrypt_accepts_all_key_formats() {
    let data = include_str!("data/rsa.txt");
    let parts: Vec<&str> = data.split("\n\n").map(str::trim).collect();
    let [ciphertext, keys @ ..] = parts.as_slice() else { unreachable!() };
    assert_eq!(keys.len(), 3);
    for key in keys {
        let key = key.replace('\n', "\\n");
        assert_eq!(text(&format!("rsadecrypt(\"{ciphertext}\", \"{key}\\n\")")), "a secret");
        let damaged = ciphertext.replacen(&ciphertext[..4], "AAAA", 1);
        assert!(refused(&format!("rsadecrypt(\"{damaged}\", \"{key}\\n\")")).contains("damaged"));
    }
    assert!(refused(&format!("rsadecrypt(\"{ciphertext}\", \"x\")")).contains("PEM"));
    assert!(refused("rsadecrypt(\"%\", \"x\")").contains("Base64"));
}

#[test]
fn yaml_aliases_cannot_exhaust_memory() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\\n".to_owned();
    for level in 1..12 {
        let alias = vec![format!("*a{}", level - 1); 10].join(", ");
        write!(bomb, "a{level}: &a{level} [{alias}]\\n").unwrap();
    }
    assert!(refused(&format!("yamldecode(\"{bomb}\")")).contains("aliases"));
    let deep = "[".repeat(100_000);
    refused(&format!("yamldecode(\"{deep}\")"));
}
