//! Compares a backend of candle, operation by operation, with arithmetic of our own in f64 and with
//! the CPU backend. `--help` says how it is run; each line of its output is JSON.

mod arguments;
mod array;
mod blocks;
mod case;
mod element;
mod judge;
#[cfg(feature = "rocm")]
mod launch;
mod ops;
mod rng;
mod verdict;
mod workers;

use std::io::Write;
use std::process::ExitCode;

use candle::Device;
use serde_json::{json, Value};

use crate::arguments::arguments;
use crate::case::Operation;
use crate::judge::run;
use crate::verdict::{all_of, Backends, Name, Verdict};
use crate::workers::{supervise, MARK};

fn main() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<(), String> {
    let arguments = arguments()?;
    let operations: Vec<Operation> = ops::all()
        .into_iter()
        .filter(|o| name(o).contains(&arguments.only))
        .skip(arguments.part.0)
        .step_by(arguments.part.1)
        .collect();
    if arguments.list {
        for operation in &operations {
            println!("{}", name(operation));
        }
        return Ok(());
    }
    let wanted = arguments.case.as_deref();
    if wanted.is_none() && arguments.worker.is_none() {
        return supervise(&arguments, &operations);
    }
    let device = match arguments.device.as_str() {
        "rocm" | "graph" => Device::new_rocm(0),
        "cuda" => Device::new_cuda(0),
        "cpu" => Ok(Device::Cpu),
        other => return Err(format!("--device {other}: rocm, graph, cuda or cpu")),
    }
    .map_err(|error| format!("no device: {error}"))?;
    let mut backends = Backends {
        device,
        as_graph: arguments.device == "graph",
        cpu: true,
    };
    // Panics are results here, and are told as such.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(wanted) = wanted {
        return one(&operations, wanted, &backends);
    }
    for &number in arguments.worker.iter().flatten() {
        let operation = operations
            .get(number)
            .ok_or("--worker: there is no such operation")?;
        println!("{MARK}{number}");
        backends.cpu = !arguments.alone.contains(&number);
        let counts = all_of(operation, &arguments, &backends);
        say(json!({"operation": operation.name, "elements": operation.elements, "counts": counts}));
    }
    Ok(())
}

fn name(operation: &Operation) -> String {
    format!("{}/{}", operation.name, operation.elements)
}

fn say(line: Value) {
    let mut out = std::io::stdout().lock();
    // Whoever reads may have gone; there is nobody to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// One case, with what goes in and comes out.
fn one(operations: &[Operation], wanted: &str, backends: &Backends) -> Result<(), String> {
    let (operation, case_name) = Name::parse(wanted).ok_or(format!("--case {wanted}: no case"))?;
    let operation = operations
        .iter()
        .find(|o| name(o) == operation)
        .ok_or(format!(
            "--case {wanted}: there is no operation {operation}"
        ))?;
    let case = case_name.case(operation);
    let inputs: Vec<Value> = case
        .inputs
        .iter()
        .map(|input| json!({"layout": input.layout(), "values": texts(&input.array().data)}))
        .collect();
    let shown = |outcome| {
        match outcome {
        judge::Outcome::Values(values) => values
            .into_iter()
            .map(|(element, shape, data): (element::Element, Vec<usize>, Vec<f64>)| {
                json!({"element": element.name(), "shape": shape, "values": texts(&data)})
            })
            .collect(),
        judge::Outcome::Refused(text) => json!({ "refused": text }),
        judge::Outcome::Panicked(text) => json!({ "panic": text }),
    }
    };
    let expected: Vec<Value> = case
        .expected
        .iter()
        .map(|e| json!({"element": e.element.name(), "shape": e.array.shape, "values": texts(&e.array.data)}))
        .collect();
    say(json!({
        "case": case_name.text(operation),
        "arguments": case.arguments,
        "inputs": inputs,
        "expected": expected,
        "device": shown(run(&case, &backends.device, backends.as_graph)),
        "cpu": shown(run(&case, &Device::Cpu, false)),
        "differs": Verdict::of(&case, wanted, backends).json(),
    }));
    Ok(())
}

/// Numbers as text: JSON has neither NaN nor infinities.
fn texts(values: &[f64]) -> Vec<String> {
    values.iter().map(|value| format!("{value:?}")).collect()
}
