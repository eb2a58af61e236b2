//! The results: rows are peers and their actions, columns are accounts.

use std::fmt::Write as _;
use std::process::ExitCode;

use super::accounts::Account;
use crate::progress::say;

/// The result of one row for one account.
pub(super) enum RowResult {
    /// With the measured figures, or an empty text.
    Works(String),
    /// With the difference to the expected result.
    Fails(String),
    /// With the reason.
    Skipped(String),
}

impl RowResult {
    fn word(&self) -> &'static str {
        match self {
            Self::Works(_) => "works",
            Self::Fails(_) => "FAILS",
            Self::Skipped(_) => "skipped",
        }
    }

    fn details(&self) -> &str {
        let (Self::Works(text) | Self::Fails(text) | Self::Skipped(text)) = self;
        text
    }
}

/// Prints a result immediately, because the other rows may take minutes.
pub(super) fn print(row: &str, account: &Account, result: &RowResult) {
    let (word, details) = (result.word(), result.details());
    let separator = if details.is_empty() { "" } else { ": " };
    say(&format!("{row} ({}): {word}{separator}{details}", account.name));
}

pub(super) struct Table {
    accounts: Vec<&'static str>,
    /// In the order in which they were added first.
    rows: Vec<(String, Vec<Option<RowResult>>)>,
}

impl Table {
    pub(super) fn new(accounts: &[Account]) -> Self {
        Self { accounts: accounts.iter().map(|account| account.name).collect(), rows: Vec::new() }
    }

    pub(super) fn add(&mut self, row: &str, account: &Account, result: RowResult) {
        let Some(column) = self.accounts.iter().position(|name| *name == account.name) else { return };
        let index = self.rows.iter().position(|(name, _)| name == row).unwrap_or_else(|| {
            self.rows.push((row.to_owned(), self.accounts.iter().map(|_| None).collect()));
            self.rows.len() - 1
        });
        self.rows[index].1[column] = Some(result);
    }

    /// Prints the table. The code is a failure if a row fails.
    pub(super) fn print_all(&self) -> ExitCode {
        let width = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = format!("\n{:width$}", "");
        for account in &self.accounts {
            let _ = write!(text, "  {account:>12}");
        }
        let [mut working, mut failing, mut skipped] = [0; 3];
        for (name, cells) in &self.rows {
            let _ = write!(text, "\n{name:width$}");
            for cell in cells {
                match cell {
                    Some(RowResult::Works(_)) => working += 1,
                    Some(RowResult::Fails(_)) => failing += 1,
                    Some(RowResult::Skipped(_)) => skipped += 1,
                    None => {}
                }
                let _ = write!(text, "  {:>12}", cell.as_ref().map_or("", RowResult::word));
            }
        }
        say(&text);
        say(&format!("{working} work, {failing} fail, {skipped} skipped"));
        if failing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
