//! Collective operations of random values beside arithmetic in double precision: each operation, type and
//! reduction, of two to eight ranks, in threads and in processes. Nothing else may be in this file: it
//! starts itself once for each rank, and who runs it reads what is printed (`python -m tools.proof ranks`).

use half::{bf16, f16};
use hiprc::driver::{DeviceRepr, HipContext, HipSlice, HipStream};
use hiprc::rccl::{group_end, group_start, Comm, Id, RcclType, ReduceOp};
use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::Arc;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const N: usize = 257;
const MOST: usize = 8;
const OPS: [(ReduceOp, &str); 5] = [
    (ReduceOp::Sum, "sum"),
    (ReduceOp::Prod, "product"),
    (ReduceOp::Max, "maximum"),
    (ReduceOp::Min, "minimum"),
    (ReduceOp::Avg, "average"),
];

/// A type of values, between which and double precision nothing is lost.
trait Value: RcclType + DeviceRepr + Clone + Copy + 'static {
    const NAME: &'static str;
    /// How far off one operation may be, relative to its result; 0 for integers.
    const UNIT: f64;
    /// How large values are at most: a sum of eight is in the type, and in 53 bits.
    const TOP: f64;
    const SIGNED: bool;

    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! values {
    ($($type:ty: $unit:expr, $top:expr, $signed:expr, $of:expr, $value:expr;)*) => {
        $(
            impl Value for $type {
                const NAME: &'static str = stringify!($type);
                const UNIT: f64 = $unit;
                const TOP: f64 = $top;
                const SIGNED: bool = $signed;

                fn of(value: f64) -> Self {
                    $of(value)
                }

                fn value(self) -> f64 {
                    $value(self)
                }
            }
        )*
    };
}

values! {
    i8: 0., 15., true, |v| v as i8, f64::from;
    u8: 0., 31., false, |v| v as u8, f64::from;
    i32: 0., (1u64 << 27) as f64, true, |v| v as i32, f64::from;
    u32: 0., (1u64 << 28) as f64, false, |v| v as u32, f64::from;
    i64: 0., (1u64 << 40) as f64, true, |v| v as i64, |v| v as f64;
    u64: 0., (1u64 << 40) as f64, false, |v| v as u64, |v| v as f64;
    f16: 1. / (1u64 << 11) as f64, 2., true, f16::from_f64, f16::to_f64;
    bf16: 1. / (1u64 << 8) as f64, 2., true, bf16::from_f64, bf16::to_f64;
    f32: 1. / (1u64 << 24) as f64, 2., true, |v| v as f32, f64::from;
    f64: 1. / (1u64 << 53) as f64, 2., true, |v| v, |v| v;
}

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix, between 0 and 1.
fn random(state: u64) -> f64 {
    let mut z = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// What a rank has at a place.
fn value<T: Value>(op: ReduceOp, rank: usize, place: usize) -> T {
    let state = ((rank as u64) << 40) + ((op as u64) << 32) + 2 * place as u64;
    let (size, sign) = (random(state), random(state + 1) < 0.5);
    // Of integers four ranks alone have other factors than one, and averages are of what is not negative,
    // since it is nowhere written how the quotient of one that is gets whole.
    let size = match (op, T::UNIT > 0.) {
        (ReduceOp::Prod, true) => 0.5 + size,
        (ReduceOp::Prod, false) if rank < 4 => 1. + (3. * size).floor(),
        (ReduceOp::Prod, false) => 1.,
        (_, true) => T::TOP * size,
        (_, false) => (T::TOP * size).floor(),
    };
    let negative = T::SIGNED && sign && (T::UNIT > 0. || !matches!(op, ReduceOp::Avg));
    T::of(if negative { -size } else { size })
}

/// What comes of the values of all ranks, and how far off it may be.
fn expected<T: Value>(op: ReduceOp, ranks: usize, place: usize) -> (f64, f64) {
    let all: Vec<f64> = (0..ranks)
        .map(|rank| value::<T>(op, rank, place).value())
        .collect();
    let (sum, product) = (all.iter().sum::<f64>(), all.iter().product::<f64>());
    let sizes: f64 = all.iter().map(|value| value.abs()).sum();
    // So many roundings of what is no larger than the sum of sizes (Higham, "Accuracy and Stability of
    // Numerical Algorithms", chapters 3 and 4), in whatever order, and one into the type; what is expected
    // was rounded too.
    let off = |size: f64| 2. * ranks as f64 * T::UNIT * size;
    let count = ranks as f64;
    match op {
        ReduceOp::Sum => (sum, off(sizes)),
        ReduceOp::Prod => (product, off(product.abs())),
        ReduceOp::Max => (all.into_iter().fold(f64::MIN, f64::max), 0.),
        ReduceOp::Min => (all.into_iter().fold(f64::MAX, f64::min), 0.),
        ReduceOp::Avg if T::UNIT > 0. => (sum / count, off(sizes / count)),
        ReduceOp::Avg => ((sum / count).trunc(), 0.),
    }
}

/// Ranks of one kind: what they are in, and how many.
struct Case<'a> {
    comm: &'a Comm,
    stream: &'a Arc<HipStream>,
    way: &'a str,
}

impl Case<'_> {
    /// Prints how far off the values are, as a part of what they may be.
    fn compare<T: Value>(
        &self,
        name: &str,
        found: &HipSlice<T>,
        expected: impl Fn(usize) -> (f64, f64),
    ) -> Outcome {
        let found = self.stream.clone_dtoh(found)?;
        let mut worst = 0f64;
        for (place, found) in found.into_iter().enumerate() {
            let (value, bound) = expected(place);
            let off = (found.value() - value).abs();
            if off > bound || off.is_nan() {
                let found = found.value();
                return Err(format!("{name} of {}: {found}, not {value}", T::NAME).into());
            }
            worst = worst.max(if off > 0. { off / bound } else { 0. });
        }
        let (ranks, way) = (self.comm.world_size(), self.way);
        println!("case: {name} of {} by {ranks} {way}: {worst:.3}", T::NAME);
        Ok(())
    }

    fn each<T: Value>(&self) -> Outcome {
        let (comm, stream) = (self.comm, self.stream);
        let (rank, ranks) = (comm.rank(), comm.world_size());
        let of = |op, rank, count| -> Vec<T> {
            (0..count).map(|place| value(op, rank, place)).collect()
        };
        let fresh = |count: usize| stream.clone_htod(&vec![T::of(7.); count]);
        for (number, (op, name)) in OPS.into_iter().enumerate() {
            let own = stream.clone_htod(&of(op, rank, N))?;
            let mut all = fresh(N)?;
            comm.all_reduce(&own, &mut all, &op)?;
            let reduced = |place| expected::<T>(op, ranks, place);
            self.compare(&format!("all_reduce ({name})"), &all, reduced)?;
            let root = number % ranks;
            let mut one = fresh(N)?;
            comm.reduce(&own, (rank == root).then_some(&mut one), &op, root as i32)?;
            let here = |place| {
                if rank == root {
                    reduced(place)
                } else {
                    (7., 0.)
                }
            };
            self.compare(&format!("reduce ({name})"), &one, here)?;
            let wide = stream.clone_htod(&of(op, rank, N * ranks))?;
            let mut part = fresh(N)?;
            comm.reduce_scatter(&wide, &mut part, &op)?;
            let scattered = |place| reduced(rank * N + place);
            self.compare(&format!("reduce_scatter ({name})"), &part, scattered)?;
        }
        let sum = ReduceOp::Sum;
        let exactly = |rank, place| (value::<T>(sum, rank, place).value(), 0.);
        let own = stream.clone_htod(&of(sum, rank, N))?;
        let mut heard = fresh(N)?;
        let root = ranks - 1;
        comm.broadcast((rank == root).then_some(&own), &mut heard, root as i32)?;
        self.compare("broadcast", &heard, |place| exactly(root, place))?;
        let mut gathered = fresh(N * ranks)?;
        comm.all_gather(&own, &mut gathered)?;
        self.compare("all_gather", &gathered, |place| {
            exactly(place / N, place % N)
        })?;
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let mut heard = fresh(N)?;
        group_start()?;
        comm.send(&own, next as i32)?;
        comm.recv(&mut heard, before as i32)?;
        group_end()?;
        self.compare("send, recv", &heard, |place| exactly(before, place))
    }
}

fn rank(number: usize, ranks: usize, id: Id, way: &str) -> Outcome {
    let stream = HipContext::new(number)?.new_stream()?;
    let comm = Comm::from_rank(stream.clone(), number, ranks, id)?;
    let case = Case {
        comm: &comm,
        stream: &stream,
        way,
    };
    case.each::<i8>()?;
    case.each::<u8>()?;
    case.each::<i32>()?;
    case.each::<u32>()?;
    case.each::<i64>()?;
    case.each::<u64>()?;
    case.each::<f16>()?;
    case.each::<bf16>()?;
    case.each::<f32>()?;
    case.each::<f64>()?;
    Ok(comm.context().check_err()?)
}

fn in_threads(ranks: usize) -> Outcome {
    let id = Id::new()?;
    let told: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let run = |number| rank(number, ranks, id, "threads").map_err(|error| error.to_string());
        let threads: Vec<_> = (0..ranks)
            .map(|number| scope.spawn(move || run(number)))
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    told.into_iter().try_for_each(|each| Ok(each?))
}

fn in_processes(ranks: usize) -> Outcome {
    let id = Id::new()?;
    let bytes = id
        .internal()
        .iter()
        .map(|byte| format!("{:02x}", *byte as u8));
    let hex: String = bytes.collect();
    let children: Result<Vec<_>, _> = (0..ranks)
        .map(|number| {
            Command::new(std::env::current_exe()?)
                .args(["--include-ignored", "--nocapture"])
                .env("RANK", number.to_string())
                .env("RANKS", ranks.to_string())
                .env("RANKS_ID", &hex)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        })
        .collect();
    for (number, child) in children?.into_iter().enumerate() {
        let done = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&done.stdout);
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success(),
            "rank {number} of {ranks}: {said}{errors}"
        );
        for line in said.lines().filter(|line| line.contains("case: ")) {
            println!("{}", &line[line.find("case: ").unwrap_or(0)..]);
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs two HIP devices"]
fn what_ranks_compute_is_what_arithmetic_does() -> Outcome {
    if let Ok(number) = std::env::var("RANK") {
        let hex = std::env::var("RANKS_ID")?;
        let mut internal = [0; 128];
        for (place, byte) in internal.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * place..2 * place + 2], 16)? as _;
        }
        let ranks = std::env::var("RANKS")?.parse()?;
        return rank(number.parse()?, ranks, Id::uninit(internal), "processes");
    }
    let devices = HipContext::device_count()? as usize;
    // What the harness has begun ends here: each case is a line of its own.
    println!();
    for ranks in 2..=devices.min(MOST) {
        in_threads(ranks)?;
        in_processes(ranks)?;
    }
    Ok(())
}
