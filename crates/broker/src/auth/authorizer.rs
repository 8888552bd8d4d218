//! The question that every handler asks before it acts (`broker-core.md` 17).
//!
//! Authorization comes before existence: a thing that the caller may not see must look like a
//! thing that is not there.

use coordinator::Caller;

/// Decides what callers may do. The broker holds one behind a trait object.
pub trait Authorizer: Send + Sync {
    /// True if `caller` may do `operation` on `resource`.
    fn allow(&self, caller: &Caller, operation: Operation, resource: Resource<'_>) -> bool;
}

/// The authorizer of a broker without `authorizer.class.name`: everything is allowed.
#[derive(Debug, Default, Clone, Copy)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn allow(&self, _caller: &Caller, _operation: Operation, _resource: Resource<'_>) -> bool {
        true
    }
}

/// Operations by Kafka's numbers (`broker-core.md` 17.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    Read = 3,
    Write = 4,
    Create = 5,
    Delete = 6,
    Alter = 7,
    Describe = 8,
    ClusterAction = 9,
    DescribeConfigs = 10,
    AlterConfigs = 11,
    IdempotentWrite = 12,
    CreateTokens = 13,
    DescribeTokens = 14,
    TwoPhaseCommit = 15,
}

/// What an operation is done on. Names are bytes: a name from a client need not be UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource<'a> {
    Topic(&'a [u8]),
    Group(&'a [u8]),
    Cluster,
    TransactionalId(&'a [u8]),
    DelegationToken(&'a [u8]),
    User(&'a [u8]),
}

impl Resource<'_> {
    /// Operations that exist on resources of this type.
    pub fn operations(&self) -> &'static [Operation] {
        use Operation::*;
        match self {
            Self::Topic(_) => &[Read, Write, Create, Describe, Delete, Alter, DescribeConfigs, AlterConfigs],
            Self::Group(_) => &[Read, Describe, Delete, DescribeConfigs, AlterConfigs],
            Self::Cluster => {
                &[Create, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, Alter, Describe]
            }
            Self::TransactionalId(_) => &[Describe, Write, TwoPhaseCommit],
            Self::DelegationToken(_) => &[Describe],
            Self::User(_) => &[CreateTokens, DescribeTokens],
        }
    }
}

/// The bit field of the `…AuthorizedOperations` response fields: bit n stands for operation n.
pub fn authorized_operations(authorizer: &dyn Authorizer, caller: &Caller, resource: Resource<'_>) -> i32 {
    let allowed = resource.operations().iter().filter(|it| authorizer.allow(caller, **it, resource));
    allowed.fold(0, |bits, it| bits | 1 << (*it as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_allowed_operations_are_kafkas() {
        let caller = Caller::default();
        let bits = |resource| authorized_operations(&AllowAll, &caller, resource);
        // What kafka-topics and kafka-consumer-groups show on a broker without ACLs.
        assert_eq!(bits(Resource::Topic(b"t")), 3576);
        assert_eq!(bits(Resource::Group(b"g")), 3400);
        assert_eq!(bits(Resource::Cluster), 8096);
    }
}
