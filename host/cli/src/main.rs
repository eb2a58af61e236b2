//! The `wardian` program. All it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    wardian_cli::main(arguments.next(), arguments.collect())
}
