//! The steps of an action borrow the client, although they run after the call.
//! at: Ok(Box::new(
//! says: lifetime may not live long enough
//! says: must outlive `'static`
//! documented: `Context::shared_client` returns the client as a pointer that they own
struct Client {
    names: Vec<String>,
}

fn invoke(context: &mut Context<'_, Client>) -> Result<ActionSteps> {
    let client = context.client();
    Ok(Box::new(client.names.iter().map(|name| Ok(format!("restarted {name}")))))
}
