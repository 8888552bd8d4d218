//! `thalweg wire` as a process: exit codes, input in and output out (wire.md part II, `cli.md` 4.3 and 4.9).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

/// DescribeGroups v6, the smallest request and response.
const REQUEST: &str = "0000000f000f00060000000000000002010000";
const RESPONSE: &str = "0000001f00000000000000000002000001010101010201010101010100000000000000";

/// Starts a command with nothing of ours around it.
fn piped(command: &mut Command) -> Child {
    let command = command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

fn wire_with(arguments: &[&str], input: &[u8]) -> Output {
    let mut process = piped(Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("wire").args(arguments));
    // A command that fails before it reads closes the pipe.
    let _ = process.stdin.take().unwrap().write_all(input);
    process.wait_with_output().unwrap()
}

fn wire(arguments: &[&str]) -> Output {
    wire_with(arguments, b"")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn hexed(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// Issue 6, wire.md 17.4: 19 and 35 bytes.
#[test]
fn smallest() {
    let done = wire(&["smallest", "DescribeGroups", "--version", "6"]);
    assert_eq!(done.status.code(), Some(0));
    let out = text(&done.stdout);
    assert!(out.contains("request size       19 bytes\nresponse size      35 bytes\n"), "{out}");
    assert!(out.contains("byte layout (19 bytes, 16 bytes per row)\n"));
    assert!(out.contains("DescribeGroupsResponse message v6 [0x0000, 35B]\n"));
    assert!(!out.contains('\u{1b}'), "colours are for terminals");
    // The layout can be read back.
    let one = wire(&["smallest", "15", "--version", "6", "--request", "--schema", "none"]);
    let layout = text(&one.stdout).split("\n\n").nth(1).unwrap().to_owned();
    let again = wire_with(&["decode", "-o", "kafka"], layout.as_bytes());
    assert!(text(&again.stdout).contains("\"api\": \"DescribeGroups\""), "{}", text(&again.stderr));
    let draft = wire(&["smallest", "StreamsGroupInitialize", "--draft"]);
    assert_eq!(draft.status.code(), Some(0), "{}", text(&draft.stderr));
}

/// Issue 6: unknown API or version: 3, with the nearest names and the valid range.
#[test]
fn what_is_not_there() {
    for (arguments, words) in [
        (&["smallest", "DescribeGroup"][..], "there is no DescribeGroup; nearest: DescribeGroups"),
        (&["smallest", "DescribeGroups", "--version", "7"], "DescribeGroups has no version 7; valid: 0-6"),
        (&["schema", "Nonsense"], "nearest: "),
        (&["diff", "DescribeGroups", "5", "9"], "has no version 9"),
        (&["at", "0x13", REQUEST], "there is no byte 0x0013; there are 19 bytes"),
        (&["path", "Groups[1]", REQUEST], "there is no field Groups[1]"),
        (&["smallest", "StreamsGroupInitialize"], "; drafts have it: --draft=newer, --draft=older\n"),
        (&["schema", "StreamsGroupInitializeResponse"], "; drafts have it: --draft=newer"),
        (&["diff", "StreamsGroupInitialize", "0", "0"], "; drafts have it: --draft=newer"),
        (&["decode", "--response", "--api", "Fetch", "--version", "99", RESPONSE], "valid: 4-"),
        // What only a draft could have.
        (&["diff", "Fetch", "draft", "4"], "the draft newer has no Fetch; released versions: 4-"),
        (&["diff", "Fetch", "4", "older:4"], "the draft older has no Fetch; released versions: 4-"),
        (&["diff", "Fetch", "4", "5", "--draft"], "nearest in the draft: StreamsGroup"),
        (
            &["diff", "StreamsGroupHeartbeat", "draft:7", "0"],
            "StreamsGroupHeartbeat has no version 7; valid: 0",
        ),
        // Numbers that are no versions are that, and no options.
        (&["smallest", "JoinGroup", "--version", "-1"], "JoinGroup has no version -1; valid: 0-9"),
        (&["smallest", "JoinGroup", "--version", "99999"], "JoinGroup has no version 99999; valid: 0-9"),
        (&["schema", "JoinGroup", "--version", "-1"], "JoinGroup has no version -1; valid: 0-9"),
        (&["encode", "--api", "JoinGroup", "--version", "-1"], "JoinGroup has no version -1; valid: 0-9"),
        (
            &["decode", "--response", "--api", "JoinGroup", "--version", "-1", RESPONSE],
            "no version -1; valid: 0-9",
        ),
        (&["at", "0", "--body", "--api", "JoinGroup", "--version=-1", RESPONSE], "no version -1; valid: 0-9"),
        (&["diff", "JoinGroup", "-1", "2"], "JoinGroup has no version -1; valid: 0-9"),
        (&["diff", "JoinGroup", "2", "40000"], "JoinGroup has no version 40000; valid: 0-9"),
        (&["smallest", "-5"], "there is no API -5; nearest: Produce"),
        (&["smallest", "99999"], "there is no API 99999; nearest: "),
    ] {
        let done = wire(arguments);
        assert_eq!(done.status.code(), Some(3), "{arguments:?}: {}", text(&done.stderr));
        assert!(text(&done.stderr).contains(words), "{arguments:?}: {}", text(&done.stderr));
    }
    for wrong in [
        &["decode", "no bytes!"][..],
        &["smallest"],
        &["decode", "-o", "xml"],
        &["encode", "/no/file"],
        &["records", "/nonexistent"],
    ] {
        assert_eq!(wire(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

/// wire.md 18: from stdin in any dress; errors end with 1 after the tree.
#[test]
fn decode() {
    let raw = hexed(REQUEST);
    for input in [REQUEST.as_bytes(), &raw, b"AAAADwAPAAYAAAAAAAAAAgEAAA=="] {
        let done = wire_with(&["decode"], input);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains("string[0] string = \"\" (compact, len+1=1) [0x0010, 1B]"));
    }
    // A response with its request before it.
    let both = wire(&["decode", &format!("{REQUEST}{RESPONSE}")]);
    let out = text(&both.stdout);
    assert!(
        out.contains("1 of 2, request, from byte 0x0000\n")
            && out.contains("2 of 2, response, from byte 0x0013\n")
    );
    // A lone one: what it may be.
    let lone = wire(&["decode", RESPONSE]);
    assert!(text(&lone.stdout).contains("The request of this response is not known."));
    let broken = wire(&["decode", "0000000f000f000600000000000000027f0000"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(text(&broken.stdout).contains("undecoded bytes"), "{}", text(&broken.stdout));
    assert!(text(&broken.stderr).contains("E-LEN Groups[0] at 0x0010"), "{}", text(&broken.stderr));
    let odd = "0000000f000f00060000000000000002010700";
    assert_eq!(wire(&["decode", odd]).status.code(), Some(0));
    assert_eq!(wire(&["decode", "--strict", odd]).status.code(), Some(1));
    let record = wire(&[
        "decode",
        "--topic",
        "__consumer_offsets",
        "--key",
        "001100026731",
        "--value",
        "00000000000700",
    ]);
    assert!(text(&record.stdout).contains("StreamsGroupMetadataKey struct"), "{}", text(&record.stderr));
}

/// wire.md 15: what is said to be a body but is a whole frame of a password is read as that frame, unless secrets are
/// wanted; so is one of a version that does not exist.
#[test]
fn passwords_of_what_is_no_body() {
    // SaslAuthenticate v0 and v99, client id "c", "\0user\0hunter2".
    let secret = "00757365720068756e74657232";
    for version in ["0000", "0063"] {
        let frame = format!("0000001c0024{version}0000000700016300 00000d{secret}").replace(' ', "");
        for form in ["text", "json"] {
            let body = ["decode", "--body", "--api", "Heartbeat", "--version", "0", "-o", form, &frame];
            for arguments in [&body[..], &["decode", "-o", form, &format!("{frame}{REQUEST}")]] {
                let done = wire(arguments);
                let out = text(&done.stdout).replace(' ', "");
                assert!(out.contains("SaslAuthenticate"), "{out}");
                assert!(!out.contains("68756e") && !out.contains("hunter"), "{out}");
            }
        }
        let done = wire(&["decode", "--body", "--api", "Heartbeat", "--version", "0", &frame]);
        assert!(text(&done.stdout).contains("as its own header says"), "{}", text(&done.stdout));
        let shown = wire(&["decode", "--body", "--api", "Heartbeat", "--show-secrets", &frame]);
        assert!(text(&shown.stdout).contains("HeartbeatRequest"), "{}", text(&shown.stdout));
    }
}

/// Many frames are shown one by one: what is held is the input and one tree. The limit is of address space, of which the
/// program itself takes half; the trees of all frames would not fit, less so as JSON.
#[test]
fn many_frames() {
    for (form, frames) in [("text", 14_000), ("json", 5_000)] {
        let limited = "ulimit -v 100000; exec \"$0\" wire decode --no-layout -o \"$1\"";
        let mut process =
            piped(Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_thalweg"), form]));
        // It reads everything before it writes.
        process.stdin.take().unwrap().write_all(&hexed(REQUEST).repeat(frames)).unwrap();
        let done = process.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{form}: {}", text(&done.stderr));
        let out = text(&done.stdout);
        let one = wire(&["decode", "--no-layout", "-o", form, REQUEST]);
        let one = text(&one.stdout);
        if form == "text" {
            let at = (frames - 1) * REQUEST.len() / 2;
            let last = format!("\n{frames} of {frames}, request, from byte 0x{at:04x}\n{one}");
            assert!(out.ends_with(&last), "{}", &out[out.len() - 2_000..]);
        } else {
            let one = one.trim_end().replace('\n', "\n  ");
            assert!(out.starts_with(&format!("[\n  {one},\n  {one},\n")), "{}", &out[..4_000]);
            assert!(out.ends_with(&format!(",\n  {one}\n]\n")), "{}", &out[out.len() - 4_000..]);
        }
    }
}

/// Of an input with a message that Kafka's JSON has no words for nothing is printed, wherever it stands.
#[test]
fn kafka_names_for_all_or_nothing() {
    let unknown = "0000000d0fff00020000000100000000000000";
    let done = wire(&["decode", "-o", "kafka", &format!("{REQUEST}{unknown}")]);
    assert_eq!((done.status.code(), text(&done.stdout)), (Some(1), ""), "{}", text(&done.stderr));
}

/// A capture may come through a pipe, as that of a running `tcpdump -w -`.
#[test]
fn captures_from_stdin() {
    // A packet without a connection: Ethernet, IPv4, TCP from port 4000 to 9092.
    let packet = "020202020202 010101010101 0800 4500003b 00004000 40060000 7f000001 7f000001
                  0fa0 2384 00000001 00000001 50180400 00000000";
    let packet: String = packet.split_whitespace().collect();
    let packet = hexed(&format!("{packet}{REQUEST}"));
    let mut file = hexed("d4c3b2a1020004000000000000000000ffff000001000000");
    let length = u32::try_from(packet.len()).unwrap().to_le_bytes();
    file.extend([[100, 0, 0, 0], [0; 4], length, length].concat());
    file.extend(packet);
    for arguments in
        [&["decode", "--lines"][..], &["decode", "--lines", "-"], &["decode", "--lines", "--pcap", "-"]]
    {
        let done = wire_with(arguments, &file);
        let out = text(&done.stdout);
        assert!(out.contains("> DescribeGroups v6 c=0 15 B"), "{out}{}", text(&done.stderr));
        assert!(out.contains("1 frames, 0 with errors"), "{out}");
    }
}

/// 19, invariant 5: byte to field and back.
#[test]
fn places() {
    let at = wire(&["at", "0x10", REQUEST, "--no-descriptions"]);
    let lines: Vec<_> = text(&at.stdout).lines().map(str::trim_start).collect();
    assert_eq!(
        lines,
        [
            "DescribeGroupsRequest message v6 [0x0000, 19B]",
            "+-- DescribeGroupsRequest struct [0x000f, 4B]",
            "+-- Groups []string = 1 element [0x000f, 2B]",
            "+-- string[0] string = \"\" (compact, len+1=1) [0x0010, 1B]",
        ]
    );
    let path = wire(&["path", "Header.client_id", REQUEST, "-o", "json"]);
    assert!(text(&path.stdout).contains("\"offset\": 12"), "{}", text(&path.stdout));
    let option = wire(&["smallest", "DescribeGroups", "--version", "6", "--request", "--path", "Groups"]);
    assert!(text(&option.stdout).contains("+-- Groups []string"), "{}", text(&option.stderr));
}

/// Decode, edit, encode, in both forms of JSON.
#[test]
fn encode() {
    for form in ["json", "kafka"] {
        let decoded = wire(&["decode", "-o", form, REQUEST]);
        let encoded = wire_with(&["encode"], &decoded.stdout);
        assert_eq!(text(&encoded.stdout).trim_end(), REQUEST, "{form}: {}", text(&encoded.stderr));
        let edited = text(&decoded.stdout)
            .replace("\"value\": false", "\"value\": true")
            .replace("\"includeAuthorizedOperations\": false", "\"includeAuthorizedOperations\": true");
        let edited = edited
            .replace("\"includeAuthorizedOperations\":false", "\"includeAuthorizedOperations\":true")
            .replace("\"value\":false", "\"value\":true");
        let encoded = wire_with(&["encode", "--to", "raw"], edited.as_bytes());
        assert_eq!(encoded.stdout, hexed(&format!("{}0100", &REQUEST[..34])), "{form}");
    }
    let bare = wire_with(&["encode", "--api", "DescribeGroups", "--version", "6"], br#"{"groups":[""]}"#);
    assert_eq!(text(&bare.stdout).trim_end(), REQUEST, "{}", text(&bare.stderr));
    let api = ["encode", "-o", "json", "--api", "DescribeGroups", "--version", "6"];
    let one = wire_with(&api, br#"{"groups":[""]}"#);
    assert_eq!(
        text(&one.stdout),
        format!("{{\"length\":19,\"hex\":\"{REQUEST}\"}}\n"),
        "{}",
        text(&one.stderr)
    );
    let both = wire_with(&[&api[..], &["--to", "base64"]].concat(), br#"[{"groups":[""]},{"groups":[""]}]"#);
    let object = r#"{"length":19,"base64":"AAAADwAPAAYAAAAAAAAAAgEAAA=="}"#;
    assert_eq!(text(&both.stdout), format!("[\n  {object},\n  {object}\n]\n"));
    let raw = wire_with(&[&api[..], &["--to", "raw"]].concat(), br#"{"groups":[""]}"#);
    assert_eq!((raw.status.code(), text(&raw.stdout)), (Some(2), ""));
    let wrong = wire_with(&["encode", "--api", "DescribeGroups"], br#"{"group":1}"#);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(text(&wrong.stderr).contains("body.group: "), "{}", text(&wrong.stderr));
}

/// Who builds large documents finds the bound in the help and on the page.
#[test]
fn bounds_of_inputs_are_told() {
    for verb in ["encode", "decode", "records", "check"] {
        let help = wire(&[verb, "--help"]);
        assert!(text(&help.stdout).contains("at most 256 MiB"), "{verb}: {}", text(&help.stdout));
    }
    assert!(include_str!("../../../docs/explain.md").contains("at most 256 MiB"));
    // A file with a hole is as long as it says.
    let file = std::env::temp_dir().join(format!("thalweg-wire-long-{}.json", std::process::id()));
    std::fs::File::create(&file).unwrap().set_len((256 << 20) + 1).unwrap();
    let done = wire(&["encode", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("longer than 256 MiB"), "{}", text(&done.stderr));
}

/// Files of vectors, plain and packed: a line per mismatch, the count at last, 6 if one failed.
#[test]
fn check() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/golden/coordinator_records.tsv.gz");
    let done = wire(&["check", golden]);
    assert_eq!((done.status.code(), text(&done.stdout)), (Some(0), "127 cases, 0 failed\n"));
    let file = std::env::temp_dir().join(format!("thalweg-wire-{}.txt", std::process::id()));
    let lines = "# name\tversion\tcase\tflags\tunknown_tags\thex\tjson\n\
                 HeartbeatResponse\t0\tgood\t-\t-\t0001\t{\"errorCode\":1}\n\
                 HeartbeatResponse\t0\tbad\t-\t-\t0002\t{\"errorCode\":1}\n";
    std::fs::write(&file, lines).unwrap();
    let name = file.to_str().unwrap();
    let done = wire(&["check", name]);
    let json = wire(&["check", "-o", "json", golden, name]);
    // A file that is cut off is named, and the others are checked.
    let cut = format!("{name}.gz");
    std::fs::write(&cut, &std::fs::read(golden).unwrap()[..2_000]).unwrap();
    let damaged = wire(&["check", &cut, golden]);
    let damaged_json = wire(&["check", "-o", "json", &cut, golden]);
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_file(&cut).unwrap();
    let (out, err) = (text(&damaged.stdout), text(&damaged.stderr));
    assert_eq!(damaged.status.code(), Some(6), "{err}");
    assert!(
        out.starts_with(&format!("{cut}: damaged: ")) && out.ends_with("\n127 cases, 0 failed\n"),
        "{out}"
    );
    assert_eq!(err, format!("thalweg: damaged: {cut}\n"));
    assert_eq!(damaged_json.status.code(), Some(6));
    assert!(text(&damaged_json.stdout).contains("\"damage\": \""), "{}", text(&damaged_json.stdout));
    assert_eq!(json.status.code(), Some(6));
    let told = text(&json.stdout);
    assert!(told.ends_with("\n  \"cases\": 129,\n  \"failed\": 1\n}\n"), "{told}");
    for part in [
        format!(
            "{{\"file\":\"{golden}\",\"damage\":null,\"problem\":null,\"cases\":127,\"failed\":0,\"mismatches\":[]}}"
        ),
        "{\"line\":3,\"case\":\"HeartbeatResponse 0 bad\",\"problem\":\"decoded JSON is".to_owned(),
    ] {
        let joined: String = told.split('\n').map(str::trim_start).collect();
        assert!(joined.replace("\": ", "\":").contains(&part), "{part} in {told}");
    }
    assert_eq!(done.status.code(), Some(6));
    let out: Vec<_> = text(&done.stdout).lines().collect();
    assert_eq!(out.len(), 2);
    assert!(out[0].contains("line 3: HeartbeatResponse 0 bad: decoded JSON is"), "{out:?}");
    assert_eq!(out[1], "2 cases, 1 failed");
}

/// A file that is not there, or is a directory, is wrong usage of every verb that reads files (docs/explain.md); what was
/// asked of others is done.
#[test]
fn files_that_cannot_be_read() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/golden/coordinator_records.tsv.gz");
    let directory = env!("CARGO_MANIFEST_DIR");
    for file in ["/nonexistent/file", directory] {
        for arguments in [
            &["decode", file][..],
            &["decode", "--pcap", file],
            &["decode", "--lines", file],
            &["decode", "--topic", "__consumer_offsets", "--key", file],
            &["at", "0", file],
            &["path", "Header", file],
            &["encode", file],
            &["records", file],
            &["check", file],
            &["replay", file, "--to", "127.0.0.1:1"],
        ] {
            let done = wire(arguments);
            assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", text(&done.stderr));
            assert!(text(&done.stderr).contains(file), "{arguments:?}: {}", text(&done.stderr));
        }
    }
    assert_eq!(
        wire(&["decode", "--pcap", golden]).status.code(),
        Some(2),
        "neither a recording nor a capture"
    );
    let done = wire(&["check", golden, "/nonexistent/file", directory, golden]);
    assert_eq!(done.status.code(), Some(2));
    assert_eq!(text(&done.stderr), format!("thalweg: not checked: /nonexistent/file, {directory}\n"));
    let out = text(&done.stdout);
    assert!(
        out.starts_with("/nonexistent/file: No such file") && out.ends_with("\n254 cases, 0 failed\n"),
        "{out}"
    );
    let done = wire(&["check", "-o", "json", golden, "/nonexistent/file", golden]);
    assert_eq!(done.status.code(), Some(2));
    let told = ::wire::json::parse(text(&done.stdout)).unwrap();
    assert_eq!(told.get("cases"), Some(&::wire::json::Json::Int(254)));
    let Some(::wire::json::Json::Array(files)) = told.get("files") else { panic!("{told}") };
    let problems: Vec<_> = files.iter().map(|it| it.get("problem").unwrap().to_string()).collect();
    assert_eq!((problems.len(), problems[0].as_str(), problems[2].as_str()), (3, "null", "null"));
    assert!(problems[1].contains("No such file"), "{problems:?}");
}

/// Options that mean nothing for what is read are refused, not ignored; a pipe with a name is read once.
#[test]
fn options_and_inputs_that_do_not_fit() {
    let recording = br#"{"recording":1,"atUs":1,"upstream":"\u001b[31mred"}"#;
    for (arguments, input) in [
        (&["decode", "--lines", REQUEST][..], &b""[..]),
        (&["decode", "--version", "6", REQUEST], b""),
        (&["decode", "--at", "3"], recording),
        (&["decode", "--api", "Fetch"], recording),
        (&["decode", "/dev/stdin"], recording),
        (&["at", "3"], recording),
        (&["replay", "/dev/stdin", "--to", "127.0.0.1:1", "--connection", "1"], recording),
    ] {
        let done = wire_with(arguments, input);
        let code = (done.status.code(), text(&done.stdout));
        assert_eq!(code, (Some(2), ""), "{arguments:?}: {}", text(&done.stderr));
    }
    let done = wire_with(&["decode", "/dev/stdin"], REQUEST.as_bytes());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let done = wire_with(&["decode", "--pcap", "/dev/stdin"], recording);
    assert!(text(&done.stdout).contains("recorded before \\u001b[31mred\n"), "{}", text(&done.stdout));
    // A key is given as an argument, so nobody waits for stdin, whatever is there.
    let key = ["decode", "--topic", "__consumer_offsets", "--key", "001100026731"];
    let done = wire_with(&key, recording);
    assert!(text(&done.stdout).contains("StreamsGroupMetadataKey"), "{}", text(&done.stderr));
    // A tree that nobody printed.
    let frame = br#"{"what":"frame","tree":{"children":[{"name":"Frame","type":""}]}}"#;
    for tree in [&frame[..], br#"{"tree":1}"#] {
        let done = wire_with(&["encode"], tree);
        assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
    }
}

/// What a terminal would obey is written in letters, also what stands beyond ASCII.
#[test]
fn control_characters() {
    let request = format!("00000014{}0005c29b33316d{}", &REQUEST[8..24], &REQUEST[28..]);
    let done = wire(&["decode", &request]);
    let out = text(&done.stdout);
    assert!(out.contains(r#"client_id nullable_string = "\u009b31m""#), "{out}");
    assert!(!out.chars().any(|it| it.is_control() && it != '\n'), "{out:?}");
}

#[test]
fn schema_and_diff() {
    let schema = wire(&["schema", "DescribeGroupsRequest", "--no-descriptions"]);
    assert!(text(&schema.stdout).contains("IncludeAuthorizedOperations  bool"), "{}", text(&schema.stdout));
    let json = wire(&["schema", "Metadata", "--version", "12", "--request", "-o", "json"]);
    assert!(text(&json.stdout).contains("\"flexibleVersions\": \"9+\""));
    let diff = wire(&["diff", "DescribeGroups", "5", "6"]);
    assert!(text(&diff.stdout).contains("+ Groups[].ErrorMessage: string, nullable, default null"));
    let draft = wire(&["diff", "StreamsGroupHeartbeat", "newer", "0"]);
    assert!(text(&draft.stdout).contains("(draft newer) -> StreamsGroupHeartbeatRequest v0"));
    // A number is a version of the draft and then of the released message; if there is none, of the draft too.
    let drafts = wire(&["diff", "StreamsGroupHeartbeat", "0", "0", "--draft"]);
    assert_eq!(drafts.stdout, draft.stdout);
    let only = wire(&["diff", "StreamsGroupInitialize", "0", "0", "--draft"]);
    assert_eq!(only.status.code(), Some(0), "{}", text(&only.stderr));
    let twice =
        "StreamsGroupInitializeRequest v0 (draft newer) -> StreamsGroupInitializeRequest v0 (draft newer)";
    assert!(text(&only.stdout).starts_with(twice), "{}", text(&only.stdout));
    // Descriptions can be left out; of bytes there is no layout here.
    let plain = wire(&["diff", "DescribeGroups", "5", "6", "--no-descriptions"]);
    assert!(text(&diff.stdout).contains("default null  "), "{}", text(&diff.stdout));
    assert!(!text(&plain.stdout).contains("default null  "), "{}", text(&plain.stdout));
    for wrong in [
        &["schema", "Metadata", "--no-layout"][..],
        &["schema", "Metadata", "--layout"],
        &["diff", "Metadata", "0", "1", "--no-layout"],
        &["diff", "Metadata", "0", "1", "-o", "kafka"],
        &["at", "0x10", REQUEST, "--layout"],
        &["path", "Groups", REQUEST, "--no-layout"],
    ] {
        assert_eq!(wire(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
