//! Collective operations of all HIP devices there are, by threads and by one thread: `cargo test --
//! --include-ignored` where there are two or more. Values are small integers, so that no order of sums
//! and no type shows in a result.

use half::{bf16, f16};
use hiprc::driver::{DeviceRepr, HipContext, HipSlice, HipStream};
use hiprc::rccl::result::RcclError;
use hiprc::rccl::sys::ncclResult_t;
use hiprc::rccl::{group_end, group_start, Comm, Id, RcclType, ReduceOp};
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

type Outcome = Result<(), Box<dyn Error>>;

const N: usize = 1000;
const INVALID: RcclError = RcclError(ncclResult_t::ncclInvalidArgument);

fn devices() -> Result<usize, Box<dyn Error>> {
    Ok(HipContext::device_count()?.try_into()?)
}

/// What the rank has: small, and of each rank and place another.
fn value(rank: usize, place: usize) -> i32 {
    ((place * 7 + rank * 3) % 5 + 1) as i32
}

fn values<T>(of: impl Fn(i32) -> T, rank: usize, len: usize) -> Vec<T> {
    (0..len).map(|place| of(value(rank, place))).collect()
}

fn reduced(op: ReduceOp, ranks: usize, place: usize) -> i32 {
    let all = (0..ranks).map(|rank| value(rank, place));
    match op {
        ReduceOp::Sum => all.sum(),
        ReduceOp::Prod => all.product(),
        ReduceOp::Max => all.max().unwrap(),
        ReduceOp::Min => all.min().unwrap(),
        ReduceOp::Avg => all.sum::<i32>() / ranks as i32,
    }
}

/// Runs a rank on each of the first devices, in a thread of its own.
fn ranks(count: usize, work: impl Fn(&Comm, &Arc<HipStream>) -> Outcome + Sync) -> Outcome {
    let id = Id::new()?;
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count)
            .map(|rank| {
                scope.spawn(move || {
                    let run = || -> Outcome {
                        let stream = HipContext::new(rank)?.new_stream()?;
                        let comm = Comm::from_rank(stream.clone(), rank, count, id)?;
                        assert_eq!((comm.rank(), comm.world_size()), (rank, count));
                        assert_eq!(comm.ordinal(), rank);
                        work(&comm, &stream)
                    };
                    run().map_err(|error| format!("rank {rank} of {count}: {error}"))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    outcomes
        .into_iter()
        .try_for_each(|outcome| outcome.map_err(Into::into))
}

fn every_operation<T>(of: impl Fn(i32) -> T + Copy + Sync, average: bool) -> Outcome
where
    T: RcclType + DeviceRepr + Clone + Copy + PartialEq + Debug + Send + Sync + 'static,
{
    use ReduceOp::{Avg, Max, Min, Prod, Sum};
    for count in 2..=devices()? {
        ranks(count, |comm, stream| {
            let rank = comm.rank();
            let last = count as i32 - 1;
            let own = stream.clone_htod(&values(of, rank, N))?;
            let fresh = |len: usize| stream.clone_htod(&vec![of(77); len]);
            let of_all = |op, from: usize, len: usize| -> Vec<T> {
                (from..from + len)
                    .map(|place| of(reduced(op, count, place)))
                    .collect()
            };
            for op in [Sum, Prod, Max, Min] {
                let mut all = fresh(N)?;
                comm.all_reduce(&own, &mut all, &op)?;
                assert_eq!(stream.clone_dtoh(&all)?, of_all(op, 0, N));
                let mut here = stream.clone_dtod(&own)?;
                comm.all_reduce_in_place(&mut here, &op)?;
                assert_eq!(stream.clone_dtoh(&here)?, of_all(op, 0, N));
            }
            if average {
                // Each rank has the same, so that the average is whole.
                let same = stream.clone_htod(&values(of, 0, N))?;
                let mut all = fresh(N)?;
                comm.all_reduce(&same, &mut all, &Avg)?;
                assert_eq!(stream.clone_dtoh(&all)?, values(of, 0, N));
            }
            let mut one = fresh(N)?;
            comm.reduce(
                &own,
                (rank == last as usize).then_some(&mut one),
                &Sum,
                last,
            )?;
            let expected = if rank == last as usize {
                of_all(Sum, 0, N)
            } else {
                vec![of(77); N]
            };
            assert_eq!(stream.clone_dtoh(&one)?, expected);
            let mut here = stream.clone_dtod(&own)?;
            comm.reduce_in_place(&mut here, &Max, 0)?;
            if rank == 0 {
                assert_eq!(stream.clone_dtoh(&here)?, of_all(Max, 0, N));
            }
            let mut heard = fresh(N)?;
            comm.broadcast((rank == last as usize).then_some(&own), &mut heard, last)?;
            assert_eq!(stream.clone_dtoh(&heard)?, values(of, last as usize, N));
            let mut heard = stream.clone_dtod(&own)?;
            comm.broadcast_in_place(&mut heard, 0)?;
            assert_eq!(stream.clone_dtoh(&heard)?, values(of, 0, N));
            let mut gathered = fresh(N * count)?;
            comm.all_gather(&own, &mut gathered)?;
            let expected: Vec<T> = (0..count).flat_map(|each| values(of, each, N)).collect();
            assert_eq!(stream.clone_dtoh(&gathered)?, expected);
            let wide = stream.clone_htod(&values(of, rank, N * count))?;
            let mut part = fresh(N)?;
            comm.reduce_scatter(&wide, &mut part, &Sum)?;
            assert_eq!(stream.clone_dtoh(&part)?, of_all(Sum, rank * N, N));
            // Around in a ring, and back by single calls: even ranks send first.
            let (next, before) = ((rank + 1) % count, (rank + count - 1) % count);
            let mut heard = fresh(N)?;
            group_start()?;
            comm.send(&own, next as i32)?;
            comm.recv(&mut heard, before as i32)?;
            group_end()?;
            assert_eq!(stream.clone_dtoh(&heard)?, values(of, before, N));
            if rank % 2 == 0 && rank + 1 < count {
                comm.send(&heard, rank as i32 + 1)?;
            } else if rank % 2 == 1 {
                comm.recv(&mut part, rank as i32 - 1)?;
                assert_eq!(
                    stream.clone_dtoh(&part)?,
                    values(of, (rank + count - 2) % count, N)
                );
            }
            Ok(comm.context().check_err()?)
        })?;
    }
    Ok(())
}

#[test]
#[ignore = "needs two HIP devices"]
fn every_operation_of_every_type_is_that_of_arithmetic() -> Outcome {
    every_operation(|v| v as i8, true)?;
    every_operation(|v| v as u8, true)?;
    every_operation(|v| v, true)?;
    every_operation(|v| v as u32, true)?;
    every_operation(|v| v as i64, true)?;
    every_operation(|v| v as u64, true)?;
    every_operation(|v| f16::from_f32(v as f32), true)?;
    every_operation(|v| bf16::from_f32(v as f32), true)?;
    every_operation(|v| v as f32, true)?;
    every_operation(|v| v as f64, true)
}

fn one_thread() -> Result<Vec<Comm>, Box<dyn Error>> {
    let streams: Result<Vec<_>, _> = (0..devices()?)
        .map(|ordinal| HipContext::new(ordinal)?.new_stream())
        .collect();
    Ok(Comm::from_devices(streams?)?)
}

#[test]
#[ignore = "needs two HIP devices"]
fn one_thread_has_all_ranks_in_a_group() -> Outcome {
    let comms = one_thread()?;
    let own: Result<Vec<HipSlice<f32>>, _> = comms
        .iter()
        .map(|comm| {
            comm.stream()
                .clone_htod(&values(|v| v as f32, comm.rank(), N))
        })
        .collect();
    let own = own?;
    let mut all = Vec::new();
    for comm in &comms {
        // On another stream of the device than the rank's.
        all.push(comm.context().new_stream()?.alloc_zeros::<f32>(N)?);
    }
    group_start()?;
    for ((comm, own), all) in comms.iter().zip(&own).zip(&mut all) {
        comm.all_reduce(own, all, &ReduceOp::Sum)?;
    }
    group_end()?;
    let expected: Vec<f32> = (0..N)
        .map(|place| reduced(ReduceOp::Sum, comms.len(), place) as f32)
        .collect();
    for (comm, all) in comms.iter().zip(&all) {
        assert_eq!(
            all.stream().clone_dtoh(all)?,
            expected,
            "rank {}",
            comm.rank()
        );
    }
    // Groups of views keep their memory until they end.
    let mut parts = Vec::new();
    for comm in &comms {
        parts.push(comm.stream().alloc_zeros::<f32>(2 * N)?);
    }
    let views = own.iter().zip(&mut parts);
    let views: Vec<_> = views
        .map(|(own, part)| (own.slice(..), part.slice_mut(N..)))
        .collect();
    group_start()?;
    for (comm, (own, part)) in comms.iter().zip(views) {
        let mut group = comm.group()?;
        group.all_reduce(own, part, &ReduceOp::Max)?;
        group.end()?;
    }
    group_end()?;
    let expected: Vec<f32> = (0..N)
        .map(|place| reduced(ReduceOp::Max, comms.len(), place) as f32)
        .collect();
    for (comm, part) in comms.iter().zip(&parts) {
        let both = comm.stream().clone_dtoh(part)?;
        assert_eq!(both[..N], [0.; N]);
        assert_eq!(both[N..], expected);
    }
    Ok(())
}

#[test]
#[ignore = "needs a HIP device"]
fn memory_of_a_group_is_in_use_until_it_ends() -> Outcome {
    // What the stream of a thread has done is known by an event behind what was put in so far.
    let context = HipContext::new(0)?;
    let comms = Comm::from_devices(vec![context.per_thread_stream()])?;
    let other = context.new_stream()?;
    let given = values(|v| v as f32, 0, N);
    let own = other.clone_htod(&given)?;
    let mut all = other.alloc_zeros::<f32>(N)?;
    let mut group = comms[0].group()?;
    group.all_reduce(own.slice(..), all.slice_mut(..), &ReduceOp::Sum)?;
    group.end()?;
    assert_eq!(other.clone_dtoh(&all)?, given);
    Ok(())
}

#[test]
#[ignore = "needs two HIP devices"]
fn memory_that_is_too_small_is_refused() -> Outcome {
    let comms = one_thread()?;
    let comm = &comms[0];
    let stream = comm.stream();
    let own = stream.alloc_zeros::<f32>(N)?;
    let mut small = stream.alloc_zeros::<f32>(N - 1)?;
    let mut one = stream.alloc_zeros::<f32>(N)?;
    let none = None::<&mut HipSlice<f32>>;
    let refused = [
        comm.all_reduce(&own, &mut small, &ReduceOp::Sum),
        comm.reduce(&own, Some(&mut small), &ReduceOp::Sum, 0),
        comm.reduce(&own, none, &ReduceOp::Sum, 0),
        comm.broadcast(Some(&small), &mut one, 0),
        comm.all_gather(&own, &mut one),
        comm.reduce_scatter(&own, &mut one, &ReduceOp::Sum),
        comm.broadcast(Some(&own), &mut one, comms.len() as i32),
        comm.recv(&mut one, -1),
    ];
    assert_eq!(refused, [Err(INVALID); 8]);
    Ok(())
}

#[test]
#[ignore = "needs two HIP devices"]
fn work_on_other_streams_goes_before_and_after() -> Outcome {
    ranks(devices()?, |comm, stream| {
        let other = comm.context().new_stream()?;
        let mut sum = vec![0f32; N];
        let mut memory = other.clone_htod(&values(|v| v as f32, comm.rank(), N))?;
        for round in 0..8 {
            comm.all_reduce_in_place(&mut memory, &ReduceOp::Max)?;
            let copy = other.clone_dtod(&memory)?;
            let values: Vec<f32> = vec![round as f32 + comm.rank() as f32; N];
            other.memcpy_htod(&values, &mut memory)?;
            for (sum, value) in sum.iter_mut().zip(other.clone_dtoh(&copy)?) {
                *sum += value;
            }
        }
        let last = comm.world_size() as f32 - 1.;
        for (place, sum) in sum.into_iter().enumerate() {
            let first = reduced(ReduceOp::Max, comm.world_size(), place) as f32;
            assert_eq!(
                sum,
                first + (0..7).map(|round| round as f32 + last).sum::<f32>()
            );
        }
        Ok(stream.synchronize()?)
    })
}
