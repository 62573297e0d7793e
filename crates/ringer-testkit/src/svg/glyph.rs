//! Lines and blocks as geometry: fonts leave gaps between rows, and disagree on where a line is. So is
//! what many fonts lack.

use super::CELL;
use super::row::number;

const STROKE: f64 = 1.2;

/// What is drawn instead of a character.
pub(super) enum Glyph {
    /// Filled: part of a path.
    Filled(String),
    /// A rounded corner: a path to be stroked.
    Corner(String),
}

/// What to draw for a character in the cell whose upper left corner is here, if it is not for a font;
/// `columns` is how often it stands there.
pub(super) fn glyph(character: char, (x, y): (f64, f64), columns: u16) -> Option<Glyph> {
    let (width, height) = CELL;
    let (right, bottom, middle) = (x + width, y + height, (x + width / 2.0, y + height / 2.0));
    let wide = width * f64::from(columns);
    if character == '─' || character == '━' {
        return Some(Glyph::Filled(rect(x, middle.1 - STROKE / 2.0, wide, STROKE)));
    }
    if let Some(eighths) = from_below(character) {
        let high = height * f64::from(eighths) / 8.0;
        return Some(Glyph::Filled(rect(x, bottom - high, wide, high)));
    }
    if character == '▀' {
        return Some(Glyph::Filled(rect(x, y, wide, height / 2.0)));
    }
    // The rest is drawn one by one.
    if let Some(eighths) = from_left(character) {
        return Some(Glyph::Filled(rect(x, y, width * f64::from(eighths) / 8.0, height)));
    }
    if character == '⏸' {
        let bar = |at| rect(x + at, y + 4.5, 2.0, 9.0);
        return Some(Glyph::Filled(bar(1.5) + &bar(5.0)));
    }
    let corner = |from: (f64, f64), to: (f64, f64)| {
        let point = |(x, y)| format!("{} {}", number(x), number(y));
        let path = format!("M{}Q{} {}", point(from), point(middle), point(to));
        Some(Glyph::Corner(path))
    };
    match character {
        '╭' => return corner((right, middle.1), (middle.0, bottom)),
        '╮' => return corner((x, middle.1), (middle.0, bottom)),
        '╰' => return corner((right, middle.1), (middle.0, y)),
        '╯' => return corner((x, middle.1), (middle.0, y)),
        _ => {}
    }
    let parts: String = if let Some(quarters) = quarters(character) {
        let corners = [(x, y), (middle.0, y), (x, middle.1), (middle.0, middle.1)];
        let there = corners.into_iter().zip(quarters).filter(|(_, is)| *is);
        there.map(|((x, y), _)| rect(x, y, width / 2.0, height / 2.0)).collect()
    } else {
        let [up, right_arm, down, left_arm] = arms(character)?;
        let half = STROKE / 2.0;
        let (mx, my) = (middle.0 - half, middle.1 - half);
        [
            (up, rect(mx, y, STROKE, height / 2.0 + half)),
            (down, rect(mx, my, STROKE, height / 2.0 + half)),
            (left_arm, rect(x, my, width / 2.0 + half, STROKE)),
            (right_arm, rect(mx, my, width / 2.0 + half, STROKE)),
        ]
        .into_iter()
        .filter_map(|(is, drawn)| is.then_some(drawn))
        .collect()
    };
    Some(Glyph::Filled(parts))
}

fn rect(x: f64, y: f64, width: f64, height: f64) -> String {
    let [x, y, width, height] = [x, y, width, height].map(number);
    format!("M{x} {y}h{width}v{height}h-{width}z")
}

/// How many eighths of a cell are filled from below.
fn from_below(character: char) -> Option<u32> {
    let eighths = u32::from(character).checked_sub(0x2580)?;
    (1..=8).contains(&eighths).then_some(eighths)
}

/// How many eighths of a cell are filled from the left.
fn from_left(character: char) -> Option<u32> {
    let eighths = 0x2590_u32.checked_sub(u32::from(character))?;
    (1..=7).contains(&eighths).then_some(eighths)
}

/// Which quarters are filled: above left and right, below left and right.
fn quarters(character: char) -> Option<[bool; 4]> {
    let bits = match character {
        '▐' => 0b0101,
        '▘' => 0b1000,
        '▝' => 0b0100,
        '▖' => 0b0010,
        '▗' => 0b0001,
        '▚' => 0b1001,
        '▞' => 0b0110,
        '▙' => 0b1011,
        '▛' => 0b1110,
        '▜' => 0b1101,
        '▟' => 0b0111,
        _ => return None,
    };
    Some([3, 2, 1, 0].map(|bit| bits >> bit & 1 == 1))
}

/// In which directions lines go: up, right, down, left.
fn arms(character: char) -> Option<[bool; 4]> {
    let bits = match character {
        '│' | '┃' => 0b1010,
        '┌' => 0b0110,
        '┐' => 0b0011,
        '└' => 0b1100,
        '┘' => 0b1001,
        '├' => 0b1110,
        '┤' => 0b1011,
        '┬' => 0b0111,
        '┴' => 0b1101,
        '┼' => 0b1111,
        _ => return None,
    };
    Some([3, 2, 1, 0].map(|bit| bits >> bit & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_what_the_character_fills() {
        let drawn = |character, columns| match glyph(character, (0.0, 0.0), columns) {
            Some(Glyph::Filled(path) | Glyph::Corner(path)) => path,
            None => String::new(),
        };
        assert_eq!(drawn('█', 3), "M0 0h25.2v18h-25.2z");
        assert_eq!(drawn('▄', 1), "M0 9h8.4v9h-8.4z");
        assert_eq!(drawn('▌', 1), "M0 0h4.2v18h-4.2z");
        assert_eq!(drawn('▗', 1), "M4.2 9h4.2v9h-4.2z");
        assert_eq!(drawn('└', 1).matches('M').count(), 2);
        assert_eq!(drawn('╭', 1), "M8.4 9Q4.2 9 4.2 18");
        assert_eq!(drawn('a', 1), "");
    }
}
