//! What a file that would not run is, so that the person can see why.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What the first bytes of a file say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executable {
    /// Linux or a BSD, for a kind of processor.
    Elf(&'static str),
    MacOs,
    Windows,
    Script,
    Empty,
    Other,
}

impl Executable {
    fn of(header: &[u8]) -> Self {
        match header {
            [] => Self::Empty,
            [0x7f, b'E', b'L', b'F', _, order, ..] => {
                let machine = match (order, header.get(18), header.get(19)) {
                    (2, Some(high), Some(low)) => u16::from_be_bytes([*high, *low]),
                    (_, Some(low), Some(high)) => u16::from_le_bytes([*low, *high]),
                    _ => 0,
                };
                Self::Elf(processor(machine))
            }
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => Self::MacOs,
            [b'M', b'Z', ..] => Self::Windows,
            [b'#', b'!', ..] => Self::Script,
            _ => Self::Other,
        }
    }
}

const UNKNOWN: &str = "an unknown processor";

fn processor(machine: u16) -> &'static str {
    match machine {
        0x03 => "x86",
        0x15 => "powerpc64",
        0x16 => "s390x",
        0x28 => "arm",
        0x3e => "x86_64",
        0xb7 => "aarch64",
        0xf3 => "riscv64",
        0x102 => "loongarch64",
        _ => UNKNOWN,
    }
}

/// Where the kernel says which other kinds of files it runs, by which interpreters.
const INTERPRETERS: &str = "/proc/sys/fs/binfmt_misc";

/// What a file is that cannot be run here. The system would refuse it as well, but the
/// functions that start programs have a shell read then what it refused.
pub(crate) fn foreign(path: &Path) -> Option<String> {
    let mut header = Vec::new();
    File::open(path).ok()?.take(20).read_to_end(&mut header).ok()?;
    let runs = match Executable::of(&header) {
        Executable::Script => true,
        Executable::Elf(processor) => {
            std::env::consts::OS != "macos" && [std::env::consts::ARCH, UNKNOWN].contains(&processor)
        }
        Executable::MacOs => std::env::consts::OS == "macos",
        Executable::Windows | Executable::Other => false,
        Executable::Empty => return Some(describe(path)),
    };
    (!runs && !others_are_run()).then(|| describe(path))
}

fn others_are_run() -> bool {
    let own = ["register", "status"];
    let entries = fs::read_dir(INTERPRETERS).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !own.iter().any(|name| entry.file_name() == *name))
}

/// What there is at a path, as a sentence without its stop.
pub(crate) fn describe(path: &Path) -> String {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return format!("the file cannot be looked at: {error}"),
    };
    if !metadata.is_file() {
        return "it is not a file".into();
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o111 == 0 {
        return format!("it is not executable (its mode is {mode:04o}); `chmod +x` makes it so");
    }
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(20).read_to_end(&mut header));
    if let Err(error) = read {
        return format!("the file cannot be read: {error}");
    }
    let (here, system) = (std::env::consts::ARCH, std::env::consts::OS);
    match Executable::of(&header) {
        Executable::Elf(processor) if processor == here && system != "macos" => {
            "it is for this kind of machine, so maybe a library or a loader that it needs is missing".into()
        }
        Executable::Elf(processor) => {
            format!("it is for Linux on {processor}, and this is {system} on {here}")
        }
        Executable::MacOs if system == "macos" => {
            format!("it is for macOS; maybe it is for another processor than {here}")
        }
        Executable::MacOs => format!("it is for macOS, and this is {system} on {here}"),
        Executable::Windows => format!("it is for Windows, and this is {system} on {here}"),
        Executable::Script => "it is a script; maybe the interpreter that it names is missing".into(),
        Executable::Empty => "the file is empty".into(),
        Executable::Other => "it is no executable of any kind that is known".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_of_an_executable_is_read_in_either_order() {
        let mut elf = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0";
        assert_eq!(Executable::of(&elf), Executable::Elf("aarch64"));
        elf[5] = 2;
        elf[18..20].copy_from_slice(&[0, 0x16]);
        assert_eq!(Executable::of(&elf), Executable::Elf("s390x"));
        assert_eq!(Executable::of(b"\x7fELF\x02\x01"), Executable::Elf(UNKNOWN));
        assert_eq!(Executable::of(b"MZ\x90"), Executable::Windows);
        assert_eq!(Executable::of(b"#!/bin/sh"), Executable::Script);
        assert_eq!(Executable::of(b""), Executable::Empty);
    }
}
