//! The checks, the warnings and the accesses of plugins in a page.

use wardian_review::{PluginAccess, Review, ReviewFinding, ReviewWarning};

use super::writer::HtmlWriter;

/// Number of findings that are not collapsed.
const OPEN_FINDINGS: usize = 3;

/// Writes the findings that a reviewer must see before the changes: failed checks and denied accesses.
pub(super) fn write(page: &mut HtmlWriter<'_>, review: &Review) {
    let (open, rest) = review.findings.split_at(review.findings.len().min(OPEN_FINDINGS));
    finding_list(page, open);
    if !rest.is_empty() {
        page.raw("<details><summary>More failed checks: ");
        page.grouped_number(rest.len());
        page.raw("</summary>\n");
        finding_list(page, rest);
        page.raw("</details>\n");
    }
    write_counts(page, review);
    let denied = review.denied_accesses().len();
    if denied > 0 {
        page.raw("<p class=warning>Policies denied accesses of plugins: ");
        page.grouped_number(denied);
        page.raw("</p>\n");
    }
}

fn write_counts(page: &mut HtmlWriter<'_>, review: &Review) {
    let checks = review.checks;
    if checks.total() == 0 {
        return;
    }
    page.raw("<p class=rest>Checks: ");
    for (index, (count, words)) in checks.parts().enumerate() {
        page.raw(if index == 0 { "" } else { ", " });
        page.grouped_number(count);
        page.raw(words);
    }
    page.raw("</p>\n");
}

fn finding_list(page: &mut HtmlWriter<'_>, findings: &[ReviewFinding]) {
    if findings.is_empty() {
        return;
    }
    page.raw("<ul class=findings>");
    for finding in findings {
        page.raw("<li>");
        page.raw(finding.title());
        page.raw(": ");
        page.code(&finding.address);
        for message in &finding.messages {
            page.raw(" ");
            page.isolated(message);
        }
    }
    page.raw("</ul>\n");
}

/// Writes the warnings of the run.
pub(super) fn write_warnings(page: &mut HtmlWriter<'_>, warnings: &[ReviewWarning]) {
    if warnings.is_empty() {
        return;
    }
    page.raw("<details class=warnings><summary>Warnings: ");
    page.grouped_number(warnings.len());
    page.raw("</summary><ul>");
    for warning in warnings {
        page.raw("<li>");
        page.isolated(&warning.summary);
        if let Some(source) = &warning.source {
            page.raw(" <span class=source>");
            page.code(&source.file);
            page.raw(":");
            page.number(source.line as usize);
            page.raw("</span>");
        }
        page.raw("<pre>");
        page.lines(&warning.detail);
        page.raw("</pre>");
    }
    page.raw("</ul></details>\n");
}

/// Writes the accesses of plugins, the denied ones first.
pub(super) fn write_accesses(page: &mut HtmlWriter<'_>, accesses: &[PluginAccess]) {
    if accesses.is_empty() {
        return;
    }
    page.raw("<details class=accesses><summary>Accesses of plugins: ");
    page.grouped_number(accesses.len());
    page.raw(
        "</summary><div class=scroll tabindex=0 role=region aria-label=Accesses><table><thead><tr><th scope=col>decision<th scope=col>plugin<th scope=col>\
         capability<th scope=col>target<th scope=col>number<th scope=col>reason or rule<th scope=col>objects\
         </thead><tbody>",
    );
    for access in accesses {
        page.raw(if access.is_denied { "<tr><td><b>denied</b><td>" } else { "<tr><td>allowed<td>" });
        page.code(&access.plugin);
        page.raw("<td>");
        page.isolated(&access.capability);
        page.raw("<td>");
        page.code(&access.target);
        page.raw("<td>");
        page.grouped_number(usize::try_from(access.count).unwrap_or(usize::MAX));
        page.raw("<td>");
        if let Some(reason) = access.reason.as_ref().or(access.rule.as_ref()) {
            page.isolated(reason);
        }
        page.raw("<td>");
        for (index, object) in access.objects.iter().enumerate() {
            page.raw(if index == 0 { "" } else { ", " });
            page.code(object);
        }
    }
    page.raw("</tbody></table></div></details>\n");
}
