//! What a shard remembers of a consumer group beside its records. All of it may be lost.

/// See the module.
#[derive(Default, Debug)]
pub struct ConsumerSoft {}
