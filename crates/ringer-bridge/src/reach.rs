//! One look at a pane, for commands that run without a daemon.

use ringer_panes::{Address, Fault, Occupant, Pane, Terminals};

/// Who runs in a pane now; nobody if the address is none.
pub fn occupant(address: &Address) -> Result<Option<Occupant>, Fault> {
    if *address == Address::None {
        return Ok(None);
    }
    let refused = |e: std::io::Error| Fault::Refused { program: "ringer", said: e.to_string() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(refused)?;
    let look = async { Terminals::without_control_mode().pane(address)?.look().await };
    Ok(Some(runtime.block_on(look)?.occupant))
}
