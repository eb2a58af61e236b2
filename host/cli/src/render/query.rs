//! Renders the results of a query as text.

use wardian_engine::{ListInstance, ListedObject};
use wardian_printable::{PrintableText, append_line};
use wardian_value::{Value, json};

/// Returns one line for each object: the address of the list, the identity of the object and its
/// name, in columns. Ends with an empty line.
pub(crate) fn render_list_results(list: &ListInstance, found: &[ListedObject]) -> PrintableText {
    let address = list.to_string();
    let identities: Vec<String> = found.iter().map(|object| identity(&object.identity)).collect();
    let width = identities.iter().map(|identity| identity.chars().count()).max().unwrap_or_default();
    let mut text = PrintableText::new();
    for (object, identity) in found.iter().zip(&identities) {
        append_line!(text, "{address}   {identity:<width$}   {}", object.display_name);
    }
    text.push("\n");
    text
}

/// Returns the attributes of an identity that are set: `account=a,name=b`.
fn identity(identity: &Value) -> String {
    let parts = identity.as_mapping().into_iter().flatten().filter(|(_, part)| !part.is_null());
    let parts = parts.map(|(name, part)| match part.as_str() {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={}", json::to_json_value(part)),
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use wardian_address::InstanceKey;

    use super::*;

    #[test]
    fn results_are_aligned_and_escaped() {
        let found = |name: &str, number: u64, display_name: &str| ListedObject {
            identity: Value::object([("name", Value::string(name)), ("zone", Value::number(number))]),
            display_name: display_name.to_owned(),
            object: None,
            generated: None,
        };
        let list = ListInstance { type_name: "t".into(), name: "n".into(), key: InstanceKey::Int(0) };
        let text = render_list_results(&list, &[found("a", 1, "First"), found("long", 22, "x\u{1b}[2J")]);
        assert_eq!(
            text.as_str(),
            "list.t.n[0]   name=a,zone=1       First\nlist.t.n[0]   name=long,zone=22   x\\u{1b}[2J\n\n"
        );
    }
}
