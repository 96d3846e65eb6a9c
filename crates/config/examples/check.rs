//! Reads each named squid.conf and prints what was found, then a line with the verdict.

#![expect(clippy::print_stdout, reason = "it is what the example does")]

use std::path::Path;

fn main() {
    for name in std::env::args().skip(1) {
        let (verdict, problems) = match config::load(Path::new(&name)) {
            Ok(config) => (0, config.warnings),
            Err(problems) => (problems.exit_code(), problems.0),
        };
        for problem in &problems {
            println!("{problem}");
        }
        println!("{name}: exit status {verdict}, {} findings", problems.len());
    }
}
