//! `thalweg streams topology`: as text, DOT, Mermaid or JSON. With the description that an application may push
//! (KIP-1331) every node stands there, else only what the assignment needs: subtopologies and their topics.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use wire::Str;
use wire::json::Json;
use wire::streams_group_describe::response::{
    DescribedGroup, Subtopology, TopicInfo, TopologyDescription, TopologyDescriptionNode,
};

use super::json::{known, list, number, object, text, texts};

fn subtopologies(group: &DescribedGroup) -> Vec<&Subtopology> {
    group.topology.iter().flat_map(|it| it.subtopologies.iter().flatten()).collect()
}

fn nodes<'a>(group: &'a DescribedGroup, id: &Str) -> &'a [TopologyDescriptionNode] {
    let described = group.topology_description.as_ref().map(|it| it.subtopologies.as_slice());
    let described = described.unwrap_or_default().iter().find(|it| it.subtopology_id == *id);
    described.map_or(&[], |it| &it.nodes)
}

fn kind(node: &TopologyDescriptionNode) -> &'static str {
    match node.node_type {
        1 => "source",
        3 => "sink",
        _ => "processor",
    }
}

fn joined(names: &[Str]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(in crate::cli) fn text_page(group: &DescribedGroup) -> String {
    let Some(topology) = &group.topology else { return "The group has no topology.\n".to_owned() };
    let mut out = format!("{}  topology epoch {}\n", group.group_id, topology.epoch);
    for it in subtopologies(group) {
        let _ = writeln!(out, "\nsubtopology {}", it.subtopology_id);
        let mut line = |what: &str, names: String| {
            if !names.is_empty() {
                let _ = writeln!(out, "  {what:7} {names}");
            }
        };
        line("reads", joined(&it.source_topics));
        line("reads", infos(&it.repartition_source_topics));
        line("writes", joined(&it.repartition_sink_topics));
        line("state", infos(&it.state_changelog_topics));
        for node in nodes(group, &it.subtopology_id) {
            let _ = writeln!(out, "    {}", node_text(node));
        }
    }
    for store in group.topology_description.iter().flat_map(|it| &it.global_stores) {
        let _ = writeln!(
            out,
            "\nglobal store\n    {}\n    {}",
            node_text(&store.source),
            node_text(&store.processor)
        );
    }
    out
}

fn infos(topics: &[TopicInfo]) -> String {
    let info = |it: &TopicInfo| match it.partitions {
        0 => it.name.to_string(),
        count => format!("{} ({count} partitions)", it.name),
    };
    topics.iter().map(info).collect::<Vec<_>>().join(", ")
}

/// `KSTREAM-SOURCE-0000000000  source  [orders]  -> KSTREAM-MAP-0000000001`
fn node_text(node: &TopologyDescriptionNode) -> String {
    let mut line = format!("{}  {}", node.name, kind(node));
    let topics = node.source_topics.iter().chain(&node.sink_topic).cloned().collect::<Vec<_>>();
    if !topics.is_empty() {
        let _ = write!(line, "  [{}]", joined(&topics));
    }
    if !node.stores.is_empty() {
        let _ = write!(line, "  stores {}", joined(&node.stores));
    }
    if !node.successors.is_empty() {
        let _ = write!(line, "  -> {}", joined(&node.successors));
    }
    line
}

/// The topology as boxes and arrows.
#[derive(Debug, Default)]
struct Graph {
    topics: BTreeSet<String>,
    clusters: Vec<(String, Vec<Node>)>,
    edges: Vec<Edge>,
}

#[derive(Debug)]
struct Node {
    id: String,
    label: String,
    is_store: bool,
}

#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    /// To a changelog.
    is_dotted: bool,
}

impl Graph {
    fn of(group: &DescribedGroup) -> Self {
        let mut graph = Self::default();
        for it in subtopologies(group) {
            match nodes(group, &it.subtopology_id) {
                [] => graph.add_plain(it),
                nodes => graph.add_described(it, nodes),
            }
        }
        graph
    }

    fn topic(&mut self, name: &Str) -> String {
        self.topics.insert(name.to_string());
        topic_id(&name.to_string())
    }

    fn edge(&mut self, from: &str, to: &str, is_dotted: bool) {
        self.edges.push(Edge { from: from.to_owned(), to: to.to_owned(), is_dotted });
    }

    /// One box for all of the subtopology.
    fn add_plain(&mut self, it: &Subtopology) {
        let id = format!("s_{}", it.subtopology_id);
        let label = format!("subtopology {}", it.subtopology_id);
        let internal = it.repartition_source_topics.iter().map(|it| &it.name);
        for topic in it.source_topics.iter().chain(internal) {
            let topic = self.topic(topic);
            self.edge(&topic, &id, false);
        }
        for topic in &it.repartition_sink_topics {
            let topic = self.topic(topic);
            self.edge(&id, &topic, false);
        }
        for changelog in &it.state_changelog_topics {
            let topic = self.topic(&changelog.name);
            self.edge(&id, &topic, true);
        }
        self.clusters.push((label.clone(), vec![Node { id, label, is_store: false }]));
    }

    fn add_described(&mut self, it: &Subtopology, nodes: &[TopologyDescriptionNode]) {
        let node_id = |name: &Str| format!("n_{}_{name}", it.subtopology_id);
        let mut boxes = Vec::new();
        for node in nodes {
            let id = node_id(&node.name);
            for topic in &node.source_topics {
                let topic = self.topic(topic);
                self.edge(&topic, &id, false);
            }
            if let Some(topic) = &node.sink_topic {
                let topic = self.topic(topic);
                self.edge(&id, &topic, false);
            }
            for next in &node.successors {
                self.edge(&id, &node_id(next), false);
            }
            for store in &node.stores {
                let store_id = format!("d_{}_{store}", it.subtopology_id);
                self.edge(&id, &store_id, true);
                if !boxes.iter().any(|it: &Node| it.id == store_id) {
                    boxes.push(Node { id: store_id, label: store.to_string(), is_store: true });
                }
            }
            boxes.push(Node { id, label: node.name.to_string(), is_store: false });
        }
        self.clusters.push((format!("subtopology {}", it.subtopology_id), boxes));
    }
}

fn topic_id(name: &str) -> String {
    format!("t_{name}")
}

/// A quoted string of DOT.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(in crate::cli) fn dot(group: &DescribedGroup) -> String {
    let graph = Graph::of(group);
    let mut out =
        format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(&group.group_id.to_str()));
    for topic in &graph.topics {
        let _ = writeln!(out, "  {} [label={}, shape=cds];", quoted(&topic_id(topic)), quoted(topic));
    }
    for (place, (label, nodes)) in graph.clusters.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{place} {{\n    label={};", quoted(label));
        for node in nodes {
            let shape = if node.is_store { ", shape=cylinder" } else { "" };
            let _ = writeln!(out, "    {} [label={}{shape}];", quoted(&node.id), quoted(&node.label));
        }
        out.push_str("  }\n");
    }
    for edge in &graph.edges {
        let style = if edge.is_dotted { " [style=dotted]" } else { "" };
        let _ = writeln!(out, "  {} -> {}{style};", quoted(&edge.from), quoted(&edge.to));
    }
    out.push_str("}\n");
    out
}

/// An id that Mermaid takes.
fn word(id: &str) -> String {
    id.chars().map(|it| if it.is_ascii_alphanumeric() || it == '_' { it } else { '_' }).collect()
}

pub(in crate::cli) fn mermaid(group: &DescribedGroup) -> String {
    let graph = Graph::of(group);
    let label = |text: &str| format!("\"{}\"", text.replace('"', "#quot;"));
    let mut out = "flowchart LR\n".to_owned();
    for topic in &graph.topics {
        let _ = writeln!(out, "  {}([{}])", word(&topic_id(topic)), label(topic));
    }
    for (place, (name, nodes)) in graph.clusters.iter().enumerate() {
        let _ = writeln!(out, "  subgraph c{place} [{}]", label(name));
        for node in nodes {
            let (open, close) = if node.is_store { ("[(", ")]") } else { ("[", "]") };
            let _ = writeln!(out, "    {}{open}{}{close}", word(&node.id), label(&node.label));
        }
        out.push_str("  end\n");
    }
    for edge in &graph.edges {
        let arrow = if edge.is_dotted { "-.->" } else { "-->" };
        let _ = writeln!(out, "  {} {arrow} {}", word(&edge.from), word(&edge.to));
    }
    out
}

pub(in crate::cli) fn json_page(group: &DescribedGroup) -> Json {
    let info = |it: &TopicInfo| {
        let partitions = if it.partitions > 0 { it.partitions } else { -1 };
        object([("topic", text(&it.name)), ("partitions", known(partitions))])
    };
    let subtopologies = list(&subtopologies(group), |it| {
        object([
            ("subtopology", text(&it.subtopology_id)),
            ("sourceTopics", texts(&it.source_topics)),
            ("repartitionSourceTopics", list(&it.repartition_source_topics, info)),
            ("repartitionSinkTopics", texts(&it.repartition_sink_topics)),
            ("changelogTopics", list(&it.state_changelog_topics, info)),
            ("nodes", list(nodes(group, &it.subtopology_id), node_json)),
        ])
    });
    let global = |it: &TopologyDescription| {
        list(&it.global_stores, |it| {
            object([("source", node_json(&it.source)), ("processor", node_json(&it.processor))])
        })
    };
    object([
        ("group", text(&group.group_id)),
        ("epoch", group.topology.as_ref().map_or(Json::Null, |it| number(it.epoch))),
        ("subtopologies", subtopologies),
        ("globalStores", group.topology_description.as_ref().map_or(Json::Null, global)),
    ])
}

fn node_json(node: &TopologyDescriptionNode) -> Json {
    object([
        ("name", text(&node.name)),
        ("type", text(kind(node))),
        ("sourceTopics", texts(&node.source_topics)),
        ("sinkTopic", node.sink_topic.as_ref().map_or(Json::Null, text)),
        ("stores", texts(&node.stores)),
        ("successors", texts(&node.successors)),
    ])
}
