//! Colours of a terminal: the 16 that a theme names, the 256 of xterm, and all others.
//!
//! Owns the theme, which is the same wherever a picture is made.

use vt100::{Cell, Color};

/// What text is written in, and on, unless it says otherwise.
const DEFAULT: (Rgb, Rgb) = ((0xd6, 0xd9, 0xe0), (0x16, 0x18, 0x1d));

const THEME: [Rgb; 16] = [
    (0x1e, 0x21, 0x29),
    (0xf2, 0x6d, 0x78),
    (0x8f, 0xc9, 0x7c),
    (0xe6, 0xc3, 0x74),
    (0x6c, 0xa8, 0xf0),
    (0xc6, 0x90, 0xe4),
    (0x63, 0xc5, 0xcf),
    (0xc6, 0xca, 0xd3),
    (0x7d, 0x84, 0x92),
    (0xff, 0x8b, 0x92),
    (0xa9, 0xdf, 0x97),
    (0xf5, 0xd8, 0x93),
    (0x8d, 0xbf, 0xff),
    (0xd8, 0xab, 0xf2),
    (0x85, 0xdb, 0xe3),
    (0xf1, 0xf3, 0xf7),
];

type Rgb = (u8, u8, u8);

/// In which colour a cell's text is, and the colour behind it if it has one of its own.
pub(super) fn colours(cell: &Cell) -> (String, Option<String>) {
    let mut front = rgb(cell.fgcolor()).unwrap_or(DEFAULT.0);
    let mut back = rgb(cell.bgcolor());
    if cell.inverse() {
        (front, back) = (back.unwrap_or(DEFAULT.1), Some(front));
    }
    if cell.dim() {
        front = between(front, back.unwrap_or(DEFAULT.1));
    }
    (hex(front), back.map(hex))
}

fn rgb(colour: Color) -> Option<Rgb> {
    match colour {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some((red, green, blue)),
        Color::Idx(number @ 0..16) => Some(THEME[usize::from(number)]),
        Color::Idx(number @ 16..232) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let cube = number - 16;
            Some((level(cube / 36), level(cube / 6 % 6), level(cube % 6)))
        }
        Color::Idx(number) => {
            let grey = 8 + 10 * (number - 232);
            Some((grey, grey, grey))
        }
    }
}

/// Nearer to the first.
fn between(one: Rgb, other: Rgb) -> Rgb {
    let mix = |a: u8, b: u8| u8::try_from((u16::from(a) * 3 + u16::from(b) * 2) / 5);
    let mix = |a, b| mix(a, b).expect("between two bytes is a byte");
    (mix(one.0, other.0), mix(one.1, other.1), mix(one.2, other.2))
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_colours() {
        for (colour, expected) in [
            (Color::Idx(16), (0, 0, 0)),
            (Color::Idx(231), (255, 255, 255)),
            (Color::Idx(174), (215, 135, 135)),
            (Color::Idx(255), (238, 238, 238)),
            (Color::Rgb(1, 2, 3), (1, 2, 3)),
            (Color::Idx(1), THEME[1]),
        ] {
            assert_eq!(rgb(colour), Some(expected), "{colour:?}");
        }
        assert_eq!(hex(between((250, 0, 5), (0, 250, 5))), "#966405");
    }
}
