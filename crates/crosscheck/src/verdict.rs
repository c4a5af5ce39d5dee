//! Cases, who differs in them, and the smallest ones that differ.

use std::collections::BTreeMap;

use candle::Device;
use serde_json::{json, Value};

use crate::arguments::Arguments;
use crate::case::{Case, Maker, Operation};
use crate::judge::{judge, run, Difference};
use crate::rng::Rng;
use crate::workers::MARK;
use crate::{name, say};

/// The largest dimension of a usual case.
const SIZE: usize = 17;
/// Sizes at which a difference is sought again, so that the smallest case is shown.
const SMALLER: [usize; 5] = [1, 2, 3, 5, 9];
/// How often at each of them.
const TRIES: usize = 12;

/// Who is asked.
pub struct Backends {
    pub device: Device,
    /// Whether each case is captured there, and launched as a graph.
    pub as_graph: bool,
    /// Whether the CPU backend is asked as well.
    pub cpu: bool,
}

/// Which case: everything follows from it and from the operation.
#[derive(Clone, Copy)]
pub struct Name {
    seed: u64,
    number: usize,
    size: usize,
}

impl Name {
    pub fn case(&self, operation: &Operation) -> Case {
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

    pub fn text(&self, operation: &Operation) -> String {
        format!(
            "{}/{}/{}/{}",
            name(operation),
            self.seed,
            self.number,
            self.size
        )
    }

    pub fn parse(text: &str) -> Option<(String, Self)> {
        let mut parts = text.rsplitn(4, '/');
        let size = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        let seed = parts.next()?.parse().ok()?;
        Some((parts.next()?.to_string(), Self { seed, number, size }))
    }
}

/// Who differs from what is expected, and how.
pub struct Verdict {
    device: Option<Difference>,
    cpu: Option<Difference>,
}

impl Verdict {
    /// Takes a case on both backends, and says before each which one and which case it is.
    pub fn of(case: &Case, text: &str, backends: &Backends) -> Self {
        let verdict = |who: &str, device: &Device, as_graph: bool| {
            println!("{MARK}{who} {text}");
            judge(&case.expected, &run(case, device, as_graph))
        };
        let of_cpu = || verdict("cpu", &Device::Cpu, false);
        Self {
            device: verdict("device", &backends.device, backends.as_graph),
            cpu: backends.cpu.then(of_cpu).flatten(),
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

    pub fn json(&self) -> Value {
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
pub fn all_of(operation: &Operation, arguments: &Arguments, backends: &Backends) -> Value {
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
        let verdict = Verdict::of(&case, &name.text(operation), backends);
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
        let smallest = smaller(operation, &group, first, backends).unwrap_or(first);
        let case = smallest.case(operation);
        let text = smallest.text(operation);
        let verdict = Verdict::of(&case, &text, backends);
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
fn smaller(operation: &Operation, group: &Group, first: Name, backends: &Backends) -> Option<Name> {
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
            Verdict::of(&case, &name.text(operation), backends).group(&case) == *group
        })
}
