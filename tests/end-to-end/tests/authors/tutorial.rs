//! The parts of a tutorial that can be executed: files and commands, in the order of the document.
//!
//! A fenced block whose info string contains `file=PATH` is a file that the reader writes. Each line
//! of a `console` block that starts with `$ ` is a command, and the lines after it are its output.
//! A line `...` in the output stands for any number of lines, and `...` within a line for any text.

/// A part of a tutorial.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The reader writes a file. The path is relative to the current directory.
    File { path: String, content: String },
    /// The reader runs commands. The shell keeps its directory from one command to the next.
    Command { line: usize, command: String, output: Vec<String> },
}

/// Returns the parts of a document.
///
/// # Errors
/// Returns a message if a block is not closed, or if a `console` block begins with output.
pub(crate) fn parts(document: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut lines = document.lines().enumerate();
    while let Some((start, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let mut block = Vec::new();
        loop {
            match lines.next() {
                Some((_, "```")) => break,
                Some((index, line)) => block.push((index + 1, line)),
                None => return Err(format!("the block in line {} is not closed", start + 1)),
            }
        }
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default();
        if let Some(path) = words.find_map(|word| word.strip_prefix("file=")) {
            let content = block.iter().flat_map(|(_, line)| [line, "\n"]).collect();
            parts.push(Part::File { path: path.to_owned(), content });
        } else if language == "console" {
            commands(&block, &mut parts)?;
        }
    }
    Ok(parts)
}

fn commands(block: &[(usize, &str)], parts: &mut Vec<Part>) -> Result<(), String> {
    let first = parts.len();
    for (line, text) in block {
        if let Some(command) = text.strip_prefix("$ ") {
            parts.push(Part::Command { line: *line, command: command.to_owned(), output: Vec::new() });
            continue;
        }
        match parts[first..].last_mut() {
            // A backslash continues a command, as in a shell.
            Some(Part::Command { command, output, .. }) if output.is_empty() && command.ends_with('\\') => {
                command.push('\n');
                command.push_str(text);
            }
            Some(Part::Command { output, .. }) => output.push((*text).to_owned()),
            _ => return Err(format!("line {line} is output of no command")),
        }
    }
    Ok(())
}

/// Returns whether a command printed the documented output. A command without documented output may
/// print anything.
pub(crate) fn matches(documented: &[String], printed: &str) -> bool {
    if documented.is_empty() {
        return true;
    }
    let printed: Vec<&str> = printed.lines().map(str::trim_end).skip_while(|line| line.is_empty()).collect();
    let end = printed.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines_match(documented, &printed[..end])
}

/// Compares lines with wildcards in time proportional to the product of the lengths: only the last
/// `...` is ever retried.
fn lines_match(documented: &[String], printed: &[&str]) -> bool {
    let (mut pattern, mut line, mut retry) = (0, 0, None);
    while line < printed.len() {
        if documented.get(pattern).is_some_and(|text| text.trim() == "...") {
            pattern += 1;
            retry = Some((pattern, line));
        } else if documented.get(pattern).is_some_and(|text| line_matches(text.trim_end(), printed[line])) {
            pattern += 1;
            line += 1;
        } else if let Some((after, skipped)) = retry {
            pattern = after;
            line = skipped + 1;
            retry = Some((after, line));
        } else {
            return false;
        }
    }
    documented[pattern..].iter().all(|text| text.trim() == "...")
}

fn line_matches(documented: &str, printed: &str) -> bool {
    let mut pieces = documented.split("...");
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(previous) = last.replace(piece) {
            let Some((_, after)) = rest.split_once(previous) else { return false };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn files_and_commands_are_found_in_order() {
        let document = "Text.\n\n```rust file=src/lib.rs\nfn a() {}\n```\n\n```console\n$ cd a \\\n  && ls\nb\n$ true\n```\n\n```sh\nignored\n```\n";
        let expected = [
            Part::File { path: "src/lib.rs".into(), content: "fn a() {}\n".into() },
            Part::Command { line: 8, command: "cd a \\\n  && ls".into(), output: lines("b") },
            Part::Command { line: 11, command: "true".into(), output: Vec::new() },
        ];
        assert_eq!(parts(document).unwrap(), expected);
    }

    #[test]
    fn incomplete_blocks_are_errors() {
        assert_eq!(parts("\n```console\n$ a\n").unwrap_err(), "the block in line 2 is not closed");
        assert_eq!(parts("```console\nb\n```\n").unwrap_err(), "line 2 is output of no command");
    }

    #[test]
    fn wildcards_match_lines_and_text() {
        assert!(matches(&lines("a\n...\nz"), "a\nb\nc\nz\n"));
        assert!(matches(&lines("...\nz"), "z\nb\nz\n"));
        assert!(matches(&lines("took ... s (... kB)"), "\ntook 1.2 s (3 kB)\n\n"));
        assert!(!matches(&lines("a\n...\nz"), "a\nb\n"));
        assert!(!matches(&lines("a"), "a\nb"));
        assert!(!matches(&lines("took ... s"), "took 1 m"));
    }
}
