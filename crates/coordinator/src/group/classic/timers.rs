use crate::group::step::Step;
use wire::Str;
pub fn committed(_step: &mut Step<'_>, _group: &Str, _member: &Str) {}
pub fn loaded(_step: &mut Step<'_>) {}
pub fn forget(_step: &mut Step<'_>, _group: &Str) {}
pub fn session_over(_step: &mut Step<'_>, _group: &Str, _member: &Str) {
    todo!()
}
pub fn join_over(_step: &mut Step<'_>, _group: &Str) {
    todo!()
}
pub fn sync_over(_step: &mut Step<'_>, _group: &Str) {
    todo!()
}
