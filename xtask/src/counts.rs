//! How many checks passed, failed and were skipped.

use std::fmt;
use std::ops::AddAssign;
use std::process::Command;

use crate::sh::{Result, output};

/// Printed as `N passed, N failed, N skipped`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// Parses a line `test result: ok. 3 passed; 0 failed; 1 ignored; …` of Rust's test harness.
    pub(crate) fn from_harness(line: &str) -> Option<Self> {
        let (_, numbers) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let mut counts = Self::default();
        for part in numbers.split("; ") {
            let Some((number, what)) = part.split_once(' ') else { continue };
            let Ok(number) = number.parse() else { continue };
            match what {
                "passed" => counts.passed = number,
                "failed" => counts.failed = number,
                "ignored" => counts.skipped = number,
                _ => {}
            }
        }
        Some(counts)
    }

    /// Counts the lines `{"case":…,"ok":true}` of a script, and prints the others. Lines with a figure are no checks.
    pub(crate) fn of_script(script: &mut Command) -> Result<Self> {
        let mut counts = Self::default();
        for line in output(script)?.lines() {
            let told: serde_json::Value =
                serde_json::from_str(line).map_err(|error| format!("`{line}` is not a check: {error}"))?;
            if told["ok"] == true {
                counts.passed += 1;
            } else {
                println!("{line}");
                counts.failed += u64::from(told["figure"].is_null());
            }
        }
        if counts.total() == 0 { Err("the script checked nothing".into()) } else { Ok(counts) }
    }

    pub(crate) fn total(self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    /// Returns an error if a check failed, or if checks were skipped and that is not permitted.
    pub(crate) fn verdict(self, allow_skipped: bool) -> Result {
        if self.failed > 0 || (self.skipped > 0 && !allow_skipped) {
            return Err(self.to_string().into());
        }
        Ok(())
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harness_line_is_counted() {
        let line = "test result: FAILED. 41 passed; 2 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s";
        assert_eq!(Counts::from_harness(line), Some(Counts { passed: 41, failed: 2, skipped: 1 }));
        assert_eq!(Counts::from_harness("test storage::tests::reads ... ok"), None);
    }

    #[test]
    fn skipped_checks_fail_unless_allowed() {
        let skipped = Counts { passed: 1, failed: 0, skipped: 1 };
        assert!(skipped.verdict(false).is_err());
        assert!(skipped.verdict(true).is_ok());
        assert!(Counts { failed: 1, ..skipped }.verdict(true).is_err());
    }
}
