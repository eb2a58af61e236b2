//! Finds the function, file and line of the addresses in a backtrace of a plugin under development.
//!
//! Debug information is in custom sections of the modules in a component. Its addresses are relative to
//! the code section of the module. The sections are read when a plugin fails, which is rare. Cost: linear
//! in the size of the component.

use std::fmt::Write as _;
use std::ops::Range;

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use wasmparser::{Parser, Payload};
use wasmtime::FrameInfo;

/// Maximum number of frames that a message contains.
const MAX_SHOWN_FRAMES: usize = 12;

/// Maximum length of a function's name that is demangled.
const MAX_NAME_LENGTH: usize = 4096;

/// Beginnings of the names of functions that run between a panic and the trap.
const PANIC_FUNCTIONS: [&str; 12] = [
    "std::panicking::",
    "core::panicking::",
    "std::process::",
    "std::sys::",
    "std::rt::",
    "core::option::expect_failed",
    "core::option::unwrap_failed",
    "core::result::unwrap_failed",
    "alloc::alloc::handle_alloc_error",
    "rust_panic",
    "__rust",
    "abort",
];

/// Beginnings of the names of functions between the host's call and the author's code.
const CALLING_FUNCTIONS: [&str; 7] = [
    "wardian_sdk::",
    "<wardian_sdk::",
    "wit_bindgen::",
    "wardian:plugin/",
    "core::ops::function::",
    "<alloc::boxed::Box<",
    "__wasm",
];

/// The debug information of a component.
#[derive(Debug)]
pub(crate) struct Symbols {
    component: Box<[u8]>,
}

/// The code and the debug information of one module.
struct ModuleSymbols<'a> {
    code: Range<usize>,
    sections: Vec<(&'a str, &'a [u8])>,
}

impl Symbols {
    pub(crate) fn new(component: &[u8]) -> Self {
        Self { component: component.into() }
    }

    /// Returns the frames of the author's code as lines of text, innermost first. The frames of the
    /// standard library's panic handling and of the SDK are omitted, unless there are no others.
    pub(crate) fn frames(&self, frames: &[FrameInfo]) -> Vec<String> {
        let modules = modules(&self.component).unwrap_or_default();
        let contexts: Vec<_> = modules.iter().map(|module| (module, context(module))).collect();
        let names: Vec<String> =
            frames.iter().map(|frame| readable(frame.func_name().unwrap_or_default())).collect();
        let shown = author_frames(&names);
        let mut lines = Vec::new();
        for (frame, name) in frames[shown.clone()].iter().zip(&names[shown]).take(MAX_SHOWN_FRAMES) {
            let mut line =
                if name.is_empty() { "a function without a name".to_owned() } else { name.clone() };
            let offset = frame.module_offset();
            let found = contexts.iter().find_map(|(module, context)| {
                let offset = offset.filter(|offset| module.code.contains(offset))?;
                let address = u64::try_from(offset - module.code.start).ok()?;
                let location = context.as_ref()?.find_location(address).ok()??;
                Some((location.file?.to_owned(), location.line))
            });
            if let Some((file, number)) = found {
                line.push_str(" at ");
                line.push_str(&file);
                if let Some(number) = number {
                    let _ = write!(line, ":{number}");
                }
            }
            lines.push(crate::output::printable(&line));
        }
        lines
    }
}

/// Returns the range of the author's frames. The outermost frames are the last ones.
fn author_frames(names: &[String]) -> Range<usize> {
    let is_any = |name: &String, known: &[&str]| {
        let name = name.trim_start_matches('_');
        known.iter().any(|start| name.starts_with(start.trim_start_matches('_')))
    };
    let start = names.iter().position(|name| !is_any(name, &PANIC_FUNCTIONS)).unwrap_or(0);
    let is_calling = |name: &String| name.is_empty() || is_any(name, &CALLING_FUNCTIONS);
    let end = names.iter().rposition(|name| !is_calling(name)).map_or(0, |last| last + 1);
    if start < end { start..end } else { 0..names.len() }
}

/// Returns a demangled name without its hash.
fn readable(name: &str) -> String {
    if name.len() > MAX_NAME_LENGTH {
        return name.chars().take(MAX_NAME_LENGTH).collect();
    }
    match rustc_demangle::try_demangle(name) {
        Ok(demangled) => format!("{demangled:#}"),
        Err(_) => name.to_owned(),
    }
}

/// Returns the modules of a component; `None` if the component is invalid.
fn modules(component: &[u8]) -> Option<Vec<ModuleSymbols<'_>>> {
    let mut modules: Vec<ModuleSymbols<'_>> = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload.ok()? {
            Payload::ModuleSection { .. } => {
                modules.push(ModuleSymbols { code: 0..0, sections: Vec::new() });
            }
            Payload::CodeSectionStart { range, .. } => modules.last_mut()?.code = range,
            Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
                modules.last_mut()?.sections.push((section.name(), section.data()));
            }
            _ => {}
        }
    }
    Some(modules)
}

/// Returns the debug information of a module, if it has any.
fn context<'a>(module: &ModuleSymbols<'a>) -> Option<Context<EndianSlice<'a, LittleEndian>>> {
    if module.sections.is_empty() {
        return None;
    }
    let load = |id: SectionId| -> Result<_, addr2line::gimli::Error> {
        let section = module.sections.iter().find(|(name, _)| *name == id.name());
        Ok(EndianSlice::new(section.map_or(&[][..], |(_, data)| data), LittleEndian))
    };
    Context::from_dwarf(Dwarf::load(load).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn panic_and_calling_frames_are_hidden() {
        let all = names(&[
            "abort",
            "std::sys::pal::wasip2::helpers::abort_internal",
            "__rustc::rust_panic",
            "std::panicking::rust_panic_with_hook",
            "core::panicking::panic_fmt",
            "core::result::unwrap_failed",
            "terraform_provider_dns::zone::parse",
            "<terraform_provider_dns::zone::Zone as wardian_sdk::resource::Resource>::create",
            "<wardian_sdk::resource::TypedResource<R, C> as wardian_sdk::resource::AnyResource>::create",
            "wardian_sdk::service::apply",
            "wardian:plugin/provider@0.1.0#apply-resource-change",
        ]);
        assert_eq!(author_frames(&all), 6..8);
        assert_eq!(author_frames(&names(&["abort", "wardian_sdk::x"])), 0..2);
        assert_eq!(author_frames(&[]), 0..0);
    }

    #[test]
    fn names_are_demangled() {
        assert_eq!(readable("_ZN3dns4zone5parse17h0123456789abcdefE"), "dns::zone::parse");
        assert_eq!(readable("main.main"), "main.main");
    }

    #[test]
    fn damaged_components_have_no_symbols() {
        for bytes in [&b""[..], b"junk", b"\0asm\x0d\0\x01\0\xff"] {
            assert!(modules(bytes).is_none_or(|modules| modules.is_empty()));
        }
        let symbols = Symbols::new(b"junk");
        assert!(symbols.frames(&[]).is_empty());
    }
}
