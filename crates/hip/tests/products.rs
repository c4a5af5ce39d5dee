//! Products of half and bf16 matrices by rocBLAS and by hipBLASLt, on a HIP device: `cargo test --
//! --include-ignored` where there is one.
//!
//! Values are small integers, so that every sum is exact in any order, and what one library gives is what
//! the other gives, to the bit.

use half::{bf16, f16};
use hiprc::driver::result as memory;
use hiprc::driver::{sys, DeviceRepr, HipContext, HipSlice, HipStream};
use hiprc::hipblaslt::Choice;
use hiprc::rocblas::sys::{rocblas_operation, rocblas_pointer_mode};
use hiprc::rocblas::{result, Gemm, GemmConfig, RocBlas, StridedBatchedConfig};
use std::error::Error;
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const N: rocblas_operation = rocblas_operation::rocblas_operation_none;
const T: rocblas_operation = rocblas_operation::rocblas_operation_transpose;

/// Work that a test captures: while there is any on a GPU, hipBLASLt cannot be begun with.
static CAPTURES: RwLock<()> = RwLock::new(());

/// Lets no other test capture work, as one does that counts what hipBLASLt takes.
fn without_captures() -> RwLockReadGuard<'static, ()> {
    CAPTURES.read().unwrap_or_else(PoisonError::into_inner)
}

/// What lies between the columns of a result, where nobody may write.
const GAP: f32 = 77.;

/// A type of 16 bits.
trait Half: DeviceRepr + Copy + Debug + PartialEq + 'static {
    fn of(value: f32) -> Self;
}

impl Half for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Half for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

/// A product, with as many elements between columns and matrices as there need be, and some more.
#[derive(Clone, Copy, Debug)]
struct Case {
    ops: [rocblas_operation; 2],
    sizes: [usize; 3],
    batch: usize,
    pad: usize,
    alpha: f32,
    beta: f32,
}

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix, as -1, 0 or 1.
fn value(salt: usize, place: usize) -> f32 {
    let mut z = ((place * 4 + salt + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % 3) as f32 - 1.
}

impl Case {
    fn of(ops: [rocblas_operation; 2], sizes: [usize; 3]) -> Self {
        Self {
            ops,
            sizes,
            batch: 1,
            pad: 0,
            alpha: 1.,
            beta: 0.,
        }
    }

    /// Rows and columns as they are stored, of `a`, `b` and `c`.
    fn stored(&self) -> [(usize, usize); 3] {
        let [m, n, k] = self.sizes;
        let turned = |op, rows, columns| {
            if op == N {
                (rows, columns)
            } else {
                (columns, rows)
            }
        };
        let [a, b] = self.ops;
        [turned(a, m, k), turned(b, k, n), (m, n)]
    }

    fn leading(&self) -> [usize; 3] {
        self.stored().map(|(rows, _)| rows + self.pad)
    }

    fn stride(&self, which: usize) -> usize {
        self.leading()[which] * self.stored()[which].1 + self.pad
    }

    fn place(&self, which: usize, matrix: usize, row: usize, column: usize) -> usize {
        let op = [self.ops[0], self.ops[1], N][which];
        let (i, j) = if op == N {
            (row, column)
        } else {
            (column, row)
        };
        matrix * self.stride(which) + j * self.leading()[which] + i
    }

    fn values<E: Half>(&self, which: usize) -> Vec<E> {
        let length = self.batch * self.stride(which);
        (0..length).map(|at| E::of(value(which, at))).collect()
    }

    fn config<E: Half>(&self) -> StridedBatchedConfig<E> {
        let [m, n, k] = self.sizes.map(|size| size as i32);
        let [lda, ldb, ldc] = self.leading().map(|leading| leading as i32);
        let [transa, transb] = self.ops;
        let (alpha, beta) = (E::of(self.alpha), E::of(self.beta));
        StridedBatchedConfig {
            gemm: GemmConfig {
                transa,
                transb,
                m,
                n,
                k,
                alpha,
                lda,
                ldb,
                beta,
                ldc,
            },
            batch_size: self.batch as i32,
            stride_a: self.stride(0) as i64,
            stride_b: self.stride(1) as i64,
            stride_c: self.stride(2) as i64,
        }
    }

    /// What is there before.
    fn before<E: Half>(&self) -> Vec<E> {
        let mut before = vec![E::of(GAP); self.batch * self.stride(2)];
        let [m, n, _] = self.sizes;
        for (matrix, row, column) in each(self.batch, m, n) {
            // Where the result of before does not count it may be no number.
            let kept = if self.beta == 0. {
                f32::NAN
            } else {
                value(2, row + column)
            };
            before[self.place(2, matrix, row, column)] = E::of(kept);
        }
        before
    }

    /// What arithmetic makes of it.
    fn expected<E: Half>(&self) -> Vec<E> {
        let [m, n, k] = self.sizes;
        let mut after = self.before();
        for (matrix, row, column) in each(self.batch, m, n) {
            let sum: f32 = (0..k)
                .map(|l| {
                    value(0, self.place(0, matrix, row, l))
                        * value(1, self.place(1, matrix, l, column))
                })
                .sum();
            let kept = if self.beta == 0. {
                0.
            } else {
                self.beta * value(2, row + column)
            };
            let result = self.alpha * sum + kept;
            // Up to here bf16 has every integer.
            assert!(result.abs() <= 256., "{self:?}");
            after[self.place(2, matrix, row, column)] = E::of(result);
        }
        after
    }

    fn run<E: Half>(&self, blas: &RocBlas) -> Outcome<Vec<E>>
    where
        RocBlas: Gemm<E>,
    {
        let stream = blas.stream();
        let (a, b) = (
            stream.clone_htod(&self.values::<E>(0))?,
            stream.clone_htod(&self.values::<E>(1))?,
        );
        let mut c = stream.clone_htod(&self.before::<E>())?;
        self.put(blas, &a, &b, &mut c)?;
        Ok(stream.clone_dtoh(&c)?)
    }

    fn put<E: Half>(
        &self,
        blas: &RocBlas,
        a: &HipSlice<E>,
        b: &HipSlice<E>,
        c: &mut HipSlice<E>,
    ) -> Outcome
    where
        RocBlas: Gemm<E>,
    {
        let config = self.config();
        // SAFETY: the matrices are as large as the configuration says.
        Ok(unsafe {
            if self.batch == 1 {
                blas.gemm(config.gemm, a, b, c)
            } else {
                blas.gemm_strided_batched(config, a, b, c)
            }
        }?)
    }
}

fn each(batch: usize, rows: usize, columns: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..batch).flat_map(move |matrix| {
        (0..columns).flat_map(move |column| (0..rows).map(move |row| (matrix, row, column)))
    })
}

/// Bits, since what is no number equals nothing.
fn bits<E: Half>(values: &[E]) -> Vec<String> {
    values.iter().map(|value| format!("{value:?}")).collect()
}

fn on(choice: Choice, stream: &Arc<HipStream>) -> Outcome<RocBlas> {
    Ok(RocBlas::with_choice(stream.clone(), choice)?)
}

/// A product that has a workspace on portkit's device.
const DEEP: [usize; 3] = [24, 20, 300];

fn cases() -> Vec<Case> {
    let sizes = [[3, 4, 5], [1, 7, 9], [8, 1, 6], [1, 1, 4], [5, 6, 1], DEEP];
    let mut cases = Vec::new();
    for ops in [[N, N], [N, T], [T, N], [T, T]] {
        for size in sizes {
            for (batch, pad) in [(1, 0), (3, 0), (1, 3), (2, 5)] {
                for (alpha, beta) in [(1., 0.), (2., 1.)] {
                    cases.push(Case {
                        batch,
                        pad,
                        alpha,
                        beta,
                        ..Case::of(ops, size)
                    });
                }
            }
        }
    }
    cases
}

fn compared<E: Half>(stream: &Arc<HipStream>) -> Outcome<usize>
where
    RocBlas: Gemm<E>,
{
    let (one, other) = (on(Choice::Rocblas, stream)?, on(Choice::Hipblaslt, stream)?);
    for case in cases() {
        let expected = bits(&case.expected::<E>());
        assert_eq!(bits(&case.run::<E>(&one)?), expected, "{case:?}");
        assert_eq!(bits(&case.run::<E>(&other)?), expected, "{case:?}");
    }
    assert_eq!(one.taken_by_hipblaslt(), 0);
    Ok(other.taken_by_hipblaslt())
}

#[test]
#[ignore = "needs a HIP device"]
fn both_libraries_compute_what_arithmetic_does() -> Outcome {
    let _captures = without_captures();
    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    for taken in [compared::<f16>(&stream)?, compared::<bf16>(&stream)?] {
        assert!(taken > 0);
        println!("hipBLASLt took {taken} of {}", cases().len());
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn the_architecture_decides_where_nobody_does() -> Outcome {
    let _captures = without_captures();
    let context = HipContext::new(0)?;
    let blas = on(Choice::Auto, &context.new_stream()?)?;
    let arch = context.arch()?;
    let mut before = 0;
    // Vectors lie along k in either way, and f16 is the same as bf16.
    for (ops, size, along_k) in [
        ([N, N], [6, 5, 4], false),
        ([N, T], [6, 5, 4], false),
        ([T, N], [6, 5, 4], true),
        ([N, N], [1, 5, 4], true),
        ([T, T], [6, 1, 4], true),
    ] {
        let wanted = match arch.name() {
            "gfx90a" | "gfx942" | "gfx950" | "gfx1200" | "gfx1201" => true,
            "gfx1100" | "gfx1101" | "gfx1151" => along_k,
            _ => false,
        };
        let case = Case::of(ops, size);
        let [a, b] = [
            case.run::<f16>(&blas)?.len(),
            case.run::<bf16>(&blas)?.len(),
        ];
        assert_eq!(a, b);
        let taken = blas.taken_by_hipblaslt();
        assert_eq!(
            taken - before,
            if wanted { 2 } else { 0 },
            "{arch}: {case:?}"
        );
        before = taken;
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn the_environment_chooses() -> Outcome {
    let _captures = without_captures();
    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    let choice = match std::env::var("HIPRC_BLAS").as_deref() {
        Ok("rocblas") => Choice::Rocblas,
        Ok("hipblaslt") => Choice::Hipblaslt,
        _ => Choice::Auto,
    };
    let taken = |blas: RocBlas| -> Outcome<_> {
        for ops in [[N, N], [T, N]] {
            Case::of(ops, [6, 5, 4]).run::<f16>(&blas)?;
        }
        Ok(blas.taken_by_hipblaslt())
    };
    let made = RocBlas::new(stream.clone()).map_err(|error| error.to_string());
    let said = taken(made?)?;
    assert_eq!(said, taken(on(choice, &stream)?)?);
    match choice {
        Choice::Rocblas => assert_eq!(said, 0),
        Choice::Hipblaslt => assert_eq!(said, 2),
        Choice::Auto => {}
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn threads_have_handles_of_their_own() -> Outcome {
    let _captures = without_captures();
    let context = HipContext::new(0)?;
    for stream in [context.per_thread_stream(), context.shared_stream()?] {
        let blas = on(Choice::Hipblaslt, &stream)?;
        let case = Case::of([T, N], DEEP);
        let expected = bits(&case.expected::<f16>());
        let results: Vec<Result<_, String>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let once = || case.run::<f16>(&blas).map_err(|error| error.to_string());
                        (0..8).map(|_| once()).collect::<Result<Vec<_>, _>>()
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for result in results.into_iter().flat_map(|each| each.unwrap()) {
            assert_eq!(bits(&result), expected);
        }
        assert_eq!(blas.taken_by_hipblaslt(), 32);
    }
    Ok(context.check_err()?)
}

/// Memory of HIP's, of the size that hipBLASLt has beside a handle, full of ones.
fn filled(stream: &HipStream) -> Outcome<sys::hipDeviceptr_t> {
    const BYTES: usize = 16 * 40960 * 4;
    // SAFETY: the memory is set below, which is waited for. Where there is none there may be some again.
    let pointer = unsafe { memory::malloc_sync(BYTES).or_else(|_| memory::malloc_sync(BYTES)) }?;
    // SAFETY: the memory is as large.
    unsafe { memory::memset_d8_async(pointer, 1, BYTES, stream.hip_stream()) }?;
    stream.synchronize()?;
    Ok(pointer)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_graph_holds_products_and_their_memory() -> Outcome {
    let _alone = CAPTURES.write().unwrap_or_else(PoisonError::into_inner);
    let context = HipContext::new(0)?;
    let stream = context.new_stream()?;
    let case = Case {
        beta: 1.,
        ..Case::of([T, N], DEEP)
    };
    let small = Case::of([T, N], [4, 4, 4]);
    let (a, b) = (
        stream.clone_htod(&case.values::<f16>(0))?,
        stream.clone_htod(&case.values::<f16>(1))?,
    );
    let modes = [
        sys::hipStreamCaptureMode::hipStreamCaptureModeGlobal,
        sys::hipStreamCaptureMode::hipStreamCaptureModeRelaxed,
    ];
    for (known, mode) in [false, true]
        .into_iter()
        .flat_map(|k| modes.map(|mode| (k, mode)))
    {
        let blas = on(Choice::Hipblaslt, &stream)?;
        if known {
            small.run::<f16>(&blas)?;
        }
        let before = blas.taken_by_hipblaslt();
        let mut c = stream.clone_htod(&case.before::<f16>())?;
        stream.synchronize()?;
        stream.begin_capture(mode)?;
        case.put(&blas, &a, &b, &mut c)?;
        let flags = sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch;
        let graph = stream.end_capture(flags)?.ok_or("no graph")?;
        // A library that was not used before would have to allocate, and so has HIP's pool.
        let taken = known && !context.has_async_alloc();
        assert_eq!(blas.taken_by_hipblaslt() - before, usize::from(taken));
        drop(blas);
        // Others may have what the graph does not keep, be it as large as what hipBLASLt allocates.
        let own = stream.clone_htod(&vec![1u8; 4 << 20])?;
        let raw = (0..8)
            .map(|_| filled(&stream))
            .collect::<Outcome<Vec<_>>>()?;
        graph.launch()?;
        assert_eq!(bits(&stream.clone_dtoh(&c)?), bits(&case.expected::<f16>()));
        assert!(stream.clone_dtoh(&own)?.iter().all(|&byte| byte == 1));
        for pointer in raw {
            // SAFETY: the memory is alive and not used again.
            unsafe { memory::free_sync(pointer) }?;
        }
        stream.memcpy_htod(&case.before::<f16>(), &mut c)?;
        graph.launch()?;
        assert_eq!(bits(&stream.clone_dtoh(&c)?), bits(&case.expected::<f16>()));
    }
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn work_stays_behind_what_another_stream_writes() -> Outcome {
    let _captures = without_captures();
    let context = HipContext::new(0)?;
    let (writer, stream) = (context.new_stream()?, context.new_stream()?);
    let blas = on(Choice::Hipblaslt, &stream)?;
    let case = Case::of([T, N], DEEP);
    let expected = bits(&case.expected::<f16>());
    for _ in 0..4 {
        let a = writer.clone_htod(&case.values::<f16>(0))?;
        let b = writer.clone_dtod(&writer.clone_htod(&case.values::<f16>(1))?)?;
        let mut c = stream.clone_htod(&case.before::<f16>())?;
        case.put(&blas, &a, &b, &mut c)?;
        drop((a, b));
        assert_eq!(bits(&writer.clone_dtoh(&c)?), expected);
    }
    assert_eq!(blas.taken_by_hipblaslt(), 4);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_handle_that_was_changed_is_rocblass() -> Outcome {
    let _captures = without_captures();
    let context = HipContext::new(0)?;
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let case = Case::of([T, N], [6, 5, 4]);
    let expected = bits(&case.expected::<f16>());
    let mut blas = on(Choice::Hipblaslt, &stream)?;
    assert_eq!(bits(&case.run::<f16>(&blas)?), expected);
    assert_eq!(blas.taken_by_hipblaslt(), 1);
    // SAFETY: streams of one device, between which the caller waits.
    unsafe {
        result::set_stream(*blas.handle(), other.hip_stream())?;
        case.run::<f16>(&blas)?;
        context.synchronize()?;
        result::set_stream(*blas.handle(), stream.hip_stream())?;
    }
    assert_eq!(blas.taken_by_hipblaslt(), 1);
    // SAFETY: as above.
    unsafe { blas.set_stream(other.clone()) }?;
    assert_eq!(bits(&case.run::<f16>(&blas)?), expected);
    assert_eq!(blas.taken_by_hipblaslt(), 1);
    blas.set_pointer_mode(rocblas_pointer_mode::rocblas_pointer_mode_device)?;
    on_the_device(&blas, &case)?;
    assert_eq!(blas.taken_by_hipblaslt(), 1);
    Ok(context.check_err()?)
}

#[test]
#[ignore = "needs a HIP device"]
fn a_new_stream_waits_for_work_of_the_former() -> Outcome {
    let _captures = without_captures();
    let context = HipContext::new(0)?;
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let mut blas = on(Choice::Rocblas, &stream)?;
    let case = Case::of([N, N], [6, 5, 4]);
    let a = stream.clone_htod(&case.values::<f16>(0))?;
    let b = stream.clone_htod(&case.values::<f16>(1))?;
    let mut c = stream.clone_htod(&case.before::<f16>())?;
    case.put(&blas, &a, &b, &mut c)?;
    let put = stream.record_event(None)?;
    // SAFETY: streams of one device, and no work on the other.
    unsafe { blas.set_stream(other.clone()) }?;
    // Nothing of what is in it has to do with that memory.
    other.synchronize()?;
    assert!(put.try_is_complete()?);
    Ok(context.check_err()?)
}

/// The same with scalars on the device.
fn on_the_device(blas: &RocBlas, case: &Case) -> Outcome {
    use hiprc::driver::{DevicePtr, DevicePtrMut};
    use hiprc::rocblas::sys::{hipblasComputeType_t, rocblas_datatype, rocblas_gemm_algo};
    const F16: rocblas_datatype = rocblas_datatype::rocblas_datatype_f16_r;
    let stream = blas.stream();
    let scalars = stream.clone_htod(&[case.alpha, case.beta])?;
    let (alpha, beta) = (scalars.slice(..1), scalars.slice(1..));
    let (a, b) = (
        stream.clone_htod(&case.values::<f16>(0))?,
        stream.clone_htod(&case.values::<f16>(1))?,
    );
    let mut c = stream.clone_htod(&case.before::<f16>())?;
    let GemmConfig {
        transa,
        transb,
        m,
        n,
        k,
        lda,
        ldb,
        ldc,
        ..
    } = case.config::<f16>().gemm;
    // SAFETY: the matrices are as large as the configuration says, and scalars where the mode says.
    unsafe {
        result::gemm_ex(
            *blas.handle(),
            transa,
            transb,
            m,
            n,
            k,
            alpha.device_ptr(stream).0 as *const _,
            a.device_ptr(stream).0 as *const _,
            F16,
            lda,
            b.device_ptr(stream).0 as *const _,
            F16,
            ldb,
            beta.device_ptr(stream).0 as *const _,
            c.device_ptr_mut(stream).0 as *mut _,
            F16,
            ldc,
            hipblasComputeType_t::HIPBLAS_COMPUTE_32F,
            rocblas_gemm_algo::rocblas_gemm_algo_standard,
        )
    }?;
    assert_eq!(bits(&stream.clone_dtoh(&c)?), bits(&case.expected::<f16>()));
    Ok(())
}
