//! Describes a file that could not be executed, to help the user identify the cause.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use wardian_cache::file_kind::{ELF_HEADER_LENGTH, FileKind, elf_processor};

/// The position of the byte order in an ELF header. A shorter file is not an executable.
const ELF_BYTE_ORDER: usize = 5;

/// The kernel's list of additional executable formats and their interpreters.
const INTERPRETERS: &str = "/proc/sys/fs/binfmt_misc";

/// Returns the format of a file that cannot be executed on this machine. The operating system also
/// rejects such a file, but some functions that start programs would then pass it to a shell.
pub(crate) fn foreign(path: &Path) -> Option<String> {
    let mut header = Vec::new();
    File::open(path).ok()?.take(ELF_HEADER_LENGTH).read_to_end(&mut header).ok()?;
    let runs = match FileKind::from_header(&header) {
        FileKind::Script => true,
        FileKind::Elf if header.len() > ELF_BYTE_ORDER => {
            let is_for_this_processor =
                elf_processor(&header).is_none_or(|processor| processor == std::env::consts::ARCH);
            std::env::consts::OS != "macos" && is_for_this_processor
        }
        FileKind::MachO => std::env::consts::OS == "macos",
        FileKind::Empty => return Some(describe(path)),
        _ => false,
    };
    (!runs && !others_are_run()).then(|| describe(path))
}

fn others_are_run() -> bool {
    let own = ["register", "status"];
    let entries = fs::read_dir(INTERPRETERS).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !own.iter().any(|name| entry.file_name() == *name))
}

/// Describes the file at a path, as a sentence without a period.
pub(crate) fn describe(path: &Path) -> String {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return format!("the file cannot be examined: {error}"),
    };
    if !metadata.is_file() {
        return "it is not a file".into();
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o111 == 0 {
        return format!("it is not executable (its mode is {mode:04o}); run `chmod +x` on it");
    }
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(ELF_HEADER_LENGTH).read_to_end(&mut header));
    if let Err(error) = read {
        return format!("the file cannot be read: {error}");
    }
    let (here, system) = (std::env::consts::ARCH, std::env::consts::OS);
    match FileKind::from_header(&header) {
        FileKind::Elf if header.len() > ELF_BYTE_ORDER => match elf_processor(&header) {
            Some(processor) if processor == here && system != "macos" => {
                "it is for this platform; a library or loader that it needs may be missing".into()
            }
            processor => {
                let processor = processor.unwrap_or("an unknown processor");
                format!("it is for Linux on {processor}, but this machine runs {system} on {here}")
            }
        },
        FileKind::MachO if system == "macos" => {
            format!("it is for macOS; it may be for a processor other than {here}")
        }
        FileKind::MachO => format!("it is for macOS, but this machine runs {system} on {here}"),
        FileKind::Windows => format!("it is for Windows, but this machine runs {system} on {here}"),
        FileKind::Script => "it is a script; its interpreter may be missing".into(),
        FileKind::Empty => "the file is empty".into(),
        _ => "it is not in a known executable format".into(),
    }
}
