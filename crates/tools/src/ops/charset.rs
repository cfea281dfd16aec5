//! The text of bytes that are not UTF-8.
//!
//! Law: what is UTF-8 stays as it is, also where it is damaged. Only bytes that cannot be UTF-8 at all
//! are taken for another encoding, and then its name is said.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::binary::SNIFF;

/// The encoding of an output, if it is another than UTF-8, by what is kept of it: its beginning, and
/// its end where that is apart.
pub(crate) fn encoding_of(head: &[u8], tail: &[u8]) -> Option<&'static Encoding> {
    if head.starts_with(b"\xff\xfe") {
        return Some(UTF_16LE);
    }
    if head.starts_with(b"\xfe\xff") {
        return Some(UTF_16BE);
    }
    // What holds a NUL is no text of bytes.
    if memchr::memchr(0, &head[..head.len().min(SNIFF)]).is_some() {
        return None;
    }
    if !is_foreign(head) && !is_foreign(tail) || is_damaged(head, tail) {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, false);
    detector.feed(tail, true);
    Some(detector.guess(None, Utf8Detection::Deny)).filter(|guess| *guess != UTF_8)
}

/// Bytes in that encoding; those that are none become U+FFFD.
pub(crate) fn decode(encoding: &'static Encoding, bytes: &[u8]) -> String {
    let (text, _) = encoding.decode_with_bom_removal(bytes);
    text.into_owned()
}

/// Tells whether there are bytes that no UTF-8 has. A character that our own cut took apart does not count.
fn is_foreign(bytes: &[u8]) -> bool {
    let continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let start = bytes.iter().take(3).take_while(continuation).count();
    let broken =
        |bytes: &[u8]| std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some());
    broken(bytes) && broken(&bytes[start..])
}

/// Tells whether it is UTF-8 with some bytes wrong. Chance seldom writes a character of several bytes.
fn is_damaged(head: &[u8], tail: &[u8]) -> bool {
    let (mut wide, mut wrong) = (0, 0);
    for chunk in head.utf8_chunks().chain(tail.utf8_chunks()) {
        wide += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        wrong += chunk.invalid().len();
    }
    wrong <= 4 * wide
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Option<(&str, &str)>) {
        let found = encoding_of(bytes, b"");
        let found = found.map(|found| (found.name(), decode(found, bytes)));
        let found = found.as_ref().map(|(name, text)| (*name, text.as_str()));
        assert_eq!(found, expected, "{bytes:?}");
    }

    #[test]
    fn encodings_are_found_and_utf8_is_left_alone() {
        check(b"", None);
        check(b"plain", None);
        check(b"\xff\0x", None);
        check("naïve café 漢字".as_bytes(), None);
        check(b"caf\xc3\xa9 and one odd byte \xff", None);
        check(b"\xff\xfeh\0i\0\r\0\n\0", Some(("UTF-16LE", "hi\r\n")));
        check(b"\xfe\xff\0h\0i", Some(("UTF-16BE", "hi")));
        check(b"caf\xe9 d\xe9j\xe0 vu", Some(("windows-1252", "café déjà vu")));
        let words = "コンパイルに失敗しました。ファイルが見つかりません。";
        for encoding in [encoding_rs::SHIFT_JIS, encoding_rs::EUC_JP] {
            let (bytes, _, _) = encoding.encode(words);
            check(&bytes, Some((encoding.name(), words)));
        }
        let words = "Ошибка: файл не найден. Попробуйте ещё раз.";
        for encoding in [encoding_rs::WINDOWS_1251, encoding_rs::KOI8_U] {
            let (bytes, _, _) = encoding.encode(words);
            check(&bytes, Some((encoding.name(), words)));
        }
        let (bytes, _, _) = encoding_rs::GBK.encode("错误：找不到文件，请检查路径。");
        check(&bytes, Some(("GBK", "错误：找不到文件，请检查路径。")));
    }

    #[test]
    fn a_character_that_was_cut_is_not_foreign() {
        let bytes = "漢字".as_bytes();
        for cut in 1..bytes.len() {
            assert!(!is_foreign(&bytes[cut..]) || cut == 3, "{cut}");
            assert!(!is_foreign(&bytes[..cut]), "{cut}");
        }
    }
}
