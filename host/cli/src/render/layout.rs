//! Renders differences as text: action symbols, indentation, alignment and omissions.
//!
//! Each line is indented by four columns per level (`indent`), followed by four columns for its
//! action symbol. A rendered state has neither symbols nor their columns.

use super::difference::{BlockGroup, Content, Difference, Effect, Secrecy};
use super::style::{Page, Style};
use wardian_printable::{PrintableText, append, append_line, printable};

mod text;

pub(super) use text::{escaped_line, quoted};

/// Display settings that a part inherits from the value that contains it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context {
    /// Whether `-> null` is omitted after removed values.
    pub(super) hide_null: bool,
    /// Whether the part is shown as forcing a replacement, although only the containing value is
    /// marked as doing so.
    pub(super) forces: bool,
    /// Whether unchanged parts are shown.
    pub(super) show_unchanged: bool,
    /// Whether action symbols are written.
    pub(super) symbols: bool,
}

impl Context {
    /// Returns the settings for changes.
    pub(super) fn of_change() -> Self {
        Self { symbols: true, ..Self::default() }
    }

    /// Returns the settings for unchanged objects.
    pub(super) fn of_state() -> Self {
        Self { show_unchanged: true, ..Self::default() }
    }

    /// Returns the settings for nested parts. They do not inherit that the containing value forces
    /// a replacement.
    fn inside(self) -> Self {
        Self { forces: false, ..self }
    }
}

/// Attributes by which users recognize an object. They are shown even if they are unchanged.
const IDENTIFYING: [&str; 3] = ["id", "name", "tags"];

/// Writes a difference, without its action symbol.
pub(super) fn write(page: &mut Page, difference: &Difference<'_>, indent: usize, context: Context) {
    let effect = difference.effect;
    let forces = difference.replace || context.forces;
    match &difference.content {
        Content::Scalar(sides) => text::scalar(page, *sides, effect, forces, indent, context),
        Content::Unknown(before) => {
            if let Some(before) = before {
                let context = Context { hide_null: true, ..context.inside() };
                write(page, before, indent, context);
                page.push(" -> ");
            }
            page.push("(known after apply)");
            forces_replacement(page, forces);
        }
        Content::Sensitive(_) => {
            page.push("(sensitive value)");
            null_suffix(page, effect, context);
            forces_replacement(page, forces);
        }
        Content::SensitiveBlock(_) => sensitive_block(page, forces, indent, context),
        Content::WriteOnly => {
            page.push("(write-only attribute)");
            forces_replacement(page, forces);
            null_suffix(page, effect, context);
        }
        Content::TypeChange(both) => {
            let inner = Context { hide_null: true, ..context.inside() };
            write(page, &both.0, indent, inner);
            arrow(page);
            write(page, &both.1, indent, inner);
            forces_replacement(page, forces);
        }
        Content::List { elements, neighbours } => {
            list(page, elements, *neighbours, (effect, forces), indent, context);
        }
        Content::Set { elements, nested } => {
            set(page, elements, *nested, (effect, forces), indent, context);
        }
        Content::Map { elements, nested } => {
            map(page, elements, *nested, (effect, forces), indent, context);
        }
        Content::Object { attributes, nested } => {
            object(page, attributes, *nested, (effect, forces), indent, context);
        }
        Content::Block { attributes, groups } => block(page, attributes, groups, forces, indent, context),
    }
}

/// Writes the symbol of an effect, padded to four columns.
pub(super) fn symbol(page: &mut Page, effect: Effect, context: Context) {
    if !context.symbols {
        return;
    }
    let (style, mark) = match effect {
        Effect::None => {
            page.push("    ");
            return;
        }
        Effect::Create => (Style::Green, "+"),
        Effect::Delete => (Style::Red, "-"),
        Effect::Update => (Style::Yellow, "~"),
    };
    page.push("  ");
    page.paint(style, mark);
    page.push(" ");
}

fn line_start(page: &mut Page, effect: Effect, indent: usize, context: Context) {
    page.blanks(indent * 4);
    symbol(page, effect, context);
}

fn arrow(page: &mut Page) {
    page.push(" ");
    page.paint(Style::Yellow, "->");
    page.push(" ");
}

fn null_suffix(page: &mut Page, effect: Effect, context: Context) {
    if effect == Effect::Delete && !context.hide_null {
        page.push(" ");
        page.paint(Style::Gray, "-> null");
    }
}

fn forces_replacement(page: &mut Page, forces: bool) {
    if forces {
        page.push(" ");
        page.paint(Style::Red, "# forces replacement");
    }
}

fn hidden(page: &mut Page, count: usize, what: &'static str, indent: usize, context: Context) {
    if count == 0 {
        return;
    }
    line_start(page, Effect::None, indent, context);
    let plural = if count == 1 { "" } else { "s" };
    page.paint(Style::Gray, printable!("# ({count} unchanged {what}{plural} hidden)"));
    page.push("\n");
}

/// Writes a warning in the line before a part that becomes sensitive or is no longer sensitive.
fn warning(page: &mut Page, difference: &Difference<'_>, indent: usize) {
    let (secrecy, thing) = match &difference.content {
        Content::Sensitive(secrecy) => (*secrecy, "value"),
        Content::SensitiveBlock(secrecy) => (*secrecy, "block"),
        _ => return,
    };
    if !secrecy.changes() {
        return;
    }
    let Secrecy { before, inner, .. } = secrecy;
    let indent = indent * 4 + 2;
    page.blanks(indent);
    page.push("# ");
    page.paint(Style::Yellow, "Warning");
    if before {
        append_line!(page, ": once this is applied, the {thing} is no longer sensitive");
        page.blanks(indent);
        page.push("# and will be shown.");
    } else {
        append_line!(page, ": once this is applied, the {thing} is sensitive and will");
        page.blanks(indent);
        page.push("# no longer be shown.");
    }
    if inner == Effect::None {
        append!(page, " The {thing} itself stays the same.");
    }
    page.push("\n");
}

fn list(
    page: &mut Page,
    elements: &[Difference<'_>],
    neighbours: bool,
    (effect, forces): (Effect, bool),
    indent: usize,
    context: Context,
) {
    if elements.is_empty() {
        page.push("[]");
        null_suffix(page, effect, context);
        forces_replacement(page, forces);
        return;
    }
    page.push("[");
    forces_replacement(page, forces);
    page.push("\n");
    let changed = Context { hide_null: true, ..context.inside() };
    let unchanged = Context { show_unchanged: true, ..context.inside() };
    let line = |page: &mut Page, element: &Difference<'_>, context: Context| {
        warning(page, element, indent + 1);
        line_start(page, element.effect, indent + 1, context);
        write(page, element, indent + 1, context);
        page.push(",\n");
    };
    let mut skipped: &[Difference<'_>] = &[];
    let mut follows_change = false;
    for (at, element) in elements.iter().enumerate() {
        let is_unchanged = element.effect == Effect::None;
        if is_unchanged && !follows_change && !context.show_unchanged {
            skipped = &elements[at - skipped.len()..=at];
            continue;
        }
        if !neighbours {
            line(page, element, changed);
            continue;
        }
        if let Some((last, rest)) = skipped.split_last() {
            hidden(page, rest.len(), "element", indent + 1, changed);
            line(page, last, unchanged);
        }
        skipped = &[];
        follows_change = !is_unchanged;
        line(page, element, if is_unchanged { unchanged } else { changed });
    }
    hidden(page, skipped.len(), "element", indent + 1, changed);
    line_start(page, Effect::None, indent, context);
    page.push("]");
    null_suffix(page, effect, context);
}

fn set(
    page: &mut Page,
    elements: &[Difference<'_>],
    nested: bool,
    (effect, forces): (Effect, bool),
    indent: usize,
    context: Context,
) {
    // Elements of nested attributes that force a replacement are marked individually.
    if elements.is_empty() {
        page.push("[]");
        null_suffix(page, effect, context);
        forces_replacement(page, forces);
        return;
    }
    page.push("[");
    forces_replacement(page, forces && !nested);
    page.push("\n");
    let inner = Context { hide_null: true, forces: forces && nested, ..context };
    let mut unchanged = 0;
    for element in elements {
        if element.effect == Effect::None && !context.show_unchanged {
            unchanged += 1;
            continue;
        }
        warning(page, element, indent + 1);
        line_start(page, element.effect, indent + 1, inner);
        write(page, element, indent + 1, inner);
        page.push(",\n");
    }
    hidden(page, unchanged, "element", indent + 1, context);
    line_start(page, Effect::None, indent, context);
    page.push("]");
    null_suffix(page, effect, context);
}

fn map(
    page: &mut Page,
    elements: &[(&str, Difference<'_>)],
    nested: bool,
    (effect, forces): (Effect, bool),
    indent: usize,
    context: Context,
) {
    if elements.is_empty() {
        page.push("{}");
        null_suffix(page, effect, context);
        forces_replacement(page, forces);
        return;
    }
    page.push("{");
    forces_replacement(page, forces && !nested);
    page.push("\n");
    let hide_null = effect == Effect::Delete || nested;
    let inner = Context { hide_null, forces: forces && nested, ..context };
    let keys: Vec<PrintableText> = elements.iter().map(|(key, _)| quoted(key)).collect();
    let width = if nested { 0 } else { longest(&keys) };
    let mut unchanged = 0;
    for (key, (_, element)) in keys.into_iter().zip(elements) {
        if element.effect == Effect::None && !context.show_unchanged {
            unchanged += 1;
            continue;
        }
        warning(page, element, indent + 1);
        line_start(page, element.effect, indent + 1, inner);
        append!(page, "{} = ", key.padded_to(width));
        write(page, element, indent + 1, inner);
        if matches!(element.content, Content::Object { .. }) {
            page.push(",");
        }
        page.push("\n");
    }
    hidden(page, unchanged, "element", indent + 1, context);
    line_start(page, Effect::None, indent, context);
    page.push("}");
    null_suffix(page, effect, context);
}

fn object(
    page: &mut Page,
    attributes: &[(&str, Difference<'_>)],
    nested: bool,
    (effect, forces): (Effect, bool),
    indent: usize,
    context: Context,
) {
    if attributes.is_empty() {
        page.push("{}");
        null_suffix(page, effect, context);
        forces_replacement(page, forces);
        return;
    }
    page.push("{");
    forces_replacement(page, forces);
    page.push("\n");
    let inner = Context { hide_null: !nested, ..context.inside() };
    write_attributes(page, attributes, indent, inner);
    line_start(page, Effect::None, indent, context);
    page.push("}");
    null_suffix(page, effect, context);
}

fn write_attributes(page: &mut Page, attributes: &[(&str, Difference<'_>)], indent: usize, context: Context) {
    let names: Vec<PrintableText> = attributes.iter().map(|(name, _)| text::name(name)).collect();
    let width = longest(&names);
    let mut unchanged = 0;
    for (shown, (name, attribute)) in names.into_iter().zip(attributes) {
        let mut context = context;
        if IDENTIFYING.contains(name) {
            context.show_unchanged = true;
        } else if attribute.effect == Effect::None && !context.show_unchanged {
            unchanged += 1;
            continue;
        }
        warning(page, attribute, indent + 1);
        line_start(page, attribute.effect, indent + 1, context);
        append!(page, "{} = ", shown.padded_to(width));
        write(page, attribute, indent + 1, context);
        page.push("\n");
    }
    hidden(page, unchanged, "attribute", indent + 1, context);
}

fn longest(names: &[PrintableText]) -> usize {
    names.iter().map(|name| name.as_str().chars().count()).max().unwrap_or(0)
}

fn block(
    page: &mut Page,
    attributes: &[(&str, Difference<'_>)],
    groups: &[BlockGroup<'_>],
    forces: bool,
    indent: usize,
    context: Context,
) {
    page.push("{");
    if attributes.is_empty() && groups.is_empty() {
        page.push("}");
        forces_replacement(page, forces);
        return;
    }
    forces_replacement(page, forces);
    page.push("\n");
    let inner = context.inside();
    write_attributes(page, attributes, indent, inner);
    let mut unchanged = 0;
    for group in groups {
        let mut is_first = true;
        for (label, block) in &group.blocks {
            if block.effect == Effect::None && !context.show_unchanged {
                unchanged += 1;
                continue;
            }
            if is_first && !attributes.is_empty() {
                page.push("\n");
            }
            is_first = false;
            warning(page, block, indent + 1);
            line_start(page, block.effect, indent + 1, inner);
            page.append(&text::name(group.name));
            if let Some(label) = label {
                append!(page, " {}", quoted(label));
            }
            page.push(" ");
            write(page, block, indent + 1, Context { forces: group.replace, ..inner });
            page.push("\n");
        }
    }
    if unchanged > 0 {
        page.push("\n");
        hidden(page, unchanged, "block", indent + 1, inner);
    }
    line_start(page, Effect::None, indent, context);
    page.push("}");
}

fn sensitive_block(page: &mut Page, forces: bool, indent: usize, context: Context) {
    page.push("{");
    forces_replacement(page, forces);
    page.push("\n");
    for line in ["# Part of this block is or was sensitive, so its content", "# is not shown."] {
        line_start(page, Effect::None, indent, context);
        append_line!(page, "  {line}");
    }
    line_start(page, Effect::None, indent, context);
    page.push("}");
}
