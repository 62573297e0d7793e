//! One look at a pane, for commands that run without a daemon.

use ringer_panes::{Address, Fault, Occupant, Pane, TmuxServers};

/// Who runs in a pane now; nobody if the address is none.
pub fn occupant(address: &Address) -> Result<Option<Occupant>, Fault> {
    let (socket, pane) = match address {
        Address::None => return Ok(None),
        Address::Zellij { .. } => return Err(Fault::Unsupported { kind: "Zellij" }),
        Address::Tmux { socket, pane } => (socket.as_deref(), pane),
    };
    let refused = |e: std::io::Error| Fault::Refused { said: e.to_string() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(refused)?;
    let look = async {
        let servers = TmuxServers::without_control_mode();
        servers.pane(socket, pane).look().await
    };
    Ok(Some(runtime.block_on(look)?.occupant))
}
