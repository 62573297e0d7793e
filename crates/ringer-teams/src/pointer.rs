//! Places in JSON text, as paths of keys.
//!
//! Owns finding them, changing what stands there, and making them; every other byte stays as it was.

use crate::json::{NotWhole, Object};

/// A path of keys in one word, as JSON pointers have it, but for the slash in front.
pub fn pointer(keys: &[&str]) -> String {
    let escaped = keys.iter().map(|key| key.replace('~', "~0").replace('/', "~1"));
    escaped.collect::<Vec<_>>().join("/")
}

/// The keys of one.
pub(crate) fn keys(pointer: &str) -> Vec<String> {
    pointer.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}

/// The text of what stands at a path of keys.
pub(crate) fn at(text: &str, path: &[&str]) -> Result<Option<String>, NotWhole> {
    let mut raw = text.to_owned();
    for key in path {
        let Some(next) = Object::parse(&raw)?.get(key).map(str::to_owned) else {
            return Ok(None);
        };
        raw = next;
    }
    Ok(Some(raw))
}

/// The text with what stands at a path changed.
pub(crate) fn change(
    text: &str,
    path: &[&str],
    edit: &dyn Fn(&str) -> Result<String, NotWhole>,
) -> Result<String, NotWhole> {
    let Some((key, below)) = path.split_first() else {
        return edit(text);
    };
    let object = Object::parse(text)?;
    let Some(raw) = object.get(key) else {
        return Ok(text.to_owned());
    };
    let changed = change(raw, below, edit)?;
    Ok(if changed == raw { text.to_owned() } else { object.with(key, &changed) })
}

/// The text with an object or array at the end of a path, made if it is not there.
pub(crate) fn ensure(
    text: &str,
    path: &[&str],
    empty: &str,
    created: &mut Vec<String>,
) -> Result<String, NotWhole> {
    let mut text = text.to_owned();
    for depth in 1..=path.len() {
        let (here, above) = (&path[..depth], &path[..depth - 1]);
        if at(&text, here)?.is_none() {
            let value = if depth == path.len() { empty } else { "{}" };
            text = change(&text, above, &|raw| {
                Ok(Object::parse(raw)?.with_at(path[depth - 1], value, depth))
            })?;
            created.push(pointer(here));
        }
    }
    Ok(text)
}
