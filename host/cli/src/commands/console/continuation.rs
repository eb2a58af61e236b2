//! Detects expressions that continue on the next line.

/// An open construct that must be closed before the expression can end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    /// A bracket, with its closing bracket.
    Bracket(char),
    /// A quoted template.
    Quote,
    /// A heredoc, with its end marker.
    Heredoc(String),
}

/// Returns whether a construct is open at the end of the input, in which case more lines are
/// required. An empty last line ends the input, and so does a construct that cannot be closed.
pub(super) fn is_open(input: &str) -> bool {
    if input.lines().next_back().is_none_or(|line| line.trim().is_empty()) {
        return false;
    }
    open_at_end(input).is_some_and(|open| !open.is_empty())
}

/// Returns the constructs that are open at the end; `None` if a closing bracket has no opening
/// bracket, or if a quoted template extends past the end of its line.
fn open_at_end(input: &str) -> Option<Vec<Open>> {
    let mut open: Vec<Open> = Vec::new();
    let mut rest = input;
    while let Some(character) = rest.chars().next() {
        match open.last() {
            Some(Open::Quote) => rest = quoted(rest, &mut open)?,
            Some(Open::Heredoc(end)) => {
                let line = rest.split('\n').next().unwrap_or(rest);
                let behind = rest.get(line.len() + 1..).unwrap_or("");
                if line.trim() == end {
                    open.pop();
                    // Code after a heredoc follows the end marker on the same line.
                    rest = behind;
                } else if let Some(at) = template_start(line) {
                    rest = rest.get(at + 2..).unwrap_or("");
                    open.push(Open::Bracket('}'));
                } else {
                    rest = behind;
                }
            }
            Some(Open::Bracket(_)) | None => rest = code(rest, character, &mut open)?,
        }
    }
    Some(open)
}

/// Skips one token of code.
fn code<'a>(rest: &'a str, character: char, open: &mut Vec<Open>) -> Option<&'a str> {
    let line_end = || rest.find('\n').unwrap_or(rest.len());
    if rest.starts_with('#') || rest.starts_with("//") {
        return rest.get(line_end()..);
    }
    if let Some(comment) = rest.strip_prefix("/*") {
        return comment.find("*/").and_then(|end| comment.get(end + 2..));
    }
    if let Some(heredoc) = rest.strip_prefix("<<") {
        let line = heredoc.split('\n').next().unwrap_or(heredoc);
        let name = line.strip_prefix('-').unwrap_or(line).trim_end();
        if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
            open.push(Open::Heredoc(name.to_owned()));
            return Some(heredoc.get(line.len() + 1..).unwrap_or(""));
        }
    }
    match character {
        '"' => open.push(Open::Quote),
        '(' => open.push(Open::Bracket(')')),
        '[' => open.push(Open::Bracket(']')),
        '{' => open.push(Open::Bracket('}')),
        ')' | ']' | '}' if open.pop() != Some(Open::Bracket(character)) => return None,
        _ => {}
    }
    rest.get(character.len_utf8()..)
}

/// Skips one token of a quoted template.
fn quoted<'a>(rest: &'a str, open: &mut Vec<Open>) -> Option<&'a str> {
    let at = rest.find(['"', '\\', '\n', '$', '%'])?;
    let found = rest.get(at..)?;
    if found.starts_with("$${") || found.starts_with("%%{") {
        return found.get(3..);
    }
    if found.starts_with("${") || found.starts_with("%{") {
        open.push(Open::Bracket('}'));
        return found.get(2..);
    }
    match found.chars().next()? {
        '"' => {
            open.pop();
            found.get(1..)
        }
        '\\' => found.chars().nth(1).and_then(|escaped| found.get(1 + escaped.len_utf8()..)),
        '\n' => None,
        _ => found.get(1..),
    }
}

/// Returns the position in a line where an expression of a template starts.
fn template_start(line: &str) -> Option<usize> {
    line.match_indices(['$', '%']).map(|(at, _)| at).find(|at| {
        let found = line.get(*at..).unwrap_or("");
        let is_doubled = |sign: &str| line.get(..*at).is_some_and(|before| before.ends_with(sign));
        (found.starts_with("${") && !is_doubled("$")) || (found.starts_with("%{") && !is_doubled("%"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expression_continues_while_a_construct_is_open() {
        for open in [
            "{\n",
            "[1,\n",
            "f(\"a\",\n",
            "{ a = [\"]\",\n",
            "<<EOT\n",
            "<<-EOT\n  a\n",
            "f(<<EOT\na ${ {\n",
            "<<EOT\n${1}\n",
            "[ # ]\n",
            "\"a${f(\n",
        ] {
            assert!(is_open(open), "{open}");
        }
    }

    #[test]
    fn complete_or_invalid_expression_does_not_continue() {
        for closed in [
            "",
            "1 + 1\n",
            "\"(\"\n",
            "{ a = 1 }\n",
            ")\n",
            "\"\\\"(\"\n",
            "(]\n",
            "\"abc\n",
            "[\n\n",
            "<<EOT\na\nEOT\n",
            "\"$${(\"\n",
            "/* (\n",
            "// [\n",
        ] {
            assert!(!is_open(closed), "{closed}");
        }
    }
}
