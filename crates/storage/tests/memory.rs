//! The suite on the reference.

use std::sync::Arc;

use storage::conformance::{
    self, JournalSubject, Subject, append, batch, durable, partition, read_all, wait,
};
use storage::{Ends, Engine, Grant, Journal, MemoryEngine, MemoryJournal};

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
