//! Distinguishes functions of a plugin's author, and of the libraries that the author chose, from those of
//! the standard library, the SDK and the bindings.

/// The crates that every component in Rust contains.
const RUNTIME_CRATES: [&str; 13] = [
    "core",
    "alloc",
    "std",
    "compiler_builtins",
    "dlmalloc",
    "hashbrown",
    "panic_abort",
    "panic_unwind",
    "__rustc",
    "wasip2",
    "wardian_sdk",
    "wit_bindgen",
    "wit_bindgen_rt",
];

/// Beginnings of the names of functions without a crate: the panic handler, the allocator, the entry points
/// that the bindings generate, and the functions of a linker. Underscores before them are ignored.
const RUNTIME_FUNCTIONS: [&str; 12] = [
    "abort",
    "rust_",
    "rdl_",
    "rg_",
    "wasm_",
    "wasi_",
    "export_",
    "cabi_",
    "cm32p2",
    "start",
    "initialize",
    "wardian:plugin/",
];

/// Returns whether a readable name belongs to the author's code. Cost: linear in the length of the name.
pub(super) fn is_author_function(name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let (own_type, of_trait) = qualified(name);
    let crates: Vec<&str> = [Some(own_type), of_trait].into_iter().flatten().filter_map(crate_name).collect();
    if crates.is_empty() {
        let bare = name.trim_start_matches('_');
        return !RUNTIME_FUNCTIONS.iter().any(|start| bare.starts_with(start));
    }
    crates.iter().any(|name| !RUNTIME_CRATES.contains(name))
}

/// Splits `<TYPE as TRAIT>::function` into the type and the trait. Any other name is returned unchanged.
fn qualified(name: &str) -> (&str, Option<&str>) {
    let Some(rest) = name.strip_prefix('<') else { return (name, None) };
    let mut depth = 0_usize;
    let mut separator = None;
    let mut previous = ' ';
    for (at, character) in rest.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if previous == '-' => {}
            '>' if depth == 0 => {
                let (own_type, of_trait) = separator.map_or((&rest[..at], None), |separator: usize| {
                    (&rest[..separator], rest.get(separator + " as ".len()..at))
                });
                return (own_type, of_trait);
            }
            '>' => depth -= 1,
            ' ' if depth == 0 && separator.is_none() && rest[at..].starts_with(" as ") => {
                separator = Some(at);
            }
            _ => {}
        }
        previous = character;
    }
    (name, None)
}

/// Returns the crate of a path; [`None`] for type parameters, primitive types and names without a path.
fn crate_name(path: &str) -> Option<&str> {
    let mut path = path;
    loop {
        let bare = path.trim_start_matches(['<', '&', '*', '(', '[', ' ']);
        let bare = ["mut ", "const ", "dyn ", "impl "]
            .iter()
            .find_map(|keyword| bare.strip_prefix(keyword))
            .unwrap_or(bare);
        if bare.len() == path.len() {
            break;
        }
        path = bare;
    }
    let end = path.find(|character: char| !character.is_alphanumeric() && character != '_')?;
    (end > 0 && path[end..].starts_with("::")).then(|| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_author_and_of_libraries_are_recognized() {
        for name in [
            "dns::zone::parse",
            "dns::zone::parse::{{closure}}",
            "<dns::zone::Zone as wardian_sdk::resource::Resource>::create",
            "<dns::zone::Zone as core::fmt::Display>::fmt",
            "<alloc::vec::Vec<T> as dns::Extension>::all",
            "<alloc::vec::Vec<T,A> as dns::Extension<fn(u8) -> u8>>::all",
            "<&T as dns::Extension>::all",
            "<dyn dns::Record>::name",
            "dns::<impl dns::Extension for core::option::Option<T>>::required",
            "serde_json::de::from_str",
            "main.main",
            "sqlite3_open",
        ] {
            assert!(is_author_function(name), "{name}");
        }
    }

    #[test]
    fn functions_of_the_runtime_are_recognized() {
        for name in [
            "",
            "abort",
            "__rust_start_panic",
            "__rustc::rust_begin_unwind",
            "rust_panic",
            "core::result::unwrap_failed",
            "core::ops::function::impls::<impl core::ops::function::FnMut<A> for &mut F>::call_mut",
            "<core::iter::adapters::map::Map<I,F> as core::iter::traits::iterator::Iterator>::fold",
            "<alloc::vec::Vec<dns::Zone> as core::iter::traits::collect::FromIterator<dns::Zone>>::from_iter",
            "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
            "<[T] as alloc::slice::SpecToVec>::to_vec",
            "<&mut F as core::ops::function::FnOnce<A>>::call_once",
            "<wardian_sdk::resource::TypedResource<R, C> as wardian_sdk::resource::AnyResource>::create",
            "wardian:plugin/provider@0.1.0#apply-resource-change",
            "__wasm_call_ctors",
            "cabi_realloc",
        ] {
            assert!(!is_author_function(name), "{name}");
        }
    }

    #[test]
    fn malformed_names_are_accepted() {
        for name in ["<", "<>", "<a", "< as >", "<<<<", "> as <", "<é as ü>::x", "::", "a:"] {
            let _ = is_author_function(name);
        }
    }
}
