//! Fetch sessions (KIP-227): what a client fetches is kept here, so that its requests name only what changed and
//! answers hold only what is new (`broker-core.md` 10.5).
//!
//! A session is locked for the whole of a request, long poll included; requests of a session are thus answered one
//! after the other, and its epoch tells those that are out of step. Bound: `max.incremental.fetch.session.cache.slots`
//! sessions; who gets none works without, with larger requests. It knows nothing of logs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use coordinator::Millis;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use wire::fetch::request::{FetchPartition, FetchTopic, ForgottenTopic};
use wire::{ErrorCode, Str, Uuid};

use crate::chance::Chance;

/// A session that was unused for so long gives way to any other; one that is younger is not pushed out by a larger
/// one. Kafka's `min.incremental.fetch.session.eviction.ms`, which is a constant there as well.
const EVICTION_MS: Millis = 120_000;
/// Epoch of a request that opens a session.
const INITIAL_EPOCH: i32 = 0;
/// Epoch of a request without a session, which closes the one that it names.
const FINAL_EPOCH: i32 = -1;

/// All sessions of a broker.
#[derive(Debug)]
pub struct FetchSessions {
    slots: usize,
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    chance: Chance,
    sessions: HashMap<i32, Slot>,
}

#[derive(Debug)]
struct Slot {
    session: Arc<AsyncMutex<Session>>,
    created: Millis,
    last_used: Millis,
    partitions: usize,
    /// Sessions of brokers come before those of consumers.
    privileged: bool,
}

/// What a Fetch says about its session, and what it wants.
#[derive(Debug)]
pub(crate) struct Asked {
    pub session_id: i32,
    pub session_epoch: i32,
    pub topics: Vec<FetchTopic>,
    pub forgotten: Vec<ForgottenTopic>,
    pub by_topic_id: bool,
    pub privileged: bool,
}

/// A topic as the client names it. A session is keyed by it: a topic that was created anew has another id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum TopicKey {
    Name(Str),
    Id(Uuid),
}

/// One partition that is to be fetched.
#[derive(Debug)]
pub(crate) struct Want {
    pub topic: TopicKey,
    /// Name of a topic that is asked for by id, once it was known: if the topic goes, the answer is that of an
    /// unknown name (K-5).
    pub name: Option<Arc<str>>,
    pub index: i32,
    pub current_leader_epoch: i32,
    pub fetch_offset: i64,
    pub last_fetched_epoch: i32,
    pub max_bytes: usize,
}

/// What came of a partition, as far as it decides whether an answer holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct News {
    pub high_watermark: i64,
    pub log_start: i64,
    /// An error or a diverging epoch.
    pub failed: bool,
    pub has_records: bool,
}

/// The partitions of one request.
pub(crate) enum Context {
    /// Those of the request; no session is wanted.
    Sessionless(Vec<Want>),
    /// Those of the request; they become a session if there is room.
    Full { wants: Vec<Want>, by_topic_id: bool, privileged: bool },
    /// Those of the session.
    Incremental(OwnedMutexGuard<Session>),
}

/// What a client fetches.
#[derive(Debug, Default)]
pub(crate) struct Session {
    id: i32,
    /// Of the next request.
    epoch: i32,
    by_topic_id: bool,
    /// Partitions by place. Those that had records go to the end, so that all get their turn.
    order: BTreeMap<u64, Cached>,
    places: HashMap<(TopicKey, i32), u64>,
    next_place: u64,
}

/// A partition with what the client was told last.
#[derive(Debug)]
struct Cached {
    want: Want,
    high_watermark: i64,
    log_start: i64,
}

impl FetchSessions {
    /// `slots` is `max.incremental.fetch.session.cache.slots`.
    pub(crate) fn new(slots: i32) -> Self {
        Self { slots: usize::try_from(slots).unwrap_or(0), cache: Mutex::default() }
    }

    /// How many sessions there are.
    pub fn count(&self) -> usize {
        self.cache.lock().sessions.len()
    }

    /// Finds out what a request fetches. Waits for the session's request before this one.
    pub(crate) async fn begin(&self, asked: Asked, now: Millis) -> Result<Context, ErrorCode> {
        let Asked { session_id, session_epoch, topics, by_topic_id, privileged, .. } = asked;
        match session_epoch {
            FINAL_EPOCH => {
                self.close(session_id);
                Ok(Context::Sessionless(last_of_each(wants(topics, by_topic_id).collect())))
            }
            INITIAL_EPOCH => {
                self.close(session_id);
                Ok(Context::Full {
                    wants: last_of_each(wants(topics, by_topic_id).collect()),
                    by_topic_id,
                    privileged,
                })
            }
            _ => self.resume(Asked { topics, ..asked }, now).await,
        }
    }

    async fn resume(&self, asked: Asked, now: Millis) -> Result<Context, ErrorCode> {
        let session = self.cache.lock().sessions.get(&asked.session_id).map(|slot| slot.session.clone());
        let session = session.ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
        let mut session = session.lock_owned().await;
        if session.epoch != asked.session_epoch {
            return Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        if session.by_topic_id != asked.by_topic_id {
            return Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
        }
        let updates: Vec<_> = wants(asked.topics, asked.by_topic_id).collect();
        let empties = session.update(&updates, &asked.forgotten);
        if empties {
            self.close(asked.session_id);
            return Ok(Context::Sessionless(updates));
        }
        // It advances as soon as the request is accepted: a client that misses the answer has to begin anew.
        session.epoch = next_epoch(session.epoch);
        if let Some(slot) = self.cache.lock().sessions.get_mut(&asked.session_id) {
            slot.last_used = now;
            slot.partitions = session.order.len();
        }
        Ok(Context::Incremental(session))
    }

    fn close(&self, id: i32) {
        if id != 0 {
            self.cache.lock().sessions.remove(&id);
        }
    }

    /// Keeps a new session, and says its id; 0 if there is no room for it.
    fn keep(&self, mut session: Session, privileged: bool, now: Millis) -> i32 {
        let mut cache = self.cache.lock();
        let partitions = session.order.len();
        if cache.sessions.len() >= self.slots && !cache.evict(privileged, partitions, now) {
            return 0;
        }
        let id = cache.new_id();
        session.id = id;
        let session = Arc::new(AsyncMutex::new(session));
        cache.sessions.insert(id, Slot { session, created: now, last_used: now, partitions, privileged });
        id
    }
}

impl Cache {
    /// A random number, so that a client of a former life of the broker does not meet another's session.
    fn new_id(&mut self) -> i32 {
        loop {
            let id = i32::try_from(self.chance.number() >> 33).unwrap_or(0);
            if id != 0 && !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    /// Makes room for a session, if there is one that counts for less: the one unused for longest if that is long
    /// ago, else the least of the others. Looks at every session, but only where a full cache meets a new client.
    fn evict(&mut self, privileged: bool, partitions: usize, now: Millis) -> bool {
        let Some((&stale, slot)) = self.sessions.iter().min_by_key(|(id, slot)| (slot.last_used, **id))
        else {
            return false;
        };
        if now - slot.last_used > EVICTION_MS {
            self.sessions.remove(&stale);
            return true;
        }
        let may_go = |slot: &Slot| now - slot.created > EVICTION_MS || (privileged && !slot.privileged);
        let worth = |id: i32, slot: &Slot| (slot.privileged, slot.partitions, id);
        let others = self.sessions.iter().filter(|(_, slot)| may_go(slot));
        let Some(least) = others.map(|(id, slot)| worth(*id, slot)).min() else { return false };
        if least >= (privileged, partitions, 0) {
            return false;
        }
        self.sessions.remove(&least.2);
        true
    }
}

impl Context {
    /// What to fetch, in the order of the answer.
    pub(crate) fn wants(&self) -> Vec<&Want> {
        match self {
            Self::Sessionless(wants) | Self::Full { wants, .. } => wants.iter().collect(),
            Self::Incremental(session) => session.order.values().map(|it| &it.want).collect(),
        }
    }

    /// The same, to note the names of topics.
    pub(crate) fn wants_mut(&mut self) -> Vec<&mut Want> {
        match self {
            Self::Sessionless(wants) | Self::Full { wants, .. } => wants.iter_mut().collect(),
            Self::Incremental(session) => session.order.values_mut().map(|it| &mut it.want).collect(),
        }
    }

    /// Which partitions the answer holds. From then on the client counts as told.
    pub(crate) fn select(&mut self, news: &[News]) -> Vec<bool> {
        match self {
            Self::Sessionless(_) | Self::Full { .. } => vec![true; news.len()],
            Self::Incremental(session) => {
                session.order.values_mut().zip(news).map(|(cached, news)| cached.tell(news)).collect()
            }
        }
    }

    /// Ends the request. The answer is the id of the session, 0 for none.
    pub(crate) fn end(self, sessions: &FetchSessions, news: &[News], now: Millis) -> i32 {
        match self {
            Self::Sessionless(_) => 0,
            Self::Full { wants, by_topic_id, privileged } => {
                if sessions.slots == 0 {
                    return 0;
                }
                let mut session = Session { epoch: 1, by_topic_id, ..Default::default() };
                for (want, news) in wants.into_iter().zip(news) {
                    let place = session.put(want);
                    if let Some(cached) = session.order.get_mut(&place) {
                        cached.tell(news);
                    }
                }
                sessions.keep(session, privileged, now)
            }
            Self::Incremental(mut session) => {
                session.rotate(news);
                session.id
            }
        }
    }
}

impl Session {
    /// Additions first, then removals. True if nothing is left.
    fn update(&mut self, updates: &[Want], forgotten: &[ForgottenTopic]) -> bool {
        for want in updates {
            self.put(want.copy());
        }
        for topic in forgotten {
            let key = topic_key(&topic.topic, topic.topic_id, self.by_topic_id);
            for index in &topic.partitions {
                if let Some(place) = self.places.remove(&(key.clone(), *index)) {
                    self.order.remove(&place);
                }
            }
        }
        self.order.is_empty()
    }

    /// Adds a partition at the end, or changes it in its place.
    fn put(&mut self, want: Want) -> u64 {
        // A name of the request is a piece of its frame, which must not live as long as the session.
        let topic = match &want.topic {
            TopicKey::Name(name) => TopicKey::Name(name.detach()),
            TopicKey::Id(id) => TopicKey::Id(*id),
        };
        let key = (topic.clone(), want.index);
        if let Some(place) = self.places.get(&key) {
            if let Some(cached) = self.order.get_mut(place) {
                let name = cached.want.name.take();
                cached.want = Want { topic, name, ..want };
            }
            return *place;
        }
        let place = self.next_place;
        self.next_place += 1;
        self.places.insert(key, place);
        let want = Want { topic, ..want };
        self.order.insert(place, Cached { want, high_watermark: -1, log_start: -1 });
        place
    }

    /// Moves partitions that had records to the end.
    fn rotate(&mut self, news: &[News]) {
        let places: Vec<_> = self.order.keys().copied().zip(news).filter(|(_, it)| it.has_records).collect();
        for (place, _) in places {
            let Some(cached) = self.order.remove(&place) else { continue };
            self.places.insert((cached.want.topic.clone(), cached.want.index), self.next_place);
            self.order.insert(self.next_place, cached);
            self.next_place += 1;
        }
    }
}

impl Cached {
    /// Whether this is new to the client; notes that it was told. After a failure the next success is new.
    fn tell(&mut self, news: &News) -> bool {
        let moved = self.high_watermark != news.high_watermark || self.log_start != news.log_start;
        self.high_watermark = if news.failed { -1 } else { news.high_watermark };
        self.log_start = news.log_start;
        moved || news.has_records || news.failed
    }
}

impl Want {
    fn new(topic: TopicKey, partition: &FetchPartition) -> Self {
        Self {
            topic,
            name: None,
            index: partition.partition,
            current_leader_epoch: partition.current_leader_epoch,
            fetch_offset: partition.fetch_offset,
            last_fetched_epoch: partition.last_fetched_epoch,
            max_bytes: usize::try_from(partition.partition_max_bytes).unwrap_or(0),
        }
    }

    fn copy(&self) -> Self {
        Self { topic: self.topic.clone(), name: self.name.clone(), ..*self }
    }
}

fn topic_key(name: &Str, id: Uuid, by_topic_id: bool) -> TopicKey {
    if by_topic_id { TopicKey::Id(id) } else { TopicKey::Name(name.clone()) }
}

fn wants(topics: Vec<FetchTopic>, by_topic_id: bool) -> impl Iterator<Item = Want> {
    topics.into_iter().flat_map(move |topic| {
        let key = topic_key(&topic.topic, topic.topic_id, by_topic_id);
        topic.partitions.into_iter().map(move |partition| Want::new(key.clone(), &partition))
    })
}

/// A partition that is named more than once counts as it is named last, in its first place.
fn last_of_each(wants: Vec<Want>) -> Vec<Want> {
    let mut last = HashMap::with_capacity(wants.len());
    for (place, want) in wants.iter().enumerate() {
        last.insert((&want.topic, want.index), place);
    }
    if last.len() == wants.len() {
        return wants;
    }
    let places: Vec<_> = wants.iter().filter_map(|want| last.remove(&(&want.topic, want.index))).collect();
    places.into_iter().filter_map(|place| wants.get(place)).map(Want::copy).collect()
}

fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: News = News { high_watermark: 0, log_start: 0, failed: false, has_records: false };

    fn topic(name: &str, partitions: impl IntoIterator<Item = i32>) -> FetchTopic {
        let partition = |partition| FetchPartition { partition, ..Default::default() };
        let partitions = partitions.into_iter().map(partition).collect();
        FetchTopic { topic: Str::from(name), partitions, ..Default::default() }
    }

    fn asked(session_id: i32, session_epoch: i32, partitions: impl IntoIterator<Item = i32>) -> Asked {
        let topics = vec![topic("t", partitions)];
        Asked { session_id, session_epoch, topics, forgotten: vec![], by_topic_id: false, privileged: false }
    }

    /// Opens a session with that many partitions; 0 if there is no room.
    async fn open(sessions: &FetchSessions, partitions: i32, privileged: bool, now: Millis) -> i32 {
        let asked = Asked { privileged, ..asked(0, 0, 0..partitions) };
        let context = sessions.begin(asked, now).await.unwrap();
        let news = vec![IDLE; context.wants().len()];
        context.end(sessions, &news, now)
    }

    fn indexes(context: &Context) -> Vec<i32> {
        context.wants().iter().map(|want| want.index).collect()
    }

    /// Goes on with a session; the answer are the partitions in their order and those that are told.
    async fn next(sessions: &FetchSessions, asked: Asked, news: &[News]) -> (Vec<i32>, Vec<bool>) {
        let mut context = sessions.begin(asked, 0).await.unwrap();
        let told = (indexes(&context), context.select(news));
        context.end(sessions, news, 0);
        told
    }

    #[tokio::test]
    async fn partitions_with_records_go_to_the_end() {
        let sessions = FetchSessions::new(10);
        let id = open(&sessions, 3, false, 0).await;
        let news = News { has_records: true, ..IDLE };
        let told = next(&sessions, asked(id, 1, []), &[news, IDLE, IDLE]).await;
        assert_eq!(told, (vec![0, 1, 2], vec![true, false, false]));
        let told = next(&sessions, asked(id, 2, []), &[IDLE, IDLE, news]).await;
        assert_eq!(told, (vec![1, 2, 0], vec![false, false, true]));
        // A change in place keeps the place; a new one comes last.
        let told = next(&sessions, asked(id, 3, [2, 7]), &[IDLE, IDLE, IDLE, IDLE]).await;
        assert_eq!(told, (vec![1, 2, 0, 7], vec![false, false, false, true]));
    }

    /// Trap of kfake: a high watermark that moved must be told, and after a failure the next success.
    #[tokio::test]
    async fn what_is_new_is_told_once() {
        let sessions = FetchSessions::new(10);
        let id = open(&sessions, 1, false, 0).await;
        let moved = News { high_watermark: 5, ..IDLE };
        let failed = News { high_watermark: -1, log_start: -1, failed: true, has_records: false };
        let steps =
            [(IDLE, false), (moved, true), (moved, false), (failed, true), (failed, true), (moved, true)];
        let trimmed = News { log_start: 3, ..moved };
        let diverged = News { failed: true, ..trimmed };
        let more = [(moved, false), (trimmed, true), (trimmed, false), (diverged, true), (trimmed, true)];
        for (epoch, (news, expected)) in (1..).zip(steps.into_iter().chain(more)) {
            let (_, told) = next(&sessions, asked(id, epoch, []), &[news]).await;
            assert_eq!(told, [expected], "epoch {epoch}");
        }
    }

    #[tokio::test]
    async fn an_epoch_counts_once_and_begins_anew_after_the_last() {
        assert_eq!((next_epoch(1), next_epoch(i32::MAX)), (2, 1));
        let sessions = FetchSessions::new(10);
        let id = open(&sessions, 1, false, 0).await;
        drop(sessions.begin(asked(id, 1, []), 0).await.unwrap());
        for (id, epoch, code) in [
            (id, 1, ErrorCode::INVALID_FETCH_SESSION_EPOCH),
            (id, 3, ErrorCode::INVALID_FETCH_SESSION_EPOCH),
            (0, 1, ErrorCode::FETCH_SESSION_ID_NOT_FOUND),
            (id ^ 1, 2, ErrorCode::FETCH_SESSION_ID_NOT_FOUND),
        ] {
            assert_eq!(sessions.begin(asked(id, epoch, []), 0).await.err(), Some(code), "{id} {epoch}");
        }
        assert!(sessions.begin(asked(id, 2, []), 0).await.is_ok());
    }

    #[tokio::test]
    async fn additions_come_before_removals_and_an_empty_session_ends() {
        let sessions = FetchSessions::new(10);
        let id = open(&sessions, 2, false, 0).await;
        let forget = |partitions: Vec<i32>| {
            vec![ForgottenTopic { topic: Str::from("t"), partitions, ..Default::default() }]
        };
        let request = Asked { forgotten: forget(vec![0, 5]), ..asked(id, 1, [5, 6]) };
        assert_eq!(next(&sessions, request, &[IDLE, IDLE]).await.0, [1, 6]);
        let request = Asked { forgotten: forget(vec![1, 6]), ..asked(id, 2, []) };
        let context = sessions.begin(request, 0).await.unwrap();
        assert_eq!(context.end(&sessions, &[], 0), 0);
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn a_partition_counts_as_it_is_named_last() {
        let mut again = topic("t", [1]);
        again.partitions[0].fetch_offset = 7;
        let all = last_of_each(wants(vec![topic("t", [1, 2]), again], false).collect());
        assert_eq!(all.iter().map(|it| (it.index, it.fetch_offset)).collect::<Vec<_>>(), [(1, 7), (2, 0)]);
    }

    #[tokio::test]
    async fn full_requests_close_the_session_that_they_name() {
        let sessions = FetchSessions::new(10);
        for epoch in [INITIAL_EPOCH, FINAL_EPOCH] {
            let id = open(&sessions, 1, false, 0).await;
            drop(sessions.begin(asked(id, epoch, [0]), 0).await.unwrap());
            assert_eq!(sessions.count(), 0);
        }
    }

    /// Kafka's order of eviction: stale ones, then others if they count for less and are no longer young.
    #[tokio::test]
    async fn a_full_cache_gives_up_what_counts_for_least() {
        let young = EVICTION_MS;
        let stale = EVICTION_MS + 1;
        // partitions, privileged and time of the newcomer; whether it gets in.
        let cases = [
            (9, false, young, false),
            (1, false, stale, true),
            (1, true, young, true),
            (9, true, young, true),
        ];
        for (partitions, privileged, now, fits) in cases {
            let sessions = FetchSessions::new(1);
            let old = open(&sessions, 3, false, 0).await;
            let new = open(&sessions, partitions, privileged, now).await;
            assert_eq!((new != 0, new != old), (fits, true), "{partitions} {privileged} {now}");
            assert_eq!(sessions.count(), 1);
        }
        // In use all the time, hence not stale, but no longer young: it goes to a larger one only.
        for (partitions, fits) in [(2, false), (3, false), (4, true)] {
            let sessions = FetchSessions::new(1);
            let old = open(&sessions, 3, false, 0).await;
            drop(sessions.begin(asked(old, 1, []), stale).await.unwrap());
            assert_eq!(open(&sessions, partitions, false, stale).await != 0, fits, "{partitions}");
        }
        assert_eq!(open(&FetchSessions::new(0), 1, false, 0).await, 0);
    }
}
