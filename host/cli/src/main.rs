//! The `wardian` program. All it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    wardian_cli::main(std::env::args_os().skip(1).collect())
}
