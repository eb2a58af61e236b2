//! What a file is, by its first bytes and not by its name.
//!
//! | begins with | is |
//! |---|---|
//! | `\0asm` 0d 00 01 00 | a component |
//! | `\0asm` 01 00 00 00 | a core module: an error, it needs wrapping |
//! | anything else | a native plugin, unless it is where only components may be: then an error that says what was found |
//!
//! Calls nothing, reads nothing.

use std::fmt;

/// How many bytes [`FileKind::of`] looks at.
pub(crate) const HEADER_LENGTH: u64 = 8;

/// What the first bytes of a file say it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A WebAssembly component.
    Component,
    /// A core WebAssembly module.
    CoreModule,
    /// WebAssembly of a version that nobody here knows.
    OtherWasm,
    /// An executable for Linux or a BSD.
    Elf,
    /// An executable for macOS.
    MachO,
    /// An executable for Windows.
    Windows,
    /// A script that names its interpreter.
    Script,
    /// A zip archive.
    Zip,
    /// WebAssembly in text form.
    WasmText,
    /// No bytes.
    Empty,
    /// Something else.
    Unknown,
}

impl FileKind {
    /// Looks at a file's first eight bytes.
    pub fn of(header: &[u8]) -> Self {
        match header {
            [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => Self::Component,
            [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Self::CoreModule,
            [0, b'a', b's', b'm', ..] => Self::OtherWasm,
            [0x7f, b'E', b'L', b'F', ..] => Self::Elf,
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => Self::MachO,
            [b'M', b'Z', ..] => Self::Windows,
            [b'#', b'!', ..] => Self::Script,
            [b'P', b'K', 3, 4, ..] => Self::Zip,
            [b'(', b'm' | b'c', ..] => Self::WasmText,
            [] => Self::Empty,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Component => "a WebAssembly component",
            Self::CoreModule => {
                "a core WebAssembly module; a plugin must be a component (build it for wasm32-wasip2, or wrap it with `wasm-tools component new`)"
            }
            Self::OtherWasm => "WebAssembly of an unknown version, or cut short after its first bytes",
            Self::Elf => "a native executable (ELF)",
            Self::MachO => "a native executable (Mach-O)",
            Self::Windows => "a native executable (Windows)",
            Self::Script => "a script",
            Self::Zip => "a zip archive",
            Self::WasmText => "WebAssembly in text form",
            Self::Empty => "empty",
            Self::Unknown => "not WebAssembly at all",
        })
    }
}
