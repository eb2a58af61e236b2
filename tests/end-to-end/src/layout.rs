//! Formats JSON for reading and comparison. A value that fits on one line is written on one line.

use serde_json::Value;

/// The maximum width of a line.
const WIDTH: usize = 120;

/// Formats a value with each line indented.
pub fn lay_out(value: &Value, indent: usize) -> String {
    let mut text = " ".repeat(indent);
    write(value, indent, 0, &mut text);
    text.push('\n');
    text
}

/// Writes a value. `used` is the width of the text before the value on its line, without the
/// indent.
fn write(value: &Value, indent: usize, used: usize, text: &mut String) {
    let compact = value.to_string();
    if indent + used + compact.len() <= WIDTH {
        text.push_str(&compact);
        return;
    }
    let inner = indent + 2;
    match value {
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                start_line(index, inner, text);
                write(item, inner, 0, text);
            }
            end_lines(indent, ']', text);
        }
        Value::Object(attributes) if !attributes.is_empty() => {
            text.push('{');
            for (index, (name, item)) in attributes.iter().enumerate() {
                start_line(index, inner, text);
                let name = format!("{}: ", Value::from(name.as_str()));
                text.push_str(&name);
                write(item, inner, name.len(), text);
            }
            end_lines(indent, '}', text);
        }
        _ => text.push_str(&compact),
    }
}

fn start_line(index: usize, indent: usize, text: &mut String) {
    text.push_str(if index == 0 { "\n" } else { ",\n" });
    text.push_str(&" ".repeat(indent));
}

fn end_lines(indent: usize, end: char, text: &mut String) {
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(end);
}
