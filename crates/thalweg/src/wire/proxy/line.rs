//! One frame as one line: for people, as JSON, and as what a filter asks about.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use explain::Direction;
use wire::json::Json;
use wire::table;

use super::errors::Errors;

/// What is told about a frame.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Microseconds since 1970.
    pub(crate) at_us: u64,
    pub(crate) connection: u64,
    pub(crate) direction: Direction,
    /// Key, version and correlation id; nothing for a raw SASL token or an answer to no request.
    pub(crate) api: Option<Api>,
    pub(crate) client_id: String,
    /// Without the four bytes of the size itself.
    pub(crate) size: usize,
    /// Between the request and this answer.
    pub(crate) latency: Option<Duration>,
    pub(crate) errors: Errors,
    /// What is odd about the frame.
    pub(crate) notes: Vec<String>,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Api {
    pub(crate) key: i16,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
}

impl Api {
    /// Kafka's name, or the number of one that is not known.
    pub(crate) fn name(self) -> Cow<'static, str> {
        api_name(self.key)
    }
}

/// Kafka's name of an API, or the number of one that is not known.
pub(crate) fn api_name(key: i16) -> Cow<'static, str> {
    let name = table::api(key).map(|it| it.0.name);
    name.map_or_else(
        || Cow::Owned(format!("API {key}")),
        |name| Cow::Borrowed(name.trim_end_matches("Request")),
    )
}

impl Line {
    /// The line for people.
    pub(crate) fn text(&self) -> String {
        let arrow = match self.direction {
            Direction::Request => '>',
            Direction::Response => '<',
        };
        let mut out = format!("{} #{} {arrow} ", clock(self.at_us), self.connection);
        // Writing to a string can't fail.
        let _ = match &self.api {
            Some(it) => write!(out, "{} v{} c={}", it.name(), it.version, it.correlation_id),
            None => write!(out, "?"),
        };
        if !self.client_id.is_empty() {
            let _ = write!(out, " {}", self.client_id.escape_debug());
        }
        let _ = write!(out, " {} B", self.size);
        if let Some(latency) = self.latency {
            let _ = write!(out, " {:.3} ms", latency.as_secs_f64() * 1000.0);
        }
        for it in &self.errors.listed {
            let _ = write!(out, " {}({}) at {}", it.code.name(), it.code.code(), it.path);
        }
        if self.errors.more > 0 {
            let _ = write!(out, " and {} errors more", self.errors.more);
        }
        for note in &self.notes {
            let _ = write!(out, " [{}]", explain::text::plain(note));
        }
        out
    }

    /// The same as the fields of a JSON object.
    pub(crate) fn json(&self) -> Vec<(Cow<'static, str>, Json)> {
        let mut fields = vec![
            (Cow::Borrowed(self.direction.as_str()), int(self.connection)),
            ("atUs".into(), int(self.at_us)),
        ];
        if let Some(it) = &self.api {
            fields.push(("api".into(), Json::String(it.name().into_owned())));
            fields.push(("apiKey".into(), Json::Int(it.key.into())));
            fields.push(("version".into(), Json::Int(it.version.into())));
            fields.push(("correlationId".into(), Json::Int(it.correlation_id.into())));
        }
        fields.push(("clientId".into(), Json::String(self.client_id.clone())));
        fields.push(("size".into(), int(self.size as u64)));
        if self.direction == Direction::Response {
            let latency = self.latency.map_or(Json::Null, |it| int(micros(it)));
            fields.push(("latencyUs".into(), latency));
            let errors = self.errors.listed.iter().map(|it| {
                Json::Object(vec![
                    ("path".into(), Json::String(it.path.clone())),
                    ("code".into(), Json::Int(it.code.code().into())),
                    ("name".into(), Json::String(it.code.name().to_owned())),
                ])
            });
            fields.push(("errors".into(), Json::Array(errors.collect())));
            fields.push(("errorsMore".into(), int(self.errors.more as u64)));
        }
        if !self.notes.is_empty() {
            let notes = self.notes.iter().map(|it| Json::String(it.clone())).collect();
            fields.push(("notes".into(), Json::Array(notes)));
        }
        fields
    }
}

/// A number of things as JSON.
pub(crate) fn int(number: u64) -> Json {
    Json::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A duration in microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The time of day in UTC; the date is in the JSON.
pub(crate) fn clock(at_us: u64) -> String {
    let (seconds, rest) = (at_us / 1_000_000, at_us % 1_000_000);
    format!("{:02}:{:02}:{:02}.{rest:06}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
pub(crate) mod tests {
    use wire::ErrorCode;

    use super::super::errors::Found;
    use super::*;

    pub(crate) fn answer() -> Line {
        let found = Found { path: "Responses[0].ErrorCode".to_owned(), code: ErrorCode::FENCED_LEADER_EPOCH };
        Line {
            at_us: (13 * 3600 + 2 * 60 + 3) * 1_000_000 + 45,
            connection: 2,
            direction: Direction::Response,
            api: Some(Api { key: 1, version: 17, correlation_id: 9 }),
            client_id: "a client".to_owned(),
            size: 120,
            latency: Some(Duration::from_micros(1500)),
            errors: Errors { listed: vec![found], more: 2 },
            notes: vec!["odd".to_owned()],
        }
    }

    #[test]
    fn for_people() {
        assert_eq!(
            answer().text(),
            "13:02:03.000045 #2 < Fetch v17 c=9 a client 120 B 1.500 ms \
             FENCED_LEADER_EPOCH(74) at Responses[0].ErrorCode and 2 errors more [odd]"
        );
        let token = Line { api: None, direction: Direction::Request, latency: None, ..answer() };
        assert!(token.text().starts_with("13:02:03.000045 #2 > ? a client 120 B"));
    }

    #[test]
    fn for_programs() {
        let text = Json::Object(answer().json()).to_string();
        assert_eq!(
            text,
            r#"{"response":2,"atUs":46923000045,"api":"Fetch","apiKey":1,"version":17,"correlationId":9,"#
                .to_owned()
                + r#""clientId":"a client","size":120,"latencyUs":1500,"errors":[{"path":"Responses[0].ErrorCode","#
                + r#""code":74,"name":"FENCED_LEADER_EPOCH"}],"errorsMore":2,"notes":["odd"]}"#
        );
    }
}
