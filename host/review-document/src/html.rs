//! A page with one or several plans.
//!
//! The page is one file. Its content security policy forbids all requests, and permits only the
//! embedded script and style by their hashes. Without scripts, the page shows every change; the script
//! adds filters.

mod actions;
mod changes;
mod findings;
mod graph;
mod writer;

use std::io::{self, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};
use wardian_review::{ChangeClass, Review};

use writer::HtmlWriter;

const SCRIPT: &str = include_str!("html/page.js");
const STYLE: &str = include_str!("html/page.css");

/// Maximum number of attributes that can be hidden.
const MAX_HIDEABLE_ATTRIBUTES: usize = 60;

/// Writes a page with plans.
///
/// # Errors
/// Returns an error if the page cannot be written.
pub fn write_page(reviews: &[Review], out: &mut dyn Write) -> io::Result<()> {
    let mut page = HtmlWriter::new(out);
    head(&mut page, reviews);
    page.raw("<body>\n<a class=skip href=\"#changes\">Skip to the changes</a>\n<header>\n<h1>");
    heading(&mut page, reviews);
    page.raw("</h1>\n");
    if reviews.len() > 1 {
        overview(&mut page, reviews);
    }
    page.raw("</header>\n");
    tools(&mut page, reviews);
    page.raw("<main id=changes>\n");
    for (index, review) in reviews.iter().enumerate() {
        section(&mut page, review, index, reviews.len() > 1);
    }
    page.raw(
        "</main>\n<footer>Created by Wardian. Values marked as sensitive are not in this page.</footer>\n",
    );
    page.raw("<script>");
    page.raw(SCRIPT);
    page.raw("</script>\n</body>\n</html>\n");
    page.finish()
}

fn head(page: &mut HtmlWriter<'_>, reviews: &[Review]) {
    page.raw("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    page.raw("<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'sha256-");
    page.text(&hash(STYLE));
    page.raw("'; script-src 'sha256-");
    page.text(&hash(SCRIPT));
    page.raw("'; base-uri 'none'; form-action 'none'\">\n");
    page.raw("<meta name=viewport content=\"width=device-width, initial-scale=1\">\n");
    page.raw(
        "<meta name=color-scheme content=\"light dark\">\n<meta name=referrer content=no-referrer>\n<title>",
    );
    title(page, reviews);
    page.raw("</title>\n<style>");
    page.raw(STYLE);
    page.raw("</style>\n</head>\n");
}

fn hash(content: &str) -> String {
    BASE64_STANDARD.encode(Sha256::digest(content.as_bytes()))
}

fn title(page: &mut HtmlWriter<'_>, reviews: &[Review]) {
    match reviews {
        [review] => {
            page.raw("Plan ");
            page.text(&review.title);
        }
        _ => {
            page.number(reviews.len());
            page.raw(" plans");
        }
    }
}

/// Writes the title with markup.
fn heading(page: &mut HtmlWriter<'_>, reviews: &[Review]) {
    match reviews {
        [review] => {
            page.raw("Plan ");
            page.isolated(&review.title);
        }
        _ => title(page, reviews),
    }
}

/// Writes a table with the numbers of changes in each plan.
fn overview(page: &mut HtmlWriter<'_>, reviews: &[Review]) {
    page.raw("<details class=overview open><summary>Plans</summary>\n<table><thead><tr><th scope=col>plan");
    for class in ChangeClass::ALL {
        page.raw("<th scope=col>");
        page.raw(class.name());
    }
    page.raw("</thead><tbody>\n");
    for (index, review) in reviews.iter().enumerate() {
        page.raw("<tr><th scope=row><a href=\"#p");
        page.number(index);
        page.raw("\">");
        page.code(&review.title);
        page.raw("</a>");
        for class in ChangeClass::ALL {
            page.raw("<td>");
            page.grouped_number(review.counts.count(class));
        }
        page.raw("\n");
    }
    page.raw("</tbody></table></details>\n");
}

/// Writes the filters, which the script shows.
fn tools(page: &mut HtmlWriter<'_>, reviews: &[Review]) {
    page.raw("<form id=tools role=search hidden><fieldset><legend>Show</legend>");
    for class in ChangeClass::ALL {
        let count: usize = reviews.iter().map(|review| review.counts.count(class)).sum();
        if count > 0 {
            page.raw("<label class=\"chip ");
            page.raw(class.name());
            page.raw("\"><input type=checkbox name=kind checked value=");
            page.raw(class.name());
            page.raw("><span aria-hidden=true>");
            page.text(class.symbol());
            page.raw("</span> ");
            page.raw(class.name());
            page.raw(" <b>");
            page.grouped_number(count);
            page.raw("</b></label>");
        }
    }
    page.raw("</fieldset><label class=search>Search <input type=search id=query autocomplete=off></label>");
    let mut patterns: Vec<(&str, usize)> = Vec::new();
    for frequency in
        reviews.iter().flat_map(|review| review.frequent_attributes.iter().take(MAX_HIDEABLE_ATTRIBUTES))
    {
        match patterns.iter_mut().find(|(pattern, _)| *pattern == &*frequency.pattern) {
            Some((_, count)) => *count += frequency.changes,
            None => patterns.push((&frequency.pattern, frequency.changes)),
        }
    }
    patterns.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if !patterns.is_empty() {
        page.raw("<details class=attributes><summary>Hide attributes</summary><div>");
        for (pattern, count) in patterns.into_iter().take(MAX_HIDEABLE_ATTRIBUTES) {
            page.raw("<label><input type=checkbox name=attribute value=\"");
            page.text(pattern);
            page.raw("\">");
            page.code(pattern);
            page.raw(" <b>");
            page.grouped_number(count);
            page.raw("</b></label>");
        }
        page.raw("</div></details>");
    }
    page.raw("<output id=status role=status aria-live=polite></output></form>\n");
}

fn section(page: &mut HtmlWriter<'_>, review: &Review, index: usize, has_title: bool) {
    page.raw("<section id=p");
    page.number(index);
    page.raw(">\n");
    if has_title {
        page.raw("<h2>");
        page.code(&review.title);
        page.raw("</h2>\n");
    }
    summary(page, review);
    findings::write(page, review);
    changes::write(page, review, index);
    actions::write(page, review, index);
    changes::write_outputs(page, review);
    graph::write(page, &review.dependencies, index);
    changes::write_drift(page, review);
    findings::write_warnings(page, &review.warnings);
    findings::write_accesses(page, &review.accesses);
    page.raw("</section>\n");
}

fn summary(page: &mut HtmlWriter<'_>, review: &Review) {
    page.raw("<p class=summary>");
    if review.is_empty() {
        page.raw("No changes.");
    }
    let mut is_first = true;
    for class in ChangeClass::ALL {
        let count = review.counts.count(class);
        if count > 0 {
            page.raw(if is_first { "" } else { ", " });
            is_first = false;
            page.raw("<b>");
            page.grouped_number(count);
            page.raw("</b> to ");
            page.raw(class.name());
        }
    }
    if !review.invocations.is_empty() {
        page.raw(if is_first { "<b>" } else { ", <b>" });
        page.grouped_number(review.invocations.len());
        page.raw(if review.invocations.len() == 1 {
            "</b> action to invoke"
        } else {
            "</b> actions to invoke"
        });
    }
    page.raw("</p>\n");
    if review.errored {
        page.raw("<p class=warning>An error ended planning early. This plan is incomplete and cannot be applied.</p>\n");
    } else if !review.complete {
        page.raw("<p class=warning>This plan covers only a part of the configuration.</p>\n");
    }
}

#[cfg(test)]
mod tests;
