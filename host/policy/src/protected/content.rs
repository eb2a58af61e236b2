//! Recognizes states, their journals and saved plans by their first bytes, regardless of their
//! names. Encrypted states and plans are recognized, too.

use wardian_access::ProtectedClass;

/// The number of bytes from the beginning of a file that [`recognize_content`] needs.
pub const MAX_CONTENT_HEADER_LENGTH: usize = 4096;

/// The first bytes of an encrypted plan.
const SEALED_PLAN: &[u8] = b"WARDIAN-SEALED-";
/// The first bytes of a zip archive, which are also the first bytes of its first entry.
const ARCHIVE_ENTRY: &[u8] = b"PK\x03\x04";
/// The length of an archive entry's header, and the position of the name length in it.
const ARCHIVE_HEADER_LENGTH: usize = 30;
const NAME_LENGTH_AT: usize = 26;
/// The names of the first entries of saved plans: Wardian's, then Terraform's.
const PLAN_ENTRIES: [&[u8]; 3] = [b"plan.json", b"tfplan", b"tfstate"];
/// The first member of a journal.
const JOURNAL: &[u8] = b"{\"wardian_journal\":";
/// The maximum length of the checksum before a journal's first line.
const MAX_CHECKSUM_LENGTH: usize = 128;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the class of a file that begins with these bytes, if it is a state, a journal or a saved
/// plan. Also recognizes the JSON that `show -json` prints for states and plans.
pub fn recognize_content(header: &[u8]) -> Option<ProtectedClass> {
    if header.starts_with(SEALED_PLAN) || is_plan_archive(header) {
        return Some(ProtectedClass::Plans);
    }
    if is_journal(header) {
        return Some(ProtectedClass::States);
    }
    let text = header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header).trim_ascii_start();
    class_of_object(text.strip_prefix(b"{")?)
}

fn is_plan_archive(header: &[u8]) -> bool {
    let Some(entry) = header.strip_prefix(ARCHIVE_ENTRY).and(header.get(..ARCHIVE_HEADER_LENGTH)) else {
        return false;
    };
    let length = match entry.get(NAME_LENGTH_AT..NAME_LENGTH_AT + 2) {
        Some([low, high]) => usize::from(u16::from_le_bytes([*low, *high])),
        _ => return false,
    };
    let name = header.get(ARCHIVE_HEADER_LENGTH..ARCHIVE_HEADER_LENGTH + length);
    name.is_some_and(|name| PLAN_ENTRIES.contains(&name))
}

fn is_journal(header: &[u8]) -> bool {
    let start = header.get(..MAX_CHECKSUM_LENGTH + JOURNAL.len()).unwrap_or(header);
    let json = start.iter().position(|byte| *byte == b'{').and_then(|at| start.get(at..));
    json.is_some_and(|json| json.starts_with(JOURNAL))
}

/// Returns the class of a JSON object according to its known members, after its opening brace.
fn class_of_object(text: &[u8]) -> Option<ProtectedClass> {
    let (mut identifying, mut others, mut is_exported_plan, mut is_encrypted) = (0, 0, false, false);
    for_each_member(text, |name, value| match (name, value) {
        (b"version" | b"serial", Some(b'0'..=b'9')) => identifying += 1,
        (b"terraform_version" | b"lineage", Some(b'"')) => identifying += 1,
        (b"format_version" | b"resources" | b"outputs" | b"modules" | b"values" | b"check_results", _) => {
            others += 1;
        }
        (b"planned_values" | b"resource_changes" | b"output_changes" | b"prior_state", _) => {
            is_exported_plan = true;
        }
        (b"encrypted_data", Some(b'"')) => is_encrypted = true,
        _ => {}
    });
    match (identifying, others, is_exported_plan) {
        (1.., _, true) => Some(ProtectedClass::Plans),
        (2.., ..) | (1, 2.., _) => Some(ProtectedClass::States),
        // An encrypted plan has no identity.
        _ if is_encrypted => Some(ProtectedClass::Plans),
        _ => None,
    }
}

/// Calls a function with the name of each member of a JSON object and the first byte of its value,
/// until the text ends or is not JSON. Names with escapes are passed unchanged.
fn for_each_member(text: &[u8], mut act: impl FnMut(&[u8], Option<u8>)) {
    let mut depth = 0_usize;
    let mut is_name = true;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let Some(end) = string_end(text, at + 1) else { return };
                if depth == 0 && is_name {
                    let value = text.get(end + 1..).and_then(value_start);
                    act(text.get(at + 1..end).unwrap_or_default(), value);
                }
                at = end;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return,
            },
            b':' if depth == 0 => is_name = false,
            b',' if depth == 0 => is_name = true,
            _ => {}
        }
        at += 1;
    }
}

/// Returns the first byte of the value after a member's name.
fn value_start(text: &[u8]) -> Option<u8> {
    let value = text.trim_ascii_start().strip_prefix(b":")?;
    value.trim_ascii_start().first().copied()
}

/// Returns the position of the quote that ends a string.
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str) -> Option<&'static str> {
        recognize_content(text.as_bytes()).map(ProtectedClass::word)
    }

    #[test]
    fn recognizes_states_in_all_format_versions() {
        for state in [
            "{\n  \"version\": 4,\n  \"terraform_version\": \"1.11.4\",\n  \"serial\": 1,\n",
            "{\"version\":3,\"serial\":1,\"lineage\":\"x\",\"modules\":[]}",
            "{\"version\": 1, \"serial\": 2, \"modules\": []}",
            "\u{feff} \r\n\t{\"version\":4,\"lineage\":\"x\"}",
            "{\"check_results\":null,\"lineage\":\"x\",\"outputs\":{\"a\":{\"value\":\"",
            "{\"lineage\":\"x\",\"outputs\":{},\"resources\":[{",
            "{\"format_version\":\"1.0\",\"terraform_version\":\"1.11.4\",\"values\":{\"out",
            "0123abcd {\"wardian_journal\":2,\"lineage\":\"",
            "0123abcd {\"wardian_journal\":3,\"encryption\":\"",
            "{\"serial\":3,\"lineage\":\"x\",\"meta\":{\"key_provider.pbkdf2.p\":\"e30=\"},\"encrypted_data\":\"AA",
        ] {
            assert_eq!(class(state), Some("states"), "{state}");
        }
    }

    #[test]
    fn recognizes_plans() {
        for plan in [
            "WARDIAN-SEALED-1....",
            "{\"meta\":{\"key_provider.pbkdf2.p\":\"e30=\"},\"encrypted_data\":\"AAAA",
            "{\"format_version\":\"1.2\",\"terraform_version\":\"1.11.4\",\"planned_values\":{}}",
        ] {
            assert_eq!(class(plan), Some("plans"), "{plan}");
        }
        for name in ["plan.json", "tfplan"] {
            let mut archive = b"PK\x03\x04".to_vec();
            archive.resize(26, 0);
            archive.extend([u8::try_from(name.len()).unwrap(), 0, 0, 0]);
            archive.extend(name.bytes());
            assert_eq!(recognize_content(&archive), Some(ProtectedClass::Plans), "{name}");
            archive.pop();
            assert_eq!(recognize_content(&archive), None);
        }
    }

    #[test]
    fn files_without_state_or_plan_content_have_no_class() {
        for other in [
            "",
            "{",
            "{}",
            "text",
            "PK\u{3}\u{4}",
            "{\"version\": \"1.0.0\", \"name\": \"x\", \"dependencies\": {\"serial\": 1, \"lineage\": 2}}",
            "{\"resources\":[],\"outputs\":{}}",
            "{\"a\":{\"version\":4,\"serial\":1,\"lineage\":\"x\"}}",
            "{\"version\": \"2\", \"serial\": \"A1\"}",
            "{\"version\":4,\"name\":\"\\\"serial\\\": \"}",
            "]{\"version\":4,\"serial\":1}",
            "{\"Modules\":[{\"Key\":\"\",\"Source\":\"\",\"Dir\":\".\"}]}",
            "resource \"x\" \"y\" {\n}\n",
            "{\"a\\",
        ] {
            assert_eq!(class(other), None, "{other}");
        }
    }
}
