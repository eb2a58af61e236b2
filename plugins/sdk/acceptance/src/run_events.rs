//! Collects the progress messages of actions during a step.

use std::sync::{Mutex, MutexGuard, PoisonError};

use wardian_engine::{Event, Events};

/// A message of an action.
#[derive(Clone, Debug)]
pub(crate) struct ActionMessage {
    /// The address of the action, such as `action.cloud_restart.web`.
    pub(crate) address: String,
    pub(crate) text: String,
}

/// The messages so far, in the order in which they arrived.
#[derive(Default)]
pub(crate) struct RunEvents(Mutex<Vec<ActionMessage>>);

impl RunEvents {
    fn messages(&self) -> MutexGuard<'_, Vec<ActionMessage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns the messages.
    pub(crate) fn take(&self) -> Vec<ActionMessage> {
        std::mem::take(&mut *self.messages())
    }
}

impl Events for RunEvents {
    fn event(&self, event: &Event<'_>) {
        if let Event::ActionProgress { address, message, .. } = event {
            self.messages().push(ActionMessage { address: address.to_string(), text: (*message).to_owned() });
        }
    }
}

/// A message that a step expects: the address of an action, and a part of the text.
pub(crate) struct ExpectedProgress {
    pub(crate) address: String,
    pub(crate) part: String,
}

impl ExpectedProgress {
    /// Checks that the action reported the message.
    pub(crate) fn run(&self, messages: &[ActionMessage]) -> Result<(), String> {
        let own: Vec<&ActionMessage> =
            messages.iter().filter(|message| message.address == self.address).collect();
        if own.iter().any(|message| message.text.contains(&self.part)) {
            return Ok(());
        }
        let Self { address, part } = self;
        if own.is_empty() {
            let mut others: Vec<String> = messages.iter().map(|message| message.address.clone()).collect();
            others.dedup();
            let known = if others.is_empty() {
                "no action was".to_owned()
            } else {
                format!("only {}", others.join(", "))
            };
            return Err(format!("{address} was not invoked, {known}"));
        }
        let texts: Vec<String> = own.iter().map(|message| format!("{:?}", message.text)).collect();
        Err(format!("{address} reported no message with {part:?}, only {}", texts.join(", ")))
    }
}
