//! Determines the kind of a plugin's file from its first bytes, not from its name.
//!
//! | begins with | kind |
//! |---|---|
//! | `\0asm` 0d 00 01 00 | a component |
//! | `\0asm` 01 00 00 00 | a core module: an error, because it must first be converted to a component |
//! | anything else | a native plugin; if only components are allowed, an error with the kind |
//!
//! This module performs no I/O.

use std::fmt;

/// The number of bytes that [`FileKind::from_header`] needs to recognize WebAssembly.
pub const WASM_HEADER_LENGTH: u64 = 8;

/// The number of bytes that [`elf_processor`] reads.
pub const ELF_HEADER_LENGTH: u64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A WebAssembly component.
    Component,
    /// A core WebAssembly module.
    CoreModule,
    /// WebAssembly of an unknown version.
    OtherWasm,
    /// An executable for Linux or a BSD.
    Elf,
    /// An executable for macOS.
    MachO,
    /// An executable for Windows.
    Windows,
    /// A script that starts with the path of its interpreter.
    Script,
    /// A zip archive.
    Zip,
    /// WebAssembly in the text format.
    WasmText,
    /// An empty file.
    Empty,
    /// Any other file.
    Unknown,
}

impl FileKind {
    /// Determines the kind of a file from its first bytes.
    pub fn from_header(header: &[u8]) -> Self {
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
            Self::OtherWasm => "WebAssembly of an unknown version, or truncated after its first bytes",
            Self::Elf => "a native executable (ELF)",
            Self::MachO => "a native executable (Mach-O)",
            Self::Windows => "a native executable (Windows)",
            Self::Script => "a script",
            Self::Zip => "a zip archive",
            Self::WasmText => "WebAssembly in the text format",
            Self::Empty => "empty",
            Self::Unknown => "not WebAssembly",
        })
    }
}

/// Returns the processor for which an ELF executable was compiled, from its first bytes.
pub fn elf_processor(header: &[u8]) -> Option<&'static str> {
    const BIG_ENDIAN: u8 = 2;
    let [order, ..] = header.get(5..)? else { return None };
    let machine: [u8; 2] = header.get(18..20)?.try_into().ok()?;
    let machine =
        if *order == BIG_ENDIAN { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    Some(match machine {
        0x03 => "x86",
        0x15 => "powerpc64",
        0x16 => "s390x",
        0x28 => "arm",
        0x3e => "x86_64",
        0xb7 => "aarch64",
        0xf3 => "riscv64",
        0x102 => "loongarch64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elf_processor_is_read_in_either_byte_order() {
        let mut elf = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0";
        assert_eq!(elf_processor(&elf), Some("aarch64"));
        elf[5] = 2;
        elf[18..20].copy_from_slice(&[0, 0x16]);
        assert_eq!(elf_processor(&elf), Some("s390x"));
        assert_eq!(elf_processor(b"\x7fELF\x02\x01"), None);
    }

    #[test]
    fn from_header_recognizes_executables() {
        assert_eq!(FileKind::from_header(b"\x7fELF\x02\x01"), FileKind::Elf);
        assert_eq!(FileKind::from_header(b"MZ\x90"), FileKind::Windows);
        assert_eq!(FileKind::from_header(b"#!/bin/sh"), FileKind::Script);
        assert_eq!(FileKind::from_header(b""), FileKind::Empty);
    }
}
