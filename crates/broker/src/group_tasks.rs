//! Work that group shards hand to their hosts: what takes long, or needs the caller's rights.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::Image;
use coordinator::group::consumer::resolve::topics_of_regexes;
use coordinator::group::request::{ResolveRegexes, ResolvedRegexes};
use coordinator::group::{GroupShard, GroupTask, GroupTaskResult, PartitionEnd};
use tracing::warn;

use crate::auth::{Authorizer, Operation, Resource};
use crate::host::RunTask;
use crate::partitions::Partitions;

/// One resolution of the regular expressions of a group.
const RESOLUTION_MAX: Duration = Duration::from_secs(10);

/// Runs the tasks of group shards.
pub(crate) struct GroupTasks {
    pub authorizer: Arc<dyn Authorizer>,
    pub partitions: Arc<Partitions>,
}

impl RunTask<GroupShard> for GroupTasks {
    fn run(
        &self,
        task: GroupTask,
        image: Arc<Image>,
    ) -> Pin<Box<dyn Future<Output = GroupTaskResult> + Send>> {
        match task {
            GroupTask::ChangelogEnds { group, partitions } => {
                // As far as clients can read; the ends are in memory.
                let end = |(topic, index)| {
                    let end = self.partitions.get(topic, index)?.ends_now().durable;
                    Some(PartitionEnd { topic, index, end })
                };
                let ends = partitions.into_iter().filter_map(end).collect();
                Box::pin(ready(GroupTaskResult::ChangelogEnds { group, ends }))
            }
            GroupTask::ResolveRegexes(task) => {
                let authorizer = self.authorizer.clone();
                Box::pin(async move {
                    let version = image.version();
                    let (group, started) = (task.group.clone(), task.started);
                    // Topics times expressions: not for a thread that answers requests.
                    let work = move || resolve(&*authorizer, &task, &image, Instant::now() + RESOLUTION_MAX);
                    let topics = tokio::task::spawn_blocking(work).await.ok().flatten();
                    if topics.is_none() {
                        warn!(%group, "the regular expressions of the group could not be resolved");
                    }
                    GroupTaskResult::ResolveRegexes(ResolvedRegexes { group, topics, version, started })
                })
            }
        }
    }
}

/// Topics that match and that the caller may describe (13.3); none after the deadline.
fn resolve(
    authorizer: &dyn Authorizer,
    task: &ResolveRegexes,
    image: &Image,
    deadline: Instant,
) -> Option<Topics> {
    let names: Vec<&str> = image.topics().map(|topic| &*topic.name).collect();
    let mut found = topics_of_regexes(&task.regexes, &names, || Instant::now() < deadline)?;
    for topics in found.values_mut() {
        topics.retain(|topic| {
            authorizer.allow(&task.caller, Operation::Describe, Resource::Topic(topic.as_bytes()))
        });
    }
    Some(found)
}

type Topics = std::collections::BTreeMap<wire::Str, std::collections::BTreeSet<wire::Str>>;

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::Entry;
    use catalog::entry::{PartitionEntry, TopicEntry};
    use coordinator::Caller;
    use wire::{Str, Uuid};

    struct NoSecrets;

    impl Authorizer for NoSecrets {
        fn allow(&self, caller: &Caller, operation: Operation, resource: Resource<'_>) -> bool {
            operation == Operation::Describe
                && caller.principal == "User:a"
                && resource != Resource::Topic(b"secret")
        }
    }

    /// Scenario 227, and the principal of 13.4.
    #[test]
    fn topics_that_the_caller_may_not_describe_do_not_match() {
        let topic = |name: &str, n| {
            Entry::Topic(TopicEntry {
                name: name.to_owned(),
                id: Uuid([n; 16]),
                replication_factor: 1,
                partitions: vec![PartitionEntry { id: i64::from(n), replicas: vec![0] }],
                configs: std::collections::BTreeMap::new(),
            })
        };
        let (image, _) =
            Image::default().apply_all(&[topic("secret", 1), topic("second", 2), topic("other", 3)]);
        let task = |principal: &str| ResolveRegexes {
            group: Str::from("g"),
            caller: Caller { principal: Str::from(principal), ..Caller::default() },
            regexes: vec![Str::from("sec.*"), Str::from("[")],
            started: 0,
        };
        let later = Instant::now() + RESOLUTION_MAX;
        let found = resolve(&NoSecrets, &task("User:a"), &image, later).unwrap();
        assert_eq!(found[&Str::from("sec.*")], [Str::from("second")].into());
        assert!(found[&Str::from("[")].is_empty());
        let found = resolve(&NoSecrets, &task("User:b"), &image, later).unwrap();
        assert!(found[&Str::from("sec.*")].is_empty());
    }
}
