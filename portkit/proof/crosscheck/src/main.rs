//! Compares a backend of candle, operation by operation, with arithmetic of our own in f64 and with
//! the CPU backend. README.md says how it is built and run; each line of its output is JSON.

mod array;
mod blocks;
mod case;
mod element;
mod judge;
mod ops;
mod rng;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use candle::Device;
use serde_json::{json, Value};

use crate::case::{Case, Maker, Operation};
use crate::judge::{judge, run, Difference};
use crate::rng::Rng;

const USAGE: &str = "\
crosscheck [--device rocm|cuda|cpu] [--seed N] [--cases N] [--only TEXT] [--case NAME] [--list]

  --device  the backend that is compared; rocm by default
  --seed    of everything that is random; 1 by default
  --cases   how many of each operation and type; 24 by default
  --only    operations and types whose name has this text, such as `matmul` or `cast/f32 u8`
  --case    one case, by the name that a line of the output has
  --list    the operations";

/// The largest dimension of a usual case.
const SIZE: usize = 17;
/// Sizes at which a difference is sought again, so that the smallest case is shown.
const SMALLER: [usize; 5] = [1, 2, 3, 5, 9];
/// How often at each of them.
const TRIES: usize = 12;

struct Arguments {
    device: String,
    seed: u64,
    cases: usize,
    only: String,
    case: Option<String>,
    list: bool,
    /// The numbers of the operations that a worker takes: see [`supervise`].
    worker: Option<Vec<usize>>,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        device: "rocm".to_string(),
        seed: 1,
        cases: 24,
        only: String::new(),
        case: None,
        list: false,
        worker: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        if name == "--list" {
            found.list = true;
            continue;
        }
        let value = given
            .next()
            .ok_or_else(|| format!("{name} needs a value\n\n{USAGE}"))?;
        let number = || {
            value
                .parse()
                .map_err(|_| format!("{name} {value}: not a number"))
        };
        match name.as_str() {
            "--device" => found.device = value,
            "--seed" => found.seed = number()?,
            "--cases" => found.cases = number()? as usize,
            "--only" => found.only = value,
            "--case" => found.case = Some(value),
            "--worker" => found.worker = Some(numbers(&value)?),
            _ => return Err(format!("{name} is not known\n\n{USAGE}")),
        }
    }
    Ok(found)
}

fn numbers(text: &str) -> Result<Vec<usize>, String> {
    let one = |n: &str| {
        n.parse()
            .map_err(|_| format!("--worker {text}: not a list of numbers"))
    };
    text.split(',').map(one).collect()
}

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
        "rocm" => Device::new_rocm(0),
        "cuda" => Device::new_cuda(0),
        "cpu" => Ok(Device::Cpu),
        other => return Err(format!("--device {other}: rocm, cuda or cpu")),
    }
    .map_err(|error| format!("no device: {error}"))?;
    // Panics are results here, and are told as such.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(wanted) = wanted {
        return one(&operations, wanted, &device);
    }
    for &number in arguments.worker.iter().flatten() {
        let operation = operations
            .get(number)
            .ok_or("--worker: there is no such operation")?;
        println!("{MARK}{number}");
        let counts = all_of(operation, &arguments, &device);
        say(json!({"operation": operation.name, "elements": operation.elements, "counts": counts}));
    }
    Ok(())
}

/// Begins a line by which a worker says what it is about to do.
const MARK: char = '@';

/// How many operations a worker takes: a crash costs the work of one.
const CHUNK: usize = 64;

/// Runs operations in processes of their own. Where one ends too early, what it was doing is told as
/// a difference like any other, and the same operations are taken again without that one.
fn supervise(arguments: &Arguments, operations: &[Operation]) -> Result<(), String> {
    say(json!({
        "candle": env!("CANDLE_VERSION"),
        "device": arguments.device,
        "seed": arguments.seed,
        "cases": arguments.cases,
    }));
    let all: Vec<usize> = (0..operations.len()).collect();
    for chunk in all.chunks(CHUNK) {
        let mut left = chunk.to_vec();
        while !left.is_empty() {
            let worked = worker(arguments, &left)?;
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
            left.retain(|&other| other != number);
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

fn worker(arguments: &Arguments, operations: &[usize]) -> Result<Worked, String> {
    let program = std::env::current_exe().map_err(|error| format!("no program: {error}"))?;
    let numbers: Vec<String> = operations.iter().map(usize::to_string).collect();
    let mut child = Command::new(&program)
        .args(["--device", &arguments.device, "--only", &arguments.only])
        .args([
            "--seed",
            &arguments.seed.to_string(),
            "--cases",
            &arguments.cases.to_string(),
        ])
        .args(["--worker", &numbers.join(",")])
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

fn name(operation: &Operation) -> String {
    format!("{}/{}", operation.name, operation.elements)
}

fn say(line: Value) {
    let mut out = std::io::stdout().lock();
    // Whoever reads may have gone; there is nobody to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Which case: everything follows from it and from the operation.
#[derive(Clone, Copy)]
struct Name {
    seed: u64,
    number: usize,
    size: usize,
}

impl Name {
    fn case(&self, operation: &Operation) -> Case {
        let rng = Rng::new(
            self.seed,
            &[
                &name(operation),
                &self.number.to_string(),
                &self.size.to_string(),
            ],
        );
        (operation.make)(&mut Maker {
            rng,
            size: self.size,
            edges: self.edges(),
        })
    }

    /// Each third case has values at the edges of the type.
    fn edges(&self) -> bool {
        self.number % 3 == 2
    }

    fn text(&self, operation: &Operation) -> String {
        format!(
            "{}/{}/{}/{}",
            name(operation),
            self.seed,
            self.number,
            self.size
        )
    }

    fn parse(text: &str) -> Option<(String, Self)> {
        let mut parts = text.rsplitn(4, '/');
        let size = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        let seed = parts.next()?.parse().ok()?;
        Some((parts.next()?.to_string(), Self { seed, number, size }))
    }
}

/// Who differs from what is expected, and how.
struct Verdict {
    device: Option<Difference>,
    cpu: Option<Difference>,
}

impl Verdict {
    /// Takes a case on both backends, and says before each which one and which case it is.
    fn of(case: &Case, text: &str, device: &Device) -> Self {
        let verdict = |who: &str, device: &Device| {
            println!("{MARK}{who} {text}");
            judge(&case.expected, &run(case, device))
        };
        Self {
            device: verdict("device", device),
            cpu: verdict("cpu", &Device::Cpu),
        }
    }

    /// What differences have in common that are told once.
    fn group(&self, case: &Case) -> Group {
        let kind = |d: &Option<Difference>| {
            d.as_ref().map(|d| match d.kind {
                "refused" | "panic" => format!("{} {}", d.kind, without_numbers(&d.message)),
                kind => kind.to_string(),
            })
        };
        (case.empty(), kind(&self.device), kind(&self.cpu))
    }

    fn json(&self) -> Value {
        let one = |difference: &Option<Difference>| {
            difference
                .as_ref()
                .map(|d| json!({"kind": d.kind, "message": d.message, "ulps": d.ulps}))
        };
        json!({ "device": one(&self.device), "cpu": one(&self.cpu) })
    }
}

fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Takes all cases of an operation, and tells each kind of difference once, by its smallest case.
fn all_of(operation: &Operation, arguments: &Arguments, device: &Device) -> Value {
    let (mut agreed, mut refused, mut differed) = (0, 0, 0);
    let mut groups: BTreeMap<_, (Name, usize)> = BTreeMap::new();
    let cases = arguments.cases.min(operation.most);
    for number in 0..cases {
        let name = Name {
            seed: arguments.seed,
            number,
            size: SIZE,
        };
        let case = name.case(operation);
        let verdict = Verdict::of(&case, &name.text(operation), device);
        match (&verdict.device, &verdict.cpu) {
            (None, None) => agreed += 1,
            (Some(d), Some(c)) if d.kind == "refused" && c.kind == "refused" => refused += 1,
            _ => {
                differed += 1;
                groups.entry(verdict.group(&case)).or_insert((name, 0)).1 += 1;
            }
        }
    }
    for (group, (first, times)) in groups {
        let smallest = smaller(operation, &group, first, device).unwrap_or(first);
        let case = smallest.case(operation);
        let text = smallest.text(operation);
        let verdict = Verdict::of(&case, &text, device);
        let layouts: Vec<String> = case.inputs.iter().map(|input| input.layout()).collect();
        say(json!({
            "operation": operation.name,
            "elements": operation.elements,
            "edges": smallest.edges(),
            "empty": group.0,
            "differs": verdict.json(),
            "times": times,
            "case": text,
            "inputs": layouts,
            "arguments": case.arguments,
        }));
    }
    json!({"cases": cases, "agreed": agreed, "refused": refused, "differed": differed})
}

/// Whether something is empty, and how either backend differs.
type Group = (bool, Option<String>, Option<String>);

/// The smallest case found that differs in the same way.
fn smaller(operation: &Operation, group: &Group, first: Name, device: &Device) -> Option<Name> {
    let tries = SMALLER
        .iter()
        .flat_map(|&size| (0..TRIES).map(move |i| (size, i)));
    tries
        .map(|(size, i)| Name {
            number: first.number % 3 + 3 * i,
            size,
            ..first
        })
        .find(|name| {
            let case = name.case(operation);
            Verdict::of(&case, &name.text(operation), device).group(&case) == *group
        })
}

/// One case, with what goes in and comes out.
fn one(operations: &[Operation], wanted: &str, device: &Device) -> Result<(), String> {
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
        "device": shown(run(&case, device)),
        "cpu": shown(run(&case, &Device::Cpu)),
        "differs": Verdict::of(&case, wanted, device).json(),
    }));
    Ok(())
}

/// Numbers as text: JSON has neither NaN nor infinities.
fn texts(values: &[f64]) -> Vec<String> {
    values.iter().map(|value| format!("{value:?}")).collect()
}
