//! The command line.

const USAGE: &str = "\
crosscheck [--device rocm|graph|cuda|cpu] [--seed N] [--cases N] [--only TEXT] [--part K/N]
           [--case NAME] [--list]

  --device  the backend that is compared; rocm by default. With graph each case is captured on
            ROCm, and launched
  --seed    of everything that is random; 1 by default
  --cases   how many of each operation and type; 24 by default
  --only    operations and types whose name has this text, such as `matmul` or `cast/f32 u8`
  --part    every Nth of these operations, from the Kth on; 1/1 by default
  --case    one case, by the name that a line of the output has
  --list    the operations";

/// What the user asks for.
pub struct Arguments {
    pub device: String,
    pub seed: u64,
    pub cases: usize,
    pub only: String,
    /// Which of several parts, from 0, and how many there are.
    pub part: (usize, usize),
    pub case: Option<String>,
    pub list: bool,
    /// The numbers of the operations that a worker takes: see `workers.rs`.
    pub worker: Option<Vec<usize>>,
    /// Those of them on which the CPU backend crashes, so that it is not asked.
    pub alone: Vec<usize>,
}

/// Reads the command line; an error is a sentence.
pub fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        device: "rocm".to_string(),
        seed: 1,
        cases: 24,
        only: String::new(),
        part: (0, 1),
        case: None,
        list: false,
        worker: None,
        alone: Vec::new(),
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
            "--part" => found.part = part(&value)?,
            "--case" => found.case = Some(value),
            "--worker" => found.worker = Some(numbers(&value)?),
            "--alone" => found.alone = numbers(&value)?,
            _ => return Err(format!("{name} is not known\n\n{USAGE}")),
        }
    }
    Ok(found)
}

fn part(text: &str) -> Result<(usize, usize), String> {
    text.split_once('/')
        .and_then(|(k, n)| Some((k.parse::<usize>().ok()?.checked_sub(1)?, n.parse().ok()?)))
        .filter(|(k, n)| k < n)
        .ok_or_else(|| format!("--part {text}: K/N with K from 1 to N"))
}

fn numbers(text: &str) -> Result<Vec<usize>, String> {
    let one = |n: &str| {
        n.parse()
            .map_err(|_| format!("{text}: not a list of numbers"))
    };
    text.split(',').map(one).collect()
}
