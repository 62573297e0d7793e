//! Arguments of tmux commands, as its parser reads them.
//!
//! Owns the only way in which text becomes part of a command. It never leaves a character bare that
//! the parser could make something of.

use std::fmt::Write as _;

/// The argument in double quotes. Every byte that is not surely plain is written in octal, so that
/// neither `$`, `~`, `#{}`, quotes nor the end of a line mean anything to the parser. A format in it
/// is still expanded by commands that expand their arguments.
pub(super) fn quote(argument: impl AsRef<[u8]>) -> String {
    let argument = argument.as_ref();
    let mut quoted = String::with_capacity(argument.len() + 2);
    quoted.push('"');
    for &byte in argument {
        if byte.is_ascii_alphanumeric() || b" .,:;-_/+=()[]<>!?%@&*".contains(&byte) {
            quoted.push(char::from(byte));
        } else {
            write!(quoted, "\\{byte:03o}").expect("a string takes all");
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_to_tmux_is_written_in_octal() {
        assert_eq!(quote("plain, text: 100% [ok]"), "\"plain, text: 100% [ok]\"");
        assert_eq!(quote("a\"b\\c\n"), "\"a\\042b\\134c\\012\"");
        assert_eq!(quote("$HOME ~ #{pid} 'x' `y` {z} |"), {
            "\"\\044HOME \\176 \\043\\173pid\\175 \\047x\\047 \\140y\\140 \\173z\\175 \\174\""
        });
        assert_eq!(quote("é"), "\"\\303\\251\"");
    }
}
