//! Assignor `range` (14.4): of each topic every subscriber gets a contiguous piece, and the same member
//! the same piece of topics with the same number of partitions, so that they can be joined.
//!
//! It is not sticky, except that static members stand in the order of their instance ids, which do not
//! change with a restart.

use std::borrow::Cow;

use super::partitions::{Builder, PartitionSpec, Partitions, Subscriber};

pub(super) fn assign<'a>(spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
    let mut members: Vec<(usize, &Subscriber<'a>)> = spec.members.iter().enumerate().collect();
    // Static ones first. Java compares UTF-16 units; for what ids are made of that is the order of bytes.
    members.sort_by_key(|(_, it)| (it.instance.is_none(), it.instance, it.id));
    let mut subscribers: Vec<Vec<usize>> = vec![Vec::new(); spec.topics.len()];
    for (index, member) in members {
        for place in member.topics.iter() {
            let topic = usize::try_from(*place).ok().and_then(|it| subscribers.get_mut(it));
            topic.into_iter().for_each(|it| it.push(index));
        }
    }
    let mut builder = Builder::new(spec.members.len());
    for (topic, subscribers) in spec.topics.iter().zip(subscribers) {
        let Some(count) = u32::try_from(subscribers.len()).ok().filter(|it| *it > 0) else { continue };
        let (least, mut extra) = (topic.partitions / count, topic.partitions % count);
        let mut start = 0;
        for member in subscribers {
            let end = start + least + u32::from(extra > 0);
            extra = extra.saturating_sub(1);
            if start == end {
                break;
            }
            builder.push(member, topic.id, (start..end).filter_map(|it| i32::try_from(it).ok()));
            start = end;
        }
    }
    builder.build(spec)
}
