//! Parse, dispatch, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    lastunit::cli::main()
}
