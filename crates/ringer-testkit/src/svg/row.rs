//! A row of a screen: what is behind, then runs of cells that look alike.

use std::fmt::Write as _;

use vt100::Screen;

use super::colour::colours;
use super::glyph::{Glyph, glyph};
use super::{CELL, escaped};

/// From the top of a cell to the line that letters stand on.
const BASELINE: f64 = 13.5;

/// Where a row begins.
pub(super) struct Pen {
    pub(super) left: f64,
    pub(super) top: f64,
}

impl Pen {
    fn x(&self, column: u16) -> f64 {
        self.left + f64::from(column) * CELL.0
    }
}

/// Cells side by side that can be drawn as one.
#[derive(Debug, PartialEq)]
struct Run {
    column: u16,
    columns: u16,
    text: String,
    /// Its classes, and its colour.
    look: (String, String),
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Letters that every font has.
    Plain,
    /// A character that may come from another font, with a width of its own.
    Alone,
    /// A character that is drawn, any number of times.
    Drawn(char),
}

/// Draws a row of a screen.
pub(super) fn draw_row(out: &mut String, screen: &Screen, row: u16, pen: &Pen) {
    for (column, columns, colour) in backs(screen, row) {
        let [x, y] = [pen.x(column), pen.top].map(number);
        let (width, height) = (number(f64::from(columns) * CELL.0), number(CELL.1));
        let path = format!("M{x} {y}h{width}v{height}h-{width}z");
        line(out, &format!("<path fill=\"{colour}\" d=\"{path}\"/>"));
    }
    let mut drawn: Vec<(String, String)> = Vec::new();
    for run in runs(screen, row) {
        let (classes, colour) = &run.look;
        let [x, y, baseline] = [pen.x(run.column), pen.top, pen.top + BASELINE];
        let class = |more: &str| match format!("{more} {classes}").trim() {
            "" => String::new(),
            all => format!("class=\"{all}\" "),
        };
        let (text, width) = (escaped(&run.text), f64::from(run.columns) * CELL.0);
        match run.kind {
            Kind::Plain => {
                let [x, y, width] = [x, baseline, width].map(number);
                let class = class("");
                line(
                    out,
                    &format!(
                        "<text {class}x=\"{x}\" y=\"{y}\" textLength=\"{width}\" \
                         lengthAdjust=\"spacingAndGlyphs\" fill=\"{colour}\">{text}</text>"
                    ),
                );
            }
            Kind::Alone => {
                let ([x, y], class) = ([x + width / 2.0, baseline].map(number), class("m"));
                line(
                    out,
                    &format!("<text {class}x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{text}</text>"),
                );
            }
            Kind::Drawn(character) => match glyph(character, (x, y), run.columns) {
                Some(Glyph::Filled(path)) => match drawn.last_mut() {
                    Some((known, paths)) if known == colour => paths.push_str(&path),
                    _ => drawn.push((colour.clone(), path)),
                },
                Some(Glyph::Corner(path)) => line(
                    out,
                    &format!(
                        "<path class=\"c\" stroke=\"{colour}\" stroke-width=\"1.2\" d=\"{path}\"/>"
                    ),
                ),
                None => unreachable!("it was seen to be one that is drawn"),
            },
        }
    }
    for (colour, path) in drawn {
        line(out, &format!("<path fill=\"{colour}\" d=\"{path}\"/>"));
    }
}

/// Stretches with a colour behind them: column, columns, colour.
fn backs(screen: &Screen, row: u16) -> Vec<(u16, u16, String)> {
    let mut backs: Vec<(u16, u16, String)> = Vec::new();
    for column in 0..screen.size().1.get() {
        let Some(colour) = screen.cell(row, column).and_then(|cell| colours(cell).1) else {
            continue;
        };
        match backs.last_mut() {
            Some((start, columns, known)) if *start + *columns == column && *known == colour => {
                *columns += 1;
            }
            _ => backs.push((column, 1, colour)),
        }
    }
    backs
}

fn runs(screen: &Screen, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut spaces = 0;
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let text = cell.contents();
        if text.trim().is_empty() {
            spaces += 1;
            continue;
        }
        let first = text.chars().next().expect("it is not empty");
        let drawn = glyph(first, (0.0, 0.0), 1).is_some();
        let kind = match first {
            _ if drawn => Kind::Drawn(first),
            _ if text.is_ascii() => Kind::Plain,
            _ => Kind::Alone,
        };
        let flags = [(cell.bold(), "b"), (cell.italic(), "i"), (cell.underline(), "u")];
        // What is drawn looks the same in bold.
        let classes = flags.iter().filter(|(is, _)| *is && !drawn).map(|(_, class)| *class);
        let look = (classes.collect::<Vec<_>>().join(" "), colours(cell).0);
        let columns = if cell.is_wide() { 2 } else { 1 };
        match runs.last_mut() {
            // Words are kept together, and wider gaps are not written at all.
            Some(run)
                if run.kind == kind
                    && run.look == look
                    && match kind {
                        Kind::Plain => spaces <= 1,
                        Kind::Alone => false,
                        Kind::Drawn(_) => spaces == 0 && repeats(first),
                    } =>
            {
                run.text.push_str(&" ".repeat(spaces));
                run.text.push_str(text);
                run.columns = column + columns - run.column;
            }
            _ => runs.push(Run { column, columns, text: text.to_owned(), look, kind }),
        }
        spaces = 0;
    }
    runs
}

/// Whether several of it are one longer one.
fn repeats(character: char) -> bool {
    matches!(character, '─' | '━' | '▀'..='█')
}

/// A number as short as can be.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a string takes everything");
}
