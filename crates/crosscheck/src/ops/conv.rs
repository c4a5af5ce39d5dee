//! Convolutions, pools and images made larger.

use candle::{Result, Tensor};

use crate::array::{indices, Array};
use crate::case::{Case, Expected, Input, Maker, Operation};
use crate::element::{Element, FLOATS, USUAL};

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in USUAL {
        let mut add = |name, make: fn(&mut Maker, Element) -> Case| {
            operations.push(Operation::new(name, element.name(), move |m| {
                make(m, element)
            }));
        };
        add("conv1d", |maker, element| {
            let moves = Moves::new(maker);
            conv1d(maker, element, moves)
        });
        add("conv2d", |maker, element| {
            let moves = Moves::new(maker);
            conv2d(maker, element, moves)
        });
        add("conv_transpose1d", conv_transpose1d);
        add("conv_transpose2d", conv_transpose2d);
        add("avg_pool2d", |m, e| pool(m, e, false));
        add("max_pool2d", |m, e| pool(m, e, true));
        add("upsample_nearest1d", |m, e| nearest(m, e, 1));
        add("upsample_nearest2d", |m, e| nearest(m, e, 2));
    }
    for element in FLOATS.into_iter().chain([Element::U8, Element::U32]) {
        let make = move |m: &mut Maker| bilinear(m, element);
        operations.push(Operation::new("upsample_bilinear2d", element.name(), make));
    }
    operations
}

/// How a window moves.
#[derive(Clone, Copy, Debug)]
pub struct Moves {
    pub padding: usize,
    pub stride: usize,
    pub dilation: usize,
    groups: usize,
}

impl Moves {
    pub fn new(maker: &mut Maker) -> Self {
        Self {
            padding: maker.rng.below(3),
            stride: maker.rng.within(1, 3),
            dilation: maker.rng.within(1, 2),
            groups: maker.rng.within(1, 2),
        }
    }

    /// Without groups.
    #[cfg(feature = "rocm")]
    pub fn alone(self) -> Self {
        Self { groups: 1, ..self }
    }

    /// How many positions a window has.
    fn count(&self, size: usize, window: usize) -> usize {
        (size + 2 * self.padding - self.dilation * (window - 1) - 1) / self.stride + 1
    }

    /// The smallest size that a window of this size fits into.
    fn least(&self, window: usize) -> usize {
        (self.dilation * (window - 1) + 1)
            .saturating_sub(2 * self.padding)
            .max(1)
    }

    /// Where a window at a position reads, if that is not padding.
    fn source(&self, position: usize, offset: usize, size: usize) -> Option<usize> {
        (position * self.stride + offset * self.dilation)
            .checked_sub(self.padding)
            .filter(|&at| at < size)
    }
}

fn inputs(
    maker: &mut Maker,
    element: Element,
    shape: &[usize],
    kernel: &[usize],
) -> (Input, Input) {
    maker.edges = false;
    let range = if element.is_float() {
        (-2.0, 2.0)
    } else {
        (0.0, 2.0)
    };
    (
        maker.input(element, shape, range),
        maker.input(element, kernel, range),
    )
}

/// The sum of products, and by how much its rounding may be off.
struct Total {
    sum: f64,
    size: f64,
    terms: usize,
}

impl Total {
    fn new() -> Self {
        Self {
            sum: 0.0,
            size: 0.0,
            terms: 0,
        }
    }

    fn add(&mut self, product: f64) {
        self.sum += product;
        self.size += product.abs();
        self.terms += 1;
    }

    fn slack(&self, element: Element) -> f64 {
        // Half-precision backends may round each product and each sum.
        self.size * element.epsilon() * (2 + self.terms.min(32)) as f64
    }
}

fn totals(element: Element, shape: &[usize], total: impl Fn(&[usize]) -> Total) -> Expected {
    let all: Vec<Total> = indices(shape).map(|index| total(&index)).collect();
    let slack = all.iter().map(|total| total.slack(element)).collect();
    let data = all.iter().map(|total| total.sum).collect();
    Expected::exact(
        element,
        Array {
            shape: shape.to_vec(),
            data,
        },
    )
    .within(1.0)
    .slack(slack)
}

pub fn conv1d(maker: &mut Maker, element: Element, m: Moves) -> Case {
    let (b, window) = (maker.some(3), maker.some(4));
    let (c_in, c_out) = (maker.some(3) * m.groups, maker.some(3) * m.groups);
    let size = m.least(window) + maker.large(9, 900);
    let (input, kernel) = inputs(
        maker,
        element,
        &[b, c_in, size],
        &[c_out, c_in / m.groups, window],
    );
    let (x, k) = (input.array(), kernel.array());
    let expected = totals(element, &[b, c_out, m.count(size, window)], |index| {
        let mut total = Total::new();
        let first = index[1] / (c_out / m.groups) * (c_in / m.groups);
        for c in 0..c_in / m.groups {
            for i in 0..window {
                if let Some(at) = m.source(index[2], i, size) {
                    total.add(x.at(&[index[0], first + c, at]) * k.at(&[index[1], c, i]));
                }
            }
        }
        total
    });
    let run = move |t: &[Tensor]| t[0].conv1d(&t[1], m.padding, m.stride, m.dilation, m.groups);
    Case::new(vec![input, kernel], run, expected).with(format!("{m:?}"))
}

pub fn conv2d(maker: &mut Maker, element: Element, m: Moves) -> Case {
    let (b, kh, kw) = (maker.some(2), maker.some(3), maker.some(3));
    let (c_in, c_out) = (maker.some(3) * m.groups, maker.some(3) * m.groups);
    let (h, w) = (
        m.least(kh) + maker.rng.below(6),
        m.least(kw) + maker.rng.below(6),
    );
    let (input, kernel) = inputs(
        maker,
        element,
        &[b, c_in, h, w],
        &[c_out, c_in / m.groups, kh, kw],
    );
    let (x, k) = (input.array(), kernel.array());
    let out = [b, c_out, m.count(h, kh), m.count(w, kw)];
    let expected = totals(element, &out, |index| {
        let mut total = Total::new();
        let first = index[1] / (c_out / m.groups) * (c_in / m.groups);
        for c in 0..c_in / m.groups {
            for (i, j) in (0..kh).flat_map(|i| (0..kw).map(move |j| (i, j))) {
                let at = (m.source(index[2], i, h), m.source(index[3], j, w));
                if let (Some(y), Some(z)) = at {
                    total.add(x.at(&[index[0], first + c, y, z]) * k.at(&[index[1], c, i, j]));
                }
            }
        }
        total
    });
    let run = move |t: &[Tensor]| t[0].conv2d(&t[1], m.padding, m.stride, m.dilation, m.groups);
    Case::new(vec![input, kernel], run, expected).with(format!("{m:?}"))
}

/// A transposed convolution writes where a convolution reads.
fn conv_transpose1d(maker: &mut Maker, element: Element) -> Case {
    let m = transposed(maker);
    let extra = maker.rng.below(m.stride);
    let (b, c_in, c_out) = (maker.some(3), maker.some(3), maker.some(3));
    let (size, window) = (maker.some(9) + m.padding, maker.some(4) + m.padding);
    let (input, kernel) = inputs(maker, element, &[b, c_in, size], &[c_in, c_out, window]);
    let (x, k) = (input.array(), kernel.array());
    let out = reach(&m, size, window) + extra;
    let expected = totals(element, &[b, c_out, out], |index| {
        let mut total = Total::new();
        for c in 0..c_in {
            for (at, i) in writes(&m, index[2], size, window) {
                total.add(x.at(&[index[0], c, at]) * k.at(&[c, index[1], i]));
            }
        }
        total
    });
    let run =
        move |t: &[Tensor]| t[0].conv_transpose1d(&t[1], m.padding, extra, m.stride, m.dilation, 1);
    Case::new(vec![input, kernel], run, expected).with(format!("{m:?}, {extra} more"))
}

fn conv_transpose2d(maker: &mut Maker, element: Element) -> Case {
    let m = transposed(maker);
    let extra = maker.rng.below(m.stride);
    let (b, c_in, c_out) = (maker.some(2), maker.some(3), maker.some(3));
    let (h, w) = (maker.some(5) + m.padding, maker.some(5) + m.padding);
    let (kh, kw) = (maker.some(3) + m.padding, maker.some(3) + m.padding);
    let (input, kernel) = inputs(maker, element, &[b, c_in, h, w], &[c_in, c_out, kh, kw]);
    let (x, k) = (input.array(), kernel.array());
    let out = [b, c_out, reach(&m, h, kh) + extra, reach(&m, w, kw) + extra];
    let expected = totals(element, &out, |index| {
        let mut total = Total::new();
        for c in 0..c_in {
            for (y, i) in writes(&m, index[2], h, kh) {
                for (z, j) in writes(&m, index[3], w, kw) {
                    total.add(x.at(&[index[0], c, y, z]) * k.at(&[c, index[1], i, j]));
                }
            }
        }
        total
    });
    let run =
        move |t: &[Tensor]| t[0].conv_transpose2d(&t[1], m.padding, extra, m.stride, m.dilation);
    Case::new(vec![input, kernel], run, expected).with(format!("{m:?}, {extra} more"))
}

/// Often without padding and dilation: there is another path for that.
fn transposed(maker: &mut Maker) -> Moves {
    let mut m = Moves::new(maker);
    m.groups = 1;
    if maker.rng.chance(50) {
        m.padding = 0;
        m.dilation = 1;
    }
    m
}

fn reach(m: &Moves, size: usize, window: usize) -> usize {
    (size - 1) * m.stride + m.dilation * (window - 1) + 1 - 2 * m.padding
}

/// Which elements of the input, through which of the window, write to a position.
fn writes(m: &Moves, to: usize, size: usize, window: usize) -> Vec<(usize, usize)> {
    (0..size)
        .flat_map(|at| (0..window).map(move |i| (at, i)))
        .filter(|&(at, i)| at * m.stride + i * m.dilation == to + m.padding)
        .collect()
}

fn pool(maker: &mut Maker, element: Element, largest: bool) -> Case {
    let (b, c) = (maker.some(3), maker.some(3));
    let (kh, kw, sh, sw) = (maker.some(3), maker.some(3), maker.some(3), maker.some(3));
    let (h, w) = (kh + maker.rng.below(7), kw + maker.rng.below(7));
    maker.edges = false;
    let input = maker.input(element, &[b, c, h, w], (-9.0, 9.0));
    let x = input.array();
    let out = [b, c, (h - kh) / sh + 1, (w - kw) / sw + 1];
    let window = |index: &[usize]| -> Vec<f64> {
        let all = (0..kh).flat_map(|i| (0..kw).map(move |j| (i, j)));
        all.map(|(i, j)| x.at(&[index[0], index[1], index[2] * sh + i, index[3] * sw + j]))
            .collect()
    };
    let expected = if largest {
        let most = |index: &[usize]| window(index).into_iter().fold(f64::NEG_INFINITY, f64::max);
        Expected::exact(element, Array::new(&out, most))
    } else {
        let mut expected = totals(element, &out, |index| {
            let mut total = Total::new();
            window(index)
                .into_iter()
                .for_each(|value| total.add(value / (kh * kw) as f64));
            total
        });
        if !element.is_float() {
            expected.array = expected.array.map(|x| (x + 1e-9).floor());
        }
        expected.within(1.0)
    };
    let run = move |t: &[Tensor]| -> Result<Tensor> {
        if largest {
            t[0].max_pool2d_with_stride((kh, kw), (sh, sw))
        } else {
            t[0].avg_pool2d_with_stride((kh, kw), (sh, sw))
        }
    };
    Case::new(vec![input], run, expected).with(format!("window {kh}x{kw}, stride {sh}x{sw}"))
}

fn nearest(maker: &mut Maker, element: Element, rank: usize) -> Case {
    let (b, c, h, w) = (maker.some(3), maker.some(3), maker.some(7), maker.some(7));
    let (th, tw) = (maker.large(12, 60), maker.large(12, 60));
    // Where the ratio is not exact, the source of an element may be rounded to either side.
    let (th, tw) = if maker.rng.chance(50) {
        (th, tw)
    } else {
        (2 * h, 3 * w)
    };
    let shape: &[usize] = if rank == 1 { &[b, c, w] } else { &[b, c, h, w] };
    let out: &[usize] = if rank == 1 {
        &[b, c, tw]
    } else {
        &[b, c, th, tw]
    };
    let input = maker.input(element, shape, (-99.0, 99.0));
    let x = input.array();
    let exact = Array::new(out, |index| {
        let mut from = index.to_vec();
        for i in 2..shape.len() {
            from[i] = index[i] * shape[i] / out[i];
        }
        x.at(&from)
    });
    let run = move |t: &[Tensor]| -> Result<Tensor> {
        if rank == 1 {
            t[0].upsample_nearest1d(tw)
        } else {
            t[0].upsample_nearest2d(th, tw)
        }
    };
    Case::new(vec![input], run, Expected::exact(element, exact)).with(format!("to {out:?}"))
}

fn bilinear(maker: &mut Maker, element: Element) -> Case {
    let (b, c, h, w) = (maker.some(3), maker.some(3), maker.some(7), maker.some(7));
    let (th, tw) = (maker.large(12, 60), maker.large(12, 60));
    let corners = maker.rng.chance(50);
    maker.edges = false;
    let input = maker.input(element, &[b, c, h, w], (-9.0, 9.0));
    let x = input.array();
    // As PyTorch's `interpolate` has it.
    let source = move |to: usize, size: usize, target: usize| -> (usize, usize, f64) {
        let at = if corners {
            if target > 1 {
                to as f64 * (size - 1) as f64 / (target - 1) as f64
            } else {
                0.0
            }
        } else {
            ((to as f64 + 0.5) * size as f64 / target as f64 - 0.5).max(0.0)
        };
        let low = (at.floor() as usize).min(size - 1);
        (low, (low + 1).min(size - 1), at - low as f64)
    };
    let exact = Array::new(&[b, c, th, tw], |index| {
        let (y0, y1, fy) = source(index[2], h, th);
        let (x0, x1, fx) = source(index[3], w, tw);
        let at = |y: usize, z: usize| x.at(&[index[0], index[1], y, z]);
        let top = at(y0, x0) * (1.0 - fx) + at(y0, x1) * fx;
        let bottom = at(y1, x0) * (1.0 - fx) + at(y1, x1) * fx;
        top * (1.0 - fy) + bottom * fy
    });
    // The weights are f32 at best, whatever the elements are.
    // An integer may be cut or rounded.
    let off = if element.is_float() { 0.0 } else { 1.0 };
    let precise = 72.0 * element.epsilon().max(Element::F32.epsilon());
    let slack = vec![off + precise; exact.data.len()];
    let whole = if element.is_float() {
        exact
    } else {
        exact.map(f64::round)
    };
    let expected = Expected::exact(element, whole).within(1.0).slack(slack);
    let run = move |t: &[Tensor]| t[0].upsample_bilinear2d(th, tw, corners);
    Case::new(vec![input], run, expected).with(format!("to {th}x{tw}, align corners {corners}"))
}
