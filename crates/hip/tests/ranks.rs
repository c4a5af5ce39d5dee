//! Ranks in processes of their own, as programs on several GPUs have them, also ones that fail: this
//! program starts itself once for each rank. Nothing else may be in this file.

use hiprc::driver::HipContext;
use hiprc::rccl::{Comm, Id, ReduceOp};
use std::error::Error;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

const N: usize = 5000;
/// Seconds that a rank waits.
const LIMIT: u64 = 2;

/// The work of a rank, whose number, scenario and id come by the environment.
fn rank(number: usize, scenario: &str, hex: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    let count = HipContext::device_count()?.try_into()?;
    let mut internal = [0; 128];
    for (place, byte) in internal.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * place..2 * place + 2], 16)? as _;
    }
    let stream = HipContext::new(number)?.new_stream()?;
    let last = number + 1 == count;
    if last && scenario == "never comes" {
        return Ok(Vec::new());
    }
    let comm = Comm::from_rank(stream.clone(), number, count, Id::uninit(internal))?;
    let own = stream.clone_htod(&vec![number as f32 + 1.; N])?;
    let mut all = stream.alloc_zeros::<f32>(N)?;
    for round in 0..20 {
        if last && round == 10 {
            match scenario {
                "dies" => std::process::abort(),
                "leaves" => return Ok(Vec::new()),
                "sleeps" => std::thread::sleep(Duration::from_secs(2 * LIMIT)),
                "disagrees" => {
                    comm.broadcast(Some(&own), &mut all, 0)?;
                    continue;
                }
                _ => {}
            }
        }
        comm.all_reduce(&own, &mut all, &ReduceOp::Sum)?;
        if scenario == "looks" {
            stream.synchronize()?;
        }
    }
    Ok(stream.clone_dtoh(&all)?)
}

/// Starts all ranks, and returns what they print.
fn start(scenario: &str) -> Result<Vec<(bool, String)>, Box<dyn Error>> {
    let id = Id::new()?;
    let hex: String = id
        .internal()
        .iter()
        .map(|byte| format!("{:02x}", *byte as u8))
        .collect();
    let count = HipContext::device_count()?;
    let children: Result<Vec<Child>, _> = (0..count)
        .map(|number| {
            Command::new(std::env::current_exe()?)
                .args([
                    "--exact",
                    "ranks_of_many_processes",
                    "--include-ignored",
                    "--nocapture",
                ])
                .env("RANK", number.to_string())
                .env("SCENARIO", scenario)
                .env("RANKS_ID", &hex)
                .env("HIPRC_RCCL_TIMEOUT", LIMIT.to_string())
                .stdout(Stdio::piped())
                .spawn()
        })
        .collect();
    let begun = Instant::now();
    let ended: Result<Vec<_>, _> = children?
        .into_iter()
        .map(|child| child.wait_with_output())
        .collect();
    let taken = begun.elapsed();
    assert!(
        taken < Duration::from_secs(10 * LIMIT),
        "{scenario}: {taken:?}"
    );
    Ok(ended?
        .into_iter()
        .map(|output| {
            let text = String::from_utf8_lossy(&output.stdout);
            let told = text.lines().find(|line| line.contains("told: "));
            (output.status.success(), told.unwrap_or_default().to_owned())
        })
        .collect())
}

#[test]
#[ignore = "needs two HIP devices"]
fn ranks_of_many_processes() -> Outcome {
    if let Ok(number) = std::env::var("RANK") {
        let (scenario, id) = (std::env::var("SCENARIO")?, std::env::var("RANKS_ID")?);
        match rank(number.parse()?, &scenario, &id) {
            Ok(values) if values.is_empty() => println!("told: nothing"),
            Ok(values) => {
                assert!(values.iter().all(|value| *value == values[0]));
                println!("told: {}", values[0]);
            }
            Err(error) => println!("told: error: {error}"),
        }
        return Ok(());
    }
    let count = HipContext::device_count()? as usize;
    let sum = format!("told: {}", count * (count + 1) / 2);
    for scenario in ["agrees", "looks"] {
        for (number, (success, told)) in start(scenario)?.into_iter().enumerate() {
            assert!(
                success && told.ends_with(&sum),
                "{scenario}, {number}: {told}"
            );
        }
    }
    // One rank fails: no other may tell a value, and each has to end.
    for scenario in ["never comes", "dies", "leaves", "sleeps", "disagrees"] {
        let mut told = start(scenario)?;
        println!("{scenario}: {told:?}");
        let last = told.pop().ok_or("no rank")?;
        assert_eq!(last.0, scenario != "dies", "{scenario}: {last:?}");
        for (success, told) in told {
            let sentence = told.contains("told: error: RCCL: ") && told.len() > 60;
            assert!(success && sentence, "{scenario}: {told}");
        }
    }
    Ok(())
}
