//! JSON files: parsed, inspected without a schema, and loaded as a configuration.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use wardian_diagnostic::Diagnostics;
use wardian_config::{MemoryFiles, load_root_from, references};
use wardian_fuzz::{Nothing, file, look_at_body, look_at_diagnostics, multiplies};
use wardian_lang::{EmptyScope, parse_json_body};

fuzz_target!(|data: &[u8]| {
    load(data);
    let Some(file) = file("main.tf.json", data) else { return };
    let (body, mut problems) = parse_json_body(&file);
    look_at_diagnostics(&problems);
    let _ = body.with_attributes_only(&mut problems);
    if !multiplies(file.text()) {
        look_at_body(&body, &[&EmptyScope, &Nothing]);
    }
});

fn load(data: &[u8]) {
    for names in [&["main.tf.json"][..], &["main.tf.json", "override.tf.json"]] {
        let files = MemoryFiles::new(names.iter().map(|name| (*name, data)));
        match load_root_from(&files, Path::new("")) {
            Ok(configuration) => {
                let problems: Diagnostics = configuration.check_references();
                look_at_diagnostics(&problems);
                for (_, resource, _) in configuration.resources() {
                    let _ = references(&resource.body, None);
                }
            }
            Err(problems) => look_at_diagnostics(&problems),
        }
    }
}
