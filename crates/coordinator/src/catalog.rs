//! Stand-in for the catalog's image until it lands; not to be kept.
#![allow(dead_code, missing_docs)]
use crate::wire::Uuid;
use std::sync::Arc;
#[derive(Debug, Default, Clone)]
pub struct Image {
    pub list: Vec<Topic>,
}
#[derive(Debug, Default, Clone)]
pub struct Topic {
    pub name: Arc<str>,
    pub id: Uuid,
    pub partitions: Vec<PartitionInfo>,
}
#[derive(Debug, Default, Clone)]
pub struct PartitionInfo {
    pub index: i32,
}
impl Image {
    pub fn topic(&self, name: &str) -> Option<&Topic> {
        self.list.iter().find(|it| &*it.name == name)
    }
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.list.iter()
    }
    pub fn broker(&self) -> BrokerSettings {
        BrokerSettings { offset_metadata_max_bytes: 4096 }
    }
}
pub struct BrokerSettings {
    pub offset_metadata_max_bytes: i32,
}
