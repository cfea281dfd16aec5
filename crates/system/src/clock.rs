//! The wall clock and the calendar, in UTC and in local time for people (the system's time zone, or `TZ`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch, for records that outlive the process.
pub fn now_epoch_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A moment as people write it, in local time: `2026-11-16 04:51:24`.
pub fn local_time(epoch_ms: u64) -> String {
    let local = utc(epoch_ms).with_timezone(&chrono::Local);
    local.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats seconds since the epoch as `20261116-045124`, in UTC: names that sort by time.
pub fn utc_stamp(seconds: u64) -> String {
    utc(seconds.saturating_mul(1000)).format("%Y%m%d-%H%M%S").to_string()
}

/// Formats milliseconds since the epoch as people write a point in time: `2026-11-16 04:51:24Z`.
pub fn utc_moment(epoch_ms: u64) -> String {
    utc(epoch_ms).format("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// The moment in UTC, or the calendar's last one for what lies beyond it.
fn utc(epoch_ms: u64) -> chrono::DateTime<chrono::Utc> {
    let known = i64::try_from(epoch_ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    known.unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_dates() {
        let cases = [
            (0, "19700101-000000"),
            (951_782_399, "20000228-235959"),
            (951_782_400, "20000229-000000"),
            (1_709_251_200, "20240301-000000"),
            (4_107_542_399, "21000228-235959"),
            (4_107_542_400, "21000301-000000"),
            (u64::MAX, "+2621421231-235959"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(utc_stamp(seconds), expected);
        }
    }

    #[test]
    fn moments_are_dates_and_times() {
        let cases = [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_400_000, "2000-02-29 00:00:00Z"),
            (1_794_787_199_999, "2026-11-15 23:59:59Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00Z"),
        ];
        for (epoch_ms, expected) in cases {
            assert_eq!(utc_moment(epoch_ms), expected);
        }
    }
}
