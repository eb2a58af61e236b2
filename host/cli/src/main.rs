//! The `wardian` binary, whose code is in the library of this crate.

use std::process::ExitCode;

use mimalloc::MiMalloc;

// An apply allocates many small values on several threads. The C library's allocator is slow for
// this workload, especially in static Linux binaries.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    wardian_cli::main(arguments.next(), arguments.collect())
}
