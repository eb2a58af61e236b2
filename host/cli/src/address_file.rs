//! Files with addresses for `-target-file` and `-exclude-file`: one address per line. Empty lines and
//! lines that begin with `#` are ignored.

use std::fs;
use std::path::{Path, PathBuf};

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, system_reason};
use wardian_engine::TargetAddress;

use crate::failure::{Failure, Outcome};

/// Returns the addresses in the files. `option` is the option that specifies the files.
///
/// # Errors
/// Returns an error if a file cannot be read, contains an invalid address, or contains no address.
/// (A plan without targets would include everything.)
pub(crate) fn read_all(paths: &[PathBuf], option: &str) -> Outcome<Vec<TargetAddress>> {
    let mut addresses = Vec::new();
    for path in paths {
        addresses.extend(read(path, option)?);
    }
    Ok(addresses)
}

fn read(path: &Path, option: &str) -> Outcome<Vec<TargetAddress>> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| {
        let detail =
            format!("The file {name}, given with {option}, cannot be read: {}.", system_reason(&error));
        Failure::error("Address file cannot be read", detail)
    })?;
    let file = SourceFile::new(name, text);
    let (addresses, problems) = parse(&file);
    problems.into_result(())?;
    if addresses.is_empty() {
        let detail = format!(
            "The file {}, given with {option}, contains no address. Write one address per line.",
            path.display()
        );
        return Err(Failure::error("Address file is empty", detail));
    }
    Ok(addresses)
}

fn parse(file: &std::sync::Arc<SourceFile>) -> (Vec<TargetAddress>, Diagnostics) {
    let (mut addresses, mut problems) = (Vec::new(), Diagnostics::new());
    let mut start = 0;
    for line in file.text().split_inclusive('\n') {
        let text = line.trim();
        let begin = start + line.len() - line.trim_start().len();
        start += line.len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        match text.parse() {
            Ok(address) => addresses.push(address),
            Err(reason) => {
                let detail = format!("\"{text}\" cannot be used: {reason}. Write one address per line.");
                let problem = Diagnostic::error("Invalid target address", detail);
                problems.push(problem.at(Span::new(file, begin, begin + text.len())));
            }
        }
    }
    (addresses, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_line_by_line() {
        let text = "# both\nterraform_data.a\n\n  module.m[\"x\"]  \r\nterraform_data.b[0]";
        let (addresses, problems) = parse(&SourceFile::new("targets", text));
        assert!(problems.is_empty(), "{problems:?}");
        let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["terraform_data.a", "module.m[\"x\"]", "terraform_data.b[0]"]);
    }

    #[test]
    fn invalid_address_is_reported_with_its_position() {
        let (addresses, problems) = parse(&SourceFile::new("targets", "terraform_data.a\n a..b\n"));
        assert_eq!(addresses.len(), 1);
        let problem = problems.iter().next().unwrap().to_string();
        assert!(problem.starts_with("targets:2,2-6: Invalid target address"), "{problem}");
    }

    #[test]
    fn file_without_addresses_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("targets");
        fs::write(&path, "# nothing\n").unwrap();
        assert!(read_all(&[path], "-target-file").is_err());
        assert!(read_all(&[directory.path().join("absent")], "-target-file").is_err());
    }
}
