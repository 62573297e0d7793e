//! Terminals as a picture: what tmux says is on screens, drawn side by side as SVG.
//!
//! Owns how cells become shapes. Every piece of text has its place and its length, and lines and
//! blocks are drawn rather than written, so that columns align whatever font a reader has. Nothing in
//! a picture comes from the machine that draws it.

mod colour;
mod glyph;
mod row;

use std::fmt::Write as _;
use std::num::NonZero;

use vt100::Parser;

use row::{Pen, draw_row};

/// The size of a cell.
const CELL: (f64, f64) = (8.4, 18.0);
const FONT_SIZE: u8 = 14;
/// Between a window's edge and its text.
const PADDING: f64 = 12.0;
const TITLE: f64 = 34.0;
/// Between windows.
const GAP: f64 = 12.0;

const BACKGROUND: &str = "#16181d";
const TITLE_BACKGROUND: &str = "#23262e";
const FRAME: &str = "#3b404b";
const DOT: &str = "#4a505c";
const TITLE_TEXT: &str = "#aab0bd";
const FONTS: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

/// A terminal window to be drawn.
#[derive(Debug, Clone)]
pub struct Window {
    /// What stands above it.
    pub title: String,
    /// How many columns and rows it has.
    pub size: (u16, u16),
    /// What is in it, as `tmux capture-pane -epN` prints it.
    pub screen: String,
    /// A row with one of these texts is left blank.
    pub without: Vec<String>,
}

/// A picture of these windows, from left to right.
pub fn svg(windows: &[Window]) -> String {
    let mut body = String::new();
    let (mut left, mut height) = (0.0, 0.0_f64);
    for window in windows {
        let size = draw(&mut body, window, left);
        left += size.0 + GAP;
        height = height.max(size.1);
    }
    let width = left - GAP;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width:.1} {height:.1}\" \
         font-family=\"{FONTS}\" font-size=\"{FONT_SIZE}\">\n\
         <style>text{{white-space:pre}}path{{shape-rendering:crispEdges}}\
         .c{{fill:none;shape-rendering:auto}}.m{{text-anchor:middle}}.b{{font-weight:700}}\
         .i{{font-style:italic}}.u{{text-decoration:underline}}</style>\n{body}</svg>\n"
    )
}

/// Draws a window so far from the left; how wide and high it is.
fn draw(out: &mut String, window: &Window, left: f64) -> (f64, f64) {
    let (columns, rows) = window.size;
    let width = f64::from(columns) * CELL.0 + 2.0 * PADDING;
    let height = f64::from(rows) * CELL.1 + 2.0 * PADDING + TITLE;
    let mut write = |text: &str| writeln!(out, "{text}").expect("a string takes everything");
    write(&format!("<g transform=\"translate({left:.1} 0)\">"));
    write(&format!(
        "<rect x=\".5\" y=\".5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"9\" fill=\"{BACKGROUND}\"/>",
        width - 1.0,
        height - 1.0
    ));
    write(&format!(
        "<path class=\"c\" style=\"fill:{TITLE_BACKGROUND}\" \
         d=\"M.5 {TITLE}V9.5a9 9 0 0 1 9-9H{:.1}a9 9 0 0 1 9 9V{TITLE}z\"/>",
        width - 9.5
    ));
    write(&format!(
        "<rect x=\".5\" y=\".5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"9\" fill=\"none\" \
         stroke=\"{FRAME}\"/>",
        width - 1.0,
        height - 1.0
    ));
    for x in [20, 38, 56] {
        write(&format!("<circle cx=\"{x}\" cy=\"17\" r=\"5\" fill=\"{DOT}\"/>"));
    }
    write(&format!(
        "<text class=\"m\" x=\"{:.1}\" y=\"22\" fill=\"{TITLE_TEXT}\">{}</text>",
        width / 2.0,
        escaped(&window.title)
    ));
    let cells = |count: u16| NonZero::new(count.max(1)).expect("at least one");
    let mut parser = Parser::new(cells(rows), cells(columns), 0);
    parser.process(window.screen.trim_end_matches('\n').replace('\n', "\r\n").as_bytes());
    for (row, text) in (0..rows).zip(parser.screen().rows(0, columns)) {
        if window.without.iter().any(|without| text.contains(without)) {
            continue;
        }
        let top = TITLE + PADDING + f64::from(row) * CELL.1;
        draw_row(out, parser.screen(), row, &Pen { left: PADDING, top });
    }
    out.push_str("</g>\n");
    (width, height)
}

/// As it stands between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(screen: &str) -> String {
        let without = vec!["secret".to_owned()];
        svg(&[Window { title: "a & b".into(), size: (20, 2), screen: screen.into(), without }])
    }

    #[test]
    fn text_has_its_place_its_length_and_its_look() {
        let drawn = picture("ok  \u{1b}[1;31ma <b>\u{1b}[0m\nnext\n");
        assert!(drawn.contains(">a &amp; b</text>"), "{drawn}");
        assert!(drawn.contains("x=\"12\" y=\"59.5\" textLength=\"16.8\""), "{drawn}");
        assert!(drawn.contains("class=\"b\" x=\"45.6\""), "{drawn}");
        assert!(drawn.contains(">a &lt;b&gt;</text>"), "{drawn}");
        assert!(drawn.contains("y=\"77.5\""), "{drawn}");
    }

    #[test]
    fn lines_and_blocks_are_drawn() {
        let drawn = picture("╭──╮▐█\n");
        assert!(!drawn.contains(['╭', '─', '█', '▐']), "{drawn}");
    }

    #[test]
    fn a_row_that_is_not_for_readers_is_blank() {
        let drawn = picture("a secret\nlast\n");
        assert!(!drawn.contains("secret") && drawn.contains(">last</text>"), "{drawn}");
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        let drawn = picture("你x\n");
        assert!(drawn.contains("x=\"20.4\""), "{drawn}");
        assert!(drawn.contains("x=\"28.8\" y=\"59.5\" textLength=\"8.4\""), "{drawn}");
    }
}
