//! What the daemon tells, asked for as scripts do.

use serde_json::Value;

use crate::scene::Scene;

/// All events of the scene's team, oldest first.
pub(crate) fn events(scene: &Scene) -> Vec<Value> {
    let answer = scene.run(&["events", "--json", "-n", "100000"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["events"].as_array().unwrap().clone()
}

/// Their names, with what each is about.
pub(crate) fn told(scene: &Scene) -> Vec<String> {
    events(scene).iter().map(about).collect()
}

pub(crate) fn about(event: &Value) -> String {
    let name = event["event"].as_str().unwrap();
    let of = |value: &Value| value.as_str().map(str::to_owned);
    let about = of(&event["member"]["name"])
        .or_else(|| of(&event["task"]["id"]))
        .or_else(|| of(&event["content"]))
        .or_else(|| of(&event["member"]));
    about.map_or_else(|| name.to_owned(), |about| format!("{name} {about}"))
}

/// What `ringer team --json` says.
pub(crate) fn team(scene: &Scene) -> Value {
    serde_json::from_str(&scene.run(&["team", &scene.team, "--json"])).unwrap()
}
