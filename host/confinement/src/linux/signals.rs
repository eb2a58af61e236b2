//! Decides on signals, on kernels whose Landlock does not restrict them.
//!
//! Runtimes send many signals to their own threads. All processes of a confined program are in one
//! process group, so a signal is allowed if its target is in the group of its sender. The arguments are
//! numbers that the program cannot change after the call began.

use crate::linux::kernel::{Notification, process_group};

/// Whether the call sends a signal only to processes of the sender's group.
pub(crate) fn is_within_group(call: Notification) -> bool {
    let Some(own) = process_group(call.thread_number()) else { return false };
    match call.signed(0) {
        // The sender's group.
        0 => true,
        number if number > 0 => process_group(number) == Some(own),
        // A group; -1 is every process.
        number => number != -1 && number.checked_neg() == Some(own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_targets_of_the_same_group_are_allowed() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        let is_allowed = |target: i32| {
            let arguments = [u64::from(target.cast_unsigned()), 0, 0, 0, 0, 0];
            is_within_group(Notification { id: 0, thread: own.cast_unsigned(), number: 62, arguments })
        };
        assert!(is_allowed(own) && is_allowed(0) && is_allowed(-group));
        for other in [1, -1, -1_000_000, i32::MIN, i32::MAX] {
            assert_eq!(is_allowed(other), group == 1 && other == 1, "{other}");
        }
    }
}
