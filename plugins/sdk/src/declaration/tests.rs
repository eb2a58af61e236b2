use super::*;

const NEEDED: &[Capability] = crate::capabilities![
    network {
        hosts: ["api.example.com", "*.b.example"],
        schemes: ["https", "http"],
        ports: ["443", "8000-8999"],
        methods: ["GET"],
        addresses: ["public", "private"],
        reason: "it says \"\\ä\u{1b}\"",
    },
    filesystem { directories: ["."], access: ["read", "write"], reason: "files" },
    environment { names: ["A_*"], reason: "names" },
    process { program: "git", reason: "asks for its version" },
    process { program: "git", arguments: ["clone", "..."], reason: "clones" },
    process { program: "acme", arguments: ["sync"], environment: ["ACME_*"], reason: "synchronizes" },
    communicator { hosts: ["**"], reason: "machines" }
];

static ENCODED: [u8; length(NEEDED)] = encode(NEEDED);

#[test]
fn declaration_is_one_line_of_json() {
    let text = std::str::from_utf8(&ENCODED).unwrap();
    assert_eq!(text.matches('\n').count(), 1);
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        document,
        serde_json::json!({
            "version": 1,
            "sdk": SDK,
            "capabilities": [
                { "network": {
                    "hosts": ["api.example.com", "*.b.example"],
                    "schemes": ["https", "http"],
                    "ports": ["443", "8000-8999"],
                    "methods": ["GET"],
                    "addresses": ["public", "private"],
                    "reason": "it says \"\\ä\u{1b}\"",
                } },
                { "filesystem": { "directories": ["."], "access": ["read", "write"], "reason": "files" } },
                { "environment": { "names": ["A_*"], "reason": "names" } },
                { "process": { "program": "git", "arguments": [], "reason": "asks for its version" } },
                { "process": { "program": "git", "arguments": ["clone", "..."], "reason": "clones" } },
                { "process": {
                    "program": "acme", "arguments": ["sync"], "environment": ["ACME_*"],
                    "reason": "synchronizes"
                } },
                { "communicator": { "hosts": ["**"], "reason": "machines" } },
            ],
        })
    );
}

#[test]
fn empty_declaration_lists_no_capabilities() {
    const NOTHING: &[Capability] = crate::capabilities![];
    static NONE: [u8; length(NOTHING)] = encode(NOTHING);
    let document: serde_json::Value = serde_json::from_slice(&NONE).unwrap();
    assert_eq!(document, serde_json::json!({ "version": 1, "sdk": SDK, "capabilities": [] }));
}
