//! Operations are taken by processes of their own: what crashes one is a result.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::json;

use crate::arguments::Arguments;
use crate::case::Operation;
use crate::say;

/// Begins a line by which a worker says what it is about to do.
pub const MARK: char = '@';

/// How many operations a worker takes: a crash costs the work of one.
const CHUNK: usize = 64;

/// Runs operations in processes of their own. Where one ends too early, what it was doing is told as
/// a difference like any other, and the same operations are taken again without that one, or without
/// the CPU backend for that one.
pub fn supervise(arguments: &Arguments, operations: &[Operation]) -> Result<(), String> {
    say(json!({
        "version": env!("CANDLE_VERSION"),
        "device": arguments.device,
        "seed": arguments.seed,
        "cases": arguments.cases,
    }));
    let all: Vec<usize> = (0..operations.len()).collect();
    for chunk in all.chunks(CHUNK) {
        let (mut left, mut alone) = (chunk.to_vec(), Vec::new());
        while !left.is_empty() {
            let worked = worker(arguments, &left, &alone)?;
            if worked.status.success() {
                worked.lines.iter().for_each(|line| println!("{line}"));
                break;
            }
            let Some(number) = worked.operation else {
                return Err(format!(
                    "a worker ended before it began ({})",
                    worked.status
                ));
            };
            let (who, case) = worked.doing.split_once(' ').unwrap_or(("device", ""));
            let message = worked.status.to_string();
            say(json!({
                "operation": operations[number].name,
                "elements": operations[number].elements,
                "differs": { who: {"kind": "crash", "message": message, "ulps": 0.0} },
                "times": 1,
                "case": case,
            }));
            if who == "cpu" && !alone.contains(&number) {
                alone.push(number);
            } else {
                left.retain(|&other| other != number);
            }
        }
    }
    Ok(())
}

/// What became of a worker.
struct Worked {
    status: ExitStatus,
    lines: Vec<String>,
    /// The operation, the backend and the case that came last.
    operation: Option<usize>,
    doing: String,
}

fn worker(arguments: &Arguments, operations: &[usize], alone: &[usize]) -> Result<Worked, String> {
    let program = std::env::current_exe().map_err(|error| format!("no program: {error}"))?;
    let list = |numbers: &[usize]| {
        let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
        texts.join(",")
    };
    let part = format!("{}/{}", arguments.part.0 + 1, arguments.part.1);
    let mut command = Command::new(&program);
    command
        .args(["--device", &arguments.device, "--only", &arguments.only])
        .args(["--seed", &arguments.seed.to_string()])
        .args(["--cases", &arguments.cases.to_string()])
        .args(["--part", &part])
        .args(["--worker", &list(operations)]);
    if !alone.is_empty() {
        command.args(["--alone", &list(alone)]);
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let (mut lines, mut operation, mut doing) = (Vec::new(), None, String::new());
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
    {
        let line = line.map_err(|error| format!("the worker's output: {error}"))?;
        match line.strip_prefix(MARK) {
            Some(text) => match text.parse::<usize>() {
                Ok(number) => operation = Some(number),
                Err(_) => doing = text.to_string(),
            },
            None => lines.push(line),
        }
    }
    let status = child
        .wait()
        .map_err(|error| format!("the worker: {error}"))?;
    Ok(Worked {
        status,
        lines,
        operation,
        doing,
    })
}
