//! SPEC: things in a directory that are not files. None of them may be waited for.

use super::{FILE, Fails, IO, Plant, Refused, Row, Works, row};

/// Listing is by name, so what an entry is makes no difference to its directory.
pub(super) fn rows() -> Vec<Row> {
    let fifo = || Plant::Fifo("p".into());
    let large = [Works, Fails("io_error"), Refused, Refused];
    vec![
        row(72, "a FIFO", "p", IO).with(fifo()),
        row(72, "a link to a FIFO", "l", IO).with(fifo()).link("l", "p"),
        row(72, "a FIFO as a directory", "p/", IO).with(fifo()),
        row(72, "below a FIFO", "p/f", IO).with(fifo()),
        row(72, "beside a FIFO", "src/a.rs", FILE).with(fifo()),
        row(73, "a socket", "s", IO).with(Plant::Socket("s".into())),
        row(73, "a link to a socket", "l", IO).with(Plant::Socket("s".into())).link("l", "s"),
        row(75, "a device", "z", IO).with(Plant::Device("z".into())),
        row(75, "a link to a device", "l", IO).with(Plant::Device("z".into())).link("l", "z"),
        row(77, "a sparse terabyte", "huge", large).with(Plant::Sparse("huge".into(), 1 << 40)),
        row(77, "a sparse gigabyte", "big", large).with(Plant::Sparse("big".into(), 1 << 30)),
    ]
}
