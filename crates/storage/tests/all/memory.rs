//! The suite on the reference.

use std::sync::Arc;

use storage::conformance::{
    self, JournalSubject, Subject, append, batch, durable, partition, read_all, wait,
};
use storage::faulty::{Chances, FaultyEngine};
use storage::{Batches, Ends, Engine, Grant, Journal, MemoryEngine, MemoryJournal, Refused};

struct Memory(Arc<MemoryEngine>);

impl Subject for Memory {
    fn engine(&self) -> Arc<dyn Engine> {
        self.0.clone()
    }

    fn grant(&self) -> Grant {
        Grant { epoch: 0, session: 1 }
    }

    fn restart(&mut self) {}
}

struct InMemoryJournal(Arc<MemoryJournal>);

impl JournalSubject for InMemoryJournal {
    fn journal(&self) -> Arc<dyn Journal> {
        self.0.clone()
    }

    fn restart(&mut self) {}
}

#[test]
fn memory_engine_keeps_the_rules() {
    conformance::run(&mut || Box::new(Memory(Arc::new(MemoryEngine::new()))));
}

#[test]
fn memory_journal_keeps_the_rules() {
    conformance::run_journal(&mut || Box::new(InMemoryJournal(Arc::new(MemoryJournal::new()))));
}

/// Rules 1 and 2: what was not flushed is not read, and is lost with the lane.
#[test]
fn held_engine_shows_and_keeps_only_what_was_flushed() {
    let engine = MemoryEngine::held();
    let grant = Grant { epoch: 0, session: 1 };
    let lane = wait(engine.open(0, grant)).unwrap();
    let log = lane.log(&partition(0)).unwrap();
    append(&*log, &[batch(0, 2, 10, 0)]);
    engine.flush();
    durable(&*log, 2);
    append(&*log, &[batch(2, 2, 10, 0)]);
    assert_eq!(*log.ends().borrow(), Ends { start: 0, durable: 2, end: 4, dead: false });
    assert_eq!(read_all(&*log, 0, 4), batch(0, 2, 10, 0).to_bytes());
    let lane = wait(engine.open(0, grant)).unwrap();
    assert!(log.ends().borrow().dead, "a lane opened again ends the one before");
    let log = lane.log(&partition(0)).unwrap();
    assert_eq!(*log.ends().borrow(), Ends { start: 0, durable: 2, end: 2, dead: false });
}

fn faulty(seed: u64, chances: Chances) -> (Arc<MemoryEngine>, FaultyEngine) {
    let inner = Arc::new(MemoryEngine::new());
    (inner.clone(), FaultyEngine::new(inner, seed, chances))
}

/// What a crash loses is what was not durable, whatever the seed.
#[test]
fn faulty_engine_loses_only_what_was_not_durable() {
    for seed in 0..30 {
        println!("seed {seed}");
        let (inner, engine) = faulty(seed, Chances { full: 100, stall: 300 });
        let grant = Grant { epoch: 0, session: 1 };
        let lane = wait(engine.open(0, grant)).unwrap();
        let log = lane.log(&partition(0)).unwrap();
        let mut full = 0;
        for _ in 0..40 {
            let end = log.ends().borrow().end;
            match log.append(Batches::new(vec![batch(end, 2, 20, 0)])) {
                Ok(()) => {}
                Err(refused) => {
                    assert!(matches!(refused, Refused::Full));
                    assert_eq!(log.ends().borrow().end, end, "nothing has changed");
                    full += 1;
                }
            }
            engine.step().unwrap();
        }
        assert!(full > 0, "no append was refused");
        let before = *log.ends().borrow();
        engine.crash();
        assert!(log.append(Batches::new(vec![batch(before.end, 1, 1, 0)])).is_err());
        assert_eq!(log.ends().borrow().durable, before.durable);
        let lane = wait(inner.open(0, grant)).unwrap();
        assert_eq!(lane.log(&partition(0)).unwrap().ends().borrow().end, before.durable);
    }
}

#[test]
fn faulty_engine_delays_until_told() {
    let (_inner, engine) = faulty(1, Chances::default());
    let lane = wait(engine.open(0, Grant { epoch: 0, session: 1 })).unwrap();
    let log = lane.log(&partition(0)).unwrap();
    append(&*log, &[batch(0, 2, 10, 0)]);
    assert_eq!(*log.ends().borrow(), Ends { start: 0, durable: 0, end: 2, dead: false });
    engine.settle().unwrap();
    durable(&*log, 2);
}
