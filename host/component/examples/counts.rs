//! Prints the counts of expanded components: `cargo run -p wardian-component --example counts
//! FILE...`

use std::time::Instant;

use wardian_component::{ComponentLimits, check};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let bytes = std::fs::read(&file)?;
        let started = Instant::now();
        let counted = check(&bytes, &ComponentLimits::default());
        let took = started.elapsed();
        let started = Instant::now();
        let _ = wardian_component::check_structure(&bytes, &ComponentLimits::default());
        println!("{file}: {} bytes, {took:?}, without code {:?}", bytes.len(), started.elapsed());
        match counted {
            Ok(counts) => println!("  {counts:?}"),
            Err(error) => println!("  refused: {error}"),
        }
    }
    Ok(())
}
