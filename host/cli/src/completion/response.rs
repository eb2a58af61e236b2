//! The lines that shells read.

use std::fmt::Write as _;

use super::candidate::{Candidate, Ending};
use super::shell_line::ShellLine;
use crate::arguments::CompletionShell;

/// Returns the candidates for bash: the texts that replace the end of the line. `has_spaces`: a
/// space follows a complete word, because bash does not add one.
pub(super) fn bash_lines(line: &ShellLine, candidates: &[Candidate], has_spaces: bool) -> String {
    let mut text = String::new();
    for candidate in candidates {
        let Some(insertion) = line.insertion(&candidate.text) else { continue };
        let is_open = candidate.ending == Ending::Open || line.quote.is_some() || !has_spaces;
        let _ = writeln!(text, "{insertion}{}", if is_open { "" } else { " " });
    }
    text
}

/// Returns the candidates for other shells: for each, whether a space follows, the word and its
/// description, separated by tabs. fish decides by itself whether a space follows.
pub(super) fn lines(shell: CompletionShell, candidates: &[Candidate]) -> String {
    let mut text = String::new();
    for Candidate { text: word, description, ending } in candidates {
        let _ = match (shell, ending) {
            (CompletionShell::Fish, _) => writeln!(text, "{word}\t{description}"),
            (_, Ending::Open) => writeln!(text, "open\t{word}\t{description}"),
            (_, Ending::Word | Ending::Address) => writeln!(text, "word\t{word}\t{description}"),
        };
    }
    text
}
