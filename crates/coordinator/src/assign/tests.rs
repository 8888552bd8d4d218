//! Scenarios 215 to 246 of the streams specification (18.10), and properties over random groups.
//!
//! Where the specification leaves a choice the expectation shows ours: it follows from A-20.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Assignor, GroupAssignment, GroupSpec, Member, Task, TaskSpace};
use wire::Str;

/// A group in the notation of the tests.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Id, number of tasks, stateful.
    topology: Vec<(Str, u32, bool)>,
    members: Vec<MemberBefore>,
    standbys: u32,
}

#[derive(Debug, Clone, Default)]
struct MemberBefore {
    id: Str,
    process: Str,
    active: Vec<(Str, i32)>,
    standby: Vec<(Str, i32)>,
    offsets: Vec<(Str, i32, i64)>,
}

impl Group {
    /// `topology`: words `id:tasks`, with a `!` if stateless. `members`: a line `id@process actives | standbys
    /// | offsets` each, tasks as `0_1`, offsets as `0_1=77`.
    fn parse(topology: &str, standbys: u32, members: &str) -> Self {
        let subtopology = |word: &str| {
            let (id, tasks) = word.trim_end_matches('!').split_once(':').unwrap();
            (Str::from(id), tasks.parse().unwrap(), !word.ends_with('!'))
        };
        Self {
            topology: topology.split_whitespace().map(subtopology).collect(),
            members: members
                .lines()
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .map(MemberBefore::parse)
                .collect(),
            standbys,
        }
    }

    fn assign(&self) -> Assigned {
        let space = TaskSpace::new(self.topology.clone());
        let mut spec = GroupSpec::new(&space, self.standbys);
        for member in &self.members {
            let id = spec.add_member(&member.process);
            spec.previous_active(id, member.active.iter().map(|(id, partition)| (id, *partition)));
            spec.previous_standby(id, member.standby.iter().map(|(id, partition)| (id, *partition)));
            spec.task_offsets(
                id,
                member.offsets.iter().map(|(id, partition, offset)| (id, *partition, *offset)),
            );
        }
        let assignment = Assignor::Sticky.assign(&spec);
        let assigned = Assigned { group: self.clone(), space, assignment };
        assigned.check_invariants();
        assigned
    }

    fn processes(&self) -> BTreeMap<&Str, u32> {
        let mut processes = BTreeMap::new();
        for member in &self.members {
            *processes.entry(&member.process).or_default() += 1;
        }
        processes
    }
}

impl MemberBefore {
    fn parse(line: &str) -> Self {
        let mut parts = line.split('|').map(str::trim);
        let first = parts.next().unwrap();
        let (name, active) = first.split_once(' ').unwrap_or((first, ""));
        let (id, process) = name.split_once('@').unwrap();
        let task = |word: &str| {
            let (id, partition) = word.rsplit_once('_').unwrap();
            (Str::from(id), partition.parse::<i32>().unwrap())
        };
        let tasks = |words: &str| words.split_whitespace().map(task).collect();
        let offset = |word: &str| {
            let (name, offset) = word.split_once('=').unwrap();
            let (id, partition) = task(name);
            (id, partition, offset.parse().unwrap())
        };
        Self {
            id: Str::from(id),
            process: Str::from(process),
            active: tasks(active),
            standby: tasks(parts.next().unwrap_or_default()),
            offsets: parts.next().unwrap_or_default().split_whitespace().map(offset).collect(),
        }
    }
}

struct Assigned {
    group: Group,
    space: TaskSpace,
    assignment: GroupAssignment,
}

impl Assigned {
    /// A line per member: `id: actives | standbys`.
    fn text(&self) -> String {
        let by_member = self.assignment.by_member();
        let mut text = String::new();
        for (at, member) in (0..).map(Member).zip(&self.group.members) {
            let line = format!(
                "{}: {} | {}",
                member.id,
                self.words(by_member.active(at)),
                self.words(by_member.standby(at))
            );
            writeln!(text, "{}", line.replace("  ", " ").trim_end_matches(['|', ' '])).unwrap();
        }
        text
    }

    fn words(&self, tasks: &[Task]) -> String {
        let name = |task: &Task| {
            let (id, partition) = self.space.name(*task).unwrap();
            format!("{id}_{partition}")
        };
        tasks.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn active_counts(&self) -> Vec<usize> {
        let by_member = self.assignment.by_member();
        (0..self.group.members.len()).map(|at| by_member.active(member(at)).len()).collect()
    }

    fn total_counts(&self) -> Vec<usize> {
        let by_member = self.assignment.by_member();
        let count = |at| by_member.active(member(at)).len() + by_member.standby(member(at)).len();
        (0..self.group.members.len()).map(count).collect()
    }

    /// The group as it is when this assignment has been reached.
    fn reached(&self) -> Group {
        let by_member = self.assignment.by_member();
        let names = |tasks: &[Task]| {
            let name =
                |task: &Task| self.space.name(*task).map(|(id, partition)| (id.clone(), partition)).unwrap();
            tasks.iter().map(name).collect()
        };
        let mut group = self.group.clone();
        for (at, member) in (0..).map(Member).zip(&mut group.members) {
            member.active = names(by_member.active(at));
            member.standby = names(by_member.standby(at));
            member.offsets.clear();
        }
        group
    }

    /// What A-19 guarantees for every input.
    fn check_invariants(&self) {
        let group = &self.group;
        if group.members.is_empty() {
            return;
        }
        let process = |member: Member| &group.members[member.0 as usize].process;
        let mut missing = 0;
        let mut task = Task(0);
        for (id, tasks, stateful) in sorted(&group.topology) {
            for partition in 0..tasks {
                let owner = self
                    .assignment
                    .active_owner(task)
                    .unwrap_or_else(|| panic!("{id}_{partition} has no owner"));
                let standbys: Vec<&Str> = self.assignment.standby_owners(task).map(process).collect();
                let copies: BTreeSet<&Str> = standbys.iter().copied().chain([process(owner)]).collect();
                assert_eq!(
                    copies.len(),
                    standbys.len() + 1,
                    "copies of {id}_{partition} share a process\n{}",
                    self.text()
                );
                let wanted = if stateful { group.standbys } else { 0 };
                let possible = u32::try_from(group.processes().len() - 1).unwrap().min(wanted);
                assert_eq!(
                    standbys.len(),
                    possible as usize,
                    "standbys of {id}_{partition}\n{}",
                    self.text()
                );
                missing += u64::from(wanted - possible);
                task = Task(task.0 + 1);
            }
        }
        assert_eq!(self.assignment.standbys_missing, missing);
    }
}

fn sorted(topology: &[(Str, u32, bool)]) -> Vec<(Str, u32, bool)> {
    let mut topology = topology.to_vec();
    topology.sort();
    topology
}

fn member(at: usize) -> Member {
    Member(u32::try_from(at).unwrap())
}

#[track_caller]
fn check(topology: &str, standbys: u32, members: &str, expected: &str) {
    let text = Group::parse(topology, standbys, members).assign().text();
    let expected: String = expected.lines().map(|line| format!("{}\n", line.trim())).collect();
    assert_eq!(text.trim(), expected.trim(), "\n--- got\n{text}");
}

/// 215, 216, 219, 229: by process load, then by member.
#[test]
fn fresh_members_get_one_task_each() {
    check("0:3", 0, "a@1\nb@2\nc@3", "a: 0_0\nb: 0_1\nc: 0_2");
    check(
        "0:3 1:3",
        0,
        "a1@1\na2@1\nb1@2\nb2@2\nc1@3\nc2@3",
        "a1: 0_0\na2: 1_0\nb1: 0_1\nb2: 1_1\nc1: 0_2\nc2: 1_2",
    );
    check(
        "0:3 1:3",
        1,
        "a1@1\na2@1\nb1@2\nb2@2\nc1@3\nc2@3",
        "a1: 0_0 | 1_2\na2: 1_0 | 0_2\nb1: 0_1 | 1_0\nb2: 1_1 | 0_0\nc1: 0_2 | 1_1\nc2: 1_2 | 0_1",
    );
    check("0:3", 0, "a@1\nb1@2\nb2@2", "a: 0_0\nb1: 0_1\nb2: 0_2");
    check("0:12", 0, "a@1\nb1@2\nb2@2", "a: 0_0 0_3 0_6 0_9\nb1: 0_1 0_4 0_7 0_10\nb2: 0_2 0_5 0_8 0_11");
    check("0:3", 0, "a1@1\na2@1\na3@1\nb@2\nc@3", "a1: 0_0\na2:\na3:\nb: 0_1\nc: 0_2");
}

/// 217, 218, 220, 221.
#[test]
fn owners_keep_their_tasks_below_the_quota() {
    check("0:3", 0, "a@1 0_1\nb@2 0_2", "a: 0_0 0_1\nb: 0_2");
    check("0:3", 0, "a@1 0_0 0_2\nb@2 0_1\nc@3", "a: 0_0\nb: 0_1\nc: 0_2");
    check("0:6 1:1", 0, "a@1 0_0 0_1 0_2 0_3 0_4 0_5 1_0\nb@2", "a: 0_0 0_1 0_2 1_0\nb: 0_3 0_4 0_5");
    check("0:3", 0, "a@1 0_0\nb@2 0_1\nc@3 0_2\nd@4\ne@5", "a: 0_0\nb: 0_1\nc: 0_2\nd:\ne:");
    check("0:3", 0, "a@1\nb@2\nc@3 0_2\nd@4 0_0\ne@5 0_1", "a:\nb:\nc: 0_2\nd: 0_0\ne: 0_1");
}

/// 222, 223, 224, 235.
#[test]
fn standbys_become_active() {
    check("0:3", 0, "a@1 | 0_2\nb@2 | 0_0\nc@3 | 0_1", "a: 0_2\nb: 0_0\nc: 0_1");
    check("0:2", 1, "a@1 | 0_1\nb@2 | 0_0", "a: 0_1 | 0_0\nb: 0_0 | 0_1");
    check("0:3", 0, "a@1 0_0 | 0_1\nb1@2 0_2 | 0_1\nb2@2 | 0_1", "a: 0_0\nb1: 0_2\nb2: 0_1");
    check("0:6", 0, "a@1 0_0 0_1 0_2\nb@2 | 0_0 0_1 0_2 0_3 0_4 0_5", "a: 0_0 0_1 0_2\nb: 0_3 0_4 0_5");
    check(
        "0:6",
        0,
        "a@1 0_0 0_1 0_2\nb@2\nc@3 | 0_0 0_1 0_2 0_3 0_4 0_5",
        "a: 0_0 0_1\nb: 0_4 0_5\nc: 0_2 0_3",
    );
}

/// a later standby is preferred only if its process *and* itself have less.
#[test]
fn of_several_standbys_the_first_is_taken_unless_another_has_less_in_both_respects() {
    check("0:2", 0, "a1@1 | 0_1\na2@1 0_0\nb@2 | 0_1", "a1: 0_1\na2: 0_0\nb:");
    check("0:3", 0, "a1@1 0_2 | 0_1\na2@1 0_0\nb@2 | 0_1", "a1: 0_2\na2: 0_0\nb: 0_1");
}

/// 225 to 228, 239; the last ones have fewer processes than copies.
#[test]
fn standbys_are_on_other_processes() {
    check("0:4", 1, "a@1\nb@2\nc@3\nd@4", "a: 0_0 | 0_3\nb: 0_1 | 0_2\nc: 0_2 | 0_1\nd: 0_3 | 0_0");
    check("0:3", 2, "a@1\nb@2\nc@3", "a: 0_0 | 0_1 0_2\nb: 0_1 | 0_0 0_2\nc: 0_2 | 0_0 0_1");
    check("0:3", 1, "a@1\nb@2\nc@3\nd@4\ne@5\nf@6", "a: 0_0\nb: 0_1\nc: 0_2\nd: | 0_2\ne: | 0_1\nf: | 0_0");
    check("0:3", 1, "a@1", "a: 0_0 0_1 0_2");
    check("0:3", 3, "a@1", "a: 0_0 0_1 0_2");
    check(
        "0:6",
        5,
        "a@1\nb@2\nc@3",
        "a: 0_0 0_3 | 0_1 0_2 0_4 0_5\nb: 0_1 0_4 | 0_0 0_2 0_3 0_5\nc: 0_2 0_5 | 0_0 0_1 0_3 0_4",
    );
    check("0:4", 5, "a@1\nb@2", "a: 0_0 0_2 | 0_1 0_3\nb: 0_1 0_3 | 0_0 0_2");
}

/// 230, 231, 232, 234, 236: no more moves than balance asks.
#[test]
fn a_new_member_takes_its_share() {
    check("0:4", 0, "a@1 0_0 0_1 0_2 0_3\nb@2\nc@3\nd@4", "a: 0_0\nb: 0_1\nc: 0_2\nd: 0_3");
    check("0:4", 0, "a@1 0_0 0_1 0_2 0_3\nb@2\nc@3", "a: 0_0 0_1\nb: 0_2\nc: 0_3");
    check("0:3", 0, "a@1 0_0 0_1 0_2\nb1@2\nb2@2", "a: 0_0\nb1: 0_1\nb2: 0_2");
    check("0:4", 0, "a@1 0_0 0_2\nb@2 0_1 0_3\nc@3", "a: 0_0 0_2\nb: 0_1\nc: 0_3");
    check("0:6", 0, "a@1 0_0 0_1\nb@2 0_2 0_3\nc@3", "a: 0_0 0_1\nb: 0_2 0_3\nc: 0_4 0_5");
    check("0:6", 0, "a@1 0_0 0_1 0_2\nb@2 0_3 0_4 0_5\nc@3", "a: 0_0 0_1\nb: 0_3 0_4\nc: 0_2 0_5");
    check(
        "0:7",
        0,
        "a@1 0_0 0_1 0_2 0_3\nb@2 | 0_0 0_1 0_2 0_3 0_4 0_5 0_6\nc@3",
        "a: 0_0 0_1 0_2\nb: 0_3 0_4\nc: 0_5 0_6",
    );
}

/// 233.
#[test]
fn new_tasks_move_no_old_ones() {
    check("0:5", 0, "a@1 0_0 0_2\nb@2 0_1", "a: 0_0 0_2 0_4\nb: 0_1 0_3");
}

/// 241, 243, and the worked example A-22.
#[test]
fn standbys_move_little_when_a_member_joins() {
    check(
        "0:4",
        1,
        "a@1 0_0 0_1 | 0_2 0_3\nb@2 0_2 0_3 | 0_0 0_1\nc@3",
        "a: 0_0 0_1 | 0_2\nb: 0_2 | 0_1 0_3\nc: 0_3 | 0_0",
    );
    check("0:2", 1, "a@1 0_0 | 0_1\nb@2 0_1\nc@3", "a: 0_0 | 0_1\nb: 0_1\nc: | 0_0");
    check("0:4", 1, "a@1 0_0 0_1 0_2 0_3\nb@2", "a: 0_0 0_1 | 0_2 0_3\nb: 0_2 0_3 | 0_0 0_1");
}

/// 242: one active and one standby of each subtopology.
#[test]
fn equal_partitions_stay_together() {
    check("0:2 1:2", 1, "a@1 0_0 0_1 1_0 1_1\nb@2", "a: 0_0 1_0 | 0_1 1_1\nb: 0_1 1_1 | 0_0 1_0");
    check("0:2 1:2", 1, "a@1\nb@2", "a: 0_0 1_0 | 0_1 1_1\nb: 0_1 1_1 | 0_0 1_0");
}

/// 244: KAFKA-20899, the search goes on to the next one.
#[test]
fn a_standby_whose_process_has_the_task_is_skipped() {
    check("0:3", 1, "a@1 | 0_2\nb@2 0_0 | 0_2\nc@3 0_1\nd@4", "a: 0_2\nb: 0_0 | 0_2\nc: 0_1 | 0_0\nd: | 0_1");
}

/// 245: owners before standbys before whoever reports the greatest offset.
#[test]
fn offsets_tell_where_state_is() {
    check("0:4", 0, "a@1 || 0_1=10 0_3=5\nb@2 || 0_0=3 0_2=9", "a: 0_1 0_3\nb: 0_0 0_2");
    check("0:4", 0, "a@1 || 0_1=10 0_3=5\nb1@2 || 0_0=3\nb2@2 || 0_2=9", "a: 0_1 0_3\nb1: 0_0\nb2: 0_2");
    check(
        "0:2",
        1,
        "a@1 0_0 || 0_1=50\nb@2 | 0_1 | 0_0=5\nc@3 || 0_1=99 0_0=77",
        "a: 0_0\nb: 0_1\nc: | 0_0 0_1",
    );
    check("0:1", 1, "a@1 | 0_0 | 0_0=5\nb@2 | 0_0 | 0_0=9", "a: | 0_0\nb: 0_0");
    check("0:2", 1, "a@1 || 0_0=9 0_1=1\nb@2 || 0_0=1 0_1=9", "a: 0_0 | 0_1\nb: 0_1 | 0_0");
}

/// what two threads of one process get.
#[test]
fn equals_are_served_in_turn() {
    check("0:2 1:2", 0, "a@1\nb@1", "a: 0_0 1_0\nb: 0_1 1_1");
}

/// After the topology lost a subtopology or a topic its partitions.
#[test]
fn tasks_that_are_gone_are_ignored() {
    check("0:2", 1, "a@1 0_0 7_0 0_9 | 7_1 | 7_2=5\nb@2 0_-1 | 0_5", "a: 0_0 | 0_1\nb: 0_1 | 0_0");
}

///
#[test]
fn stateless_subtopologies_get_no_standbys() {
    check("0:2! 1:1", 1, "a@1\nb@2", "a: 0_0 1_0\nb: 0_1 | 1_0");
}

/// 237: also with standbys the active tasks are even.
#[test]
fn a_hundred_tasks() {
    let assigned = Group::parse("0:100", 2, "a@1\nb@2\nc@3\nd@4\ne@5").assign();
    assert_eq!(assigned.active_counts(), [20; 5]);
    assert_eq!(assigned.total_counts(), [60; 5]);
}

/// 238.
#[test]
fn fourteen_tasks_on_seven_members() {
    let assigned = Group::parse("0:14", 1, "a@1\nb@2\nc@3\nd@4\ne@5\nf@6\ng@7").assign();
    assert_eq!(assigned.active_counts(), [2; 7]);
    assert_eq!(assigned.total_counts(), [4; 7]);
}

/// 240; that every subtopology has actives and standbys is among the invariants.
#[test]
fn ten_subtopologies() {
    let topology: Vec<String> = (0..10).map(|id| format!("{id}:5")).collect();
    let assigned = Group::parse(&topology.join(" "), 1, "a@1\nb@2\nc@3\nd@4").assign();
    assert!(assigned.active_counts().iter().all(|count| (12..=13).contains(count)), "{}", assigned.text());
    assert_eq!(assigned.total_counts(), [25; 4]);
}

/// 246.
#[test]
fn the_assignor_is_called_sticky() {
    assert_eq!(Assignor::by_name("sticky"), Some(Assignor::Sticky));
    assert_eq!(Assignor::Sticky.name(), "sticky");
    assert_eq!(Assignor::by_name("StickyTaskAssignor"), None);
}

#[test]
fn a_group_without_members_has_no_owners() {
    let assigned = Group::parse("0:2", 1, "").assign();
    assert_eq!(assigned.assignment.active_owner(Task(0)), None);
    assert_eq!(assigned.text(), "");
}

#[test]
fn tasks_are_written_by_subtopology() {
    let space =
        TaskSpace::new([(Str::from("b"), 2, false), (Str::from("a"), 3, true), (Str::from("c"), 0, true)]);
    let tasks: Vec<Task> = (0..5).map(Task).collect();
    let written: Vec<_> = space.by_subtopology(&tasks).collect();
    assert_eq!(written, [(&Str::from("a"), vec![0, 1, 2]), (&Str::from("b"), vec![0, 1])]);
    assert_eq!(space.task(&Str::from("b"), 1), Some(Task(4)));
    assert_eq!(space.task(&Str::from("c"), 0), None);
}

const GROUPS: u64 = 1_000;

/// 372: fresh members of equal processes have the same number of active tasks, give or take one.
#[test]
fn fresh_groups_are_balanced() {
    for seed in 0..GROUPS {
        let mut group = random_group(&mut Random(seed));
        for (at, member) in group.members.iter_mut().enumerate() {
            *member = MemberBefore {
                id: member.id.clone(),
                process: Str::from(format!("p{}", at / 2)),
                ..Default::default()
            };
        }
        group.members.truncate(group.members.len() / 2 * 2);
        let assigned = group.assign();
        let counts = assigned.active_counts();
        assert!(spread(&counts) <= 1, "seed {seed}: {counts:?}\n{}", assigned.text());
    }
}

/// Whatever they had before, members with processes of their own differ by one active task at most.
#[test]
fn active_tasks_are_balanced() {
    for seed in 0..GROUPS {
        let mut group = random_group(&mut Random(seed));
        for member in &mut group.members {
            member.process = member.id.clone();
        }
        let assigned = group.assign();
        let counts = assigned.active_counts();
        assert!(spread(&counts) <= 1, "seed {seed}: {counts:?}\n{}", assigned.text());
    }
}

/// 371: on its own result the assignor moves no active task, also with standbys.
#[test]
fn nothing_moves_when_nothing_changes() {
    for seed in 0..GROUPS {
        let mut group = random_group(&mut Random(seed));
        for member in &mut group.members {
            member.process = member.id.clone();
        }
        let first = group.assign();
        let second = first.reached().assign();
        for task in (0..first.space.len()).map(Task) {
            let owners = [&first, &second].map(|it| it.assignment.active_owner(task));
            assert_eq!(owners[0], owners[1], "seed {seed}\n{}\n{}", first.text(), second.text());
        }
    }
}

/// A member that joins takes tasks only for itself: the others exchange none.
#[test]
fn a_joining_member_moves_only_what_it_gets() {
    for seed in 0..GROUPS {
        let mut group = random_group(&mut Random(seed));
        group.standbys = 0;
        for member in &mut group.members {
            member.process = member.id.clone();
        }
        let first = group.assign();
        let mut group = first.reached();
        group.members.push(MemberBefore {
            id: Str::from("z"),
            process: Str::from("z"),
            ..Default::default()
        });
        let second = group.assign();
        let new = member(group.members.len() - 1);
        for task in (0..first.space.len()).map(Task) {
            let owners = [&first, &second].map(|it| it.assignment.active_owner(task));
            let stays = owners[0] == owners[1] || owners[1] == Some(new);
            assert!(stays, "seed {seed}\n{}\n{}", first.text(), second.text());
        }
    }
}

/// Equal input, equal output: nothing of an assignment may depend on chance.
#[test]
fn assignments_are_deterministic() {
    for seed in 0..GROUPS {
        let group = random_group(&mut Random(seed));
        assert_eq!(group.assign().text(), group.assign().text(), "seed {seed}");
    }
}

fn spread(counts: &[usize]) -> usize {
    counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Up to 8 members on fewer processes, up to 4 subtopologies; what members had before overlaps, is partly
/// gone, and need not be a possible assignment.
fn random_group(random: &mut Random) -> Group {
    let topology: Vec<(Str, u32, bool)> = (0..=random.below(4))
        .map(|id| (Str::from(id.to_string()), u32::try_from(random.below(9)).unwrap(), random.below(3) > 0))
        .collect();
    let processes = 1 + random.below(5);
    let members = (0..=random.below(8)).map(|id| {
        let mut member = MemberBefore {
            id: Str::from(format!("m{id}")),
            process: Str::from(format!("p{}", random.below(processes))),
            ..Default::default()
        };
        for _ in 0..random.below(12) {
            let task = (Str::from(random.below(5).to_string()), i32::try_from(random.below(9)).unwrap());
            match random.below(4) {
                0 | 1 => member.active.push(task),
                2 => member.standby.push(task),
                _ => member.offsets.push((task.0, task.1, i64::try_from(random.below(100)).unwrap())),
            }
        }
        member.offsets.sort();
        member.offsets.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
        member
    });
    let members = members.collect();
    Group { topology, members, standbys: u32::try_from(random.below(4)).unwrap() }
}

/// A line `id@process tag,tag,… actives` each; gives the lines of [`Assigned::text`].
fn spread_text(topology: &str, standbys: u32, members: &str) -> String {
    let rows: Vec<(Vec<Option<Str>>, String)> = members
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let (name, tags) = (words.next().unwrap(), words.next().unwrap());
            let tags = tags.split(',').map(|tag| (tag != "-").then(|| Str::from(tag))).collect();
            (tags, format!("{name} {}", words.next().unwrap_or_default()))
        })
        .collect();
    let lines: Vec<_> = rows.iter().map(|(_, line)| line.as_str()).collect();
    let group = Group::parse(topology, standbys, &lines.join("\n"));
    let space = TaskSpace::new(group.topology.clone());
    let mut spec = GroupSpec::new(&space, standbys);
    for (before, (tags, _)) in group.members.iter().zip(&rows) {
        let at = spec.add_member(&before.process);
        spec.spread_values(at, tags.iter().map(Option::as_ref));
        spec.previous_active(at, before.active.iter().map(|(id, partition)| (id, *partition)));
        spec.previous_standby(at, before.standby.iter().map(|(id, partition)| (id, *partition)));
    }
    let assignment = Assignor::Spread.assign(&spec);
    let assigned = Assigned { group: group.clone(), space, assignment };
    assigned.check_invariants();
    assigned.text()
}

/// the other zone, whatever the load; the second tag only where the first says nothing.
#[test]
fn standbys_go_to_other_zones_first() {
    let text = spread_text("0:4", 1, "a@1 z1,k1 0_0\nb@2 z1,k2 0_1\nc@3 z2,k1 0_2\nd@4 z2,k2 0_3");
    assert_eq!(text, "a: 0_0 | 0_3\nb: 0_1 | 0_2\nc: 0_2 | 0_1\nd: 0_3 | 0_0\n");
    let one_zone = spread_text("0:2", 1, "a@1 z1,k1 0_0\nb@2 z1,k1 0_1\nc@3 z1,k2");
    assert_eq!(one_zone, "a: 0_0\nb: 0_1\nc: | 0_0 0_1\n");
}

/// who is a standby already stays one where that is as far away.
#[test]
fn standbys_stay_where_it_is_as_far() {
    let text = spread_text("0:2", 1, "a@1 z1 0_0\nb@2 z2 0_1\nc@3 z2 | 0_0\nd@4 z1 | 0_1");
    assert_eq!(text, "a: 0_0\nb: 0_1\nc: | 0_0\nd: | 0_1\n");
    let moved = spread_text("0:2", 1, "a@1 z1 0_0\nb@2 z1 0_1 | 0_0\nc@3 z2");
    assert_eq!(moved, "a: 0_0\nb: 0_1\nc: | 0_0 0_1\n");
}

/// two standbys in three zones, and as many as there are processes; a missing tag is a value.
#[test]
fn more_standbys_than_zones() {
    let text = spread_text("0:1", 2, "a@1 z1 0_0\nb@2 z2\nc@3 z2\nd@4 -");
    assert_eq!(text, "a: 0_0\nb: | 0_0\nc:\nd: | 0_0\n");
    let text = spread_text("0:1", 5, "a@1 z1 0_0\nb@2 z1\nc@3 z2");
    assert_eq!(text, "a: 0_0\nb: | 0_0\nc: | 0_0\n");
}

/// tags that tell each process apart say nothing, and cost nothing.
#[test]
fn tags_of_single_processes_are_left_out() {
    let members: Vec<_> = (0..200).map(|it| format!("m{it}@p{it} z{},host{it}", it % 3)).collect();
    let text = spread_text("0:200", 1, &members.join("\n"));
    let zone = |line: &str| line[1..line.find(':').unwrap()].parse::<usize>().unwrap() % 3;
    let mut zones: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for line in text.lines() {
        for task in line.split(' ').skip(1).filter(|it| it.contains('_')) {
            zones.entry(task).or_default().insert(zone(line));
        }
    }
    assert!(zones.values().all(|it| it.len() == 2), "each task in two zones: {text}");
}

/// actives are those of `sticky`, and standbys are whole, for any group.
#[test]
fn spread_moves_no_active_task() {
    for seed in 0..GROUPS {
        let mut random = Random(seed);
        let group = random_group(&mut random);
        let space = TaskSpace::new(group.topology.clone());
        let zones: Vec<_> = (0..4).map(|it| Str::from(format!("z{it}"))).collect();
        let mut spec = GroupSpec::new(&space, group.standbys);
        for member in &group.members {
            let at = spec.add_member(&member.process);
            spec.spread_values(at, [zones.get(usize::try_from(random.below(5)).unwrap())]);
            spec.previous_active(at, member.active.iter().map(|(id, partition)| (id, *partition)));
        }
        let (sticky, spread) = (Assignor::Sticky.assign(&spec), Assignor::Spread.assign(&spec));
        for task in (0..space.len()).map(Task) {
            assert_eq!(sticky.active_owner(task), spread.active_owner(task), "seed {seed}");
        }
        Assigned { group: group.clone(), space: space.clone(), assignment: spread }.check_invariants();
    }
}
