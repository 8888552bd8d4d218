//! Random producers against a model: the list of all batches, out of which every answer is worked out anew.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const STEPS: usize = 600;
const PRODUCERS: u64 = 4;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Plain,
    Transactional,
    Commit,
    Abort,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    producer: i64,
    epoch: i16,
    first: i32,
    count: i32,
    kind: Kind,
    base: Offset,
}

impl Entry {
    fn next(&self) -> Offset {
        self.base + i64::from(self.count)
    }

    fn is_data(&self) -> bool {
        matches!(self.kind, Kind::Plain | Kind::Transactional)
    }

    fn bytes(&self) -> Bytes {
        let count = usize::try_from(self.count).unwrap();
        match self.kind {
            Kind::Plain => sequenced(self.producer, self.epoch, self.first, count),
            Kind::Transactional => transactional(self.producer, self.epoch, self.first, count),
            Kind::Commit => commit(self.producer, self.epoch),
            Kind::Abort => abort(self.producer, self.epoch),
        }
    }

    fn origin(&self) -> Origin {
        if self.is_data() { CLIENT } else { COORDINATOR }
    }
}

#[derive(Default)]
struct Model {
    entries: Vec<Entry>,
    durable: Offset,
    /// Whether transactions are verified.
    verifies: bool,
    /// Verifications that wait: epoch and lowest sequence.
    waiting: BTreeMap<i64, (Guard, i16, i32)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Stored(Offset),
    Duplicate(Offset),
    OutOfOrder,
    Stale,
    TransactionOpen,
    NotInTransaction,
}

impl Model {
    fn end(&self) -> Offset {
        self.entries.last().map_or(0, Entry::next)
    }

    fn of(&self, producer: i64) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(move |it| it.producer == producer)
    }

    fn epoch(&self, producer: i64) -> Option<i16> {
        self.of(producer).next_back().map(|it| it.epoch)
    }

    /// The batches that a producer has written in its epoch, newest first.
    fn recent(&self, producer: i64) -> Vec<&Entry> {
        let epoch = self.epoch(producer);
        let same = self.of(producer).rev().take_while(|it| Some(it.epoch) == epoch);
        same.filter(|it| it.is_data()).collect()
    }

    /// With nothing but markers in the epoch the first batch is to come.
    fn expected(&self, producer: i64) -> Option<i32> {
        self.epoch(producer)?;
        let Some(last) = self.recent(producer).first().copied().copied() else { return Some(0) };
        Some(i32::try_from((i64::from(last.first) + i64::from(last.count)) % (1 << 31)).unwrap())
    }

    /// Transactions: producer, first offset, marker if it is ended.
    fn transactions(&self, upto: Offset) -> Vec<(i64, Offset, Option<Entry>)> {
        let mut all: Vec<(i64, Offset, Option<Entry>)> = Vec::new();
        for it in self.entries.iter().filter(|it| it.next() <= upto) {
            let open = all.iter_mut().find(|open| open.0 == it.producer && open.2.is_none());
            match (it.kind, open) {
                (Kind::Transactional, None) => all.push((it.producer, it.base, None)),
                (Kind::Commit | Kind::Abort, Some(open)) => open.2 = Some(*it),
                (Kind::Transactional, Some(_)) | (Kind::Commit | Kind::Abort, None) | (Kind::Plain, _) => {}
            }
        }
        all
    }

    fn is_open(&self, producer: i64) -> bool {
        self.transactions(self.end()).iter().any(|it| it.0 == producer && it.2.is_none())
    }

    fn last_stable(&self) -> Offset {
        let durable = self.transactions(self.durable);
        durable.iter().filter(|it| it.2.is_none()).map(|it| it.1).min().unwrap_or(self.durable)
    }

    /// Aborted transactions with records or their marker in `[from, to)`.
    fn aborted(&self, from: Offset, to: Offset) -> BTreeSet<(i64, Offset)> {
        let ended = self.transactions(self.durable).into_iter();
        let is_aborted = |marker: &Entry| marker.kind == Kind::Abort && marker.base >= from;
        let aborted = ended.filter(|it| it.1 < to && it.2.as_ref().is_some_and(is_aborted));
        aborted.map(|it| (it.0, it.1)).collect()
    }

    fn is_open_in(&self, entry: &Entry) -> bool {
        self.is_open(entry.producer) && self.epoch(entry.producer) == Some(entry.epoch)
    }

    /// The guard that the coordinator's answer goes with, if one is needed; an old epoch gets none.
    fn verify(&mut self, entry: &Entry, guard: Result<Option<Guard>, AppendError>) -> Option<Guard> {
        if self.epoch(entry.producer).is_some_and(|it| entry.epoch < it) {
            assert!(matches!(guard, Err(AppendError::StaleProducerEpoch(_))), "{entry:?}: {guard:?}");
            return None;
        }
        let guard = guard.unwrap();
        assert_eq!(guard.is_none(), self.is_open_in(entry), "{entry:?}");
        let guard = guard?;
        let waiting = self.waiting.entry(entry.producer).or_insert((guard, entry.epoch, entry.first));
        assert_eq!(waiting.0, guard, "one guard as long as it is good");
        if entry.epoch > waiting.1 {
            *waiting = (guard, entry.epoch, entry.first);
        } else if entry.epoch == waiting.1 {
            waiting.2 = waiting.2.min(entry.first);
        }
        Some(guard)
    }

    fn append(&mut self, entry: Entry, guard: Option<Guard>) -> Answer {
        let answer = self.judge(&entry, guard);
        if matches!(answer, Answer::Stored(_)) {
            self.entries.push(entry);
            if entry.kind != Kind::Plain {
                self.waiting.remove(&entry.producer);
            }
        }
        answer
    }

    fn judge(&self, entry: &Entry, guard: Option<Guard>) -> Answer {
        let waiting = self.waiting.get(&entry.producer);
        let unverified = entry.kind == Kind::Transactional
            && self.verifies
            && !self.is_open_in(entry)
            && (self.is_open(entry.producer) || guard.is_none() || waiting.map(|it| it.0) != guard);
        let too_early = entry.is_data() && waiting.is_some_and(|it| entry.first > it.2);
        let Some(epoch) = self.epoch(entry.producer) else {
            return match (unverified, too_early) {
                (true, _) => Answer::NotInTransaction,
                (false, true) => Answer::OutOfOrder,
                (false, false) => Answer::Stored(entry.base),
            };
        };
        let same = |it: &&&Entry| it.first == entry.first && it.count == entry.count;
        let recent = self.recent(entry.producer);
        if entry.is_data()
            && entry.epoch == epoch
            && let Some(original) = recent.iter().take(5).find(same)
        {
            return Answer::Duplicate(original.base);
        }
        if entry.epoch < epoch {
            return Answer::Stale;
        }
        if unverified {
            return Answer::NotInTransaction;
        }
        if too_early {
            return Answer::OutOfOrder;
        }
        if !entry.is_data() {
            return Answer::Stored(entry.base);
        }
        let expected = if entry.epoch > epoch { Some(0) } else { self.expected(entry.producer) };
        if expected.is_some_and(|expected| expected != entry.first) {
            return Answer::OutOfOrder;
        }
        if entry.kind == Kind::Plain && self.is_open(entry.producer) {
            return Answer::TransactionOpen;
        }
        Answer::Stored(entry.base)
    }

    /// What a producer might do next: mostly the right thing.
    fn pick(&self, rng: &mut Rng) -> Entry {
        let producer = i64::try_from(rng.below(PRODUCERS)).unwrap();
        let epoch = self.epoch(producer).unwrap_or(0);
        let recent = self.recent(producer);
        if !recent.is_empty() && rng.one_in(4) {
            let back = usize::try_from(rng.below(7)).unwrap().min(recent.len() - 1);
            return Entry { base: self.end(), ..*recent[back] };
        }
        let kind = match rng.below(8) {
            0 => Kind::Commit,
            1 => Kind::Abort,
            2..5 => Kind::Plain,
            _ => Kind::Transactional,
        };
        let epoch = match rng.below(16) {
            0 => epoch + 1,
            1 => (epoch - 1).max(0),
            _ => epoch,
        };
        let near_the_wrap = || i32::MAX - 5;
        let first = match rng.below(16) {
            0 => 0,
            1 => 17,
            _ => self.expected(producer).unwrap_or_else(near_the_wrap),
        };
        let is_data = matches!(kind, Kind::Plain | Kind::Transactional);
        let count = if is_data { 1 + i32::try_from(rng.below(4)).unwrap() } else { 1 };
        Entry { producer, epoch, first, count, kind, base: self.end() }
    }

    fn crash(&mut self) {
        self.entries.retain(|it| it.next() <= self.durable);
        self.waiting.clear();
    }
}

fn answer(partition: &Partition, entry: &Entry, guard: Option<Guard>) -> Answer {
    let appended = match entry.origin() {
        Origin::Client => partition.append_verified(&entry.bytes(), guard, NOW),
        coordinator @ (Origin::Coordinator { .. } | Origin::Settler { .. }) => {
            partition.append(&entry.bytes(), coordinator, NOW)
        }
    };
    match appended {
        Ok(appended) if appended.duplicate => Answer::Duplicate(appended.base_offset),
        Ok(appended) => Answer::Stored(appended.base_offset),
        Err(AppendError::OutOfOrderSequence(_)) => Answer::OutOfOrder,
        Err(AppendError::StaleProducerEpoch(_)) => Answer::Stale,
        Err(AppendError::TransactionOpen(_)) => Answer::TransactionOpen,
        Err(AppendError::NotInTransaction(_)) => Answer::NotInTransaction,
        Err(other) => panic!("{entry:?}: {other:?}"),
    }
}

async fn compare(partition: &Partition, model: &Model) {
    let ends = partition.ends_now();
    assert_eq!((ends.durable, ends.end), (model.durable, model.end()));
    assert_eq!(partition.last_stable_offset(), model.last_stable());
    let stored: Vec<_> = batches(partition, 0).await.iter().map(|it| it.header.base_offset).collect();
    let durable = model.entries.iter().filter(|it| it.next() <= model.durable);
    assert_eq!(stored, durable.map(|it| it.base).collect::<Vec<_>>());
    let stable = model.last_stable();
    for from in [0, stable / 3, stable / 2, stable - 1].into_iter().filter(|from| (0..stable).contains(from))
    {
        for max_bytes in [1, 1 << 20] {
            let spec = ReadSpec { max_bytes, ..spec(from, Isolation::ReadCommitted) };
            let read = partition.read(spec).await.unwrap();
            let told = read.aborted.unwrap();
            let told = told.iter().map(|it| (it.producer_id, it.first_offset)).collect::<BTreeSet<_>>();
            assert_eq!(told, model.aborted(from, read.slices.next), "from {from}, {max_bytes} bytes");
        }
    }
}

/// Every answer, the last stable offset, aborted transactions and what is read are those of the model, through
/// flushes, checkpoints and crashes; and a partition that is opened again is as it was.
#[tokio::test]
async fn random_producers_against_a_model() {
    let seed = testkit::seed::seed();
    let mut seen = BTreeSet::new();
    for round in 0..8 {
        run(seed.wrapping_add(round), round % 2 == 1, &mut seen).await;
    }
    assert_eq!(seen.len(), 6, "every kind of answer is met: {seen:?}");
}

async fn run(seed: u64, verifies: bool, seen: &mut BTreeSet<String>) {
    let mut rng = Rng(seed);
    let mut bench = Bench::held().await;
    let settings = Settings { verify_transactions: verifies, ..Settings::default() };
    let mut partition = bench.with(settings.clone()).await;
    let mut model = Model { verifies, ..Model::default() };
    let mut old_guard = None;
    for step in 0..STEPS {
        let entry = model.pick(&mut rng);
        let guard = match rng.below(8) {
            0 => None,
            1 => old_guard,
            _ if verifies && entry.kind == Kind::Transactional => {
                let first = FirstBatch {
                    producer_id: entry.producer,
                    epoch: entry.epoch,
                    sequence: entry.first,
                    bumps_epoch: false,
                };
                model.verify(&entry, partition.begin_verification(first, NOW))
            }
            _ => None,
        };
        old_guard = guard.or(old_guard);
        let expected = model.append(entry, guard);
        assert_eq!(answer(&partition, &entry, guard), expected, "step {step}: {entry:?}");
        seen.extend(format!("{expected:?}").split('(').next().map(str::to_owned));
        if rng.one_in(3) {
            bench.engine.flush();
            model.durable = model.end();
        }
        if rng.one_in(20) {
            partition.checkpoint().unwrap();
        }
        if rng.one_in(40) {
            compare(&partition, &model).await;
        }
        if rng.one_in(80) {
            model.crash();
            partition = bench.crash().await;
            partition.configure(settings.clone());
            old_guard = None;
            compare(&partition, &model).await;
        }
        if rng.one_in(40) && model.durable == model.end() {
            let again = bench.partition().await;
            assert_eq!(again.producers(), partition.producers());
            assert_eq!(again.epochs(), partition.epochs());
            let (one, other) = (again.state.lock(), partition.state.lock());
            assert_eq!(
                (one.transactions.aborted(), &one.producers),
                (other.transactions.aborted(), &other.producers)
            );
        }
    }
}
