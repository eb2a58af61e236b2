//! Renames lengths in flat attributes: `l.#` is the length of a list or set, and `m.%` is the
//! length of a map.

use std::collections::{BTreeMap, HashMap};

/// The properties of the members that follow a collection's length.
#[derive(Clone, Copy, Default)]
struct Members {
    some: bool,
    named: bool,
}

/// Converts attributes of version 2, in which maps also used `#` for the length, to version 3. A
/// collection is a map if one of its member names is not a number. The type of a collection without
/// members is unknown, so its length is dropped, and the collection becomes null.
pub(super) fn with_map_lengths(attributes: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut members: HashMap<&str, Members> = attributes
        .keys()
        .filter_map(|name| Some((name.strip_suffix(".#")?, Members::default())))
        .filter(|(prefix, _)| !prefix.is_empty())
        .collect();
    if members.is_empty() {
        return attributes;
    }
    for name in attributes.keys() {
        for (dot, _) in name.match_indices('.') {
            let (prefix, rest) = (&name[..dot], &name[dot + 1..]);
            let member = rest.split('.').next().unwrap_or_default();
            if matches!(rest, "#" | "%") {
                continue;
            }
            if let Some(members) = members.get_mut(prefix) {
                members.some = true;
                members.named |= member.parse::<i64>().is_err();
            }
        }
    }
    let renamed: Vec<(String, bool)> =
        members.iter().filter(|(_, m)| m.named || !m.some).map(|(p, m)| ((*p).to_owned(), m.some)).collect();
    let mut attributes = attributes;
    for (prefix, is_map) in renamed {
        let length = attributes.remove(&format!("{prefix}.#"));
        if let Some(length) = length.filter(|_| is_map) {
            attributes.insert(format!("{prefix}.%"), length);
        }
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_count_keys_end_in_percent_sign() {
        let given = [
            ("m.#", "1"),
            ("m.k", "v"),
            ("l.#", "1"),
            ("l.0", "x"),
            ("e.#", "0"),
            ("s.#", "1"),
            ("s.1234.k.#", "2"),
            ("s.1234.k.a", "1"),
            ("s.1234.k.b", "2"),
            ("mixed.#", "2"),
            ("mixed.0", "a"),
            ("mixed.z", "b"),
            ("minus.#", "1"),
            ("minus.-1", "2"),
            ("deep.#", "1"),
            ("deep.0.x.#", "1"),
            ("deep.0.x.0", "q"),
            ("dotted.#", "1"),
            ("dotted.a.b", "c"),
            ("id", "1"),
        ];
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let lengths: Vec<String> =
            with_map_lengths(given).into_keys().filter(|name| name.ends_with(['#', '%'])).collect();
        // The expected attributes were written by Terraform 1.11.4.
        let expected =
            ["deep.#", "deep.0.x.#", "dotted.%", "l.#", "m.%", "minus.#", "mixed.%", "s.#", "s.1234.k.%"];
        assert_eq!(lengths, expected);
    }
}
