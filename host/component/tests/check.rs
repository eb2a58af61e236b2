//! Small components that expand to huge components, and ordinary components.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails at the first unexpected result")]

use wardian_component::{CheckError, ComponentCounts, ComponentLimits, check};
use wasm_encoder::{
    Alias, BlockType, CodeSection, Component, ComponentAliasSection, ComponentExportKind,
    ComponentImportSection, ComponentInstanceSection, ComponentOuterAliasKind, ComponentTypeRef,
    ComponentTypeSection, ConstExpr, DataSection, Encode as _, EntityType, Function, FunctionSection,
    ImportSection, InstanceSection, MemorySection, MemoryType, Module, ModuleSection, NestedComponentSection,
    TypeSection, ValType,
};

fn counts(component: Component) -> Result<ComponentCounts, CheckError> {
    check(&component.finish(), &ComponentLimits::default())
}

/// Returns the count that exceeds its limit, with the measured value and the limit.
fn exceeded(component: Component) -> (&'static str, u64, u64) {
    match counts(component) {
        Err(CheckError::Limit(limit)) => (limit.what, limit.measured, limit.limit),
        other => panic!("{other:?}"),
    }
}

/// Returns a component that instantiates the component of the previous level twice, with `levels` levels.
fn doubled(levels: u32) -> Component {
    let mut inner = Component::new();
    for _ in 0..levels {
        let mut outer = Component::new();
        outer.section(&NestedComponentSection(&inner));
        let mut instances = ComponentInstanceSection::new();
        for _ in 0..2 {
            instances.instantiate(0, std::iter::empty::<(&str, ComponentExportKind, u32)>());
        }
        outer.section(&instances);
        inner = outer;
    }
    inner
}

#[test]
fn counts_instances_by_multiplication() {
    assert_eq!(counts(doubled(3)).unwrap().instances, 2 + 4 + 8);
    let (what, measured, limit) = exceeded(doubled(22));
    assert_eq!((what, limit), ("instances, including nested instances", 10_000));
    assert!(measured > limit);
}

#[test]
fn counts_instances_of_outer_components() {
    // Siblings, each of which instantiates the previous one through an alias.
    let mut root = Component::new();
    root.section(&NestedComponentSection(&Component::new()));
    for previous in 0..20 {
        let mut next = Component::new();
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::Outer { kind: ComponentOuterAliasKind::Component, count: 1, index: previous });
        next.section(&aliases);
        let mut instances = ComponentInstanceSection::new();
        for _ in 0..2 {
            instances.instantiate(0, std::iter::empty::<(&str, ComponentExportKind, u32)>());
        }
        next.section(&instances);
        root.section(&NestedComponentSection(&next));
    }
    let (what, ..) = exceeded(root);
    assert_eq!(what, "instances, including nested instances");
}

#[test]
fn counts_items_of_each_instance() {
    // 1,000 instances of a component with 1,000 imports.
    let mut inner = Component::new();
    let mut types = ComponentTypeSection::new();
    types.function().params(std::iter::empty::<(&str, wasm_encoder::ComponentValType)>()).result(None);
    inner.section(&types);
    let mut imports = ComponentImportSection::new();
    for number in 0..1_000 {
        imports.import(format!("f{number}").as_str(), ComponentTypeRef::Func(0));
    }
    inner.section(&imports);
    let mut root = Component::new();
    root.section(&NestedComponentSection(&inner));
    let mut instances = ComponentInstanceSection::new();
    for _ in 0..1_000 {
        instances.instantiate(0, std::iter::empty::<(&str, ComponentExportKind, u32)>());
    }
    root.section(&instances);
    assert_eq!(exceeded(root).0, "imports, exports and aliases of all instances");
}

#[test]
fn counts_imports_of_each_module_instance() {
    let mut module = Module::new();
    let mut imports = ImportSection::new();
    for number in 0..1_000 {
        imports.import("a", &format!("m{number}"), EntityType::Memory(memory()));
    }
    module.section(&imports);
    let mut root = Component::new();
    root.section(&ModuleSection(&module));
    let mut instances = InstanceSection::new();
    for _ in 0..1_000 {
        instances.instantiate(0, std::iter::empty::<(&str, wasm_encoder::ModuleArg)>());
    }
    root.section(&instances);
    assert_eq!(exceeded(root).0, "imports, exports and aliases of all instances");
}

#[test]
fn nested_exports_are_counted_by_multiplication() {
    // Each instance exports the previous one twice.
    let mut root = Component::new();
    for previous in 0..30_u32 {
        let mut instances = ComponentInstanceSection::new();
        match previous.checked_sub(1) {
            None => instances.export_items(std::iter::empty::<(&str, ComponentExportKind, u32)>()),
            Some(at) => {
                instances.export_items(["a", "b"].map(|name| (name, ComponentExportKind::Instance, at)))
            }
        };
        root.section(&instances);
    }
    assert_eq!(exceeded(root).0, "imports, exports and aliases of all instances");
}

#[test]
fn imported_component_is_not_instantiated() {
    let mut root = Component::new();
    let mut types = ComponentTypeSection::new();
    types.component(&wasm_encoder::ComponentType::new());
    root.section(&types);
    let mut imports = ComponentImportSection::new();
    imports.import("c", ComponentTypeRef::Component(0));
    root.section(&imports);
    assert!(counts(root.clone()).is_ok());
    let mut instances = ComponentInstanceSection::new();
    instances.instantiate(0, std::iter::empty::<(&str, ComponentExportKind, u32)>());
    root.section(&instances);
    assert_eq!(counts(root), Err(CheckError::Unresolved));
}

#[test]
fn nesting_is_limited() {
    let mut inner = Component::new();
    for _ in 0..100 {
        let mut outer = Component::new();
        outer.section(&NestedComponentSection(&inner));
        inner = outer;
    }
    assert_eq!(exceeded(inner), ("nested components", 65, 64));
}

/// Returns a component with a module of these functions, all of type `parameters -> results`.
fn with_functions(parameters: usize, results: usize, functions: &[Function]) -> Component {
    let mut module = Module::new();
    let mut types = TypeSection::new();
    types.ty().function(vec![ValType::I32; parameters], vec![ValType::I32; results]);
    module.section(&types);
    let mut defined = FunctionSection::new();
    let mut code = CodeSection::new();
    for function in functions {
        defined.function(0);
        code.function(function);
    }
    module.section(&defined).section(&code);
    let mut root = Component::new();
    root.section(&ModuleSection(&module));
    root
}

fn memory() -> MemoryType {
    MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None }
}

fn function(locals: u32, body: impl FnOnce(&mut wasm_encoder::InstructionSink<'_>)) -> Function {
    let mut function = Function::new([(locals, ValType::I32)]);
    body(&mut function.instructions());
    function.instructions().end();
    function
}

#[test]
fn number_of_functions_is_limited() {
    let empty = function(0, |_| {});
    assert_eq!(counts(with_functions(0, 0, &vec![empty.clone(); 1_000])).unwrap().functions, 1_000);
    assert_eq!(exceeded(with_functions(0, 0, &vec![empty; 200_000])), ("functions", 200_000, 100_000));
}

#[test]
fn local_variables_are_limited_per_function_and_in_total() {
    let one = with_functions(0, 0, &[function(20_000, |_| {})]);
    assert_eq!(exceeded(one), ("local variables of a function", 20_000, 10_000));
    let many = with_functions(0, 0, &vec![function(10_000, |_| {}); 1_000]);
    assert_eq!(exceeded(many).0, "local variables of all functions");
    // Parameters are also variables, and do not increase the size of a function's body.
    let many = with_functions(1_000, 0, &vec![function(0, |_| {}); 10_000]);
    assert_eq!(exceeded(many).0, "local variables of all functions");
}

#[test]
fn loop_limit_depends_on_local_variables() {
    let nested = |loops: usize, locals| {
        with_functions(
            0,
            0,
            &[function(locals, |code| {
                for _ in 0..loops {
                    code.loop_(BlockType::Empty);
                }
                for _ in 0..loops {
                    code.end();
                }
            })],
        )
    };
    assert_eq!(counts(nested(30, 3_000)).unwrap().loop_variables, 90_000);
    let what = "nested loops of a function, multiplied by its local variables";
    assert_eq!(exceeded(nested(50, 10_000)), (what, 110_000, 100_000));
    assert_eq!(exceeded(nested(3_000, 0)).0, "nested blocks of a function");
}

#[test]
fn values_passed_by_calls_and_branches_are_limited() {
    let calls = function(0, |code| {
        for _ in 0..10_000 {
            code.call(0);
        }
    });
    assert_eq!(
        exceeded(with_functions(0, 1_000, &[calls])).0,
        "operands and results of the instructions of a function"
    );
    let branches = function(0, |code| {
        for _ in 0..10_000 {
            code.br(0);
        }
    });
    assert_eq!(
        exceeded(with_functions(0, 1_000, &[branches])).0,
        "operands and results of the instructions of a function"
    );
    let blocks = function(0, |code| {
        for _ in 0..10_000 {
            code.block(BlockType::FunctionType(0)).end();
        }
    });
    assert_eq!(
        exceeded(with_functions(1_000, 0, &[blocks])).0,
        "operands and results of the instructions of a function"
    );
}

#[test]
fn gaps_in_initial_memories_are_counted() {
    let mut module = Module::new();
    let mut memories = MemorySection::new();
    memories.memory(MemoryType { minimum: 1_000, ..memory() });
    module.section(&memories);
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const((16 << 20) - 1), [1]);
    module.section(&data);
    let mut root = Component::new();
    for _ in 0..100 {
        root.section(&ModuleSection(&module));
    }
    assert_eq!(exceeded(root).0, "bytes of the initial content of memories");
}

#[test]
fn deeply_nested_types_are_an_error() {
    let mut ty = vec![0x42, 0x00];
    for _ in 0..100_000 {
        let mut outer = vec![0x42, 0x01, 0x01];
        outer.extend(ty);
        ty = outer;
        if ty.len() > 60_000 {
            break;
        }
    }
    let mut section = vec![0x01];
    section.extend(ty);
    let mut bytes = Component::new().finish();
    bytes.push(7);
    u32::try_from(section.len()).unwrap().encode(&mut bytes);
    bytes.extend(section);
    assert!(check(&bytes, &ComponentLimits::default()).is_err());
}

#[test]
fn damaged_component_is_an_error() {
    let bytes = doubled(3).finish();
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            let _ = check(&damaged, &ComponentLimits::default());
        }
        let _ = check(&bytes[..at], &ComponentLimits::default());
    }
}
