//! What a plugin asks for, for people.

use wardian_policy::{Asked, Standing};

use super::RenderOptions;
use super::style::{Page, Style};

/// How something differs from what was agreed to before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It is new.
    Added,
    /// It was agreed to.
    Kept,
    /// It is asked for no more.
    Removed,
}

/// One thing that is asked for.
pub(crate) struct Told<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) mark: Mark,
    /// What policies say of it, where that matters.
    pub(crate) standing: Option<&'a Standing>,
}

/// What stands before the text of a line.
const INDENT: usize = 20;

/// One block of lines for each thing.
pub(crate) fn asking_text(all: &[Told<'_>], options: RenderOptions) -> String {
    let mut page = Page::new(options.color);
    for told in all {
        let (mark, style) = match told.mark {
            Mark::Added => ("+", Style::Green),
            Mark::Kept => (" ", Style::Bold),
            Mark::Removed => ("-", Style::Red),
        };
        page.push("    ");
        page.paint(style, mark);
        write!(page, " {:<13} ", told.asked.capability());
        indented(&told.asked.what(), options.width, &mut page);
        indented_line(told.asked.reason(), options.width, &mut page);
        match told.standing {
            Some(Standing::Granted) => indented_line("(granted by policy)", options.width, &mut page),
            Some(Standing::Denied(by)) => {
                indented_line(&format!("(stays denied: {by})"), options.width, &mut page);
            }
            Some(Standing::Open) | None => {}
        }
    }
    page.finish()
}

fn indented_line(text: &str, width: usize, page: &mut Page) {
    if !text.is_empty() {
        page.push(&" ".repeat(INDENT));
        indented(text, width, page);
    }
}

/// A text broken at blanks, its first line where the page is.
pub(super) fn indented(text: &str, width: usize, page: &mut Page) {
    let room = width.saturating_sub(INDENT).max(20);
    let mut length = 0;
    for word in text.split(' ') {
        let count = word.chars().count();
        if length > 0 && length + 1 + count > room {
            page.push("\n");
            page.push(&" ".repeat(INDENT));
            length = 0;
        } else if length > 0 {
            page.push(" ");
            length += 1;
        }
        page.push(word);
        length += count;
    }
    page.push("\n");
}
