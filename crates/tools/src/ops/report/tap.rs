//! The Test Anything Protocol: node's runner with its totals, and the plain form.

use super::counts::Counts;

/// Totals at the end; what was thrown tells a failure from an error.
pub(super) fn node(output: &str) -> Option<Counts> {
    let total = |name: &str| {
        let prefix = format!("# {name} ");
        let value = output.lines().rev().find_map(|line| line.strip_prefix(&prefix));
        value.and_then(|value| value.trim().parse::<u64>().ok())
    };
    let (passed, failed) = (total("pass")?, total("fail")?);
    let broken = broken(output).min(failed);
    let skipped = total("skipped").unwrap_or(0) + total("todo").unwrap_or(0);
    let errors = broken + total("cancelled").unwrap_or(0);
    Some(Counts::new(passed, failed - broken, errors, skipped))
}

/// Tests that ended with something else than an assertion. A suite only repeats its tests.
fn broken(output: &str) -> u64 {
    let mut count = 0;
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with("not ok ") || is_left_out(line) {
            continue;
        }
        let block: Vec<&str> =
            lines.by_ref().map(str::trim).take_while(|line| *line != "...").collect();
        let repeats = block.contains(&"failureType: 'subtestsFailed'");
        let asserted = block.contains(&"code: 'ERR_ASSERTION'");
        count += u64::from(
            !repeats && !asserted && !block.contains(&"failureType: 'cancelledByParent'"),
        );
    }
    count
}

/// `ok 1 - name`, `not ok 2 - name # SKIP`
pub(super) fn plain(output: &str) -> Option<Counts> {
    output.lines().find(|line| is_plan(line))?;
    let mut counts = [0; 3];
    for line in output.lines() {
        let (ok, rest) = match (line.strip_prefix("ok "), line.strip_prefix("not ok ")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            (None, None) => continue,
        };
        counts[if is_left_out(rest) { 2 } else { usize::from(!ok) }] += 1;
    }
    let errors = u64::from(output.lines().any(|line| line.starts_with("Bail out!")));
    Some(Counts::new(counts[0], counts[1], errors, counts[2]))
}

/// A directive in any case: not run, or not expected to pass yet.
fn is_left_out(line: &str) -> bool {
    let directive = line.split(" # ").nth(1).unwrap_or_default().to_ascii_lowercase();
    directive.starts_with("skip") || directive.starts_with("todo")
}

/// `1..7`
fn is_plan(line: &str) -> bool {
    line.strip_prefix("1..").is_some_and(|count| count.trim().parse::<u64>().is_ok())
}
