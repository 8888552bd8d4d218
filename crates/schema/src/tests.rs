//! One sample schema and what comes out of it; and that broken schemas are refused.

use std::path::Path;
use std::{env, fs};

use crate::{check, emit_rust, parse};

/// `sample/sample.wire` becomes `sample/sample.expected`. After a change of the emitter, look at what
/// `REWRITE=1 cargo test -p schema` changes there.
#[test]
fn sample() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample");
    let message =
        parse::messages(&fs::read_to_string(folder.join("sample.wire")).unwrap()).unwrap().remove(0);
    check::message(&message).unwrap();
    let mut found = String::new();
    emit_rust::emit_module(&mut found, "sample", &message, None);
    if env::var_os("REWRITE").is_some() {
        fs::write(folder.join("sample.expected"), &found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(folder.join("sample.expected")).unwrap());
}

fn problem(text: &str) -> String {
    let checked = parse::messages(text).and_then(|it| it.iter().try_for_each(check::message));
    checked.unwrap_err().to_string()
}

#[test]
fn refuses() {
    let head = "data X versions=0-1 flexible=1+\n";
    let cases = [
        ("  A int32 0+ null=0+", "line 2: A: this type can't be null"),
        ("  A Foo 0+", "line 2: A: the struct Foo is not defined"),
        ("  A int8 0+ default=128", "line 2: A: the default does not fit the type"),
        ("  A int8 0+ tag=0@0+", "line 2: A: a tag's versions are open, flexible, and versions of the field"),
        ("  A int8 1+ tag=1@1+", "line 2: A: the tags of a struct are 0, 1, 2, … without gap"),
        ("  A string 0+ null=1+ default=null", "line 2: A: the default does not fit the type"),
        ("  A int8 0+\n  a int8 0+", "line 3: a: this name occurs twice"),
        ("  A integer 0+", "line 2: `integer` is no type"),
        ("  A int8 2-1", "line 2: `2-1` is no range of versions"),
        ("   A int8 0+", "line 2: the indent is two spaces per level"),
        ("  A int8 0+ \"open", "line 2: a quote is not closed"),
        ("  struct S 0+\n    A []S 0+\n  B S 0+", "line 3: A: structs are nested without end, or too deeply"),
    ];
    for (text, expected) in cases {
        assert_eq!(problem(&format!("{head}{text}\n")), expected, "{text}");
    }
}

#[test]
fn descriptions_are_kept() {
    let text = "data X versions=0 flexible=none \"What it is.\"\n  A string 0+ default=\"a b\" \"Says \\\"hi\\\".\"\n";
    let messages = parse::messages(text).unwrap();
    assert_eq!(messages[0].doc, "What it is.");
    assert_eq!(messages[0].fields[0].doc, "Says \"hi\".");
    assert_eq!(messages[0].fields[0].default, crate::model::Default::String("a b".to_owned()));
}

#[test]
fn what_has_no_description_is_refused() {
    let described =
        |text: &str| check::described(&parse::messages(text).unwrap()[0]).map_err(|it| it.to_string());
    let whole = "data X versions=0 flexible=none \"What it is.\"\n  A S 0+ \"Its part.\"\n    B int8 0+ \"A number.\"\n";
    described(whole).unwrap();
    for (piece, line) in
        [(" \"What it is.\"", "line 1: X"), (" \"Its part.\"", "line 2: A"), (" \"A number.\"", "line 3: B")]
    {
        let problem = described(&whole.replace(piece, "")).unwrap_err();
        assert!(problem.starts_with(&format!("{line}: the description is missing")), "{problem}");
    }
    // A text that is a default is no description.
    let default = "data X versions=0 flexible=none \"What it is.\"\n  A string 0+ default=\"a b\"\n";
    described(default).unwrap_err();
}
