//! Declarations: the input is parsed as a component, as the lines of a declaration, and as a
//! consent lock file.
//!
//! Properties: a declaration that is parsed can be granted, and is then contained in the grants;
//! consent does not change when it is written and read again; displayed text contains no terminal
//! control sequences.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use wardian_address::{ProviderAddress, Version};
use wardian_declaration::{Approval, ApprovedCapabilities, Inspected, SECTION_NAME, inspect};
use wardian_fuzz::{file, look_at_diagnostics};
use wardian_policy::{CapabilityRequest, GrantStatus, Level, Policy, PolicyFile, add_grants};

const ROOT: &str = "/srv/project";

fuzz_target!(|data: &[u8]| {
    let root = Path::new(ROOT);
    if let Ok(found) = inspect(data, root) {
        look_at(&found);
    }
    if let Some(component) = declaring(data)
        && let Ok(found) = inspect(&component, root)
    {
        look_at(&found);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        match ApprovedCapabilities::parse(text, root) {
            Ok(agreements) => {
                assert_eq!(
                    ApprovedCapabilities::parse(&agreements.render(), root).ok().as_ref(),
                    Some(&agreements)
                );
            }
            Err(problems) => look_at_diagnostics(&problems),
        }
    }
});

/// Returns a component with one custom section that contains these declarations.
fn declaring(lines: &[u8]) -> Option<Vec<u8>> {
    let mut content = vec![u8::try_from(SECTION_NAME.len()).ok()?];
    content.extend(SECTION_NAME.as_bytes());
    content.extend(lines);
    let mut component = b"\0asm\x0d\0\x01\0\0".to_vec();
    let mut length = content.len();
    while length > 0x7f {
        component.push(0x80 | u8::try_from(length & 0x7f).ok()?);
        length >>= 7;
    }
    component.push(u8::try_from(length).ok()?);
    component.extend(content);
    Some(component)
}

fn look_at(found: &Inspected) {
    for name in found.imports.iter().chain(&found.exports) {
        assert!(name.bytes().all(|byte| byte.is_ascii_graphic()), "{name:?} is shown");
    }
    let verification = found.verify_imports();
    for undeclared in &verification.undeclared {
        assert!(!undeclared.imports.is_empty(), "{undeclared} without an import");
    }
    let (Ok(plugin), Ok(version)) = ("acme/dns".parse::<ProviderAddress>(), Version::parse("1.0.0")) else {
        return;
    };
    let asked: Vec<&CapabilityRequest> = found.declaration.requests.iter().collect();
    if asked.is_empty() {
        return;
    }
    let root = Path::new(ROOT);
    let text = match add_grants(None, &plugin, &asked, root) {
        Ok(text) => text,
        Err(problems) => panic!("what is asked for cannot be granted: {problems:?}"),
    };
    let granted = file("wardian.policy.hcl", text.as_bytes())
        .and_then(|file| PolicyFile::parse(Level::RootModule, &file, root).ok())
        .map(|file| Policy::new(root, [file], []).for_plugin(&plugin));
    for one in &asked {
        let standing = granted.as_ref().map(|policy| policy.grant_status(one));
        assert_eq!(standing, Some(GrantStatus::Granted), "{text}");
        assert!(one.is_covered_by([*one]), "{text}");
        assert!(!one.description().chars().any(char::is_control), "{:?} is shown", one.description());
    }
    let agreement =
        Approval { version, sha256: "00".repeat(32), requests: found.declaration.requests.clone() };
    let agreements = ApprovedCapabilities { plugins: [(plugin, agreement)].into(), ..Default::default() };
    assert_eq!(ApprovedCapabilities::parse(&agreements.render(), root).ok(), Some(agreements), "{text}");
}
