//! Starts moto with a bucket, and PostgreSQL, for the benchmark. Prints a line for each server that is
//! installed, `NAME<TAB>ADDRESS`, and an empty line, and runs until its standard input is closed.

use std::io::{Read as _, Write as _};

use wardian_state_server::{Moto, Postgres};

/// The bucket in moto.
const BUCKET: &str = "bench";

fn main() -> std::io::Result<()> {
    let (moto, postgres) = (Moto::start(), Postgres::start());
    let mut out = std::io::stdout().lock();
    if let Some(moto) = &moto {
        moto.create_bucket(BUCKET);
        writeln!(out, "s3\t{}", moto.url())?;
    }
    if let Some(postgres) = &postgres {
        writeln!(out, "pg\t{}", postgres.connection_string())?;
    }
    writeln!(out)?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
