//! Convolutions beside arithmetic in double precision, and what MIOpen does not compute. Who runs it
//! may read what is printed (`python -m tools.proof convolutions`).

use half::{bf16, f16};
use hiprc::driver::{DeviceRepr, HipContext, HipStream};
use hiprc::miopen::sys::{
    miopenConvFwdAlgorithm_t, miopenConvolutionMode_t, miopenStatus_t, miopenTensorLayout_t,
};
use hiprc::miopen::{ConvForward, Convolution, Miopen, MiopenDataType};
use std::error::Error;
use std::sync::Arc;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const CASES: u64 = 120;

/// A type of elements, between which and double precision nothing is lost.
trait Value: MiopenDataType + DeviceRepr + Copy {
    /// Half a unit in the last place.
    const UNIT: f64;

    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! values {
    ($($type:ty: $digits:expr, $of:expr, $value:expr;)*) => {
        $(
            impl Value for $type {
                const UNIT: f64 = 1. / (1u64 << $digits) as f64;

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
    f16: 11, f16::from_f64, f16::to_f64;
    bf16: 8, bf16::from_f64, bf16::to_f64;
    f32: 24, |v| v as f32, f64::from;
}

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn up_to(&mut self, most: usize) -> usize {
        1 + (self.next() % most as u64) as usize
    }

    /// Between -1 and 1.
    fn value<T: Value>(&mut self) -> T {
        T::of((self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.)
    }

    /// One whose filter fits; of one dimension for each second case.
    fn convolution(&mut self, case: u64) -> Convolution {
        loop {
            let flat = case % 2 == 1;
            let mut along = |most: usize| if flat { 1 } else { self.up_to(most) };
            let (high, tall, up, down) = (along(9), along(4), along(3), along(3));
            let found = Convolution {
                input: [self.up_to(3), self.up_to(6), high, self.up_to(14)],
                filter: [self.up_to(7), 0, tall, self.up_to(5)],
                padding: [if flat { 0 } else { self.up_to(4) - 1 }, self.up_to(4) - 1],
                stride: [up, self.up_to(3)],
                dilation: [down, self.up_to(3)],
            };
            let filter = [found.filter[0], found.input[1], tall, found.filter[3]];
            let found = Convolution { filter, ..found };
            if found.output().is_some() {
                return found;
            }
        }
    }
}

fn count(sizes: [usize; 4]) -> usize {
    sizes.iter().product()
}

/// The sum at each place of the output, and the sum of the sizes of its terms.
fn expected(of: &Convolution, groups: usize, x: &[f64], w: &[f64]) -> Vec<(f64, f64)> {
    let [batch, channels, height, width] = of.input;
    let [given, taken, tall, wide] = of.filter;
    let [_, _, rows, columns] = of.output().unwrap();
    let mut found = vec![];
    for n in 0..batch {
        for k in 0..given {
            for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                let (mut sum, mut sizes) = (0., 0.);
                for c in 0..taken {
                    for (p, q) in (0..tall).flat_map(|p| (0..wide).map(move |q| (p, q))) {
                        let row = (i * of.stride[0] + p * of.dilation[0])
                            .checked_sub(of.padding[0])
                            .filter(|row| *row < height);
                        let column = (j * of.stride[1] + q * of.dilation[1])
                            .checked_sub(of.padding[1])
                            .filter(|column| *column < width);
                        let (Some(row), Some(column)) = (row, column) else {
                            continue;
                        };
                        let channel = k / (given / groups) * taken + c;
                        let from = ((n * channels + channel) * height + row) * width + column;
                        let term = x[from] * w[((k * taken + c) * tall + p) * wide + q];
                        sum += term;
                        sizes += f64::abs(term);
                    }
                }
                found.push((sum, sizes));
            }
        }
    }
    found
}

/// How far off the worst value is, as a part of what it may be: so many roundings of what is no larger
/// than the sum of sizes (Higham, "Accuracy and Stability of Numerical Algorithms", chapters 3 and 4),
/// in single precision and in whatever order, and one into the type.
fn off<T: Value>(of: &Convolution, found: &[T], expected: &[(f64, f64)]) -> Outcome<f64> {
    assert_eq!(found.len(), expected.len());
    let terms = 2. + (of.filter[1] * of.filter[2] * of.filter[3]) as f64;
    let mut worst = 0f64;
    for (found, (sum, sizes)) in found.iter().zip(expected) {
        let bound =
            T::UNIT * sum.abs() + terms * f32::UNIT * sizes * 2. + f64::from(f32::MIN_POSITIVE);
        let off = (found.value() - sum).abs() / bound;
        if off > 1. || off.is_nan() {
            let (name, found) = (T::NAME, found.value());
            return Err(format!("{of:?} of {name}: {found}, not {sum}").into());
        }
        worst = worst.max(off);
    }
    Ok(worst)
}

fn inputs<T: Value>(of: &Convolution, random: &mut Random) -> [Vec<T>; 2] {
    [of.input, of.filter].map(|sizes| (0..count(sizes)).map(|_| random.value()).collect())
}

fn wide<T: Value>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.value()).collect()
}

fn compare<T: Value>(stream: &Arc<HipStream>) -> Outcome {
    for case in 0..CASES {
        let mut random = Random(case << 8 | T::UNIT.to_bits() >> 52);
        let of = random.convolution(case);
        let [x, w] = inputs::<T>(&of, &mut random);
        let size = count(of.output().unwrap());
        // What it holds before is not a number, and more than is written.
        let mut y = stream.clone_htod(&vec![T::of(f64::NAN); size + 3])?;
        let (on_x, on_w) = (stream.clone_htod(&x)?, stream.clone_htod(&w)?);
        let done = of.forward::<T, _, _, _>(stream, None, &on_x, &on_w, &mut y)?;
        if !done {
            return Err(format!("{of:?} of {} was not computed", T::NAME).into());
        }
        let found = stream.clone_dtoh(&y)?;
        assert!(found[size..].iter().all(|value| value.value().is_nan()));
        let worst = off(&of, &found[..size], &expected(&of, 1, &wide(&x), &wide(&w)))?;
        let name = if case % 2 == 1 { "conv1d" } else { "conv2d" };
        println!("case: {name} of {}: {worst:.3}", T::NAME);
    }
    Ok(())
}

fn stream() -> Outcome<Arc<HipStream>> {
    Ok(HipContext::new(0)?.new_stream()?)
}

#[test]
#[ignore = "needs a HIP device and MIOpen"]
fn what_convolutions_compute() -> Outcome {
    let stream = stream()?;
    compare::<f16>(&stream)?;
    compare::<bf16>(&stream)?;
    compare::<f32>(&stream)
}

#[test]
#[ignore = "needs a HIP device and MIOpen"]
fn what_is_described_has_groups_strides_and_an_algorithm() -> Outcome {
    let stream = stream()?;
    let miopen = Miopen::new(stream.clone())?;
    let of = Convolution {
        input: [2, 6, 7, 5],
        filter: [4, 3, 3, 2],
        padding: [1, 0],
        stride: [2, 1],
        dilation: [1, 2],
    };
    let mut random = Random(7);
    let [x, w] = inputs::<f32>(&of, &mut random);
    let mut conv = miopen.create_conv2d::<f32>(
        [1, 0],
        [2, 1],
        [1, 2],
        miopenConvolutionMode_t::miopenConvolution,
    )?;
    conv.set_group_count(2)?;
    // Each channel lies in the memory of its image as by rows of places.
    let across: Vec<f32> = (0..x.len())
        .map(|at| {
            let (image, place, channel) = (at / 210, at % 210 / 6, at % 6);
            x[image * 210 + channel * 35 + place]
        })
        .collect();
    let output = of.output().unwrap();
    let y_dims = output.map(|size| size as i32);
    let op = ConvForward {
        conv: &conv,
        x: &miopen.create_4d_tensor_ex::<f32>([2, 6, 7, 5], [210, 1, 30, 6])?,
        w: &miopen.create_4d_filter::<f32>(miopenTensorLayout_t::miopenTensorNCHW, [4, 3, 3, 2])?,
        y: &miopen.create_4d_tensor::<f32>(miopenTensorLayout_t::miopenTensorNCHW, y_dims)?,
    };
    let expected = expected(&of, 2, &wide(&x), &wide(&w));
    let (on_x, on_w) = (stream.clone_htod(&across)?, stream.clone_htod(&w)?);
    for algorithm in [
        op.pick_algorithm()?,
        miopenConvFwdAlgorithm_t::miopenConvolutionFwdAlgoDirect,
    ] {
        let mut workspace = stream.alloc_zeros::<u8>(op.get_workspace_size(algorithm)?)?;
        let mut y = stream.alloc_zeros::<f32>(count(output))?;
        // SAFETY: the memory is as large as is described.
        unsafe {
            op.launch(
                algorithm,
                Some(&mut workspace),
                (1., 0.),
                &on_x,
                &on_w,
                &mut y,
            )?
        };
        off(&of, &stream.clone_dtoh(&y)?, &expected)?;
    }
    let wrong = op
        .get_workspace_size(miopenConvFwdAlgorithm_t::COUNT)
        .unwrap_err();
    assert_eq!(wrong.0, miopenStatus_t::NO_SOLUTION);
    let mut y = stream.alloc_zeros::<f32>(count(output))?;
    let direct = miopenConvFwdAlgorithm_t::miopenConvolutionFwdAlgoDirect;
    let none = None::<&mut hiprc::driver::HipSlice<u8>>;
    // SAFETY: as above.
    let scaled = unsafe { op.launch(direct, none, (2., 0.), &on_x, &on_w, &mut y) };
    assert_eq!(
        scaled.unwrap_err().0,
        miopenStatus_t::miopenStatusNotImplemented
    );
    Ok(())
}

const PLAIN: Convolution = Convolution {
    input: [1, 1, 3, 3],
    filter: [1, 1, 2, 2],
    padding: [0, 0],
    stride: [1, 1],
    dilation: [1, 1],
};

#[test]
#[ignore = "needs a HIP device and MIOpen"]
fn what_miopen_does_not_compute_is_left_to_others() -> Outcome {
    let stream = stream()?;
    let forward = |of: Convolution, algorithm| {
        let (x, w) = (stream.alloc_zeros::<f32>(9)?, stream.alloc_zeros::<f32>(4)?);
        let mut y = stream.alloc_zeros::<f32>(4)?;
        of.forward::<f32, _, _, _>(&stream, algorithm, &x, &w, &mut y)
    };
    assert!(forward(PLAIN, None)?);
    let winograd = miopenConvFwdAlgorithm_t::miopenConvolutionFwdAlgoWinograd;
    assert!(!forward(PLAIN, Some(miopenConvFwdAlgorithm_t::COUNT))?);
    let _ = forward(PLAIN, Some(winograd))?; // a GPU may have it
    let larger = Convolution {
        filter: [1, 1, 4, 2],
        ..PLAIN
    };
    assert!(!forward(larger, None)?);
    let wider = Convolution {
        stride: [1 << 40, 1],
        ..PLAIN
    };
    assert!(!forward(wider, None)?);
    let longer = Convolution {
        input: [2, 1, 3, 3],
        ..PLAIN
    };
    let error = forward(longer, None).unwrap_err().to_string();
    assert!(
        error.contains("has memory of [9, 4, 4] elements"),
        "{error}"
    );

    let double = [9, 4].map(|count| stream.alloc_zeros::<f64>(count));
    let [x, w] = double;
    let mut y = stream.alloc_zeros::<f64>(4)?;
    assert!(!PLAIN.forward::<f64, _, _, _>(&stream, None, &x?, &w?, &mut y)?);
    Ok(())
}

#[test]
#[ignore = "needs a HIP device and MIOpen"]
fn threads_share_a_stream_and_each_has_its_own() -> Outcome {
    let context = HipContext::new(0)?;
    let forward = |stream: &Arc<HipStream>| -> Result<Vec<f32>, hiprc::driver::HipError> {
        let (x, w) = (
            stream.clone_htod(&[1f32; 9])?,
            stream.clone_htod(&[2f32; 4])?,
        );
        // SAFETY: the convolution writes all of it.
        let mut y = unsafe { stream.alloc::<f32>(4) }?;
        assert!(PLAIN.forward::<f32, _, _, _>(stream, None, &x, &w, &mut y)?);
        stream.clone_dtoh(&y)
    };
    for stream in [context.new_stream()?, context.per_thread_stream()] {
        std::thread::scope(|scope| {
            let each: Vec<_> = (0..4).map(|_| scope.spawn(|| forward(&stream))).collect();
            for one in each {
                assert_eq!(one.join().unwrap().unwrap(), [8.; 4]);
            }
        });
    }
    Ok(())
}

/// One call may fail, as who runs it asks (`tests/real/test_hip_crate.py`): then one convolution is left
/// to others, and what is computed is right.
#[test]
#[ignore = "needs a HIP device and MIOpen"]
fn what_fails_once_is_left_to_others() -> Outcome {
    let stream = stream()?;
    let (x, w) = (
        stream.clone_htod(&[1f32; 9])?,
        stream.clone_htod(&[2f32; 4])?,
    );
    let mut left = 0;
    for _ in 0..3 {
        let mut y = stream.clone_htod(&[f32::NAN; 4])?;
        if PLAIN.forward::<f32, _, _, _>(&stream, None, &x, &w, &mut y)? {
            assert_eq!(stream.clone_dtoh(&y)?, [8.; 4]);
        } else {
            left += 1;
        }
    }
    let miopen = Miopen::new(stream.clone())?;
    let packed = miopenTensorLayout_t::miopenTensorNCHW;
    let op = ConvForward {
        conv: &miopen.create_conv2d::<f32>(
            [0; 2],
            [1; 2],
            [1; 2],
            miopenConvolutionMode_t::miopenConvolution,
        )?,
        x: &miopen.create_4d_tensor::<f32>(packed, [1, 1, 3, 3])?,
        w: &miopen.create_4d_filter::<f32>(packed, [1, 1, 2, 2])?,
        y: &miopen.create_4d_tensor::<f32>(packed, [1, 1, 2, 2])?,
    };
    println!("left: {left}, fastest: {:?}", op.pick_algorithm()?);
    assert!(left <= 1);
    Ok(())
}
