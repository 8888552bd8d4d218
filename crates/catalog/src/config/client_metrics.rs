//! Client metrics subscriptions (KIP-714).

use super::row::Kind::{Int, List};
use super::row::Row;

pub(super) const ROWS: &[Row] = &[
    Row::client_metrics("interval.ms", Int, Some("300000"))
        .between(100, 3600000)
        .accepted("Client telemetry is not collected yet."),
    Row::client_metrics("match", List, Some("")).accepted("Client telemetry is not collected yet."),
    Row::client_metrics("metrics", List, Some("")).accepted("Client telemetry is not collected yet."),
];
