//! Fuzzes the checks of components: the input is used as a component, and as the body of a function
//! in a component.
//!
//! Properties: counting does not panic, and its memory is proportional to the input; a count that
//! includes code is never lower than the same count without code; an accepted component is within
//! the limits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wardian_component::{ComponentLimits, check, check_structure};

fuzz_target!(|data: &[u8]| {
    look_at(data);
    look_at(&in_component(data));
});

fn look_at(bytes: &[u8]) {
    let limits = ComponentLimits::default();
    let (with_code, without) = (check(bytes, &limits), check_structure(bytes, &limits));
    if let Ok(counts) = &with_code {
        assert!(counts.instances <= limits.instances && counts.nesting <= limits.nesting);
        assert!(counts.types <= limits.types && counts.functions <= limits.functions);
        assert!(counts.locals <= limits.locals && counts.loop_variables <= limits.loop_variables);
        let Ok(structure) = without else { panic!("only the structure is rejected") };
        assert!(structure.instances == counts.instances && structure.items == counts.items);
    }
}

/// Returns a component with a module whose function has this code.
fn in_component(code: &[u8]) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // One type without parameters or results, and one function of that type.
    module.extend([1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0]);
    let body = [number(code.len()), code.to_vec()].concat();
    module.extend(section(10, &[vec![1], body].concat()));
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], number(content.len()), content.to_vec()].concat()
}

/// Encodes a number as LEB128.
fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
