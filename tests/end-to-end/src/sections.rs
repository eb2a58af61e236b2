//! The format of the files of recorded cases: text, and then sections with titles.
//!
//! ```text
//! The purpose of the case.
//! -- main.tf --
//! output "a" {}
//! -- answer --
//! invalid
//! ```

/// Returns the text before the first section, and the title and content of each section.
pub fn sections(text: &str) -> (String, Vec<(String, String)>) {
    let mut before = String::new();
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let title = line.trim_end().strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --"));
        match (title, sections.last_mut()) {
            (Some(title), _) => sections.push((title.to_owned(), String::new())),
            (None, Some((_, content))) => content.push_str(line),
            (None, None) => before.push_str(line),
        }
    }
    (before, sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keep_their_order_and_lines() {
        let (before, found) = sections("Purpose.\n-- a b --\none\n\n-- c --\n-- c --\n--\n");
        assert_eq!(before, "Purpose.\n");
        let expected = [("a b", "one\n\n"), ("c", ""), ("c", "--\n")];
        assert_eq!(found, expected.map(|(title, content)| (title.to_owned(), content.to_owned())));
    }
}
