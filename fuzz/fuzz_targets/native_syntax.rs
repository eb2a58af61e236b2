//! Files in the native syntax: parsed, inspected, evaluated, loaded as a configuration, and
//! formatted, which must not change their meaning.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use wardian_diagnostic::SourceFile;
use wardian_config::{MemoryFiles, load_root_from};
use wardian_fuzz::{Nothing, file, look_at_body, look_at_diagnostics, multiplies};
use wardian_lang::{Body, EmptyScope, format_text, parse_body};

fuzz_target!(|data: &[u8]| {
    load(data);
    let Some(file) = file("main.tf", data) else { return };
    let (body, problems) = parse_body(&file);
    look_at_diagnostics(&problems);
    assert!(problems.iter().all(|problem| problem.subject.is_some()), "a diagnostic without a source span");
    if !multiplies(file.text()) {
        look_at_body(&body, &[&EmptyScope, &Nothing]);
    }
    let Ok(formatted) = format_text(&file) else {
        assert!(problems.has_errors(), "a file without an error cannot be formatted");
        return;
    };
    let again = SourceFile::new("main.tf", formatted);
    let (formatted_body, problems) = parse_body(&again);
    assert!(!problems.has_errors(), "formatting breaks the file: {problems}\n{}", again.text());
    assert_eq!(outline(&body), outline(&formatted_body), "formatting changes the file:\n{}", again.text());
    assert!(format_text(&again).is_ok(), "what is formatted cannot be formatted:\n{}", again.text());
});

fn load(data: &[u8]) {
    let files = MemoryFiles::new([("main.tf", data)]);
    match load_root_from(&files, Path::new("")) {
        Ok(configuration) => look_at_diagnostics(&configuration.check_references()),
        Err(problems) => look_at_diagnostics(&problems),
    }
}

/// Returns names and labels, without expressions.
fn outline(body: &Body) -> Vec<String> {
    let mut found = Vec::new();
    let mut bodies = vec![body];
    while let Some(body) = bodies.pop() {
        found.extend(body.attributes.iter().map(|attribute| format!("{} =", attribute.name)));
        for block in &body.blocks {
            found.push(format!("{} {:?} {{", block.kind, block.label_texts()));
            bodies.push(&block.body);
        }
        found.push("}".to_owned());
    }
    found
}
