//! One question of several commands, and its answer.
//!
//! Owns the framing. What is on a screen is not to be trusted: a row can look like anything that
//! tmux writes around an answer. So a word that nobody can know stands before and after the answer to
//! each command, and nothing else is believed to end it.

use uuid::Uuid;

/// The answer to one command: the lines that it printed, or what tmux had against it.
pub(super) type Answer = Result<Vec<String>, String>;

/// Commands that are asked together.
#[derive(Debug)]
pub(super) struct Batch {
    word: String,
    commands: Vec<String>,
}

impl Batch {
    pub(super) fn new(commands: Vec<String>) -> Self {
        Self { word: Uuid::new_v4().simple().to_string(), commands }
    }

    /// What tmux is to read. A line for each command: the rest of a line is given up when a command
    /// on it fails, and then the word would not come.
    pub(super) fn text(&self) -> String {
        let say = format!("display-message -p {}\n", self.word);
        let mut text = say.clone();
        for command in &self.commands {
            text.push_str(command);
            text.push('\n');
            text.push_str(&say);
        }
        text
    }

    pub(super) fn answers(&self) -> Answers<'_> {
        Answers { batch: self, begun: false, lines: Vec::new(), done: Vec::new() }
    }
}

/// Takes the lines that tmux writes, until the answer is complete.
#[derive(Debug)]
pub(super) struct Answers<'a> {
    batch: &'a Batch,
    begun: bool,
    lines: Vec<String>,
    done: Vec<Vec<String>>,
}

impl Answers<'_> {
    /// Takes a line; whether it was the last. What comes before the first word belongs to a question
    /// that nobody waits for any more.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        if line == self.batch.word.as_bytes() {
            let lines = std::mem::take(&mut self.lines);
            if self.begun {
                self.done.push(lines);
            }
            self.begun = true;
        } else if self.begun {
            self.lines.push(String::from_utf8_lossy(line).into_owned());
        }
        self.is_complete()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.begun && self.done.len() == self.batch.commands.len()
    }

    /// The answers of a tmux that only printed them.
    pub(super) fn printed(self) -> Vec<Answer> {
        self.done.into_iter().map(Ok).collect()
    }

    /// The answers of a tmux in control mode.
    pub(super) fn framed(self) -> Vec<Answer> {
        self.done.iter().map(|lines| unframe(lines)).collect()
    }
}

/// Takes off what control mode puts around an answer:
///
/// ```text
/// %end …                    of the word before it
/// %window-renamed …         notifications, before and after
/// %begin 1794804355 267 1   the command's own answer
/// …
/// %end 1794804355 267 1     or %error
/// %begin 1794804355 268 1   and those of the commands that it ran, if it is `if-shell`
/// %end 1794804355 268 1
/// %begin …                  of the word after it
/// ```
///
/// A row of a screen can look like the end, but not behind the real end: so the last one counts.
fn unframe(lines: &[String]) -> Answer {
    let lines = lines.split_last().map_or(lines, |(_, rest)| rest);
    let begin = lines.iter().position(|line| line.starts_with("%begin "));
    let Some((begin, id)) = begin.and_then(|at| Some((at, frame_id(&lines[at])?))) else {
        return Err("no answer".to_owned());
    };
    let ends = |line: &String| {
        (line.starts_with("%end ") || line.starts_with("%error ")) && frame_id(line) == Some(id)
    };
    let Some(end) = lines.iter().rposition(ends).filter(|end| *end > begin) else {
        return Err("half an answer".to_owned());
    };
    let (own, rest) = (&lines[begin + 1..end], &lines[end..]);
    let more = rest.iter().filter(|line| !line.starts_with('%'));
    let text = own.iter().chain(more).cloned().collect::<Vec<_>>();
    let failed = rest.iter().any(|line| line.starts_with("%error "));
    if failed { Err(text.join(" ")) } else { Ok(text) }
}

/// The time and number of a command: the first two words after `%begin`, `%end` or `%error`.
fn frame_id(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ').skip(1);
    Some((words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(segments: &[&str]) -> Vec<Answer> {
        let batch = Batch::new(vec![String::new(); segments.len()]);
        let mut text = format!("%begin 1 1 1\nstale\n%end 1 1 1\n%begin 1 2 1\n{}\n", batch.word);
        for segment in segments {
            text.push_str("%end 1 2 1\n");
            text.push_str(segment);
            text.push_str("%begin 1 9 1\n");
            text.push_str(&batch.word);
            text.push('\n');
        }
        let mut answers = batch.answers();
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            assert_eq!(answers.take(line.as_bytes()), at + 1 == lines.len(), "{line}");
        }
        answers.framed()
    }

    #[test]
    fn answers_are_taken_out_of_their_frames() {
        let ok = |lines: &[&str]| Ok(lines.iter().map(|&line| line.to_owned()).collect());
        for (segment, answer) in [
            ("%begin 1 3 1\n%end 1 3 1\n", ok(&[])),
            ("%begin 1 3 1\na\n\nb\n%end 1 3 1\n", ok(&["a", "", "b"])),
            ("%window-renamed @0 x\n%begin 1 3 1\na\n%end 1 3 1\n%layout-change @1\n", ok(&["a"])),
            (
                "%begin 1 3 1\ncan't find pane: %9\n%error 1 3 1\n",
                Err("can't find pane: %9".into()),
            ),
            // `if-shell` and what it ran.
            ("%begin 1 3 1\n%end 1 3 1\n%begin 1 4 1\nno\n%end 1 4 1\n", ok(&["no"])),
            ("%begin 1 3 1\n%end 1 3 1\n%begin 1 4 1\nno\n%error 1 4 1\n", Err("no".into())),
            // A screen that plays tmux, and guesses right.
            (
                "%begin 1 3 1\n%end 1 3 1\n%error 1 3 1\n%begin 1 4 1\nx\n%end 1 3 1\n",
                ok(&["%end 1 3 1", "%error 1 3 1", "%begin 1 4 1", "x"]),
            ),
            ("%begin 1 3 1\na\n", Err("half an answer".into())),
            ("", Err("no answer".into())),
        ] {
            assert_eq!(framed(&[segment]), [answer], "{segment}");
        }
    }

    #[test]
    fn each_command_has_its_own_answer() {
        let one = "%begin 1 3 1\na\n%end 1 3 1\n";
        let two = "%begin 1 4 1\nb\n%error 1 4 1\n";
        assert_eq!(framed(&[one, two]), [Ok(vec!["a".to_owned()]), Err("b".to_owned())]);
    }

    #[test]
    fn every_command_is_a_line_between_two_words() {
        let batch = Batch::new(vec!["first".into(), "second".into()]);
        let say = format!("display-message -p {}\n", batch.word);
        assert_eq!(batch.text(), format!("{say}first\n{say}second\n{say}"));
    }
}
