//! The pages, as they are printed.

use super::*;
use wire::explain_group::response::{Event, Finding, Member, TaskIds, Tasks, Topic, Wait};
use wire::streams_group_describe::response as described;
use wire::{ErrorCode, ExplainGroupResponse, Str};

/// 2026-11-30T10:31:05.250Z
const THEN: i64 = 1_796_034_665_250;

fn tasks(active: &[i32], standby: &[i32]) -> Tasks {
    let ids = |partitions: &[i32]| {
        let ids =
            TaskIds { subtopology_id: "0".into(), partitions: partitions.to_vec(), ..Default::default() };
        if partitions.is_empty() { Vec::new() } else { vec![ids] }
    };
    Tasks { active: ids(active), standby: ids(standby), ..Default::default() }
}

fn stuck() -> ExplainGroupResponse {
    let finding = Finding {
        code: "must-revoke".into(),
        severity: "blocks".into(),
        sentence: "Member m1 (process p1, host 10.0.0.7) still holds 1 task that it was told to give up: 0_2. They are wanted by m2.".into(),
        advice: "See whether it hangs.".into(),
        since: THEN,
        until: THEN + 300_000,
        members: vec!["m1".into()],
        tasks: vec!["0_2".into()],
        ..Default::default()
    };
    let event = Event {
        sequence: 7,
        time: THEN,
        kind: "must-revoke".into(),
        member_id: Some("m1-aaaaaaaaaaaa".into()),
        epoch: 2,
        count: 1,
        tasks: 1,
        detail: "0_2".into(),
        ..Default::default()
    };
    let refused = Event {
        kind: "commit-refused".into(),
        error_code: ErrorCode::STALE_MEMBER_EPOCH,
        count: 3,
        tasks: 0,
        sequence: 8,
        ..event.clone()
    };
    ExplainGroupResponse {
        group_id: "app".into(),
        now: THEN + 8000,
        loaded_at: THEN - 1,
        group_type: "streams".into(),
        group_state: "Reconciling".into(),
        state_since: THEN,
        group_epoch: 3,
        assignment_epoch: 3,
        topology_epoch: 0,
        findings: vec![finding],
        members: members(),
        topics: vec![
            topic("orders", "source", -1, 4),
            topic("app-changelog", "changelog", 4, 3),
            topic("rates", "source", -1, -1),
        ],
        events: vec![event, refused],
        ..Default::default()
    }
}

fn members() -> Vec<Member> {
    let member = Member {
        member_id: "m1-aaaaaaaaaaaa".into(),
        process_id: "p1".into(),
        client_id: "app".into(),
        client_host: "/10.0.0.7".into(),
        state: "UnrevokedTasks".into(),
        epoch: 2,
        last_heartbeat: THEN + 1000,
        session_ends: THEN + 46_000,
        revoke_since: THEN,
        revoke_until: THEN + 300_000,
        assigned: tasks(&[0, 1], &[3]),
        pending: tasks(&[2], &[]),
        target: tasks(&[0, 1], &[3]),
        ..Default::default()
    };
    let wait = Wait {
        subtopology_id: "0".into(),
        partition: 2,
        role: "active".into(),
        holders: vec!["m1-aaaaaaaaaaaa".into()],
        ..Default::default()
    };
    let waiting = Member {
        member_id: "m2-bbbbbbbbbbbb".into(),
        process_id: "p2".into(),
        client_host: "/10.0.0.8".into(),
        state: "UnreleasedTasks".into(),
        epoch: 3,
        last_heartbeat: -1,
        waits_for: vec![wait],
        ..Default::default()
    };
    vec![member, waiting]
}

fn topic(name: &'static str, role: &'static str, wanted: i32, found: i32) -> Topic {
    let name = Str::from_static(name);
    Topic { name, subtopology_id: "0".into(), role: role.into(), wanted, found, ..Default::default() }
}

const WHY: &str = "\
app  streams  Reconciling  since 8 s (10:31:05.250Z)
epochs: group 3, target 3, members 2 to 3, topology 0

BLOCKS  must-revoke  since 8 s (10:31:05.250Z)
  Member m1 (process p1, host 10.0.0.7) still holds 1 task that it was told to give up: 0_2. They
  are wanted by m2.
  > See whether it hangs.

members
  MEMBER  PROCESS  HOST      EPOCH  HEARD    HAS            GIVES UP  WAITS FOR
  m1-aaa  p1       10.0.0.7  2      7 s ago  0_0 0_1 S:0_3  0_2       -
  m2-bbb  p2       10.0.0.8  3      -        -              -         0_2 of m1-aaa

topics that are not in order
  TOPIC          ROLE            WANTED  HAS  STATE
  app-changelog  changelog of 0  4       3    WRONG PARTITIONS
  rates          source of 0     -       -    MISSING

last events (UTC)
  10:31:05.250  must-revoke         m1-aaaaaaaaaaaa  epoch 2  1 task  0_2
  10:31:05.250  commit-refused      m1-aaaaaaaaaaaa  epoch 2  STALE_MEMBER_EPOCH  0_2  (3 times)
";

#[test]
fn why_for_people() {
    assert_eq!(why::text_page(&stuck()), WHY);
}

/// Groups of other types have partitions and clients in the place of tasks and processes.
#[test]
fn why_of_a_consumer_group() {
    let of_topic = |mut tasks: Tasks| {
        tasks.active.iter_mut().for_each(|it| it.subtopology_id = "in".into());
        Tasks { standby: Vec::new(), ..tasks }
    };
    let mut members = members();
    for member in &mut members {
        member.process_id = Str::EMPTY;
        member.assigned = of_topic(std::mem::take(&mut member.assigned));
        member.pending = of_topic(std::mem::take(&mut member.pending));
        member.waits_for.iter_mut().for_each(|it| it.subtopology_id = "in".into());
        member.client_id = "orders".into();
    }
    let topics = vec![Topic { subtopology_id: Str::EMPTY, ..topic("out", "read", -1, -1) }];
    let findings = Vec::new();
    let answer = ExplainGroupResponse {
        group_type: "consumer".into(),
        topology_epoch: -1,
        findings,
        members,
        topics,
        events: Vec::new(),
        ..stuck()
    };
    let expected = "\
app  consumer  Reconciling  since 8 s (10:31:05.250Z)
epochs: group 3, target 3, members 2 to 3

members
  MEMBER  CLIENT  HOST      EPOCH  HEARD    HAS        GIVES UP  WAITS FOR
  m1-aaa  orders  10.0.0.7  2      7 s ago  in-0 in-1  in-2      -
  m2-bbb  orders  10.0.0.8  3      -        -          -         in-2 of m1-aaa

topics that are not in order
  TOPIC  ROLE  WANTED  HAS  STATE
  out    read  -       -    MISSING
";
    assert_eq!(why::text_page(&answer), expected);
    let classic = ExplainGroupResponse { group_type: "classic".into(), group_epoch: 7, ..answer };
    assert!(why::text_page(&classic).contains("\ngeneration: 7\n"));
    assert!(why::json_page(&classic).to_string().contains("\"assigned\":{\"active\":[\"in-0\",\"in-1\"]"));
}

#[test]
fn why_as_json() {
    let mut answer = stuck();
    answer.members.truncate(1);
    answer.topics.truncate(1);
    answer.events.truncate(1);
    let expected = concat!(
        r#"{"group":"app","type":"streams","state":"Reconciling","stateSince":"2026-11-30T10:31:05.250Z","#,
        r#""now":"2026-11-30T10:31:13.250Z","loadedAt":"2026-11-30T10:31:05.249Z","groupEpoch":3,"#,
        r#""assignmentEpoch":3,"topologyEpoch":0,"endpointEpoch":null,"findings":[{"code":"must-revoke","#,
        r#""severity":"blocks","sentence":"Member m1 (process p1, host 10.0.0.7) still holds 1 task that it "#,
        r#"was told to give up: 0_2. They are wanted by m2.","advice":"See whether it hangs.","#,
        r#""since":"2026-11-30T10:31:05.250Z","until":"2026-11-30T10:36:05.250Z","members":["m1"],"#,
        r#""tasks":["0_2"],"topics":[]}],"members":[{"member":"m1-aaaaaaaaaaaa","instance":null,"#,
        r#""process":"p1","clientId":"app","clientHost":"/10.0.0.7","state":"UnrevokedTasks","epoch":2,"#,
        r#""topologyEpoch":0,"lastHeartbeat":"2026-11-30T10:31:06.250Z","#,
        r#""sessionEnds":"2026-11-30T10:31:51.250Z","revokeSince":"2026-11-30T10:31:05.250Z","#,
        r#""revokeUntil":"2026-11-30T10:36:05.250Z","assigned":{"active":["0_0","0_1"],"standby":["0_3"],"#,
        r#""warmup":[]},"pending":{"active":["0_2"],"standby":[],"warmup":[]},"target":{"active":["0_0","#,
        r#""0_1"],"standby":["0_3"],"warmup":[]},"waitsFor":[]}],"topics":[{"topic":"orders","#,
        r#""subtopology":"0","role":"source","wantedPartitions":null,"partitions":4}],"events":["#,
        r#"{"sequence":7,"time":"2026-11-30T10:31:05.250Z","kind":"must-revoke","#,
        r#""member":"m1-aaaaaaaaaaaa","cause":null,"epoch":2,"error":null,"count":1,"tasks":1,"#,
        r#""detail":"0_2"}]}"#,
    );
    assert_eq!(why::json_page(&answer).to_string(), expected);
}

fn ids(subtopology: &'static str, partitions: &[i32]) -> Vec<described::TaskIds> {
    vec![described::TaskIds {
        subtopology_id: subtopology.into(),
        partitions: partitions.to_vec(),
        ..Default::default()
    }]
}

fn offsets(offset: i64) -> Vec<described::TaskOffset> {
    vec![described::TaskOffset { subtopology_id: "0".into(), partition: 1, offset, ..Default::default() }]
}

/// Two processes; task 0_1 moves from the first to the second.
fn application() -> described::DescribedGroup {
    let member = |id: &'static str, process: &'static str| described::Member {
        member_id: id.into(),
        process_id: process.into(),
        client_host: "/10.0.0.7".into(),
        user_endpoint: Some(described::Endpoint { host: process.into(), port: 8080, ..Default::default() }),
        ..Default::default()
    };
    let subtopology = |id: &'static str, topic: &'static str| described::Subtopology {
        subtopology_id: id.into(),
        source_topics: vec![topic.into()],
        ..Default::default()
    };
    let info =
        |name: &'static str| described::TopicInfo { name: name.into(), partitions: 2, ..Default::default() };
    let first =
        described::Subtopology { repartition_sink_topics: vec!["app-r".into()], ..subtopology("0", "in") };
    let second = described::Subtopology {
        source_topics: Vec::new(),
        repartition_source_topics: vec![info("app-r")],
        state_changelog_topics: vec![info("app-c")],
        ..subtopology("1", "")
    };
    let one = described::Member {
        assignment: described::Assignment { active_tasks: ids("0", &[0, 1]), ..Default::default() },
        target_assignment: described::Assignment { active_tasks: ids("0", &[0]), ..Default::default() },
        ..member("aaaaaa-1", "process-1")
    };
    let two = described::Member {
        assignment: described::Assignment {
            active_tasks: ids("1", &[0]),
            warmup_tasks: ids("0", &[1]),
            ..Default::default()
        },
        target_assignment: described::Assignment {
            active_tasks: [ids("0", &[1]), ids("1", &[0])].concat(),
            ..Default::default()
        },
        task_offsets: offsets(60),
        task_end_offsets: offsets(100),
        ..member("bbbbbb-1", "process-2")
    };
    described::DescribedGroup {
        group_id: "app".into(),
        group_state: "Reconciling".into(),
        topology: Some(described::Topology {
            epoch: 0,
            subtopologies: Some(vec![first, second]),
            ..Default::default()
        }),
        members: vec![one, two],
        ..Default::default()
    }
}

fn inputs() -> tasks::Inputs {
    let place = |topic: &str, partition| (topic.to_owned(), partition);
    tasks::Inputs {
        partitions: [("in".to_owned(), 2), ("app-r".to_owned(), 1)].into(),
        committed: [(place("in", 0), 10), (place("in", 1), 30)].into(),
        ends: [(place("in", 0), 10), (place("in", 1), 42), (place("app-r", 0), 7)].into(),
        pending: None,
    }
}

#[test]
fn tasks_for_people() {
    let page = tasks::text_page(&application(), &inputs());
    assert_eq!(
        page,
        "\
TASK  ACTIVE              STANDBY  WARM-UP             GOES TO             LAG  CHANGELOG LAG  READS
0_0   process-1/aaaaaa-1  -        -                   -                   0    -              in-0
0_1   process-1/aaaaaa-1  -        process-2/bbbbbb-1  process-2/bbbbbb-1  12   40             in-1
1_0   process-2/bbbbbb-1  -        -                   -                   -    -              app-r-0

PROCESS    ID         HOST      THREADS  ACTIVE  STANDBY  WARM-UP
process-1  process-1  10.0.0.7  1        2       0        0
process-2  process-2  10.0.0.7  1        1       0        1
"
    );
}

#[test]
fn tasks_as_json() {
    let page = tasks::json_page(&application(), &inputs()).to_string();
    let row = concat!(
        r#"{"task":"0_1","active":[{"process":"process-1","member":"aaaaaa-1"}],"standby":[],"#,
        r#""warmup":[{"process":"process-2","member":"bbbbbb-1"}],"pending":null,"#,
        r#""targetActive":[{"process":"process-2","member":"bbbbbb-1"}],"lag":12,"changelogLag":40,"#,
        r#""reads":["in-1"]}"#,
    );
    assert!(
        page.starts_with(r#"{"group":"app","state":"Reconciling","tasks":[{"task":"0_0","#)
            && page.contains(row),
        "{page}"
    );
}

/// N2: the first process was told to give up 0_1, which no description tells of.
#[test]
fn tasks_that_are_given_up() {
    let mut group = application();
    group.members[0].assignment.active_tasks = ids("0", &[0]);
    let pending = [("aaaaaa-1".into(), tasks(&[1], &[])), ("bbbbbb-1".into(), tasks(&[], &[0]))];
    let inputs = tasks::Inputs { pending: Some(pending.into()), ..inputs() };
    let page = tasks::text_page(&group, &inputs);
    assert!(
        page.starts_with(
            "\
TASK  ACTIVE                         STANDBY                        WARM-UP             GOES TO             LAG  CHANGELOG LAG  READS
0_0   process-1/aaaaaa-1             [process-2/bbbbbb-1 revoking]  -                   -                   0    -              in-0
0_1   [process-1/aaaaaa-1 revoking]  -                              process-2/bbbbbb-1  process-2/bbbbbb-1  12   40             in-1
"
        ),
        "{page}"
    );
    let page = tasks::json_page(&group, &inputs).to_string();
    let row = concat!(
        r#"{"task":"0_1","active":[],"standby":[],"warmup":[{"process":"process-2","member":"bbbbbb-1"}],"#,
        r#""pending":{"active":[{"process":"process-1","member":"aaaaaa-1"}],"standby":[],"warmup":[]},"#,
        r#""targetActive":[{"process":"process-2","member":"bbbbbb-1"}],"#,
    );
    assert!(page.contains(row), "{page}");
}

/// A client that does not know the end of a changelog yet sends the largest number: that is no lag.
#[test]
fn unknown_end_of_a_changelog_is_no_lag() {
    for (end, at) in [(i64::MAX, 238), (100, -3), (-1, 60)] {
        let mut group = application();
        for offset in &mut group.members[1].task_end_offsets {
            offset.offset = end;
        }
        for offset in &mut group.members[1].task_offsets {
            offset.offset = at;
        }
        let page = tasks::text_page(&group, &inputs());
        assert!(page.contains("process-2/bbbbbb-1  12   -              in-1"), "{page}");
        let json = tasks::json_page(&group, &inputs()).to_string();
        assert!(json.contains(r#""lag":12,"changelogLag":null"#), "{json}");
    }
}

/// A client that restores tells an end late, or never (CR-49), and first of all nothing.
#[test]
fn a_changelog_that_nobody_told_the_end_of_is_asked() {
    let mut group = application();
    let first = &mut group.topology.as_mut().unwrap().subtopologies.as_mut().unwrap()[0];
    first.state_changelog_topics = ["app-a", "app-b"]
        .map(|name| described::TopicInfo { name: name.into(), partitions: 2, ..Default::default() })
        .to_vec();
    assert!(
        ["app-a", "app-b", "app-c", "app-r", "in"]
            .map(Str::from)
            .into_iter()
            .eq(tasks::followed_topics(&group))
    );
    group.members[1].task_end_offsets.clear();
    let mut inputs = inputs();
    let lag = |group: &described::DescribedGroup, inputs: &tasks::Inputs| {
        tasks::rows(group, inputs)[&("0".to_owned(), 1)].changelog_lag
    };
    inputs.ends.insert(("app-a".into(), 1), 500);
    assert_eq!(lag(&group, &inputs), None, "one of two is not known");
    inputs.ends.insert(("app-b".into(), 1), 70);
    assert_eq!(lag(&group, &inputs), Some(510));
    group.members[1].task_offsets.clear();
    assert_eq!(lag(&group, &inputs), Some(570), "nothing is restored yet");
    let member = &mut group.members[1].assignment;
    member.standby_tasks = std::mem::take(&mut member.warmup_tasks);
    assert_eq!(lag(&group, &inputs), None, "a standby tells when it comes to it");
}

#[test]
fn endpoints_for_people() {
    assert_eq!(
        endpoints::text_page(&application()),
        "\
ENDPOINT        THREADS  ACTIVE   STANDBY
process-1:8080  1        in:0,1   -
process-2:8080  1        app-r:0  in:1
"
    );
    let mut without = described::DescribedGroup::default();
    assert_eq!(endpoints::text_page(&without), "The group has no members, so there are no endpoints.\n");
    without.members.push(described::Member::default());
    assert!(endpoints::text_page(&without).starts_with("No member tells an endpoint"));
}

#[test]
fn topologies_for_people_and_tools() {
    let group = application();
    assert_eq!(
        topology::text_page(&group),
        "\
app  topology epoch 0

subtopology 0
  reads   in
  writes  app-r

subtopology 1
  reads   app-r (2 partitions)
  state   app-c (2 partitions)
"
    );
    assert_eq!(
        topology::mermaid(&group),
        r#"flowchart LR
  t_app_c(["app-c"])
  t_app_r(["app-r"])
  t_in(["in"])
  subgraph c0 ["subtopology 0"]
    s_0["subtopology 0"]
  end
  subgraph c1 ["subtopology 1"]
    s_1["subtopology 1"]
  end
  t_in --> s_0
  s_0 --> t_app_r
  t_app_r --> s_1
  s_1 -.-> t_app_c
"#
    );
    assert!(topology::dot(&group).contains("  \"t_in\" -> \"s_0\";\n"));
    let described = described::DescribedGroup { topology_description: Some(description()), ..group };
    assert!(topology::text_page(&described).contains(
        "    SOURCE-0  source  [in]  -> COUNT-1\n    COUNT-1  processor  stores counts  -> SINK-2\n    SINK-2  sink  [app-r]\n"
    ));
    assert_eq!(
        topology::dot(&described),
        r#"digraph "app" {
  rankdir=LR;
  node [shape=box];
  "t_app-c" [label="app-c", shape=cds];
  "t_app-r" [label="app-r", shape=cds];
  "t_in" [label="in", shape=cds];
  subgraph cluster_0 {
    label="subtopology 0";
    "n_0_SOURCE-0" [label="SOURCE-0"];
    "d_0_counts" [label="counts", shape=cylinder];
    "n_0_COUNT-1" [label="COUNT-1"];
    "n_0_SINK-2" [label="SINK-2"];
  }
  subgraph cluster_1 {
    label="subtopology 1";
    "s_1" [label="subtopology 1"];
  }
  "t_in" -> "n_0_SOURCE-0";
  "n_0_SOURCE-0" -> "n_0_COUNT-1";
  "n_0_COUNT-1" -> "n_0_SINK-2";
  "n_0_COUNT-1" -> "d_0_counts" [style=dotted];
  "n_0_SINK-2" -> "t_app-r";
  "t_app-r" -> "s_1";
  "s_1" -> "t_app-c" [style=dotted];
}
"#
    );
}

fn description() -> described::TopologyDescription {
    let node = |name: &'static str, node_type, successors: &[&str]| described::TopologyDescriptionNode {
        name: name.into(),
        node_type,
        successors: successors.iter().map(|it| Str::from(*it)).collect(),
        ..Default::default()
    };
    let nodes = vec![
        described::TopologyDescriptionNode {
            source_topics: vec!["in".into()],
            ..node("SOURCE-0", 1, &["COUNT-1"])
        },
        described::TopologyDescriptionNode {
            stores: vec!["counts".into()],
            ..node("COUNT-1", 2, &["SINK-2"])
        },
        described::TopologyDescriptionNode { sink_topic: Some("app-r".into()), ..node("SINK-2", 3, &[]) },
    ];
    let subtopology =
        described::TopologyDescriptionSubtopology { subtopology_id: "0".into(), nodes, ..Default::default() };
    described::TopologyDescription { subtopologies: vec![subtopology], ..Default::default() }
}

#[test]
fn groups_for_people_and_tools() {
    let groups = [
        wire::list_groups::response::ListedGroup {
            group_id: "word-count".into(),
            group_type: "streams".into(),
            group_state: "Stable".into(),
            protocol_type: "streams".into(),
            ..Default::default()
        },
        wire::list_groups::response::ListedGroup { group_id: "old".into(), ..Default::default() },
    ];
    assert_eq!(
        list::text_page(&groups),
        "\
GROUP       TYPE     STATE   PROTOCOL
word-count  streams  Stable  streams
old         -        -       -
"
    );
    assert_eq!(
        list::json_page(&groups).to_string(),
        r#"[{"group":"word-count","type":"streams","state":"Stable","protocol":"streams"},{"group":"old","type":null,"state":null,"protocol":null}]"#
    );
}

#[test]
fn times_are_those_of_the_calendar() {
    let cases = [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
        (THEN, "2026-11-30T10:31:05.250Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ];
    for (millis, text) in cases {
        assert_eq!(rfc3339(millis), text);
    }
}

#[test]
fn ids_are_as_short_as_tells_them_apart() {
    let ids = short_ids(["abcdef-1", "abcdef-2", "x"].into_iter());
    assert_eq!(ids.values().map(String::as_str).collect::<Vec<_>>(), ["abcdef-1", "abcdef-2", "x"]);
    let ids = short_ids(["abcdefgh", "bcdefghi"].into_iter());
    assert_eq!(ids.values().map(String::as_str).collect::<Vec<_>>(), ["abcdef", "bcdefg"]);
}

#[test]
fn names_of_clients_do_not_break_a_table() {
    let rows = [["a\u{1b}[2J\n\tb".to_owned(), "é".to_owned()]];
    assert_eq!(table(["ID", "X"], &rows), "ID               X\na\\u{1b}[2J\\n\\tb  é\n");
}
