//! Compares kernels of ug, as the port's generator writes them and hipRTC compiles them, with
//! arithmetic of our own in f64. Arguments: a seed, how many random kernels of each kind, and a text
//! that the names of the kernels hold that are run.

mod case;
mod device;
mod each;
mod number;
mod random;
mod reference;
#[path = "../../crosscheck/src/rng.rs"]
mod rng;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use candle_hip::driver::{HipContext, HipStream};

use crate::case::Case;
use crate::number::Number;
use crate::reference::Argument;
use crate::rng::Rng;

/// How many kernels are compiled at a time.
const TOGETHER: usize = 40;
const LOWERED: &str = "lowered";
const PUT_TOGETHER: &str = "put together";

fn main() -> ExitCode {
    match work() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<bool, String> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |name: &str, otherwise: u64| match arguments.next() {
        Some(text) => text
            .parse()
            .map_err(|_| format!("{text}: {name} is a number")),
        None => Ok(otherwise),
    };
    let (seed, wanted) = (next("the seed", 1)?, next("the count", 300)?);
    let mut left_out = BTreeMap::new();
    let mut cases = vec![];
    for case in each::all() {
        let name = case.name.clone();
        let known = expected(case).map_err(|unsure| format!("{name}: {unsure}"))?;
        cases.push(known);
    }
    let only = arguments.next().unwrap_or_default();
    for (kind, make) in [
        (LOWERED, random::lowered as fn(&mut Rng, String) -> _),
        (PUT_TOGETHER, random::put_together),
    ] {
        let mut number = 0u64;
        let enough = cases.len() + wanted as usize;
        while cases.len() < enough {
            number += 1;
            let name = format!("{kind} {number}");
            let mut rng = Rng::new(seed, &[&name]);
            let case = make(&mut rng, name).map_err(|error| error.to_string());
            match case.and_then(|case| expected(case).map_err(|unsure| unsure.to_string())) {
                Ok(case) => cases.push(case),
                Err(why) => *left_out.entry(why).or_insert(0) += 1,
            }
        }
    }
    let context = HipContext::new(0).map_err(|e| format!("no device: {e}"))?;
    let stream = context.default_stream();
    cases.retain(|(case, _)| case.name.contains(&only));
    if cases.is_empty() {
        return Err(format!("{only}: no kernel has such a name"));
    }
    let mut differing = 0;
    for (start, part) in cases.chunks(TOGETHER).enumerate() {
        differing += compared(&stream, start * TOGETHER, part)?;
    }
    for (why, count) in &left_out {
        println!(
            "left out {count}: {}",
            why.lines().next().unwrap_or_default()
        );
    }
    let random = cases.iter().filter(|(case, _)| is_random(case)).count();
    let each = cases.len() - random;
    println!("{each} operations, {random} random kernels, {differing} differ");
    Ok(differing == 0)
}

fn is_random(case: &Case) -> bool {
    case.name.starts_with(LOWERED) || case.name.starts_with(PUT_TOGETHER)
}

/// A case with what its memory holds afterwards.
fn expected(case: Case) -> Result<(Case, Vec<Vec<Number>>), number::Unsure> {
    let mut after = case.arguments.clone();
    reference::run(&case.kernel, case.grid, case.threads, &mut after)?;
    let memory = after.into_iter().filter_map(|argument| match argument {
        Argument::Memory(_, values) => Some(values),
        Argument::Value(..) => None,
    });
    let memory = memory.collect();
    Ok((case, memory))
}

type Expected = (Case, Vec<Vec<Number>>);

/// Compiles and launches kernels, and says of each that is wrong where and how.
fn compared(stream: &Arc<HipStream>, start: usize, cases: &[Expected]) -> Result<usize, String> {
    let sources = cases
        .iter()
        .zip(start..)
        .map(|((case, _), number)| {
            let source = device::source(number, &case.kernel);
            source.map_err(|e| format!("{}: {e}\n{:?}", case.name, case.kernel))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<_> = (start..).zip(sources.iter().map(String::as_str)).collect();
    let module = device::load(stream, &texts)?;
    let mut differing = 0;
    for ((case, wanted), (number, source)) in cases.iter().zip(texts) {
        let shape = (case.grid, case.threads);
        let got = device::launch(stream, &module, number, shape, &case.arguments)
            .map_err(|e| format!("{}: {e}\n{source}", case.name))?;
        let all = wanted.iter().zip(&got).enumerate();
        let wrong = all
            .flat_map(|(m, (w, g))| {
                w.iter()
                    .zip(g)
                    .enumerate()
                    .map(move |(i, (w, g))| (m, i, w, g))
            })
            .find(|(_, _, wanted, got)| !wanted.admits(**got));
        if let Some((memory, place, wanted, got)) = wrong {
            differing += 1;
            println!(
                "{}: argument {memory}, element {place}: {got:?} is not {wanted:?}",
                case.name
            );
            println!("{:?}\n{source}", case.kernel);
        }
    }
    Ok(differing)
}
