//! Finds the functions, files and lines of the addresses in a backtrace of a plugin under development.
//!
//! Debug information is in custom sections of the modules in a component. Its addresses are relative to
//! the code section of the module. The sections are read when a plugin fails, which is rare. Cost: linear
//! in the size of the component.

mod selection;

use std::fmt::Write as _;
use std::ops::Range;

use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use addr2line::{Context, Location};
use wasmparser::{Parser, Payload};
use wasmtime::FrameInfo;

use selection::is_author_function;

/// Maximum number of frames that a message contains.
const MAX_SHOWN_FRAMES: usize = 12;

/// Maximum number of functions that were inlined into one frame.
const MAX_INLINED_FUNCTIONS: usize = 64;

/// Maximum length of a function's name that is demangled.
const MAX_NAME_LENGTH: usize = 4096;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

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

/// A function in a backtrace, which may have been inlined into another one.
#[derive(Debug, Default, PartialEq, Eq)]
struct Frame {
    /// The readable name; empty if the function has none.
    name: String,
    file: Option<String>,
    line: Option<u32>,
}

impl Symbols {
    pub(crate) fn new(component: &[u8]) -> Self {
        Self { component: component.into() }
    }

    /// Returns the frames of the author's code as lines of text, innermost first, and the number of
    /// further frames. The frames of the standard library and of the SDK are omitted, unless there are no
    /// others.
    pub(crate) fn frames(&self, frames: &[FrameInfo]) -> Vec<String> {
        let modules = modules(&self.component).unwrap_or_default();
        let contexts: Vec<_> = modules.iter().map(|module| (module, context(module))).collect();
        let mut all = Vec::new();
        for frame in frames {
            let name = readable(frame.func_name().unwrap_or_default());
            let mut inlined = frame
                .module_offset()
                .and_then(|offset| {
                    contexts.iter().find(|(module, _)| module.code.contains(&offset)).zip(Some(offset))
                })
                .and_then(|((module, context), offset)| {
                    located(context.as_ref()?, u64::try_from(offset - module.code.start).ok()?)
                })
                .unwrap_or_default();
            // The last function is the one that was compiled. Its name in the module is complete.
            match inlined.last_mut() {
                Some(outermost) if !name.is_empty() => outermost.name = name,
                Some(_) => {}
                None => inlined.push(Frame { name, ..Frame::default() }),
            }
            all.append(&mut inlined);
        }
        shown(all)
    }
}

/// Returns the frames of the author's code as text; all frames if there are none.
fn shown(all: Vec<Frame>) -> Vec<String> {
    let (author, others): (Vec<Frame>, Vec<Frame>) =
        all.into_iter().partition(|frame| is_author_function(&frame.name) && !frame.is_standard_library());
    let frames = if author.is_empty() { others } else { author };
    let further = frames.len().saturating_sub(MAX_SHOWN_FRAMES);
    let mut lines: Vec<String> = frames.iter().take(MAX_SHOWN_FRAMES).map(Frame::line).collect();
    if further > 0 {
        lines.push(format!("and {further} more"));
    }
    lines
}

impl Frame {
    /// Returns whether the line is in the source of the standard library. Its generic functions are named
    /// after the types of the author that they are compiled for.
    fn is_standard_library(&self) -> bool {
        self.file.as_deref().is_some_and(|file| {
            file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/library/")
        })
    }

    fn line(&self) -> String {
        let mut text =
            if self.name.is_empty() { "a function without a name".to_owned() } else { self.name.clone() };
        if let Some(file) = &self.file {
            text.push_str(" at ");
            text.push_str(file);
            if let Some(line) = self.line {
                let _ = write!(text, ":{line}");
            }
        }
        crate::output::printable(&text)
    }
}

/// Returns the functions at an address, innermost first. The last one is not inlined.
fn located(context: &Context<Bytes<'_>>, address: u64) -> Option<Vec<Frame>> {
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let mut found = Vec::new();
    while let Ok(Some(frame)) = frames.next()
        && found.len() < MAX_INLINED_FUNCTIONS
    {
        let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
        let (file, line) = match frame.location {
            Some(Location { file, line, .. }) => (file.map(str::to_owned), line),
            None => (None, None),
        };
        found.push(Frame { name: name.map(|name| readable(&name)).unwrap_or_default(), file, line });
    }
    Some(found)
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
fn context<'a>(module: &ModuleSymbols<'a>) -> Option<Context<Bytes<'a>>> {
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

    fn frames(names: &[&str]) -> Vec<Frame> {
        names.iter().map(|name| Frame { name: (*name).to_owned(), ..Frame::default() }).collect()
    }

    #[test]
    fn only_frames_of_the_author_are_shown() {
        let all = frames(&[
            "abort",
            "std::sys::pal::wasip2::helpers::abort_internal",
            "__rustc::rust_panic",
            "core::result::unwrap_failed",
            "terraform_provider_dns::zone::parse",
            "core::iter::adapters::map::map_fold::{{closure}}",
            "terraform_provider_dns::zone::parse_all",
            "wardian:plugin/provider@0.1.0#apply-resource-change",
        ]);
        assert_eq!(
            shown(all),
            ["terraform_provider_dns::zone::parse", "terraform_provider_dns::zone::parse_all"]
        );
    }

    #[test]
    fn functions_of_the_standard_library_for_types_of_the_author_are_omitted() {
        let frame = |name: &str, file: &str| Frame {
            name: name.to_owned(),
            file: Some(file.to_owned()),
            line: Some(1),
        };
        let all = vec![
            frame("dns::zone::parse::{closure#0}", "src/zone.rs"),
            frame(
                "<&mut dns::zone::parse::{closure#0} as core::ops::function::FnOnce<(&str,)>>::call_once",
                "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/ops/function.rs",
            ),
            frame(
                "<dns::zone::Zone as alloc::string::ToString>::to_string",
                "/home/author/.rustup/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/string.rs",
            ),
        ];
        assert_eq!(shown(all), ["dns::zone::parse::{closure#0} at src/zone.rs:1"]);
    }

    #[test]
    fn all_frames_are_shown_if_none_is_the_authors() {
        assert_eq!(shown(frames(&["abort", "wardian_sdk::x"])), ["abort", "wardian_sdk::x"]);
        assert_eq!(shown(frames(&[""])), ["a function without a name"]);
        assert!(shown(Vec::new()).is_empty());
    }

    #[test]
    fn deep_recursion_is_shortened() {
        let lines = shown(frames(&["dns::recurse"; 40]));
        assert_eq!(lines.len(), MAX_SHOWN_FRAMES + 1);
        assert_eq!(lines[MAX_SHOWN_FRAMES], "and 28 more");
    }

    #[test]
    fn frame_names_its_file_and_line() {
        let frame = |line| Frame { name: "dns::f".to_owned(), file: Some("src/f.rs".to_owned()), line };
        assert_eq!(frame(Some(7)).line(), "dns::f at src/f.rs:7");
        assert_eq!(frame(None).line(), "dns::f at src/f.rs");
        assert!(!Frame { name: "a\u{1b}[2J".to_owned(), ..Frame::default() }.line().contains('\u{1b}'));
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

    #[test]
    fn damaged_debug_information_has_no_functions() {
        for data in [&b""[..], b"\xff", &[0xff; 64], b"\x08\0\0\0\x05\0\x01\x08\0\0\0\0"] {
            let names = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_ranges"];
            let sections = names.iter().map(|name| (*name, data)).collect();
            let module = ModuleSymbols { code: 0..100, sections };
            let found = context(&module).and_then(|context| located(&context, 3));
            assert!(found.is_none_or(|found| found.is_empty()));
        }
    }
}
