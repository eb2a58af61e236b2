//! The page with the results: a section for each fault, with a row for each result and the backends that
//! have it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Cell;

const HEAD: &str = "# Faults of backends\n\nA test writes this page: it runs `wardian` on each backend with each fault \
                    (`tests/end-to-end/tests/backends/faults.rs`).\n[States and backends](state.md#what-happens-on-failures) explains \
                    the terms. A lock that is left is released with `wardian\nforce-unlock ID`. \"The next command\" is any command \
                    that locks the state in the same directory.\n\nThe servers are PostgreSQL, moto for `s3`, and servers of the \
                    test for the other services. Backends that are not in\na table do not have the fault, or it cannot be caused with \
                    these servers.\n";

/// The results by fault and backend.
type Cells = BTreeMap<(String, String), Cell>;

/// Returns the page. The results of backends that were not run are those of the recorded page.
pub(crate) fn text(
    faults: &[&str],
    backends: &[&str],
    found: &BTreeMap<(&str, &str), Option<Cell>>,
    recorded: &Cells,
) -> String {
    let mut text = HEAD.to_owned();
    for fault in faults {
        let _ = write!(
            text,
            "\n## {}\n\n| backend | exit code and error | afterwards |\n|---|---|---|\n",
            heading(fault)
        );
        let mut rows: Vec<(Cell, Vec<&str>)> = Vec::new();
        for backend in backends {
            let cell = match found.get(&(*fault, *backend)) {
                Some(cell) => cell.clone(),
                None => recorded.get(&(heading(fault), (*backend).to_owned())).cloned(),
            };
            let Some(cell) = cell else { continue };
            match rows.iter_mut().find(|(known, _)| *known == cell) {
                Some((_, same)) => same.push(backend),
                None => rows.push((cell, vec![backend])),
            }
        }
        for (cell, backends) in rows {
            let names = backends.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "| {names} | {} | {} |", cell.result, cell.left);
        }
    }
    text
}

fn heading(fault: &str) -> String {
    let mut characters = fault.chars();
    let first = characters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    first + characters.as_str()
}

/// Parses a page.
pub(crate) fn parse(page: &str) -> Cells {
    let mut cells = Cells::new();
    let mut fault = String::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut fault);
            continue;
        }
        let columns: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let &[backends, result, left] = &*columns else { continue };
        if !line.starts_with("| `") {
            continue;
        }
        for backend in backends.split(',').map(|name| name.trim().trim_matches('`')) {
            let cell = Cell { result: result.to_owned(), left: left.to_owned() };
            cells.insert((fault.clone(), backend.to_owned()), cell);
        }
    }
    cells
}
