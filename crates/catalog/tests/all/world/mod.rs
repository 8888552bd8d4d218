//! A catalog in memory: commands are decided and applied, entries are kept in their encoded form.

use bytes::Bytes;
use catalog::command::{CreateTopics, CreatedTopic, FinalizeInitial, NewTopic, RegisterBroker};
use catalog::config::check;
use catalog::{Changes, Command, Endpoint, Entry, ErrorCode, Image, Local, Refusal};

pub(crate) struct World {
    pub(crate) image: Image,
    pub(crate) journal: Vec<Bytes>,
    pub(crate) changes: Changes,
    random: u64,
}

impl World {
    /// A broker 1 with these settings in its file, registered, features finalized.
    pub(crate) fn with(settings: &[(&str, &str)]) -> Self {
        let (configs, findings) = check::load(settings.iter().copied());
        assert!(findings.iter().all(|finding| !finding.verdict.is_fatal()), "{findings:?}");
        let local =
            Local { node_id: 1, cluster_id: "MkU3OEVBNTcwNTJENDM2Qg".to_owned(), leader_epoch: 0, configs };
        let mut world =
            Self { image: Image::new(local), journal: vec![], changes: Changes::default(), random: 7 };
        world.run(&RegisterBroker { id: 1, rack: None, endpoints: vec![endpoint()] }).unwrap();
        world.run(&FinalizeInitial).unwrap();
        world
    }

    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// A second and a third broker.
    pub(crate) fn with_three_brokers(settings: &[(&str, &str)]) -> Self {
        let mut world = Self::with(settings);
        for id in [2, 3] {
            world.run(&RegisterBroker { id, rack: Some("r".to_owned()), endpoints: vec![] }).unwrap();
        }
        world
    }

    pub(crate) fn run<C: Command>(&mut self, command: &C) -> Result<C::Reply, Refusal> {
        let mut random = self.random;
        let decision = command.decide(&self.image, &mut || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (u128::from(random) << 64 | u128::from(random >> 7)).to_be_bytes()
        })?;
        self.random = random;
        self.journal.extend(decision.entries.iter().map(Entry::encode));
        let (image, changes) = self.image.apply_all(&decision.entries);
        assert_eq!(image.version(), self.image.version() + decision.entries.len() as i64);
        (self.image, self.changes) = (image, changes);
        Ok(decision.reply)
    }

    pub(crate) fn create(&mut self, topic: NewTopic) -> Result<CreatedTopic, Refusal> {
        let mut reply = self.run(&CreateTopics { topics: vec![topic], validate_only: false })?;
        assert_eq!(reply.len(), 1);
        reply.remove(0).1
    }

    /// The image that the journal alone gives.
    pub(crate) fn replayed(&self) -> Image {
        let entries: Vec<Entry> = self.journal.iter().map(|bytes| Entry::decode(bytes).unwrap()).collect();
        Image::new(self.image.local().clone()).apply_all(&entries).0
    }
}

pub(crate) fn endpoint() -> Endpoint {
    Endpoint {
        listener: "PLAINTEXT".to_owned(),
        host: "localhost".to_owned(),
        port: 9092,
        security_protocol: 0,
    }
}

pub(crate) fn topic(name: &str, num_partitions: i32, configs: &[(&str, &str)]) -> NewTopic {
    NewTopic {
        num_partitions,
        replication_factor: 1,
        configs: configs.iter().map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned()))).collect(),
        ..NewTopic::with_defaults(name)
    }
}

/// The code of a refusal, `NONE` of a success.
pub(crate) fn code<T>(result: &Result<T, Refusal>) -> ErrorCode {
    result.as_ref().err().map_or(ErrorCode::NONE, |refusal| refusal.code)
}
