//! Suggestions for "did you mean": the known name that is closest to an unknown name.

/// Returns the candidate that is closest to `given`, if the difference could be a typing error.
pub fn closest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match given.chars().count() {
        0..=2 => 1,
        3..=6 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(given, candidate, allowed), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the clause ` Did you mean "CANDIDATE"?`, or an empty text if no candidate is close.
pub fn did_you_mean<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    closest(given, candidates).map_or(String::new(), |near| format!(" Did you mean \"{near}\"?"))
}

/// Returns the number of edits between two names. A swap of adjacent characters is one edit. If the
/// number is greater than `limit`, `limit + 1` may be returned.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}
