//! Functions that delete the objects that failed tests left behind.

use std::fmt;

use crate::run::guarded;

/// The variable of the environment that requests a sweep: `1` for all sweepers, or their names with commas.
const VARIABLE: &str = "WARDIAN_SWEEP";

type SweepFunction = Box<dyn Fn() -> Result<usize, String>>;

struct Sweeper {
    name: String,
    after: Vec<String>,
    run: SweepFunction,
}

/// Functions that delete the objects that failed tests left behind, for example by a prefix of their names.
///
/// A test calls [`Self::run_if_requested`], which does nothing unless the variable of the environment
/// `WARDIAN_SWEEP` is set: to `1`, or to the names of sweepers with commas.
///
/// ```
/// use wardian_acceptance::Sweepers;
///
/// // In a test function, which `WARDIAN_SWEEP=1 cargo test sweep` runs:
/// Sweepers::new()
///     .sweeper("disks", || {
///         // Lists the disks, and deletes those whose names start with "acceptance-".
///         Ok(0)
///     })
///     .sweeper_after("servers", ["disks"], || Ok(0))
///     .run_if_requested();
/// ```
#[derive(Default)]
pub struct Sweepers(Vec<Sweeper>);

/// The sweepers that failed.
///
/// ```
/// use wardian_acceptance::Sweepers;
///
/// let failure = Sweepers::new().sweeper("disks", || Err("status 503".into())).sweep(None).unwrap_err();
/// assert_eq!(failure.to_string(), "the sweeper disks failed: status 503");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFailure(Vec<String>);

impl std::error::Error for SweepFailure {}

impl fmt::Display for SweepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl Sweepers {
    /// Creates an empty list.
    ///
    /// ```
    /// assert_eq!(wardian_acceptance::Sweepers::new().sweep(None), Ok(Vec::new()));
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sweeper. The function returns the number of objects that it deleted.
    ///
    /// ```
    /// let swept = wardian_acceptance::Sweepers::new().sweeper("disks", || Ok(2)).sweep(None);
    /// assert_eq!(swept, Ok(vec![("disks".to_owned(), 2)]));
    /// ```
    #[must_use]
    pub fn sweeper(self, name: &str, run: impl Fn() -> Result<usize, String> + 'static) -> Self {
        self.sweeper_after(name, [], run)
    }

    /// Adds a sweeper that runs after others, because its objects cannot be deleted before theirs.
    ///
    /// ```
    /// let sweepers = wardian_acceptance::Sweepers::new()
    ///     .sweeper_after("networks", ["servers"], || Ok(1))
    ///     .sweeper("servers", || Ok(2));
    /// let swept: Vec<String> = sweepers.sweep(None).unwrap().into_iter().map(|(name, _)| name).collect();
    /// assert_eq!(swept, ["servers", "networks"]);
    /// ```
    #[must_use]
    pub fn sweeper_after<const N: usize>(
        mut self,
        name: &str,
        after: [&str; N],
        run: impl Fn() -> Result<usize, String> + 'static,
    ) -> Self {
        let after = after.iter().map(|name| (*name).to_owned()).collect();
        self.0.push(Sweeper { name: name.to_owned(), after, run: Box::new(run) });
        self
    }

    /// Runs the sweepers that the variable of the environment `WARDIAN_SWEEP` requests, and prints the
    /// numbers of deleted objects.
    ///
    /// # Panics
    /// Panics if a sweeper fails.
    ///
    /// ```
    /// wardian_acceptance::Sweepers::new().run_if_requested();
    /// ```
    #[expect(clippy::panic, reason = "fails the calling test")]
    #[expect(clippy::print_stdout, reason = "reports to the developer who started the sweep")]
    pub fn run_if_requested(self) {
        let Some(names) = std::env::var(VARIABLE).ok().filter(|names| !names.is_empty() && names != "0")
        else {
            println!("nothing is swept, because the variable {VARIABLE} is not set");
            return;
        };
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let names = if names == ["1"] { None } else { Some(names.as_slice()) };
        match self.sweep(names) {
            Ok(swept) => swept.iter().for_each(|(name, number)| println!("{name}: {number} objects deleted")),
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Runs the sweepers with these names, or all sweepers, and returns the numbers of deleted objects. A
    /// failed sweeper does not end the sweep, but those that run after it are omitted.
    ///
    /// # Errors
    /// Returns an error if a sweeper fails, if a name does not exist, or if sweepers wait for each other.
    ///
    /// ```
    /// use wardian_acceptance::Sweepers;
    ///
    /// let failure = Sweepers::new().sweeper("disks", || Ok(1)).sweep(Some(&["disk"])).unwrap_err();
    /// assert_eq!(failure.to_string(), "there is no sweeper disk, only disks. Did you mean \"disks\"?");
    /// ```
    pub fn sweep(&self, names: Option<&[&str]>) -> Result<Vec<(String, usize)>, SweepFailure> {
        let known: Vec<&str> = self.0.iter().map(|sweeper| sweeper.name.as_str()).collect();
        let named = names.into_iter().flatten().copied();
        let before = self.0.iter().flat_map(|sweeper| &sweeper.after).map(String::as_str);
        if let Some(unknown) = named.chain(before).find(|name| !known.contains(name)) {
            let hint = wardian_diagnostic::did_you_mean(unknown, known.iter().copied());
            return Err(SweepFailure(vec![format!(
                "there is no sweeper {unknown}, only {}.{hint}",
                known.join(", ")
            )]));
        }
        let is_named = |sweeper: &&Sweeper| names.is_none_or(|names| names.contains(&sweeper.name.as_str()));
        let mut left: Vec<&Sweeper> = self.0.iter().filter(is_named).collect();
        let (mut swept, mut failed, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        // The cost is quadratic in the number of sweepers, of which a provider has a few dozen.
        while !left.is_empty() {
            let waits = |sweeper: &Sweeper| left.iter().any(|other| sweeper.after.contains(&other.name));
            let Some(place) = left.iter().position(|sweeper| !waits(sweeper)) else {
                let names: Vec<&str> = left.iter().map(|sweeper| sweeper.name.as_str()).collect();
                problems.push(format!("these sweepers wait for each other: {}", names.join(", ")));
                break;
            };
            let sweeper = left.remove(place);
            if let Some(cause) = sweeper.after.iter().find(|name| failed.contains(name)) {
                problems.push(format!("the sweeper {} was omitted, because {cause} failed", sweeper.name));
                failed.push(&sweeper.name);
                continue;
            }
            match guarded(&sweeper.run) {
                Ok(number) => swept.push((sweeper.name.clone(), number)),
                Err(problem) => {
                    problems.push(format!("the sweeper {} failed: {problem}", sweeper.name));
                    failed.push(&sweeper.name);
                }
            }
        }
        if problems.is_empty() { Ok(swept) } else { Err(SweepFailure(problems)) }
    }
}

impl fmt::Debug for Sweepers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|sweeper| &sweeper.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependents_of_a_failed_sweeper_are_omitted() {
        let failure = Sweepers::new()
            .sweeper("a", || Err("status 503".to_owned()))
            .sweeper_after("b", ["a"], || Ok(1))
            .sweeper_after("c", ["b"], || Ok(1))
            .sweeper("d", || Ok(1))
            .sweep(None)
            .unwrap_err();
        assert_eq!(
            failure.to_string(),
            "the sweeper a failed: status 503\nthe sweeper b was omitted, because a failed\nthe sweeper c was \
             omitted, because b failed"
        );
    }

    #[test]
    fn cycles_are_reported() {
        let sweepers =
            Sweepers::new().sweeper_after("a", ["b"], || Ok(1)).sweeper_after("b", ["a"], || Ok(1));
        assert_eq!(sweepers.sweep(None).unwrap_err().to_string(), "these sweepers wait for each other: a, b");
        assert_eq!(sweepers.sweep(Some(&["a"])), Ok(vec![("a".to_owned(), 1)]));
    }

    #[test]
    fn panics_are_failures() {
        let sweepers = Sweepers::new().sweeper("a", || unreachable!("no list"));
        assert!(sweepers.sweep(None).unwrap_err().to_string().contains("no list"));
    }
}
