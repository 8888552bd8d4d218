//! Makes the codec and its tables from `schema/` into the build folder.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    println!("cargo::rerun-if-changed={}", folder.display());
    let target = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let schema = match schema::load(&folder) {
        Ok(schema) => schema,
        Err(problem) => panic!("{problem}"),
    };
    for (name, content) in schema::generate(&schema) {
        fs::write(target.join(name), content).expect("the build folder can be written");
    }
}
