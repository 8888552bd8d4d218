//! Which field means what for a comparison, and which id of the recording is which id now.

use std::collections::BTreeMap;

use wire::Uuid;
use wire::json::Json;
use wire::table::{Field, Type};

/// Ids that are remembered; those beyond are taken as they come.
const IDS_MAX: usize = 1 << 20;

/// Ids of one kind. What one broker calls 7 another may call 9, but then always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Realm {
    Member,
    /// Topics, directories, client instances.
    Uuid,
    Producer,
    Session,
    Node,
    Cluster,
    /// Grows with every start of a broker, so the same one may have several names.
    LeaderEpoch,
}

/// How a field is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It has to be equal.
    Plain,
    Id(Realm),
    /// Times, and epochs that grow with every start of a broker: present or absent on both sides.
    Time,
    /// It depends on where the broker runs, or is a text for people.
    Masked,
    Records,
}

/// What a field of any message means.
pub(super) fn meaning(field: &Field) -> Meaning {
    match field.name {
        "Host"
        | "Port"
        | "ClientHost"
        | "ErrorMessage"
        | "ThrottleTimeMs"
        | "FinalizedFeaturesEpoch"
        | "LogDir"
        | "TotalBytes"
        | "UsableBytes"
        | "SessionLifetimeMs" => return Meaning::Masked,
        "MemberId" | "Leader" => return Meaning::Id(Realm::Member),
        "SessionId" => return Meaning::Id(Realm::Session),
        "ClusterId" => return Meaning::Id(Realm::Cluster),
        "LeaderEpoch" | "CurrentLeaderEpoch" | "CommittedLeaderEpoch" | "LastFetchedEpoch" => {
            return Meaning::Id(Realm::LeaderEpoch);
        }
        "CoordinatorEpoch" => return Meaning::Time,
        _ => {}
    }
    match (field.ty, field.entity) {
        (Type::Records, _) => Meaning::Records,
        (Type::Uuid, _) => Meaning::Id(Realm::Uuid),
        (_, Some("producerId")) => Meaning::Id(Realm::Producer),
        (_, Some("brokerId")) => Meaning::Id(Realm::Node),
        (Type::Int64, _) if is_time(field.name) => Meaning::Time,
        _ if field.name == "ProducerId" => Meaning::Id(Realm::Producer),
        _ if field.name == "NodeId" => Meaning::Id(Realm::Node),
        _ => Meaning::Plain,
    }
}

fn is_time(name: &str) -> bool {
    name.ends_with("Timestamp") || name.ends_with("TimestampMs") || name.ends_with("TimeMs")
}

/// Ids of the recording and what they are called now.
#[derive(Debug, Default)]
pub(super) struct Ids {
    now: BTreeMap<(Realm, String), Json>,
    recorded: BTreeMap<(Realm, String), Json>,
}

impl Ids {
    /// Takes note that an id of the recording is called `now`. False if it, or the other one, meant something else
    /// before.
    pub(super) fn learn(&mut self, realm: Realm, recorded: &Json, now: &Json) -> bool {
        match (is_none(realm, recorded), is_none(realm, now)) {
            (true, true) => return true,
            (false, false) => {}
            (true, false) | (false, true) => return false,
        }
        let (there, here) = ((realm, recorded.to_string()), (realm, now.to_string()));
        if realm == Realm::LeaderEpoch {
            self.now.insert(there, now.clone());
            return true;
        }
        let known = (self.now.get(&there), self.recorded.get(&here));
        match known {
            (None, None) if self.now.len() < IDS_MAX => {
                self.now.insert(there, now.clone());
                self.recorded.insert(here, recorded.clone());
                true
            }
            (None, None) => true,
            (found, back) => found.is_none_or(|it| it == now) && back.is_none_or(|it| it == recorded),
        }
    }

    /// What an id of the recording is called now; nothing if that is not known.
    pub(super) fn now(&self, realm: Realm, recorded: &Json) -> Option<&Json> {
        if is_none(realm, recorded) {
            return None;
        }
        self.now.get(&(realm, recorded.to_string()))
    }
}

/// Values that stand for no id: the same in every cluster.
fn is_none(realm: Realm, value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(it) => it.is_empty() || (realm == Realm::Uuid && *it == Uuid::ZERO.to_string()),
        Json::Int(it) => *it < 0 || (realm == Realm::Session && *it == 0),
        Json::Bool(_) | Json::Float(_) | Json::Array(_) | Json::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_id_is_one_id() {
        let mut ids = Ids::default();
        let id = |text: &str| Json::String(text.to_owned());
        assert!(ids.learn(Realm::Member, &id("a"), &id("x")) && ids.learn(Realm::Member, &id("a"), &id("x")));
        assert_eq!(ids.now(Realm::Member, &id("a")), Some(&id("x")));
        assert!(!ids.learn(Realm::Member, &id("a"), &id("y")), "a is x already");
        assert!(!ids.learn(Realm::Member, &id("b"), &id("x")), "x is a already");
        assert!(ids.learn(Realm::Cluster, &id("b"), &id("x")), "another realm");
        assert!(ids.learn(Realm::Member, &id(""), &id("")) && !ids.learn(Realm::Member, &id(""), &id("z")));
        assert!(ids.learn(Realm::Producer, &Json::Int(-1), &Json::Int(-1)));
        assert!(!ids.learn(Realm::Producer, &Json::Int(-1), &Json::Int(0)));
        assert_eq!(ids.now(Realm::Session, &Json::Int(0)), None);
    }

    #[test]
    fn epochs_of_leaders_may_have_several_names() {
        let mut ids = Ids::default();
        assert!(ids.learn(Realm::LeaderEpoch, &Json::Int(3), &Json::Int(1)));
        assert!(ids.learn(Realm::LeaderEpoch, &Json::Int(4), &Json::Int(1)));
        assert_eq!(ids.now(Realm::LeaderEpoch, &Json::Int(4)), Some(&Json::Int(1)));
        assert!(!ids.learn(Realm::LeaderEpoch, &Json::Int(-1), &Json::Int(1)));
    }
}
