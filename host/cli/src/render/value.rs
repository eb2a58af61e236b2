//! Renders values as expressions: the output of `console` and `output`.
//!
//! The text is an expression that evaluates to the value, including its type: a list is
//! `tolist([...])`, a tuple `[...]`. Values that have no such expression are shown in parentheses.

use std::collections::BTreeMap;

use wardian_printable::{PrintableText, append, append_line};
use wardian_state::OutputValue;
use wardian_value::{Mapping, Str, Type, Value, View};

use super::layout::{escaped_line, quoted};
use super::style::Page;

/// Returns a value as text, without a trailing line break. Continuation lines are indented by
/// `indent` more columns.
pub(crate) fn render_value(value: &Value, indent: usize) -> PrintableText {
    let mut page = Page::new(false);
    write(&mut page, value, indent);
    page.finish()
}

/// Returns `name = value` for each output, for `output` and for the end of an apply. Sensitive
/// values are redacted. Each line ends with a line break.
pub(crate) fn render_outputs(outputs: &BTreeMap<Str, OutputValue>) -> PrintableText {
    let mut page = Page::new(false);
    for (name, output) in outputs {
        append!(page, "{name} = ");
        if output.sensitive {
            page.push("<sensitive>");
        } else {
            write(&mut page, &output.value, 0);
        }
        page.push("\n");
    }
    page.finish()
}

fn write(page: &mut Page, value: &Value, indent: usize) {
    if !value.is_known() {
        page.push("(known after apply)");
        return;
    }
    if value.marks().is_sensitive() {
        page.push("(sensitive value)");
        return;
    }
    if value.marks().is_ephemeral() {
        page.push("(ephemeral value)");
        return;
    }
    match value.view() {
        View::Null => page.append(&null(value.ty())),
        View::Unknown => {}
        View::Bool(value) => append!(page, "{value}"),
        View::Number(number) => append!(page, "{number}"),
        View::String(text) => string(page, text, indent),
        View::List(elements) => {
            call(page, "tolist", |page| sequence(page, elements, indent));
        }
        View::Set(elements) => {
            call(page, "toset", |page| sequence(page, elements, indent));
        }
        View::Tuple(elements) => sequence(page, elements, indent),
        View::Map(elements) => {
            call(page, "tomap", |page| mapping(page, elements, indent));
        }
        View::Object(attributes) => mapping(page, attributes, indent),
    }
}

fn call(page: &mut Page, function: &'static str, argument: impl FnOnce(&mut Page)) {
    page.push(function);
    page.push("(");
    argument(page);
    page.push(")");
}

fn null(ty: &Type) -> String {
    let typed =
        |function: &str, element: &Type| format!("{function}(null) /* of {} */", element.friendly_name());
    match ty {
        Type::Bool => "tobool(null)".into(),
        Type::Number => "tonumber(null)".into(),
        Type::String => "tostring(null)".into(),
        Type::List(element) => typed("tolist", element),
        Type::Set(element) => typed("toset", element),
        Type::Map(element) => typed("tomap", element),
        Type::Object(_) | Type::Tuple(_) => format!("null /* {} */", ty.friendly_name()),
        Type::Dynamic => "null".into(),
    }
}

fn sequence(page: &mut Page, elements: &[Value], indent: usize) {
    if elements.is_empty() {
        page.push("[]");
        return;
    }
    page.push("[\n");
    for element in elements {
        page.blanks(indent + 2);
        write(page, element, indent + 2);
        page.push(",\n");
    }
    page.blanks(indent);
    page.push("]");
}

fn mapping(page: &mut Page, elements: Mapping<'_>, indent: usize) {
    if elements.is_empty() {
        page.push("{}");
        return;
    }
    page.push("{\n");
    for (key, element) in elements {
        page.blanks(indent + 2);
        string(page, key, indent + 2);
        page.push(" = ");
        write(page, element, indent + 2);
        page.push("\n");
    }
    page.blanks(indent);
    page.push("}");
}

fn string(page: &mut Page, text: &str, indent: usize) {
    if !text.contains('\n') {
        page.append(&quoted(text));
        return;
    }
    let mut delimiter = String::from("EOT");
    while text.lines().any(|line| line.trim() == delimiter) {
        delimiter.push('_');
    }
    let dash = if indent > 0 { "-" } else { "" };
    append_line!(page, "<<{dash}{delimiter}");
    for line in text.split('\n') {
        page.blanks(indent);
        page.append(&escaped_line(line));
        page.push("\n");
    }
    page.blanks(indent);
    page.append(&delimiter);
}

#[cfg(test)]
mod tests {
    use wardian_value::Marks;

    use super::*;

    fn list(elements: impl IntoIterator<Item = Value>) -> Value {
        Value::list(Type::String, elements)
    }

    /// The expected texts are the output of `console` in Terraform 1.11.4 for the same expressions.
    #[test]
    fn values_are_rendered_as_in_terraform() {
        let secret = || Value::string("x").with_marks(Marks::SENSITIVE);
        let cases = [
            (Value::null(Type::Dynamic), "null"),
            (Value::null(Type::String), "tostring(null)"),
            (Value::null(Type::object([("a", Type::String)])), "null /* object */"),
            (Value::null(Type::tuple([Type::String])), "null /* tuple */"),
            (
                Value::object([("a\nb", Value::object([("c", Value::string("x"))]))]),
                "{\n  <<-EOT\n  a\n  b\n  EOT = {\n    \"c\" = \"x\"\n  }\n}",
            ),
            (
                Value::tuple([Value::unknown(Type::String).with_marks(Marks::SENSITIVE)]),
                "[\n  (known after apply),\n]",
            ),
            (Value::null(Type::list(Type::Dynamic)), "tolist(null) /* of dynamic */"),
            (Value::null(Type::map(Type::Dynamic)), "tomap(null) /* of dynamic */"),
            (true.into(), "true"),
            ((-5).into(), "-5"),
            (Value::number(wardian_value::Number::parse("1e30").unwrap()), "1000000000000000000000000000000"),
            (Value::number(wardian_value::Number::parse("1e-7").unwrap()), "0.0000001"),
            ("a\"b\\c\td ${x} \u{e9} \u{200b} \u{1}".into(), r#""a\"b\\c\td ${x} é \u200b \x01""#),
            ("a\nb".into(), "<<EOT\na\nb\nEOT"),
            ("a\nb\n".into(), "<<EOT\na\nb\n\nEOT"),
            ("EOT\nb".into(), "<<EOT_\nEOT\nb\nEOT_"),
            (Value::tuple(["a\nb".into(), 1.into()]), "[\n  <<-EOT\n  a\n  b\n  EOT,\n  1,\n]"),
            (
                Value::object([
                    ("a", Value::string("x\ny")),
                    ("b", Value::object([("c", Value::string("p\nq\n"))])),
                ]),
                "{\n  \"a\" = <<-EOT\n  x\n  y\n  EOT\n  \"b\" = {\n    \"c\" = <<-EOT\n    p\n    q\n    \n    EOT\n  }\n}",
            ),
            (Value::tuple([]), "[]"),
            (Value::empty_object(), "{}"),
            (list([]), "tolist([])"),
            (Value::set(Type::String, []), "toset([])"),
            (Value::map(Type::String, []), "tomap({})"),
            (
                Value::tuple([1.into(), "a".into(), Value::null(Type::Dynamic), true.into()]),
                "[\n  1,\n  \"a\",\n  null,\n  true,\n]",
            ),
            (list([Value::null(Type::String), "a".into()]), "tolist([\n  tostring(null),\n  \"a\",\n])"),
            (Value::set(Type::String, ["a".into(), "b".into()]), "toset([\n  \"a\",\n  \"b\",\n])"),
            (
                Value::map(Type::Number, [("a".into(), 1.into()), ("b c".into(), 2.into())]),
                "tomap({\n  \"a\" = 1\n  \"b c\" = 2\n})",
            ),
            (
                Value::object([("a", Value::tuple([1.into()])), ("b", list(["x".into()]))]),
                "{\n  \"a\" = [\n    1,\n  ]\n  \"b\" = tolist([\n    \"x\",\n  ])\n}",
            ),
            (secret(), "(sensitive value)"),
            (Value::tuple([secret(), 2.into()]), "[\n  (sensitive value),\n  2,\n]"),
            (Value::unknown(Type::String), "(known after apply)"),
        ];
        for (value, expected) in cases {
            assert_eq!(render_value(&value, 0).as_str(), expected);
        }
    }

    #[test]
    fn sensitive_outputs_are_redacted() {
        let output = |value: Value, sensitive| OutputValue { value, sensitive };
        let outputs = BTreeMap::from([
            ("a".into(), output(list(["b".into()]), false)),
            ("long_name".into(), output("secret".into(), true)),
        ]);
        assert_eq!(
            render_outputs(&outputs).as_str(),
            "a = tolist([\n  \"b\",\n])\nlong_name = <sensitive>\n"
        );
    }
}
