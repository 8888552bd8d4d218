//! The topics and settings of a script, as the image that machines see.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordinator::TopicsChange;
use coordinator::catalog::{Image, PartitionInfo, Topic};
use wire::Str;

use crate::args::Parsed;
use crate::ask::numbered;
use crate::world::Ids;

pub(crate) struct Topics {
    image: Image,
    /// Topics made so far; the next one's id is one more.
    made: u8,
}

impl Topics {
    pub(crate) fn new() -> Self {
        Self { image: Image::default(), made: 0 }
    }

    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    pub(crate) fn ids(&self) -> Ids {
        self.image.topics().map(|it| (Str::from(&*it.name), it.id)).collect()
    }

    pub(crate) fn create(&mut self, name: &str, partitions: i32, change: &mut TopicsChange) -> Parsed<()> {
        self.made += 1;
        let partitions = (0..partitions).map(|index| PartitionInfo { index }).collect();
        self.image.list.push(Topic { name: name.into(), id: numbered(self.made), partitions });
        change.changed.push(Arc::from(name));
        Ok(())
    }

    pub(crate) fn delete(&mut self, name: &str, change: &mut TopicsChange) -> Parsed<()> {
        let at = self.image.list.iter().position(|it| &*it.name == name).ok_or("no such topic")?;
        let topic = self.image.list.remove(at);
        change.changed.push(Arc::from(name));
        change.deleted.push((topic.name, topic.id));
        Ok(())
    }

    pub(crate) fn set_partitions(&mut self, name: &str, count: i32, change: &mut TopicsChange) -> Parsed<()> {
        let topic = self.image.list.iter_mut().find(|it| &*it.name == name).ok_or("no such topic")?;
        topic.partitions = (0..count).map(|index| PartitionInfo { index }).collect();
        change.changed.push(Arc::from(name));
        Ok(())
    }

    pub(crate) fn configure(
        &mut self,
        _scope: &str,
        _group: Option<&str>,
        _values: BTreeMap<&str, &str>,
    ) -> Parsed<()> {
        Err("not yet".into())
    }
}
