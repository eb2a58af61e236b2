//! The `wardian` binary, whose code is in the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    wardian_cli::main(arguments.next(), arguments.collect())
}
