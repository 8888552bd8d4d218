//! Scenarios 248 to 263 of the streams specification (18.11), and the pure ones of 18.4.

use std::fmt::Write;

use super::*;
use wire::consumer_offsets::StreamsGroupTopologyValue;
use wire::streams_group_heartbeat::request;

/// Existing topics with their partition counts.
struct Existing(BTreeMap<String, i32>);

impl Topics for Existing {
    fn topic(&self, name: &str) -> Option<TopicView> {
        self.0.get(name).map(|partitions| TopicView { id: [1; 16], partitions: *partitions })
    }

    fn racks(&self, _: &str, _: i32) -> Vec<String> {
        Vec::new()
    }
}

impl Existing {
    /// Words `name:partitions`.
    fn parse(words: &str) -> Self {
        let topic = |word: &str| {
            let (name, partitions) = word.split_once(':').unwrap();
            (name.to_owned(), partitions.parse().unwrap())
        };
        Self(words.split_whitespace().map(topic).collect())
    }
}

/// A subtopology per line, `id` and then words: `<topic` external source, `<<topic:n` repartition source with n
/// partitions, `>topic` repartition sink, `+topic` changelog, `=a,b` copartition group of sources by name.
fn topology(text: &str) -> Topology {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let subtopologies = lines.map(subtopology).collect();
    Topology::from_request(&request::Topology { epoch: 3, subtopologies, ..Default::default() }).unwrap()
}

fn subtopology(line: &str) -> request::Subtopology {
    let mut words = line.split_whitespace();
    let mut one =
        request::Subtopology { subtopology_id: Str::from(words.next().unwrap()), ..Default::default() };
    for word in words {
        if let Some(topic) = word.strip_prefix("<<") {
            one.repartition_source_topics.push(topic_info(topic));
        } else if let Some(topic) = word.strip_prefix('<') {
            one.source_topics.push(Str::from(topic));
        } else if let Some(topic) = word.strip_prefix('>') {
            one.repartition_sink_topics.push(Str::from(topic));
        } else if let Some(topic) = word.strip_prefix('+') {
            one.state_changelog_topics.push(topic_info(topic));
        } else {
            let group = copartition_group(&one, word.strip_prefix('=').unwrap());
            one.copartition_groups.push(group);
        }
    }
    one
}

/// `name`, `name:partitions` or `name:partitions:replication factor:config=value`.
fn topic_info(word: &str) -> request::TopicInfo {
    let mut parts = word.split(':');
    let config = |word: &str| {
        let (key, value) = word.split_once('=').unwrap();
        request::KeyValue { key: Str::from(key), value: Str::from(value), ..Default::default() }
    };
    request::TopicInfo {
        name: Str::from(parts.next().unwrap()),
        partitions: parts.next().map_or(0, |it| it.parse().unwrap()),
        replication_factor: parts.next().map_or(0, |it| it.parse().unwrap()),
        topic_configs: parts.map(config).collect(),
        ..Default::default()
    }
}

fn copartition_group(one: &request::Subtopology, names: &str) -> request::CopartitionGroup {
    let mut group = request::CopartitionGroup::default();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let source = one.source_topics.iter().position(|it| *it == name);
        let repartition = one.repartition_source_topics.iter().position(|it| it.name == name);
        match (source, repartition) {
            (Some(at), _) => group.source_topics.push(i16::try_from(at).unwrap()),
            (None, Some(at)) => group.repartition_source_topics.push(i16::try_from(at).unwrap()),
            (None, None) => panic!("{name} is not a source"),
        }
    }
    group
}

/// Existing topics and topology in; tasks, internal topics, topics to create and the problem out.
fn run(existing: &str, subtopologies: &str) -> String {
    let configured = match configure(&topology(subtopologies), &Existing::parse(existing)) {
        Ok(configured) => configured,
        Err(Refusal::Topology(message)) => return format!("invalid: {message}\n"),
        Err(Refusal::Request(message)) => return format!("refused: {message}\n"),
    };
    assert_eq!(configured.topology_epoch, 3);
    let mut text = String::new();
    for (id, one) in configured.subtopologies.iter().flatten() {
        let internal = one.repartition_source_topics.iter().chain(&one.state_changelog_topics);
        let internal: String =
            internal.map(|topic| format!(" {}:{}", topic.name, topic.partitions)).collect();
        writeln!(text, "{id}: {} tasks{internal}", one.tasks).unwrap();
    }
    for topic in &configured.topics_to_create {
        let configs = topic.configs.iter().map(|it| format!(" {}={}", it.name, it.value.as_ref().unwrap()));
        let configs: String = configs.collect();
        writeln!(
            text,
            "create {}:{} rf {}{configs}",
            topic.name, topic.num_partitions, topic.replication_factor
        )
        .unwrap();
        assert!(topic.assignments.is_empty());
    }
    match &configured.problem {
        None => assert!(configured.is_ready()),
        Some(problem) => writeln!(text, "status {}: {}", problem.status.code(), problem.detail).unwrap(),
    }
    assert_eq!(configured.task_space().is_some(), configured.is_ready());
    text
}

#[track_caller]
fn check(existing: &str, subtopologies: &str, expected: &str) {
    let text = run(existing, subtopologies);
    let expected: String = expected.lines().map(|line| format!("{}\n", line.trim())).collect();
    assert_eq!(text.trim(), expected.trim(), "\n--- got\n{text}");
}

/// 90, 248, 251: neither subtopologies nor topics to create.
#[test]
fn missing_source_topics() {
    check("bar:3", "0 <foo <bar +c", "status 1: Source topics foo are missing.");
    check("", "0 <b\n1 <a <<r:2 >r", "status 1: Source topics a, b are missing.");
}

/// 92.
#[test]
fn at_most_three_topics_are_named() {
    check("", "0 <d <b\n1 <c <a", "status 1: Source topics a, b, c and 1 additional topics are missing.");
    check(
        "in:1",
        "0 <in +c5 +c4 +c3 +c2 +c1",
        "0: 1 tasks c1:1 c2:1 c3:1 c4:1 c5:1
         create c1:1 rf -1
         create c2:1 rf -1
         create c3:1 rf -1
         create c4:1 rf -1
         create c5:1 rf -1
         status 3: Internal topics are missing: c1, c2, c3 and 2 additional topics",
    );
}

/// 93, 94.
#[test]
fn missing_changelog() {
    let create = "0: 6 tasks bar:6\ncreate bar:6 rf -1\nstatus 3: Internal topics are missing: bar";
    check("foo:6", "0 <foo +bar", create);
    check("foo:6 bar:6", "0 <foo +bar", "0: 6 tasks bar:6");
}

/// 95, 256.
#[test]
fn external_topics_of_a_copartition_group_differ() {
    check(
        "foo:6 bar:3",
        "0 <foo <bar =foo,bar",
        "status 2: Following topics do not have the same number of partitions: [{bar=3, foo=6}]",
    );
    check("foo:6 bar:3", "0 <foo <bar", "0: 6 tasks");
}

/// 109: a repartition topic that its own subtopology writes.
#[test]
fn self_loop() {
    check(
        "in:2",
        "0 <in <<r >r +c",
        "0: 2 tasks r:2 c:2
         create c:2 rf -1
         create r:2 rf -1
         status 3: Internal topics are missing: c, r",
    );
}

/// 110.
#[test]
fn existing_internal_topic_with_another_count() {
    check(
        "in:2 c:3",
        "0 <in +c +d",
        "status 2: Existing topic c has different number of partitions: expected 2, found 3",
    );
}

/// 249: what is created carries the client's configs and replication factor, with 0 as -1.
#[test]
fn topics_to_create() {
    check(
        "a:3 b:5 c1:3",
        "0 <a >r1 >r2 +c1 +c2:0:2:cleanup.policy=compact
         1 <b <<r1 <<r2:7:0:retention.ms=-1:segment.bytes=1 +c3:0:-1",
        "0: 3 tasks c1:3 c2:3
         1: 7 tasks r1:3 r2:7 c3:7
         create c2:3 rf 2 cleanup.policy=compact
         create c3:7 rf -1
         create r1:3 rf -1
         create r2:7 rf -1 retention.ms=-1 segment.bytes=1
         status 3: Internal topics are missing: c2, c3, r1 and 1 additional topics",
    );
}

/// 250, 254, 331: counts come from external sources and from upstream repartition topics, in whichever order.
#[test]
fn chains_of_repartition_topics() {
    check("in:4 r1:4 r2:4", "0 <<r2\n1 <<r1 >r2\n2 <in >r1", "0: 4 tasks r2:4\n1: 4 tasks r1:4\n2: 4 tasks");
    check(
        "in:4 r1:4 r2:9",
        "0 <in >r1\n1 <<r1 <<r2:9 >r3\n2 <<r3",
        "0: 4 tasks
         1: 9 tasks r1:4 r2:9
         2: 9 tasks r3:9
         create r3:9 rf -1
         status 3: Internal topics are missing: r3",
    );
}

/// 252, 253.
#[test]
fn undecidable_repartition_topics() {
    check(
        "in:1",
        "0 <<a >b\n1 <<b >a\n2 <in",
        "invalid: Failed to compute number of partitions for all repartition topics. There may be loops in the \
         topology that cannot be resolved.",
    );
    check(
        "in:1",
        "0 <in <<a",
        "invalid: Failed to compute number of partitions for all repartition topics, because a repartition \
         source topic is never used as a sink topic.",
    );
}

/// 255.
#[test]
fn stateless_without_repartition() {
    check("a:2 b:5", "0 <a\n1 <b", "0: 2 tasks\n1: 5 tasks");
}

/// The trap of T-11: an input that is decided in a later pass does not raise a count.
#[test]
fn the_first_known_input_decides() {
    check(
        "in:2 big:8 r0:2 r1:8 r2:2",
        "0 <in <<r1 >r0\n1 <<r0\n2 <big >r1",
        "0: 8 tasks r1:8\n1: 2 tasks r0:2\n2: 8 tasks",
    );
}

/// 257, 258, 260: flexible topics follow.
#[test]
fn copartitioned_repartition_topics() {
    // External topics decide.
    check("a:3 b:5 r:5", "0 <a >r\n1 <b <<r =b,r", "0: 3 tasks\n1: 5 tasks r:5");
    // Without external and fixed ones: the greatest.
    check(
        "a:3 b:5 r:5 s:5",
        "0 <a >r\n1 <b >s\n2 <<r <<s =r,s",
        "0: 3 tasks\n1: 5 tasks\n2: 5 tasks r:5 s:5",
    );
    // The fixed one, though less.
    check(
        "a:3 b:5 r:2 s:2",
        "0 <a >r\n1 <b >s\n2 <<r:2 <<s =r,s",
        "0: 3 tasks\n1: 5 tasks\n2: 2 tasks r:2 s:2",
    );
    // Fixed ones that agree, and an empty group.
    check("a:3 r:2 s:2", "0 <a >r >s\n1 <<r:2 <<s:2 =r,s =", "0: 3 tasks\n1: 2 tasks r:2 s:2");
    check(
        "a:3 r:2 s:4",
        "0 <a >r >s\n1 <<r:2 <<s:4 =r,s",
        "status 2: Following topics do not have the same number of partitions: [{r=2, s=4}]",
    );
}

/// The trap of T-12: a repartition topic that exists counts as it is, not as it would be decided.
#[test]
fn an_existing_repartition_topic_wins_over_its_decided_count() {
    check(
        "in:4 r:9",
        "0 <in >r >s\n1 <<r <<s =r,s",
        "0: 4 tasks
         1: 9 tasks r:9 s:9
         create s:9 rf -1
         status 3: Internal topics are missing: s",
    );
}

/// The quirk of T-12: fixed topics outside the group count too, and those of the group are named.
#[test]
fn fixed_topics_of_the_whole_topology_are_compared() {
    check(
        "a:3 r:3 s:2 t:4",
        "0 <a >r >s >t\n1 <<r =r\n2 <<s:2\n3 <<t:4",
        "status 2: Following topics do not have the same number of partitions: [{r=3}]",
    );
}

/// 259, T-20.
#[test]
fn fixed_repartition_topic_against_a_source_topic() {
    check(
        "a:2 b:2",
        "0 <b >r\n1 <a <<r:10 =a,r",
        "status 2: Number of partitions [10] of repartition topic [r] doesn't match number of partitions [2] of \
         the source topic.",
    );
    check("a:2 b:2 r:2", "0 <b >r\n1 <a <<r:2 =a,r", "0: 2 tasks\n1: 2 tasks r:2");
}

/// 261.
#[test]
fn changelogs_follow_the_widest_source() {
    check("in:1", "0 <in\n1 +c", "invalid: No source topics found for subtopology 1");
    check("in:4 r:2 c:4", "0 <in >r\n1 <in <<r:2 +c", "0: 4 tasks\n1: 4 tasks r:2 c:4");
    check("in:4 r:4 c:4", "0 <in >r\n1 <<r +c", "0: 4 tasks\n1: 4 tasks r:4 c:4");
}

/// 333. The trap of T-15: the changelog of an optimised source table is the source topic.
#[test]
fn a_source_topic_as_changelog() {
    check("in:4", "0 <in +in", "0: 4 tasks in:4");
    check(
        "in:4 b:6",
        "0 <in <b +in",
        "status 2: Existing topic in has different number of partitions: expected 6, found 4",
    );
}

/// 262: the worked example T-21 in both variants.
#[test]
fn worked_example() {
    let topology = "0 <A >g-r\n1 <B <<g-r +g-c =B,g-r";
    check(
        "A:4 B:6",
        topology,
        "0: 4 tasks
         1: 6 tasks g-r:6 g-c:6
         create g-c:6 rf -1
         create g-r:6 rf -1
         status 3: Internal topics are missing: g-c, g-r",
    );
    check(
        "A:4 B:6 g-r:4",
        topology,
        "status 2: Existing topic g-r has different number of partitions: expected 6, found 4",
    );
}

/// 263.
#[test]
fn existing_changelogs_are_not_created() {
    check(
        "in:2 c1:2",
        "0 <in +c1 +c2",
        "0: 2 tasks c1:2 c2:2\ncreate c2:2 rf -1\nstatus 3: Internal topics are missing: c2",
    );
}

/// What the assignor gets.
#[test]
fn task_space_of_a_ready_topology() {
    let configured = configure(&topology("1 <b\n0 <a +c"), &Existing::parse("a:2 b:3 c:2")).unwrap();
    let space = configured.task_space().unwrap();
    assert_eq!(space, TaskSpace::new([(Str::from("0"), 2, true), (Str::from("1"), 3, false)]));
}

/// What a log may hold although a join refuses it must not break anything.
#[test]
fn a_record_that_no_join_would_have_written() {
    let value = topology("0 <in <<r:1 >r +c =in,r").to_record();
    let mut one = value.subtopologies[0].clone();
    one.copartition_groups[0].source_topics = vec![7, -1];
    one.repartition_source_topics[0].partitions = -5;
    let record =
        StreamsGroupTopologyValue { epoch: -1, subtopologies: vec![one.clone(), one], ..Default::default() };
    let configured = configure(&Topology::from_record(&record), &Existing::parse("in:2")).unwrap();
    assert!(!configured.is_ready());
}

/// T-11 as Kafka does it: passes, until one of them decides nothing.
fn by_passes(topology: &Topology, existing: &Existing) -> Option<BTreeMap<Str, i32>> {
    let mut decided: BTreeMap<Str, i32> = BTreeMap::new();
    for topic in topology.subtopologies().values().flat_map(|it| &it.repartition_source_topics) {
        if topic.partitions != 0 {
            decided.insert(topic.name.clone(), topic.partitions);
        }
    }
    loop {
        let (mut left, mut progress) = (false, false);
        for one in topology.subtopologies().values() {
            for sink in &one.repartition_sink_topics {
                if decided.contains_key(sink) {
                    continue;
                }
                let repartitions =
                    one.repartition_source_topics.iter().filter_map(|it| decided.get(&it.name).copied());
                let known =
                    |it: &Str| existing.0.get(&*it.to_str()).copied().or_else(|| decided.get(it).copied());
                match repartitions.chain(one.source_topics.iter().filter_map(known)).max() {
                    Some(count) => progress |= decided.insert(sink.clone(), count).is_none(),
                    None => left = true,
                }
            }
        }
        match (left, progress) {
            (false, _) => return Some(decided),
            (true, false) => return None,
            (true, true) => {}
        }
    }
}

#[test]
fn repartition_topics_are_decided_as_in_passes() {
    let (mut decided_all, mut loops) = (0, 0);
    let mut entropy = crate::machine::Entropy::seeded(11);
    let mut below = move |bound: u64| entropy.next_u64() % bound;
    for _ in 0..3000 {
        let mut text = String::new();
        for id in 0..1 + below(7) {
            write!(text, "{id}").unwrap();
            for _ in 0..below(3) {
                let fixed = if below(9) == 0 { format!(":{}", 1 + below(4)) } else { String::new() };
                write!(text, " <<r{}{fixed}", below(8)).unwrap();
            }
            if below(3) == 0 {
                write!(text, " <in{}", below(3)).unwrap();
            }
            (0..below(3)).for_each(|_| write!(text, " >r{}", below(8)).unwrap());
            text.push('\n');
        }
        let request = request::Topology {
            subtopologies: text.lines().map(subtopology).collect(),
            ..Default::default()
        };
        // Some name a topic twice.
        let Ok(topology) = Topology::from_request(&request) else { continue };
        let existing = Existing::parse("in0:2 in1:3 in2:5");
        let mut fast = Configuration { topology: &topology, topics: &existing, decided: BTreeMap::new() };
        let expected = by_passes(&topology, &existing);
        let is_refused = fast.decide_repartition_topics().is_err();
        let decided: BTreeMap<Str, i32> =
            fast.decided.iter().map(|(name, it)| ((*name).clone(), *it)).collect();
        match expected {
            Some(expected) => assert_eq!(decided, expected, "{text}"),
            None => assert!(is_refused, "{text}"),
        }
        loops += u32::from(is_refused);
        decided_all += u32::from(!is_refused);
    }
    assert!(loops > 100 && decided_all > 100, "{loops} are refused, {decided_all} are not");
}

/// Bad input: a chain of thousands of subtopologies in the worst order, with a copartition group in each.
#[test]
fn thousands_of_subtopologies() {
    let count = 10_000;
    let mut text = String::new();
    for id in 0..count {
        let source = if id + 1 == count { "<in".to_owned() } else { format!("<<r{}", id + 1) };
        writeln!(text, "{id:06} {source} >r{id} +c{id} ={}", source.trim_start_matches('<')).unwrap();
    }
    writeln!(text, "z <<r0").unwrap();
    let configured = configure(&topology(&text), &Existing::parse("in:3")).unwrap();
    assert_eq!(configured.topics_to_create.len(), 2 * count);
    assert!(configured.topics_to_create.iter().all(|it| it.num_partitions == 3));
    assert!(configured.problem.unwrap().detail.len() < 200);
}

/// Bad input: a large topic that is read by many subtopologies.
#[test]
fn more_tasks_than_are_possible() {
    let text = |count: u32| (0..count).map(|id| format!("{id} <in\n")).collect::<String>();
    let existing = Existing::parse("in:1000");
    let configured = configure(&topology(&text(2000)), &existing).unwrap();
    assert_eq!(configured.task_space().unwrap().len(), 2_000_000);
    let Err(Refusal::Topology(message)) = configure(&topology(&text(2001)), &existing) else { panic!() };
    assert!(message.contains("2001000"), "{message}");
    // Numbers of partitions that nobody has.
    let text = "0 <in >r >s\n1 <<r:2147483647\n2 <<s:2147483647";
    assert!(configure(&topology(text), &existing).is_err());
}
