//! `thalweg wire records`: record batches, as they stand in log segments.

use super::decode::{Place, part, show};
use super::form::{Found, Page, Source};
use crate::cli::Failure;

/// Explains record batches: headers, records, control records, records of internal topics. The folder of a log segment
/// tells the topic, else --topic does.
#[derive(Debug, clap::Args)]
pub(crate) struct Records {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    page: Page,
}

pub(crate) fn run(arguments: &Records) -> Result<(), Failure> {
    let mut options = arguments.source.options()?;
    let bytes = arguments.source.bytes(&arguments.source.input)?;
    options.topic = options.topic.or_else(|| topic_of(&arguments.source.input));
    let found = Found::Few(vec![explain::records(&bytes, &options).into()]);
    if arguments.place.is_given() {
        return part(&found, &arguments.place, &arguments.page.form);
    }
    show(&found, &arguments.page)
}

/// `…/__consumer_offsets-3/00000000000000000000.log` is of `__consumer_offsets`.
fn topic_of(file: &str) -> Option<String> {
    let folder = std::path::Path::new(file).canonicalize().ok()?;
    let folder = folder.parent()?.file_name()?.to_str()?;
    let (topic, partition) = folder.rsplit_once('-')?;
    partition.parse::<u32>().is_ok().then(|| topic.to_owned())
}
