//! Allocations of the codec's cases. A program of its own, because counting them slows all others down; `bench codec`
//! runs it.
#![expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]

use bench::cases::{Side, cases};

fn main() {
    println!("\nallocations (thalweg, kafka-protocol)");
    for case in cases() {
        let count = |side: &Side| {
            let decode = allocation_counter::measure(&side.decode).count_total;
            let encode = allocation_counter::measure(&side.encode).count_total;
            (decode, encode)
        };
        let ours = count(&case.ours);
        match case.theirs.as_ref().map(count) {
            Some(theirs) => println!(
                "{:<48} decode {:>6} {:>6}   encode {:>4} {:>4}",
                case.name, ours.0, theirs.0, ours.1, theirs.1
            ),
            None => {
                println!("{:<48} decode {:>6}      -   encode {:>4}    -", case.name, ours.0, ours.1);
            }
        }
    }
}
