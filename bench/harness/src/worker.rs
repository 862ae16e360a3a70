//! Worker processes: a line `run CASE` is answered by `{"seconds":x,"peak":bytes}` or `{"error":"…"}`; `quit` ends.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use serde_json::{Value, json};

use crate::{Outcome, Watch, memory};

/// The environment variable that names the Python interpreter.
const PYTHON: &str = "SCIFORMATS_PYTHON";
/// The environment variable that tells a worker to measure the time of the processor. Python's workers read it in python/worker.py.
const BY_PROCESSOR: &str = "SCIFORMATS_BENCH_BY_PROCESSOR";

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    pub(crate) seconds: f64,
    /// Bytes above the idle process; `None` where the system does not tell.
    pub(crate) peak: Option<u64>,
}

/// A process that runs one implementation.
pub(crate) struct Worker {
    process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// This program again, for one of its own implementations.
    pub(crate) fn rust(name: &str, folder: &Path, by_processor: bool) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
        Self::start(Command::new(program).arg("--worker").arg(name).arg(folder), by_processor)
    }

    /// The bench's Python script.
    pub(crate) fn python(
        script: &str,
        name: &str,
        folder: &Path,
        by_processor: bool,
    ) -> Result<Self, String> {
        let python: OsString = std::env::var_os(PYTHON).ok_or_else(|| format!("{PYTHON} is not set"))?;
        let bench =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the harness has no parent folder")?;
        let mut command = Command::new(python);
        command.arg(bench.join(script)).arg(name).arg(folder).env("PYTHONDONTWRITEBYTECODE", "1");
        Self::start(&mut command, by_processor)
    }

    fn start(command: &mut Command, by_processor: bool) -> Result<Self, String> {
        if by_processor {
            command.env(BY_PROCESSOR, "1");
        }
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|error| format!("cannot start a worker: {error}"))?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(ask), Some(answers)) => Ok(Self { process, ask, answers: BufReader::new(answers) }),
            _ => Err("a worker without pipes".to_owned()),
        }
    }

    /// Has the case run once.
    pub(crate) fn run(&mut self, case: &str) -> Result<Measured, String> {
        let sent = writeln!(self.ask, "run {case}").and_then(|()| self.ask.flush());
        sent.map_err(|error| format!("the worker is gone: {error}"))?;
        let mut answer = String::new();
        match self.answers.read_line(&mut answer) {
            Ok(0) => Err("the worker ended without an answer".to_owned()),
            Ok(_) => understand(&answer),
            Err(error) => Err(format!("no answer: {error}")),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker that is already gone cannot be told to go.
        let _ = writeln!(self.ask, "quit").and_then(|()| self.ask.flush());
        let _ = self.process.wait();
    }
}

fn understand(answer: &str) -> Result<Measured, String> {
    let value: Value =
        serde_json::from_str(answer).map_err(|_| format!("not an answer: `{}`", answer.trim()))?;
    if let Some(error) = value["error"].as_str() {
        return Err(error.to_owned());
    }
    let seconds = value["seconds"].as_f64().ok_or_else(|| format!("an answer without seconds: {value}"))?;
    Ok(Measured { seconds, peak: value["peak"].as_u64() })
}

/// The worker's side: answers until told to quit.
pub(crate) fn serve(run: impl Fn(&str, &mut Watch) -> Outcome) -> ExitCode {
    let idle = memory::resident();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        let Some(case) = line.strip_prefix("run ") else { break };
        let mut watch = Watch { by_processor: std::env::var_os(BY_PROCESSOR).is_some(), ..Watch::default() };
        let outcome = run(case, &mut watch);
        println!("{}", answer(outcome, &watch, idle));
    }
    ExitCode::SUCCESS
}

fn answer(outcome: Outcome, watch: &Watch, idle: Option<u64>) -> Value {
    match (outcome, watch.total) {
        (Err(error), _) => json!({ "error": error.to_string() }),
        (Ok(()), None) => json!({ "error": "nothing was timed" }),
        (Ok(()), Some(total)) => {
            let beyond = || memory::highest().zip(idle).map(|(highest, idle)| highest.saturating_sub(idle));
            let peak = watch.programs.or_else(beyond);
            json!({ "seconds": total.as_secs_f64(), "peak": peak })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn answers_are_understood() {
        let watch =
            Watch { total: Some(Duration::from_millis(1500)), programs: Some(7), by_processor: false };
        let text = answer(Ok(()), &watch, Some(0)).to_string();
        assert_eq!(understand(&text).unwrap().seconds, 1.5);
        assert_eq!(understand(r#"{"seconds":2,"peak":null}"#), Ok(Measured { seconds: 2.0, peak: None }));
    }

    #[test]
    fn errors_and_nonsense_are_errors() {
        let watch = Watch::default();
        let failed = answer(Err("no file".into()), &watch, None).to_string();
        assert_eq!(understand(&failed), Err("no file".to_owned()));
        let idle = answer(Ok(()), &watch, None).to_string();
        assert_eq!(understand(&idle), Err("nothing was timed".to_owned()));
        assert!(understand("Traceback").unwrap_err().contains("Traceback"));
        assert!(understand("{}").is_err());
    }
}
