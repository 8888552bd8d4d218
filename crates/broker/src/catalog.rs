//! Keeps the image: reads the journal, decides commands against the image, publishes what came of it.
//!
//! Whoever changes something waits until it is in the journal, its partitions are open and every
//! shard has been told; so a topic exists for all when its creator hears of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::command::{Command, CreateTopics, internal_topic};
use catalog::{Changes, Entry, Image, Local, Refusal};
use coordinator::TopicsChange;
use coordinator::group::GroupShard;
use coordinator::txn::TxnShard;
use storage::{Journal, JournalError, Version};
use tokio::sync::{Mutex, watch};
use tracing::{error, warn};
use wire::ErrorCode;

use crate::chance::Chance;
use crate::partitions::Partitions;
use crate::shards::Shards;

/// Entries after which the journal gets a snapshot, so that a start reads few of them.
const SNAPSHOT_AFTER: i64 = 1_000;
/// How often a command is decided anew because someone else was first.
const TRIES_MAX: usize = 100;

/// The catalog of one broker.
pub struct Catalog {
    journal: Arc<dyn Journal>,
    image: watch::Sender<Arc<Image>>,
    followers: Followers,
    /// Held while the image moves: one change after the other, seen in one order by all.
    turn: Mutex<Turn>,
    /// Why topics of the broker's own could not be created the last time.
    not_created: parking_lot::Mutex<BTreeMap<String, String>>,
}

/// Who must know of a change before it counts as done.
pub(crate) struct Followers {
    pub partitions: Arc<Partitions>,
    pub groups: Arc<Shards<GroupShard>>,
    pub transactions: Arc<Shards<TxnShard>>,
}

struct Turn {
    /// Version of the journal's snapshot.
    snapshot: Version,
    chance: Chance,
}

/// Reads the journal from its beginning. Also gives the version of its snapshot.
pub(crate) async fn load(journal: &dyn Journal, local: Local) -> Result<(Image, Version), String> {
    let since = journal.read(0).await.map_err(|refused| refused.to_string())?;
    let snapshot = since.snapshot.as_ref().map_or(0, |(version, _)| *version);
    let image = match since.snapshot {
        Some((version, bytes)) => Image::from_snapshot(local, version, bytes),
        None => Ok(Image::new(local)),
    };
    let image = image.map_err(|error| error.to_string())?;
    let entries = decode(since.entries.into_iter().map(|(_, bytes)| bytes))?;
    Ok((image.apply_all(&entries).0, snapshot))
}

impl Catalog {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        image: Arc<Image>,
        snapshot: Version,
        followers: Followers,
    ) -> Self {
        let turn = Mutex::new(Turn { snapshot, chance: Chance::default() });
        Self { journal, image: watch::Sender::new(image), followers, turn, not_created: Default::default() }
    }

    /// The image as of now.
    pub fn image(&self) -> Arc<Image> {
        self.image.borrow().clone()
    }

    /// Tells of every new image.
    pub fn watch(&self) -> watch::Receiver<Arc<Image>> {
        self.image.subscribe()
    }

    /// Decides a command and waits until its effect can be seen everywhere in this broker.
    ///
    /// What has begun is carried through, also if the caller stops waiting: a client that goes away
    /// must not leave an image that only some have heard of.
    pub async fn submit<C>(self: &Arc<Self>, command: C) -> Result<C::Reply, Refusal>
    where
        C: Command + Send + 'static,
        C::Reply: Send,
    {
        let catalog = Arc::clone(self);
        let done = tokio::spawn(async move { catalog.carry_out(command).await }).await;
        done.unwrap_or_else(|failed| Err(storage_failed(&failed.to_string())))
    }

    async fn carry_out<C: Command>(&self, command: C) -> Result<C::Reply, Refusal> {
        let mut turn = self.turn.lock().await;
        for _ in 0..TRIES_MAX {
            let image = self.image();
            let decision = command.decide(&image, &mut || turn.chance.bytes())?;
            if decision.entries.is_empty() {
                return Ok(decision.reply);
            }
            let bytes = decision.entries.iter().map(Entry::encode).collect();
            match self.journal.append(image.version(), bytes).await {
                Ok(_) => {
                    self.advance(&image, &decision.entries, &mut turn).await;
                    return Ok(decision.reply);
                }
                Err(JournalError::Behind(_)) => self.catch_up(&image, &mut turn).await?,
                Err(JournalError::Refused(refused)) => return Err(storage_failed(&refused.to_string())),
            }
        }
        Err(storage_failed("others changed the metadata all the time"))
    }

    /// Creates one of the broker's own topics, unless it is there.
    pub async fn create_internal_topic(self: &Arc<Self>, name: &str) -> Result<(), Refusal> {
        let image = self.image();
        if image.topic(name).is_some() {
            return Ok(());
        }
        let unknown = || Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, "not an internal topic");
        let topic = internal_topic(&image, name).ok_or_else(unknown)?;
        let command = CreateTopics { topics: vec![topic], validate_only: false };
        let created = self.submit(command).await.and_then(|created| {
            let refusal = created.into_iter().find_map(|(_, created)| created.err());
            refusal.filter(|it| it.code != ErrorCode::TOPIC_ALREADY_EXISTS).map_or(Ok(()), Err)
        });
        if let Err(refusal) = &created
            && self.is_news(name, &refusal.message)
        {
            let code = refusal.code.name();
            error!(
                topic = name,
                code,
                reason = refusal.message,
                "internal topic can't be created: no coordinator"
            );
        }
        created
    }

    /// Whether one of the broker's own topics could be created the last time, or not for another reason: clients ask
    /// again and again, and nobody reads the same line as often.
    fn is_news(&self, topic: &str, reason: &str) -> bool {
        let before = self.not_created.lock().insert(topic.to_owned(), reason.to_owned());
        before.is_none_or(|it| it != reason)
    }

    /// Reads what others wrote.
    async fn catch_up(&self, image: &Arc<Image>, turn: &mut Turn) -> Result<(), Refusal> {
        let since = self.journal.read(image.version()).await;
        let since = since.map_err(|refused| storage_failed(&refused.to_string()))?;
        let entries = decode(since.entries.into_iter().map(|(_, bytes)| bytes));
        let entries = entries.map_err(|reason| storage_failed(&reason))?;
        self.advance(image, &entries, turn).await;
        Ok(())
    }

    /// Applies entries of the journal. Partitions come first, so that whoever sees the image can
    /// use them; shards come last, since what they answer must hold for the image.
    async fn advance(&self, before: &Image, entries: &[Entry], turn: &mut Turn) {
        let (after, changes) = before.apply_all(entries);
        let after = Arc::new(after);
        self.followers.partitions.follow(&after, &changes).await;
        self.image.send_replace(after.clone());
        let change = topics_of(&changes);
        self.followers.groups.follow(&after, &change).await;
        self.followers.transactions.follow(&after, &change).await;
        if after.version() - turn.snapshot >= SNAPSHOT_AFTER {
            self.snapshot(&after, turn).await;
        }
    }

    async fn snapshot(&self, image: &Image, turn: &mut Turn) {
        match self.journal.snapshot(image.version(), image.to_snapshot()).await {
            Ok(()) => turn.snapshot = image.version(),
            Err(refused) => warn!(%refused, "the journal's snapshot can't be written"),
        }
    }
}

fn decode(entries: impl Iterator<Item = bytes::Bytes>) -> Result<Vec<Entry>, String> {
    entries.map(|bytes| Entry::decode(&bytes).map_err(|error| error.to_string())).collect()
}

fn storage_failed(reason: &str) -> Refusal {
    error!(reason, "metadata can't be changed");
    Refusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, reason)
}

/// What entries changed about topics.
fn topics_of(changes: &Changes) -> TopicsChange {
    let gone = changes.deleted.iter();
    let names: BTreeSet<_> = changes.topics.iter().chain(gone.clone().map(|topic| &topic.name)).collect();
    TopicsChange {
        changed: names.into_iter().cloned().collect(),
        deleted: gone.map(|topic| (topic.name.clone(), topic.id)).collect(),
    }
}

/// What lies between two images, for one who did not see the changes in between.
pub(crate) fn topics_change(before: &Image, after: &Image) -> TopicsChange {
    let mut changed = BTreeSet::new();
    let mut deleted = Vec::new();
    for topic in before.topics() {
        if after.topic_by_id(topic.id).is_none() {
            changed.insert(topic.name.clone());
            deleted.push((topic.name.clone(), topic.id));
        }
    }
    for topic in after.topics() {
        if before.topic_by_id(topic.id).is_none_or(|old| old != topic) {
            changed.insert(topic.name.clone());
        }
    }
    TopicsChange { changed: changed.into_iter().collect(), deleted }
}
