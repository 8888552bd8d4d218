//! `thalweg groups list`.

use wire::json::Json;
use wire::list_groups::response::ListedGroup;

use super::json::{list, object, text, text_or_null};
use super::{or_nothing, table};

pub(in crate::cli) fn text_page(groups: &[ListedGroup]) -> String {
    let row = |it: &ListedGroup| {
        let cells = [&it.group_id, &it.group_type, &it.group_state, &it.protocol_type];
        cells.map(|it| or_nothing(it.to_string()))
    };
    table(["GROUP", "TYPE", "STATE", "PROTOCOL"], &groups.iter().map(row).collect::<Vec<_>>())
}

pub(in crate::cli) fn json_page(groups: &[ListedGroup]) -> Json {
    list(groups, |it| {
        object([
            ("group", text(&it.group_id)),
            ("type", text_or_null(&it.group_type)),
            ("state", text_or_null(&it.group_state)),
            ("protocol", text_or_null(&it.protocol_type)),
        ])
    })
}
