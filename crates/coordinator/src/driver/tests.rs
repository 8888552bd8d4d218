use super::*;
use wire::{DecodeError, EncodeError};

/// Counts: each request writes that many records and is answered with the count after it.
#[derive(Debug, Default, PartialEq)]
struct Counter {
    count: i64,
    /// Asks wait here until somebody asks for the negative of their number.
    waiting: Vec<Ticket>,
    nows: Vec<Millis>,
}

#[derive(Debug, Clone, PartialEq)]
struct One(usize);

impl LogRecord for One {
    fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        Ok((Bytes::from(vec![0; self.0]), None))
    }
    fn decode(key: &Bytes, _: Option<&Bytes>) -> Result<Option<Self>, DecodeError> {
        Ok(Some(Self(key.len())))
    }
}

#[derive(Clone, Copy)]
enum Do {
    Write { records: usize, bytes: usize },
    CleanUp { records: usize },
    Transact,
    Wait,
    AnswerAll,
    Task,
}

impl Machine for Counter {
    type Request = Do;
    type Reply = i64;
    type Record = One;
    type Task = &'static str;
    type TaskResult = ();

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Self>) -> Output<Self> {
        self.nows.push(cx.now);
        let mut output = Output::default();
        let Event::Ask { ticket, request, .. } = event else { return output };
        match request {
            Do::Write { records, bytes } => output.records = vec![One(bytes); records],
            Do::CleanUp { records } => {
                output.records = vec![One(10); records];
                output.divisible = true;
            }
            Do::Transact => {
                output.records = vec![One(1)];
                output.producer = Some((7, 0));
            }
            Do::Wait => {
                self.waiting.push(ticket);
                return output;
            }
            Do::AnswerAll => {
                let waiting = std::mem::take(&mut self.waiting);
                output.replies.extend(waiting.into_iter().map(|it| (it, -1)));
            }
            Do::Task => output.tasks.push((TaskId(ticket.0), "task")),
        }
        for (offset, record) in (cx.offset..).zip(&output.records) {
            self.replay(At { offset, timestamp: cx.now, producer: output.producer }, record);
        }
        output.replies.push((ticket, self.count));
        output
    }

    fn replay(&mut self, at: At, _: &One) {
        assert_eq!(at.offset, self.count);
        self.count += 1;
    }

    fn loaded(&mut self, _: &mut Cx<'_>) -> Output<Self> {
        Output { replies: vec![(Ticket(999), self.count)], ..Default::default() }
    }

    fn deadline(&self) -> Option<Millis> {
        None
    }
}

/// A log that can be durable up to any offset, and whose append can be refused.
struct World {
    driver: Driver<Counter>,
    image: Image,
    log: Vec<(i64, usize, bool)>,
}

impl World {
    fn new(bytes_max: usize) -> Self {
        let driver = Driver::new(Entropy::seeded(1), bytes_max);
        Self { driver, image: Image::default(), log: Vec::new() }
    }

    fn round(&mut self, asks: &[(u64, Do)]) -> Vec<(TaskId, &'static str)> {
        let events = asks
            .iter()
            .map(|(ticket, request)| Event::Ask {
                ticket: Ticket(*ticket),
                caller: Caller::default(),
                request: *request,
            })
            .collect();
        let round = self.driver.round(0, &self.image, events);
        self.log
            .extend(round.batches.iter().map(|it| (it.base_offset, it.records.len(), it.producer.is_some())));
        round.tasks
    }

    fn released(&mut self, durable: i64) -> Vec<(u64, i64)> {
        std::iter::from_fn(|| self.driver.release(durable)).map(|(it, reply)| (it.0, reply)).collect()
    }
}

use crate::machine::Caller;

const WRITE_1: Do = Do::Write { records: 1, bytes: 1 };
const WRITE_2: Do = Do::Write { records: 2, bytes: 1 };
const READ: Do = Do::Write { records: 0, bytes: 0 };

#[test]
fn a_reply_waits_for_its_records() {
    let mut world = World::new(1000);
    world.round(&[(1, WRITE_2), (2, WRITE_1)]);
    assert_eq!(world.released(0), []);
    assert_eq!(world.released(1), []);
    assert_eq!(world.released(2), [(1, 2)]);
    assert_eq!(world.released(3), [(2, 3)]);
}

/// Trap 1: what a read saw may still be lost.
#[test]
fn a_reply_without_records_waits_for_all_written_before_it() {
    let mut world = World::new(1000);
    world.round(&[(1, READ), (2, WRITE_1), (3, READ)]);
    world.round(&[(4, READ)]);
    assert_eq!(world.released(0), [(1, 0)]);
    assert_eq!(world.released(1), [(2, 1), (3, 1), (4, 1)]);
    assert_eq!(world.driver.parked(), 0);
}

#[test]
fn an_answer_to_an_earlier_ticket_waits_for_the_step_that_gives_it() {
    let mut world = World::new(1000);
    world.round(&[(1, Do::Wait)]);
    assert_eq!(world.released(100), []);
    world.round(&[(2, WRITE_1), (3, Do::AnswerAll)]);
    assert_eq!(world.released(0), []);
    assert_eq!(world.released(1), [(2, 1), (1, -1), (3, 1)]);
}

#[test]
fn all_plain_outputs_of_a_round_share_a_batch() {
    let mut world = World::new(1000);
    world.round(&[(1, WRITE_2), (2, READ), (3, WRITE_1)]);
    world.round(&[(4, READ)]);
    world.round(&[(5, WRITE_1)]);
    assert_eq!(world.log, [(0, 3, false), (3, 1, false)]);
    assert_eq!(world.driver.written(), 4);
}

/// Trap 3: producer id and epoch stand in the header of the batch.
#[test]
fn a_transactional_output_is_a_batch_alone() {
    let mut world = World::new(1000);
    world.round(&[(1, WRITE_1), (2, Do::Transact), (3, Do::Transact), (4, WRITE_1), (5, WRITE_1)]);
    assert_eq!(world.log, [(0, 1, false), (1, 1, true), (2, 1, true), (3, 2, false)]);
}

/// Trap 4: cut between outputs, never inside one, and an output too large stands alone.
#[test]
fn batches_are_cut_between_outputs_below_the_limit() {
    let two_records = BATCH_HEADER_BYTES + 2 * (RECORD_FRAMING_BYTES_MAX + 10);
    let write = |records| Do::Write { records, bytes: 10 };
    let mut world = World::new(two_records);
    world.round(&[(1, write(1)), (2, write(1)), (3, write(1)), (4, write(2)), (5, write(5)), (6, write(1))]);
    assert_eq!(world.log, [(0, 2, false), (2, 1, false), (3, 2, false), (5, 5, false), (10, 1, false)]);
    let mut world = World::new(two_records - 1);
    world.round(&[(1, write(1)), (2, write(1))]);
    assert_eq!(world.log, [(0, 1, false), (1, 1, false)]);
}

/// Trap 4, its exception.
#[test]
fn a_divisible_output_is_cut_anywhere() {
    let mut world = World::new(BATCH_HEADER_BYTES + 2 * (RECORD_FRAMING_BYTES_MAX + 10));
    world.round(&[(1, Do::CleanUp { records: 3 }), (2, WRITE_1), (3, READ)]);
    assert_eq!(world.log, [(0, 2, false), (2, 2, false)]);
    assert_eq!(world.released(2), []);
    assert_eq!(world.released(4), [(1, 3), (2, 4), (3, 4)]);
}

/// A refused append drops the driver. Nothing of it was released; the log tells the new one.
#[test]
fn a_refused_append_drops_the_driver() {
    let mut world = World::new(1000);
    world.round(&[(1, WRITE_1)]);
    assert_eq!(world.released(1), [(1, 1)]);
    world.round(&[(2, WRITE_2), (3, READ)]);
    assert_eq!(world.released(1), []);
    assert_eq!(world.driver.parked(), 2);

    let mut world = World::new(1000);
    world.driver.replay(At { offset: 0, timestamp: 0, producer: None }, &One(1));
    let round = world.driver.loaded(1, 0, &world.image);
    assert_eq!(round.batches, []);
    world.round(&[(4, READ)]);
    assert_eq!(world.released(1), [(999, 1), (4, 1)]);
}

/// Control records and unknown types take offsets that no `replay` tells of.
#[test]
fn after_a_load_offsets_go_on_at_the_end_of_the_log() {
    let mut driver: Driver<Counter> = Driver::new(Entropy::seeded(1), 1000);
    driver.loaded(17, 0, &Image::default());
    assert_eq!(driver.written(), 17);
    assert_eq!(driver.release(16).map(|it| it.1), None);
    assert_eq!(driver.release(17).map(|it| it.1), Some(0));
}

/// Scenario 292.
#[test]
fn an_empty_log_is_loaded() {
    let mut driver: Driver<Counter> = Driver::new(Entropy::seeded(1), 1000);
    driver.loaded(0, 0, &Image::default());
    assert_eq!(driver.written(), 0);
    assert_eq!(driver.release(0).map(|it| it.1), Some(0), "what reads waits for nothing");
}

#[test]
fn tasks_come_out_in_order() {
    let mut world = World::new(1000);
    let tasks = world.round(&[(1, Do::Task), (2, WRITE_1), (3, Do::Task)]);
    assert_eq!(tasks, [(TaskId(1), "task"), (TaskId(3), "task")]);
}

/// Trap 12: a wall clock that goes back is not shown to machines.
#[test]
fn time_never_goes_back() {
    let mut driver: Driver<Counter> = Driver::new(Entropy::seeded(1), 1000);
    let image = Image::default();
    for now in [5, 3, 8] {
        driver.round(now, &image, vec![Event::Wake]);
    }
    assert_eq!(driver.machine().nows, [5, 5, 8]);
}
