//! Renders capability requests as text.

use wardian_app::{CapabilityChange, RequestedCapability};
use wardian_policy::GrantStatus;

use super::RenderOptions;
use super::style::{Page, Style};
use wardian_printable::{PrintableText, append};

/// The column in which the text of a line starts.
const INDENT: usize = 20;

/// Returns one block of lines for each request.
pub(crate) fn consent_text(requests: &[RequestedCapability<'_>], options: RenderOptions) -> PrintableText {
    let mut page = Page::new(options.color);
    for request in requests {
        let (mark, style) = match request.change {
            CapabilityChange::Added => ("+", Style::Green),
            CapabilityChange::Unchanged => (" ", Style::Bold),
            CapabilityChange::Removed => ("-", Style::Red),
        };
        page.push("    ");
        page.paint(style, mark);
        append!(page, " {:<13} ", request.asked.capability());
        indented(&request.asked.description(), options.width, &mut page);
        indented_line(request.asked.reason(), options.width, &mut page);
        match request.standing {
            Some(GrantStatus::Granted) => indented_line("(granted by policy)", options.width, &mut page),
            Some(GrantStatus::Denied(by)) => {
                indented_line(&format!("(stays denied: {by})"), options.width, &mut page);
            }
            Some(GrantStatus::Undecided) | None => {}
        }
    }
    page.finish()
}

fn indented_line(text: &str, width: usize, page: &mut Page) {
    if !text.is_empty() {
        page.blanks(INDENT);
        indented(text, width, page);
    }
}

/// Writes text, wrapped at spaces. The first line starts at the page's current position.
pub(super) fn indented(text: &str, width: usize, page: &mut Page) {
    let room = width.saturating_sub(INDENT).max(20);
    let mut length = 0;
    for word in text.split(' ') {
        let count = word.chars().count();
        if length > 0 && length + 1 + count > room {
            page.push("\n");
            page.blanks(INDENT);
            length = 0;
        } else if length > 0 {
            page.push(" ");
            length += 1;
        }
        page.append(word);
        length += count;
    }
    page.push("\n");
}
