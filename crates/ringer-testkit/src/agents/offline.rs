//! No way out: what agents ask of the internet besides their model is refused at once.

/// A port on loopback that nobody may listen on.
const NOBODY: &str = "http://127.0.0.1:1";

/// The environment in which only loopback can be reached: tips, plugins, catalogues and updates are
/// looked for through a proxy that is not there.
pub(super) fn offline() -> Vec<(String, String)> {
    let proxies =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let direct = ["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1,localhost"));
    let set = proxies.map(|name| (name, NOBODY)).into_iter().chain(direct);
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
