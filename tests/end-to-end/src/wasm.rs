//! Builds components that are small and expensive, byte by byte.

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(0x80 | u8::try_from(number & 0x7f).unwrap_or_default());
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
    bytes
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &number(content.len()), content].concat()
}

fn vector(count: usize, item: &[u8]) -> Vec<u8> {
    [number(count), item.repeat(count)].concat()
}

/// Returns nested components, each of which instantiates the next component several times.
pub fn nested_components(depth: usize, instances: usize) -> Vec<u8> {
    let mut component = COMPONENT.to_vec();
    for _ in 0..depth {
        // An instance of component 0, without arguments.
        let instances = section(5, &vector(instances, &[0, 0, 0]));
        component = [COMPONENT, &section(4, &component), &instances].concat();
    }
    component
}

/// Returns nested components, of which the innermost component instantiates a core module.
pub fn nested_modules(depth: usize, instances: usize) -> Vec<u8> {
    let module = [section(1, MODULE), section(2, &vector(instances, &[0, 0, 0]))].concat();
    let mut component = [COMPONENT, &module].concat();
    for _ in 0..depth {
        let instances = section(5, &vector(instances, &[0, 0, 0]));
        component = [COMPONENT, &section(4, &component), &instances].concat();
    }
    component
}

/// Returns a component with one core module.
fn with_module(sections: &[Vec<u8>]) -> Vec<u8> {
    [COMPONENT, &section(1, &[MODULE, &sections.concat()].concat())].concat()
}

fn module_of_functions(count: usize, body: &[u8]) -> Vec<u8> {
    let types = section(1, &[1, 0x60, 0, 0]);
    let functions = section(3, &vector(count, &[0]));
    let code = section(10, &vector(count, &[number(body.len()), body.to_vec()].concat()));
    with_module(&[types, functions, code])
}

/// Returns a function that changes each of its locals within nested loops.
pub fn locals_in_loops(locals: usize, depth: usize) -> Vec<u8> {
    let mut body = [vec![1], number(locals), vec![0x7f]].concat();
    body.extend([0x03, 0x40].repeat(depth));
    for local in 0..locals {
        body.extend(increment(local));
    }
    // A parameter determines whether each loop runs again.
    body.extend([0x20, 0, 0x0d, 0, 0x0b].repeat(depth));
    body.push(0x0b);
    module_of_functions(1, &body)
}

/// Functions with nested loops, each of which changes all locals.
pub fn locals_in_each_loop(functions: usize, loops: usize, locals: usize) -> Vec<u8> {
    let mut body = [vec![1], number(locals), vec![0x7f]].concat();
    for _ in 0..loops {
        body.extend([0x03, 0x40]);
        for local in 0..locals {
            body.extend(increment(local));
        }
    }
    body.extend([0x41, 1, 0x0d, 0, 0x0b].repeat(loops));
    body.push(0x0b);
    module_of_functions(functions, &body)
}

/// Returns instructions that add one to a local.
fn increment(local: usize) -> Vec<u8> {
    let local = number(local);
    [&[0x20], &local[..], &[0x41, 1, 0x6a, 0x21], &local].concat()
}

pub fn empty_functions(count: usize) -> Vec<u8> {
    module_of_functions(count, &[0, 0x0b])
}

/// Functions with as many locals as the format allows.
pub fn many_locals(functions: usize) -> Vec<u8> {
    let body = [vec![1], number(50_000), vec![0x7e, 0x0b]].concat();
    module_of_functions(functions, &body)
}

pub fn nested_blocks(depth: usize) -> Vec<u8> {
    let body = [vec![0], [0x02, 0x40].repeat(depth), [0x0b].repeat(depth), vec![0x0b]].concat();
    module_of_functions(1, &body)
}

/// Branch tables in which all branches lead to the same block.
pub fn branch_tables(count: usize, targets: usize) -> Vec<u8> {
    let mut body = vec![0];
    for _ in 0..count {
        body.extend([0x02, 0x40, 0x41, 0, 0x0e]);
        body.extend(vector(targets, &[0]));
        body.extend([0, 0x0b]);
    }
    body.push(0x0b);
    module_of_functions(1, &body)
}

/// Tuple types, each of which contains the previous type several times.
pub fn doubled_types(depth: usize) -> Vec<u8> {
    let mut types = number(depth + 1);
    types.extend([0x6f, 1, 0x7f]);
    for level in 0..depth {
        let inner = number(level);
        types.extend([vec![0x6f, 2], inner.clone(), inner].concat());
    }
    [COMPONENT, &section(7, &types)].concat()
}

/// Returns a custom section, which can be appended to any component.
pub fn custom_section(name: &str, content: &[u8]) -> Vec<u8> {
    section(0, &[&number(name.len())[..], name.as_bytes(), content].concat())
}
