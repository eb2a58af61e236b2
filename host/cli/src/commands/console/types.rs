//! The output of `type(...)`.

use wardian_value::Type;

/// Returns a type as text without a line break at its end, on several lines if the type has
/// attributes or elements.
pub(super) fn render_type(ty: &Type) -> String {
    let mut text = String::new();
    write(ty, 0, &mut text);
    text
}

fn write(ty: &Type, depth: usize, text: &mut String) {
    match ty {
        Type::Dynamic => text.push_str("dynamic"),
        Type::Bool => text.push_str("bool"),
        Type::Number => text.push_str("number"),
        Type::String => text.push_str("string"),
        Type::List(element) => collection("list", element, depth, text),
        Type::Set(element) => collection("set", element, depth, text),
        Type::Map(element) => collection("map", element, depth, text),
        Type::Object(object) if object.is_empty() => text.push_str("object({})"),
        Type::Object(object) => {
            text.push_str("object({\n");
            for (name, ty) in object.iter() {
                indent(depth + 1, text);
                text.push_str(name);
                text.push_str(": ");
                write(ty, depth + 1, text);
                text.push_str(",\n");
            }
            indent(depth, text);
            text.push_str("})");
        }
        Type::Tuple(elements) if elements.is_empty() => text.push_str("tuple([])"),
        Type::Tuple(elements) => {
            text.push_str("tuple([\n");
            for element in elements.iter() {
                indent(depth + 1, text);
                write(element, depth + 1, text);
                text.push_str(",\n");
            }
            indent(depth, text);
            text.push_str("])");
        }
    }
}

/// Writes a collection type. An element type of several lines is put on separate lines.
fn collection(name: &str, element: &Type, depth: usize, text: &mut String) {
    text.push_str(name);
    text.push('(');
    if matches!(element, Type::Object(_) | Type::Tuple(_)) {
        text.push('\n');
        indent(depth + 1, text);
        write(element, depth + 1, text);
        text.push_str(",\n");
        indent(depth, text);
    } else {
        write(element, depth, text);
    }
    text.push(')');
}

fn indent(depth: usize, text: &mut String) {
    text.extend(std::iter::repeat_n("    ", depth));
}
