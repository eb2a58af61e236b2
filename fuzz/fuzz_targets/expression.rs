//! Evaluates expressions in three scopes: one without names, one with unknown values, and one that
//! defines every name.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wardian_fuzz::{
    Named, Nothing, assert_agrees, file, look_at_diagnostics, look_at_expression, multiplies,
};
use wardian_lang::{EmptyScope, parse_expression};

fuzz_target!(|data: &[u8]| {
    let Some(file) = file("main.tf", data) else { return };
    match parse_expression(&file) {
        Ok(expression) if multiplies(file.text()) => look_at_expression(&expression, &[]),
        Ok(expression) => {
            look_at_expression(&expression, &[&EmptyScope, &Nothing, &Named]);
            // For sets without a type, these functions assume, as Terraform does, that the other
            // sets have the same type.
            if ["setunion", "setintersection", "setsubtract", "setsymmetricdifference"]
                .iter()
                .any(|name| file.text().contains(name))
            {
                return;
            }
            let describe = || file.text().to_owned();
            if let (Ok(early), Ok(later)) = (expression.evaluate(&Nothing), expression.evaluate(&Named)) {
                assert_agrees(&early, &later, &describe);
            }
        }
        Err(problems) => {
            assert!(problems.has_errors(), "a failure without an error");
            look_at_diagnostics(&problems);
        }
    }
});
