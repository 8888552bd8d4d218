//! Which brokers get a new partition. Replicas beside the first are names only: a partition lives on one broker and
//! its data is stored safely.

/// Replica lists for new partitions: the leaders go round the brokers, beginning behind those that earlier partitions
/// of the topic took. At most as many replicas as there are brokers.
pub(crate) fn place(
    brokers: &[i32],
    first: usize,
    partitions: usize,
    replication_factor: i16,
) -> Vec<Vec<i32>> {
    let replicas = usize::try_from(replication_factor).unwrap_or(0).min(brokers.len());
    let list = |partition: usize| {
        brokers.iter().copied().cycle().skip(partition % brokers.len().max(1)).take(replicas)
    };
    (first..first + partitions).map(|partition| list(partition).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_go_round() {
        assert_eq!(place(&[1, 2, 3], 0, 4, 2), [[1, 2], [2, 3], [3, 1], [1, 2]]);
        assert_eq!(place(&[1, 2, 3], 4, 1, 1), [[2]]);
        assert_eq!(place(&[7], 0, 2, 3), [[7], [7]]);
        assert_eq!(place(&[], 0, 1, 1), [Vec::<i32>::new()]);
    }
}
