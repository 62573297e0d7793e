//! What a host and those who talk to it say to each other.
//!
//! Owns the form: a line of JSON for each request and each answer, until `attach`, from where on both
//! sides send frames. Only the user can connect to a host.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::pane::Sight;

/// The longest frame that is believed.
const LONGEST: usize = 1 << 20;

/// What can be asked of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Request {
    /// What is there to see?
    Look,
    /// The answer comes when something has changed since these counts, or after so long.
    Changed { keys: u64, output: u64, limit_ms: u64 },
    /// Type this, if that is who runs there, if it still takes a paste in that way, and if nobody has
    /// typed since.
    Paste { text: String, bracketed: bool, pid: u32, keys: u64 },
    /// Press Enter, under the same conditions.
    Enter { pid: u32, keys: u64 },
    /// From here on this is a viewer, with a terminal of that size.
    Attach { rows: u16, cols: u16 },
    /// End the worker and everything that it started.
    Stop,
}

/// What a host answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub(crate) enum Answer {
    /// What there is to see.
    Sight(Box<Sight>),
    /// It is done.
    Done,
    /// It was not done: another program runs there.
    Changed,
    /// It was not done: somebody typed.
    Typed,
    /// It was not done: somebody types, and the worker does not read.
    Busy,
    /// It was not done: the worker has ended.
    Ended,
    /// The request was not understood.
    Invalid {
        /// Why.
        why: String,
    },
}

/// What is sent once a viewer is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Keys, from the viewer; output, to it.
    Bytes(Vec<u8>),
    /// The size of the viewer's terminal, from it; that of the worker's, to it.
    Size { rows: u16, cols: u16 },
    /// The worker has ended.
    End,
}

impl Frame {
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, bytes) = match self {
            Self::Bytes(bytes) => (b'b', bytes.clone()),
            Self::Size { rows, cols } => (b's', [rows.to_be_bytes(), cols.to_be_bytes()].concat()),
            Self::End => (b'e', Vec::new()),
        };
        let mut frame = vec![kind];
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        frame.extend(length.to_be_bytes());
        frame.extend(bytes);
        to.write_all(&frame)?;
        to.flush()
    }

    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; 5];
        from.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes)?;
        match (kind, &bytes[..]) {
            (b'b', _) => Ok(Self::Bytes(bytes)),
            (b's', &[a, b, c, d]) => Ok(Self::Size {
                rows: u16::from_be_bytes([a, b]),
                cols: u16::from_be_bytes([c, d]),
            }),
            (b'e', []) => Ok(Self::End),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let frames =
            [Frame::Bytes(b"\x1b[A".to_vec()), Frame::Size { rows: 40, cols: 300 }, Frame::End];
        let mut bytes = Vec::new();
        for frame in &frames {
            frame.write(&mut bytes).unwrap();
        }
        let mut read = &bytes[..];
        for frame in frames {
            assert_eq!(Frame::read(&mut read).unwrap(), frame);
        }
        for bad in [&b"b\xff\xff\xff\xff"[..], b"s\0\0\0\x01x", b"q\0\0\0\0", b"b\0\0"] {
            assert!(Frame::read(&mut &bad[..]).is_err());
        }
    }
}
