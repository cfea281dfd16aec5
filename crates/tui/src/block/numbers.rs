//! Numbers for people.

/// `0.4 s`, `3.4 s`, `2 m 05 s`
pub fn seconds(seconds: f64) -> String {
    if seconds < 99.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole / 3600 {
        0 => format!("{} m {:02} s", whole / 60, whole % 60),
        hours => format!("{hours} h {:02} m", whole / 60 % 60),
    }
}

/// `512 B`, `1.2 KiB`, `4.0 MiB`
pub fn bytes(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

/// `830`, `34.5k`, `1.2M`
pub fn count(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1_000..=999_949 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// `1 line`, `3 lines`
pub fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([seconds(0.04), seconds(3.44), seconds(125.0)], ["0.0 s", "3.4 s", "2 m 05 s"]);
        assert_eq!(seconds(3725.0), "1 h 02 m");
        assert_eq!([bytes(3), bytes(1229), bytes(4 << 20)], ["3 B", "1.2 KiB", "4.0 MiB"]);
        assert_eq!([count(830), count(34_512), count(1_200_000)], ["830", "34.5k", "1.2M"]);
        assert_eq!([plural(1, "line"), plural(2, "line")], ["1 line", "2 lines"]);
    }
}
