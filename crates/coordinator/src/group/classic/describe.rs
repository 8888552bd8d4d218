//! DescribeGroups of a classic group (8.1).

use crate::group::step::Step;
use wire::Str;
use wire::describe_groups::response::DescribedGroup;

pub fn describe(_step: &Step<'_>, _id: &Str) -> DescribedGroup {
    todo!()
}
