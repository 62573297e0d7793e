//! Is that somebody typing, or the terminal talking?
//!
//! Owns telling keys from what a terminal reports by itself: answers to questions, and that it got or
//! lost the focus. What cannot be told is taken for a key.

/// Whether some of what came from a terminal was typed, clicked or pasted by somebody.
pub(crate) fn is_typing(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some(length) = report(bytes) else { return true };
        bytes = &bytes[length..];
    }
    false
}

/// Whether keys leave something in the line that is being typed, as far as that can be told without
/// knowing the program: what submits or deletes a whole line everywhere leaves nothing.
pub(crate) fn leaves_something(bytes: &[u8]) -> bool {
    const ENDS: [u8; 5] = [b'\r', b'\n', 0x03, 0x04, 0x15];
    let end = bytes.iter().rposition(|byte| ENDS.contains(byte)).map_or(0, |at| at + 1);
    bytes[end..].iter().any(|byte| *byte >= 0x20 && *byte != 0x7f)
}

/// The length of the report that these bytes begin with.
fn report(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|b| (0x40..=0x7e).contains(b))?;
            let (params, last) = (&rest[..end], rest[end]);
            let asked = match last {
                b'I' | b'O' => params.is_empty(),
                b'c' | b'y' => params.starts_with(b"?") || params.starts_with(b">"),
                b'u' => params.starts_with(b"?"),
                b'n' => true,
                b't' => !params.is_empty(),
                // With a 1 in front it may as well be F3 with Ctrl.
                b'R' => params.contains(&b';') && !params.starts_with(b"1;"),
                _ => false,
            };
            asked.then_some(end + 3)
        }
        [0x1b, b']' | b'P' | b'_', rest @ ..] => {
            let bell = rest.iter().position(|b| *b == 0x07).map(|at| at + 1);
            let end = rest.windows(2).position(|two| two == b"\x1b\\").map(|at| at + 2);
            let end = bell.into_iter().chain(end).min()?;
            Some(end + 2)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enter_leaves_nothing_behind() {
        for (bytes, something) in [
            (&b"a"[..], true),
            (b"abc\r", false),
            (b"abc\rd", true),
            (b"\x15", false),
            (b"\x7f", false),
            (b"\x03", false),
            ("é".as_bytes(), true),
        ] {
            assert_eq!(leaves_something(bytes), something, "{bytes:?}");
        }
    }

    #[test]
    fn keys_are_told_from_reports() {
        for (bytes, typed) in [
            (&b"a"[..], true),
            (b"\r", true),
            (b"\x1b", true),
            (b"\x1b[A", true),
            (b"\x1bOP", true),
            (b"\x1b[97;5u", true),
            (b"\x1b[1;5R", true),
            (b"\x1b[<35;10;10M", true),
            (b"\x1b[200~text\x1b[201~", true),
            (b"\x1b[I", false),
            (b"\x1b[O", false),
            (b"\x1b[12;40R", false),
            (b"\x1b[?62;22c", false),
            (b"\x1b[>1;10;0c", false),
            (b"\x1b[?0u\x1b[?62c", false),
            (b"\x1b[?2026;2$y", false),
            (b"\x1b]11;rgb:0000/0000/0000\x1b\\", false),
            (b"\x1b]11;rgb:0000/0000/0000\x07\x1b[I", false),
            (b"\x1bP>|kitty(0.4)\x1b\\", false),
            (b"\x1b[Ix", true),
            (b"\x1b[12;40", true),
        ] {
            assert_eq!(is_typing(bytes), typed, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
