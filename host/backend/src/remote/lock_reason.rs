//! The reason of a workspace's lock, from which other processes learn who holds it.

use wardian_state::LockInfo;

const PREFIX: &str = "Locked by Wardian for ";

/// Returns the reason for a lock. The ID identifies this lock among all locks of the workspace.
pub(super) fn to_reason(info: &LockInfo, id: &str) -> String {
    format!("{PREFIX}{} by {} since {} ({}, {id})", info.operation, info.who, info.created, info.version)
}

/// Returns whether a reason is that of the lock with an ID.
pub(super) fn has_id(reason: &str, id: &str) -> bool {
    reason.strip_suffix(')').is_some_and(|rest| rest.ends_with(id))
}

/// Returns the information of a lock. If the reason is another program's, it contains only the
/// reason and the name of the user.
pub(super) fn from_reason(reason: &str, user: Option<&str>, name: &str) -> LockInfo {
    let parsed = reason.strip_prefix(PREFIX).and_then(|rest| {
        let (operation, rest) = rest.split_once(" by ")?;
        let (who, rest) = rest.split_once(" since ")?;
        let (created, rest) = rest.split_once(" (")?;
        let (version, _) = rest.split_once(", ")?;
        Some(LockInfo {
            operation: operation.to_owned(),
            who: who.to_owned(),
            created: created.to_owned(),
            version: version.to_owned(),
            ..LockInfo::default()
        })
    });
    let info = parsed.unwrap_or_else(|| LockInfo {
        operation: if reason.is_empty() { "an unknown operation".to_owned() } else { reason.to_owned() },
        who: user.unwrap_or("another user").to_owned(),
        created: "an unknown time".to_owned(),
        version: "unknown".to_owned(),
        ..LockInfo::default()
    });
    LockInfo { id: name.to_owned(), path: name.to_owned(), ..info }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_is_restored_from_the_reason() {
        let info = LockInfo {
            operation: "OperationTypeApply".to_owned(),
            who: "me@here".to_owned(),
            created: "2026-01-02T03:04:05Z".to_owned(),
            version: "1.11.4".to_owned(),
            id: "org/app".to_owned(),
            path: "org/app".to_owned(),
            info: String::new(),
        };
        let reason = to_reason(&info, "1234");
        assert_eq!(from_reason(&reason, Some("user"), "org/app"), info);
        assert!(has_id(&reason, "1234") && !has_id(&reason, "5678"));
        let theirs = from_reason("Locked by Terraform", Some("user"), "org/app");
        assert_eq!((&*theirs.operation, &*theirs.who), ("Locked by Terraform", "user"));
        assert!(!has_id("Locked by Terraform", "1234"));
    }
}
