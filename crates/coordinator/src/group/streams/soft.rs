//! What a shard remembers of a streams group beside its records. All of it may be lost: the first
//! heartbeat after a load configures the topology again, members send their offsets again, and the
//! endpoint epoch restarts at 0 (E-8).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::StreamsGroup;
use super::configure::{ConfiguredTopology, Problem};
use super::description::Asked;
use super::endpoints::Endpoints;
use super::heartbeat::{Decision, Revocation};
use super::tasks::{TaskId, Tasks};
use super::warmup::Warmups;
use crate::group::pulse::Pulse;
use crate::group::roll::Roll;
use crate::machine::Millis;
use wire::Str;

#[derive(Default, Debug)]
pub struct StreamsSoft {
    /// The topology against the image; kept until the hash of its topics changes.
    pub(super) configured: Option<Arc<ConfiguredTopology>>,
    /// Whether the stored hash was compared with the image since a required topic changed (T-32).
    pub(super) hash_checked: bool,
    /// The first member that asked the whole application to stop, until the group is empty (H-40).
    pub(super) shutdown_requester: Option<Str>,
    pub(super) endpoint_epoch: i32,
    pub(super) endpoints: Endpoints,
    pub(super) warmups: Warmups,
    /// By member. Bounded by the members.
    pub(super) offsets: BTreeMap<Str, MemberOffsets>,
    /// The epoch at which a member was told to give up tasks: its timer counts for this one only.
    pub(super) revoking: BTreeMap<Str, i32>,
    pub(super) asked_for_description: Asked,
    /// The process of the newcomer for whom the last target was computed (I-9).
    pub(super) assigned_for: Option<Str>,
    /// When the initial rebalance delay began, the last one (H-33).
    pub(super) delayed_since: Option<Millis>,
    /// By member, since the load. Bounded by the members.
    pub(super) pulses: Roll<Pulse>,
}

/// Offsets of a member's tasks as sums over their changelog partitions (H-29b).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct MemberOffsets {
    pub offsets: BTreeMap<TaskId, i64>,
    pub end_offsets: BTreeMap<TaskId, i64>,
}

/// A task that moves when a member has restored its state.
#[derive(Clone, Copy, Debug)]
pub struct WarmUp<'a> {
    pub task: &'a TaskId,
    /// Who restores it.
    pub member: &'a Str,
    /// Then it moves without its state (W-6).
    pub until: Millis,
}

impl StreamsSoft {
    /// The member's last heartbeat, if it was heard since the load.
    pub fn pulse(&self, member: &Str) -> Option<&Pulse> {
        self.pulses.get(member)
    }

    /// Whether it is known which tasks stay with their owners for now.
    pub fn has_plan(&self) -> bool {
        self.warmups.plan.is_some()
    }

    /// The tasks that a member goes to: those of its target, but for what stays and what is restored (W-2, W-3).
    pub fn goal<'a>(&'a self, group: &'a StreamsGroup, member_id: &Str) -> Option<&'a Tasks> {
        self.warmups.goal(member_id).or_else(|| group.target(member_id))
    }

    /// Tasks that stay with their owners while others restore copies of them (W-3).
    pub fn warm_ups(&self) -> impl Iterator<Item = WarmUp<'_>> {
        let staying = self.warmups.plan.iter().flat_map(|it| &it.staying);
        staying.filter_map(|(task, stay)| {
            let copy = stay.copy.as_ref()?;
            Some(WarmUp { task, member: &copy.member, until: copy.until })
        })
    }

    /// When the group's first member came, for whom and those after it the first assignment is delayed.
    pub fn delayed_since(&self) -> Option<Millis> {
        self.delayed_since
    }

    /// What is wrong with the topics that the topology needs.
    pub fn topic_problem(&self) -> Option<&Problem> {
        self.configured()?.problem.as_ref()
    }

    /// The member that asked the whole application to shut down, if one did.
    pub fn shutdown_requester(&self) -> Option<&Str> {
        self.shutdown_requester.as_ref()
    }

    pub fn endpoint_epoch(&self) -> i32 {
        self.endpoint_epoch
    }

    /// The topology against the topics that exist, as far as a heartbeat looked at them since the load.
    pub fn configured(&self) -> Option<&ConfiguredTopology> {
        self.configured.as_deref()
    }

    /// What a heartbeat that succeeded leaves without a record.
    pub(super) fn remember(
        &mut self,
        member_id: &Str,
        member_epoch: i32,
        decision: &mut Decision,
        shuts_down: bool,
    ) {
        self.hash_checked = true;
        if let Some(configured) = decision.configured.take() {
            self.configured = Some(configured);
            self.endpoints.clear();
        }
        if decision.tasks_changed || decision.endpoint_changed {
            self.endpoints.changed(member_id);
        }
        if let Some(reports) = decision.reports {
            self.warmups.reports.insert(member_id.clone(), reports);
        }
        if let Some(planned) = decision.planned.take() {
            self.warmups.remember(planned);
        }
        self.warmups.tasks_changed |= decision.is_reconciled;
        if let Some(process) = decision.assigned_for.take() {
            self.assigned_for = process;
        }
        if let Some(offsets) = decision.offsets.take() {
            self.offsets.insert(member_id.clone(), offsets);
        }
        if shuts_down {
            self.shutdown_requester.get_or_insert_with(|| member_id.clone());
        }
        match decision.revocation {
            Revocation::Unchanged => {}
            Revocation::Until(_) => {
                self.revoking.insert(member_id.clone(), member_epoch);
            }
            Revocation::Over => {
                self.revoking.remove(member_id);
            }
        }
    }

    /// The member need not give up anything any more.
    pub(super) fn forget_revocation(&mut self, member_id: &Str) {
        self.revoking.remove(member_id);
    }

    /// The member is gone; with the last one goes a wish to shut down (K-2).
    pub(super) fn forget_member(&mut self, member_id: &Str, is_last: bool) {
        self.endpoints.forget(member_id);
        self.offsets.remove(member_id);
        self.warmups.forget_member(member_id);
        self.revoking.remove(member_id);
        self.pulses.remove(member_id);
        if is_last {
            self.shutdown_requester = None;
        }
    }
}
