//! Templates without quotes, as in template files.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wardian_fuzz::{Named, Nothing, file, look_at_diagnostics, look_at_expression, multiplies};
use wardian_lang::{EmptyScope, parse_template};

fuzz_target!(|data: &[u8]| {
    let Some(file) = file("main.tftpl", data) else { return };
    match parse_template(&file) {
        Ok(template) if multiplies(file.text()) => look_at_expression(&template, &[]),
        Ok(template) => look_at_expression(&template, &[&EmptyScope, &Nothing, &Named]),
        Err(problems) => {
            assert!(problems.has_errors(), "a failure without an error");
            look_at_diagnostics(&problems);
        }
    }
});
