//! The version of the program that wrote a state file.

use crate::error::StateProblem;

/// Checks that the version of the program that wrote the file is a valid version or empty.
///
/// `1.11`, `v1.2.3` and `1.2.3.4` are accepted, because Terraform has never validated this field
/// strictly.
pub(crate) fn check_writer(version: &str) -> Result<(), StateProblem> {
    let numbers = version.strip_prefix('v').unwrap_or(version);
    let end = numbers.find(['-', '+']).unwrap_or(numbers.len());
    let (numbers, rest) = numbers.split_at(end);
    let is_version = numbers.split('.').all(|part| part.parse::<u64>().is_ok() && !part.starts_with('+'))
        && (rest.is_empty() || rest.len() > 1)
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+.~".contains(&byte));
    if version.is_empty() || is_version {
        Ok(())
    } else {
        Err(StateProblem::WriterVersion(version.to_owned()))
    }
}
