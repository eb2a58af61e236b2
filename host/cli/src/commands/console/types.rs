//! The output of `type(...)`.

use wardian_printable::{PrintableText, append};
use wardian_value::Type;

/// Returns a type as text, without a trailing line break. The text has several lines if the type
/// has attributes or elements.
pub(super) fn render_type(ty: &Type) -> PrintableText {
    let mut text = PrintableText::new();
    write(ty, 0, &mut text);
    text
}

fn write(ty: &Type, depth: usize, text: &mut PrintableText) {
    match ty {
        Type::Dynamic => text.push("dynamic"),
        Type::Bool => text.push("bool"),
        Type::Number => text.push("number"),
        Type::String => text.push("string"),
        Type::List(element) => collection("list", element, depth, text),
        Type::Set(element) => collection("set", element, depth, text),
        Type::Map(element) => collection("map", element, depth, text),
        Type::Object(object) if object.is_empty() => text.push("object({})"),
        Type::Object(object) => {
            text.push("object({\n");
            for (name, ty) in object.iter() {
                indent(depth + 1, text);
                append!(text, "{name}: ");
                write(ty, depth + 1, text);
                text.push(",\n");
            }
            indent(depth, text);
            text.push("})");
        }
        Type::Tuple(elements) if elements.is_empty() => text.push("tuple([])"),
        Type::Tuple(elements) => {
            text.push("tuple([\n");
            for element in elements.iter() {
                indent(depth + 1, text);
                write(element, depth + 1, text);
                text.push(",\n");
            }
            indent(depth, text);
            text.push("])");
        }
    }
}

/// Writes a collection type. A multi-line element type is written on separate lines.
fn collection(name: &'static str, element: &Type, depth: usize, text: &mut PrintableText) {
    text.push(name);
    text.push("(");
    if matches!(element, Type::Object(_) | Type::Tuple(_)) {
        text.push("\n");
        indent(depth + 1, text);
        write(element, depth + 1, text);
        text.push(",\n");
        indent(depth, text);
    } else {
        write(element, depth, text);
    }
    text.push(")");
}

fn indent(depth: usize, text: &mut PrintableText) {
    text.push_repeated("    ", depth);
}
