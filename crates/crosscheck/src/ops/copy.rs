//! What moves, converts or makes elements.

use candle::scalar::Scalar;
use candle::{DType, Result, Tensor};

use crate::array::Array;
use crate::case::{Case, Expected, Maker, Operation};
use crate::element::Element::{self, F16, F8E4M3, I64};
use crate::element::{ALL, FLOATS};

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in ALL {
        let mut add = |name, make: fn(&mut Maker, Element) -> Case| {
            operations.push(Operation::new(name, element.name(), move |m| {
                make(m, element)
            }));
        };
        add("contiguous", contiguous);
        add("copy", copy);
        add("cat", cat);
        add("slice_set", slice_set);
        add("const_set", const_set);
        add("zeros", |maker, element| full(maker, element, 0.0));
        add("ones", |maker, element| full(maker, element, 1.0));
        for to in ALL {
            let elements = format!("{} {}", element.name(), to.name());
            operations.push(Operation::new("cast", elements.clone(), move |maker| {
                cast(maker, element, to, true)
            }));
            if !to.is_float() && element != to {
                operations.push(Operation::new(
                    "cast out of range",
                    elements,
                    move |maker| cast(maker, element, to, false),
                ));
            }
        }
    }
    for element in FLOATS {
        operations.push(Operation::new("rand", element.name(), move |m| {
            rand(m, element)
        }));
        operations.push(Operation::new("randn", element.name(), move |m| {
            randn(m, element)
        }));
    }
    operations
}

fn contiguous(maker: &mut Maker, element: Element) -> Case {
    let shape = maker.shape(0, 4);
    let input = maker.input(element, &shape, (-99.0, 99.0));
    let expected = Expected::exact(element, input.array());
    Case::new(vec![input], |t| t[0].contiguous(), expected)
}

fn copy(maker: &mut Maker, element: Element) -> Case {
    let shape = maker.shape(0, 4);
    let input = maker.input(element, &shape, (-99.0, 99.0));
    let expected = Expected::exact(element, input.array());
    Case::new(vec![input], |t| t[0].copy(), expected)
}

fn cat(maker: &mut Maker, element: Element) -> Case {
    let shape = maker.shape(1, 4);
    let dim = maker.rng.below(shape.len());
    let inputs: Vec<_> = (0..maker.rng.within(1, 3))
        .map(|_| {
            let mut shape = shape.clone();
            shape[dim] = maker.dim();
            maker.input(element, &shape, (-99.0, 99.0))
        })
        .collect();
    let arrays: Vec<Array> = inputs.iter().map(|input| input.array()).collect();
    let mut joined = shape.clone();
    joined[dim] = arrays.iter().map(|array| array.shape[dim]).sum();
    let expected = Array::new(&joined, |index| {
        let mut from = index.to_vec();
        for array in &arrays {
            if from[dim] < array.shape[dim] {
                return array.at(&from);
            }
            from[dim] -= array.shape[dim];
        }
        unreachable!("the sizes add up to that of the whole")
    });
    let run = move |t: &[Tensor]| Tensor::cat(t, dim);
    Case::new(inputs, run, Expected::exact(element, expected)).with(format!("dimension {dim}"))
}

fn slice_set(maker: &mut Maker, element: Element) -> Case {
    let shape = maker.shape(1, 4);
    let dim = maker.rng.below(shape.len());
    let mut part = shape.clone();
    part[dim] = maker.rng.below(shape[dim] + 1);
    let start = maker.rng.below(shape[dim] - part[dim] + 1);
    let whole = maker.plain(element, &shape, (-99.0, 99.0));
    let source = maker.plain(element, &part, (-99.0, 99.0));
    let (under, over) = (whole.array(), source.array());
    let expected = Array::new(&shape, |index| {
        let inside = (start..start + part[dim]).contains(&index[dim]);
        if inside {
            let mut from = index.to_vec();
            from[dim] -= start;
            over.at(&from)
        } else {
            under.at(index)
        }
    });
    let run = move |t: &[Tensor]| {
        t[0].slice_set(&t[1], dim, start)?;
        Ok(t[0].clone())
    };
    Case::new(vec![whole, source], run, Expected::exact(element, expected))
        .with(format!("dimension {dim} from {start}"))
}

/// Writes through a view, and shows all of the storage.
fn const_set(maker: &mut Maker, element: Element) -> Case {
    let shape = [maker.some(9), maker.some(9)];
    let whole = maker.plain(element, &shape, (-99.0, 99.0));
    let turned = maker.rng.chance(50);
    let rows = maker
        .some(shape[usize::from(turned)])
        .min(shape[usize::from(turned)]);
    let start = maker.rng.below(shape[usize::from(turned)] - rows + 1);
    let before = whole.array();
    let expected = Array::new(&shape, |index| {
        let row = index[usize::from(turned)];
        if (start..start + rows).contains(&row) {
            1.0
        } else {
            before.at(index)
        }
    });
    let dtype = element.dtype();
    let run = move |t: &[Tensor]| {
        let view = if turned { t[0].t()? } else { t[0].clone() };
        view.narrow(0, start, rows)?.const_set(Scalar::one(dtype))?;
        Ok(t[0].clone())
    };
    Case::new(vec![whole], run, Expected::exact(element, expected)).with(format!(
        "rows {start}..{}{}",
        start + rows,
        if turned { ", transposed" } else { "" }
    ))
}

fn full(maker: &mut Maker, element: Element, value: f64) -> Case {
    let shape = maker.shape(0, 4);
    // The backend is told by an input.
    let anchor = maker.plain(element, &[1], (0.0, 1.0));
    let expected = Expected::exact(element, Array::new(&shape, |_| value));
    let run = move |t: &[Tensor]| {
        if value == 0.0 {
            Tensor::zeros(shape.as_slice(), t[0].dtype(), t[0].device())
        } else {
            Tensor::ones(shape.as_slice(), t[0].dtype(), t[0].device())
        }
    };
    Case::new(vec![anchor], run, expected)
}

/// Converts. Where a real number becomes an integer, it is cut; what lies outside is not a value of
/// C++, and Rust's rule, the nearest limit, is what is asked for.
pub fn cast(maker: &mut Maker, from: Element, to: Element, inside: bool) -> Case {
    let shape = maker.shape(0, 4);
    let (low, high) = to.limits();
    let (least, most) = from.limits();
    let wide = if to.is_float() {
        (-99.0, 99.0)
    } else {
        (low.max(-99.0), high.min(99.0))
    };
    maker.edges &= to.is_float();
    let range = if inside {
        wide
    } else {
        ((low * 4.0).max(-1e6), (high * 4.0).min(1e6))
    };
    let mut input = maker.input(from, &shape, range);
    if !inside && from.is_float() && from != F8E4M3 {
        for value in input.base.data.iter_mut().step_by(3) {
            *value = *maker
                .rng
                .pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, least, most]);
        }
    }
    let convert = |x: f64| match (from.is_float(), to.is_float()) {
        (_, true) => x,
        (false, false) => to.round(x),
        (true, false) if x.is_nan() => 0.0,
        // The limits of 64 bits are not exact in an f64.
        (true, false) if to == I64 => (x.trunc() as i64) as f64,
        (true, false) => x.trunc().clamp(low, high),
    };
    let expected = Expected::exact(to, input.array().map(convert));
    let dtype: DType = to.dtype();
    Case::new(vec![input], move |t| t[0].to_dtype(dtype), expected)
}

/// Uniform numbers: of the range, not all the same, and with the mean of the range.
fn rand(maker: &mut Maker, element: Element) -> Case {
    let (low, width) = (maker.rng.real(-5.0, 5.0), maker.rng.real(0.5, 5.0));
    let count = maker.rng.within(1, 40) * 100;
    drawn(
        maker,
        element,
        format!("{count} of {low}..{}", low + width),
        move |t| {
            let device = t.device();
            let own = match element {
                F16 => Tensor::rand(half(low), half(low + width), count, device)?,
                Element::BF16 => Tensor::rand(brain(low), brain(low + width), count, device)?,
                Element::F64 => Tensor::rand(low, low + width, count, device)?,
                _ => Tensor::rand(low as f32, (low + width) as f32, count, device)?,
            };
            let own = own.to_dtype(DType::F64)?.to_vec1::<f64>()?;
            let slack = 8.0 * element.epsilon() * (low.abs() + width);
            let inside = own
                .iter()
                .all(|&x| x >= low - slack && x <= low + width + slack);
            // Six standard deviations of the mean of uniform numbers.
            let near = 6.0 * width / (12.0 * count as f64).sqrt() + slack;
            let mean = own.iter().sum::<f64>() / count as f64;
            let spread = own.len() == count && own.iter().any(|x| x != &own[0]);
            Ok([inside, (mean - low - width / 2.0).abs() < near, spread])
        },
    )
}

/// Normal numbers: mean and variance.
fn randn(maker: &mut Maker, element: Element) -> Case {
    let (mean, deviation) = (maker.rng.real(-5.0, 5.0), maker.rng.real(0.5, 5.0));
    // An odd number now and then: generators make normal numbers in pairs.
    let count = maker.rng.within(1000, 4000);
    drawn(
        maker,
        element,
        format!("{count}, mean {mean}, deviation {deviation}"),
        move |t| {
            let device = t.device();
            let own = match element {
                F16 => Tensor::randn(half(mean), half(deviation), count, device)?,
                Element::BF16 => Tensor::randn(brain(mean), brain(deviation), count, device)?,
                Element::F64 => Tensor::randn(mean, deviation, count, device)?,
                _ => Tensor::randn(mean as f32, deviation as f32, count, device)?,
            };
            let own = own.to_dtype(DType::F64)?.to_vec1::<f64>()?;
            let found = own.iter().sum::<f64>() / count as f64;
            let square = own.iter().map(|x| (x - found).powi(2)).sum::<f64>() / count as f64;
            let n = (count as f64).sqrt();
            let slack = 8.0 * element.epsilon() * (mean.abs() + deviation);
            Ok([
                (found - mean).abs() < 6.0 * deviation / n + slack,
                (square.sqrt() / deviation - 1.0).abs() < 6.0 / n + slack,
                own.iter().all(|x| x.is_finite()),
            ])
        },
    )
}

fn half(x: f64) -> half::f16 {
    half::f16::from_f64(x)
}

fn brain(x: f64) -> half::bf16 {
    half::bf16::from_f64(x)
}

/// A case whose values are not known, but what must hold for them.
fn drawn(
    maker: &mut Maker,
    element: Element,
    arguments: String,
    holds: impl Fn(&Tensor) -> Result<[bool; 3]> + 'static,
) -> Case {
    let anchor = maker.plain(element, &[1], (0.0, 1.0));
    let all = Array::new(&[3], |_| 1.0);
    let run = move |t: &[Tensor]| {
        let held = holds(&t[0])?.map(u8::from);
        Tensor::new(&held, &candle::Device::Cpu)
    };
    Case::new(vec![anchor], run, Expected::exact(Element::U8, all)).with(arguments)
}
