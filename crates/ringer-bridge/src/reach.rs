//! One look at a pane, for what is not done by couriers.

use ringer_panes::{Address, Fault, Occupant, Pane, Sight, Terminals};

/// Who runs in a pane now; nobody if the address is none.
pub fn occupant(address: &Address) -> Result<Option<Occupant>, Fault> {
    Ok(look(address)?.map(|sight| sight.occupant))
}

/// What a pane shows now; nothing if the address is none.
pub fn look(address: &Address) -> Result<Option<Sight>, Fault> {
    if *address == Address::None {
        return Ok(None);
    }
    let refused = |e: std::io::Error| Fault::Refused { program: "ringer", said: e.to_string() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(refused)?;
    let look = async { Terminals::without_control_mode().pane(address)?.look().await };
    Ok(Some(runtime.block_on(look)?))
}
