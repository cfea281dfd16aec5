//! The kind of a binary file by its first bytes: type, size, and of pictures the dimensions.

/// First bytes and what they begin.
const KINDS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"GIF8", "GIF image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"BM", "BMP image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"MZ", "Windows program or library"),
    (b"\xca\xfe\xba\xbe", "Java class or universal program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (b"\0asm", "WebAssembly module"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"wOF2", "WOFF2 font"),
    (b"!<arch>\n", "ar archive or static library"),
];

/// One line about a file that is no text.
pub(crate) fn describe(path: &str, head: &[u8], size: u64) -> String {
    let riff = (head.starts_with(b"RIFF")).then(|| head.get(8..12)).flatten();
    let kind = match riff {
        Some(b"WEBP") => "WebP image",
        Some(b"WAVE") => "WAV audio",
        _ => KINDS.iter().find(|(magic, _)| head.starts_with(magic)).map_or("data", |it| it.1),
    };
    let dimensions = dimensions(kind, head);
    let dimensions = dimensions.map(|(wide, high)| format!(", {wide} x {high} pixels"));
    format!(
        "[binary file: {path}, {kind}, {size} bytes{}; for its bytes call again with \"binary\": \"base64\"]",
        dimensions.unwrap_or_default()
    )
}

fn dimensions(kind: &str, head: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let little =
        |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?).into());
    match kind {
        "PNG image" => Some((big(16)?, big(20)?)),
        "GIF image" => Some((little(6)?, little(8)?)),
        "BMP image" => Some((little(18)?, little(22)?)),
        "JPEG image" => jpeg(head),
        _ => None,
    }
}

/// The first frame header (SOF) among a JPEG file's segments.
fn jpeg(head: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let (mark, kind) = (*head.get(at)?, *head.get(at + 1)?);
        if mark != 0xff {
            return None;
        }
        let two = |at: usize| Some(u16::from_be_bytes(head.get(at..at + 2)?.try_into().ok()?));
        if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
            return Some((two(at + 7)?.into(), two(at + 5)?.into()));
        }
        at += 2 + usize::from(two(at + 2)?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_dimensions_and_other_files_a_kind() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x10\0\x20";
        for (bytes, expected) in [
            (&png[..], "PNG image, 24 bytes, 640 x 480 pixels"),
            (&jpeg[..], "JPEG image, 17 bytes, 32 x 16 pixels"),
            (b"GIF89a\x05\0\x06\0", "GIF image, 10 bytes, 5 x 6 pixels"),
            (b"\x7fELF\x02", "ELF program or library, 5 bytes"),
            (b"\0\x01", "data, 2 bytes"),
            (b"\x89PNG\r\n\x1a\n", "PNG image, 8 bytes"),
        ] {
            let said = describe("a", bytes, bytes.len() as u64);
            assert!(said.starts_with(&format!("[binary file: a, {expected}; ")), "{said}");
        }
    }
}
