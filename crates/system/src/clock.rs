//! The wall clock and the calendar (UTC, Gregorian).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch, for records that outlive the process.
pub fn now_epoch_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Formats seconds since the epoch as `20261116-045124`, in UTC: names that sort by time.
pub fn utc_stamp(seconds: u64) -> String {
    let [year, month, day, hour, minute, second] = utc(seconds);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Formats milliseconds since the epoch as people write a point in time: `2026-11-16 04:51:24Z`.
pub fn utc_moment(epoch_ms: u64) -> String {
    let [year, month, day, hour, minute, second] = utc(epoch_ms / 1000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month, day, hour, minute and second.
fn utc(seconds: u64) -> [u64; 6] {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    [year, month, day, rest / 3600, rest / 60 % 60, rest % 60]
}

/// The date that lies so many days after the first of January 1970, by the rules of the Gregorian
/// calendar in eras of 400 years that begin in March.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
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
