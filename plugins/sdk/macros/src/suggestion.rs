//! Suggests names that are similar to a misspelt name.

/// Returns the message for an unknown name, with a suggestion or all known names.
pub(crate) fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (distance(name, candidate), *candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4);
    match nearest {
        Some((_, candidate)) => format!("unknown {kind} `{name}`\nhelp: did you mean `{candidate}`?"),
        None => format!("unknown {kind} `{name}`\nhelp: use one of: {}", known.join(", ")),
    }
}

/// Returns the edit distance. Quadratic in the length of names, which are short.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, left) in one.chars().enumerate() {
        let mut diagonal = index;
        row[0] = index + 1;
        for (position, right) in other.iter().enumerate() {
            let substituted = diagonal + usize::from(left != *right);
            diagonal = row[position + 1];
            row[position + 1] = substituted.min(diagonal + 1).min(row[position] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_similar_names() {
        assert!(
            unknown("option", "requird", &["optional", "required"]).ends_with("did you mean `required`?")
        );
        assert!(unknown("option", "x", &["optional", "required"]).ends_with("optional, required"));
    }
}
