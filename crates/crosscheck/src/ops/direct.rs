//! Kernels that no operation of candle launches, or not in every version: by their names.

use candle::rocm_backend::kernels::{Module, CAST, CONV, FILL, INDEXING, REDUCE, TERNARY, UNARY};

use super::{binary, conv, copy, index, unary};
use crate::array::{indices, Array};
use crate::case::{Case, Expected, Input, Maker, Operation};
use crate::element::Element::{self, BF16, F16, F32, F64, F8E4M3, I16, I32, I64, U32, U8};
use crate::launch::{launched, Arg, Launch};

type Make = fn(&mut Maker, Element) -> Case;

pub fn operations() -> Vec<Operation> {
    const STORED: &[Element] = &[U8, U32, I64, BF16, F16, F32, F64, F8E4M3];
    const CONVOLVED: &[Element] = &[U8, U32, BF16, F16, F32, F64];
    const PLACES: &[Element] = &[I16, I32];
    let families: [(&str, Make, &[Element]); 14] = [
        ("kernel cast", |m, e| cast(m, e, e), STORED),
        ("kernel cast to i32", |m, e| cast(m, e, I32), &[F8E4M3]),
        ("kernel fill", fill, STORED),
        ("kernel copy2d", copy2d, &[F8E4M3]),
        ("kernel sum", sum, &[U32, BF16, F16, F32, F64]),
        ("kernel unormcdf", normcdf, &[BF16, F16, F32, F64, F8E4M3]),
        ("kernel conv1d", conv1d, CONVOLVED),
        ("kernel conv2d", conv2d, CONVOLVED),
        ("kernel col2im1d", col2im1d, &[U8, U32]),
        ("kernel where by", choice, PLACES),
        ("kernel index_select by", select, PLACES),
        ("kernel gather by", gather, PLACES),
        ("kernel index_add by", |m, e| add(m, e, false), PLACES),
        ("kernel scatter_add by", |m, e| add(m, e, true), PLACES),
    ];
    let mut operations = Vec::new();
    for (name, make, elements) in families {
        for &element in elements {
            let make = move |m: &mut Maker| make(m, element);
            operations.push(Operation::new(name, element.name(), make));
        }
    }
    operations
}

fn count(expected: &[Expected]) -> usize {
    expected[0].array.data.len()
}

/// A case of one tensor in and one out, by a kernel that takes its dimensions and strides.
fn mapped(case: Case, module: &'static Module, name: String) -> Case {
    let (input, shape) = (&case.inputs[0], &case.expected[0].array.shape);
    let (memory, strides) = input.memory();
    let args = vec![
        Arg::Size(count(&case.expected)),
        Arg::Size(shape.len()),
        Arg::sizes(&[shape, &strides]),
        memory,
        Arg::zeros(case.expected[0].element, count(&case.expected)),
    ];
    let launch = Launch::each(module, name, count(&case.expected), args);
    case.by(launch)
}

fn cast(maker: &mut Maker, from: Element, to: Element) -> Case {
    let name = format!("cast_{}_{}", from.name(), to.name());
    mapped(copy::cast(maker, from, to, true), &CAST, name)
}

fn normcdf(maker: &mut Maker, element: Element) -> Case {
    maker.edges = false;
    // Below, the rounding of the argument counts for much, and f64's own reference has it as well.
    let least = if element == F64 { -1.0 } else { -3.0 };
    let function = unary::library(
        "normcdf",
        |x| Ok(x.clone()),
        |x| 0.5 * libm::erfc(-x / 2f64.sqrt()),
        (least, 5.0),
    );
    let name = format!("unormcdf_{}", element.name());
    mapped(unary::unary(maker, element, function), &UNARY, name)
}

fn fill(maker: &mut Maker, element: Element) -> Case {
    let value = maker.plain(element, &[1], (-99.0, 99.0));
    let size = maker.large(99, 3000);
    let exact = Array::new(&[size], |_| value.base.data[0]);
    let args = vec![
        Arg::zeros(element, size),
        Arg::Value(element, value.base.data[0]),
        Arg::Size(size),
    ];
    let launch = Launch::each(&FILL, format!("fill_{}", element.name()), size, args);
    launched(vec![value], Expected::exact(element, exact), launch)
}

fn copy2d(maker: &mut Maker, element: Element) -> Case {
    let (rows, columns) = (maker.some(20), maker.some(20));
    let (from, to) = (columns + maker.rng.below(4), columns + maker.rng.below(4));
    let source = maker.plain(element, &[rows, from], (-9.0, 9.0));
    let array = source.array();
    let exact = Array::new(&[rows, to], |index| {
        if index[1] < columns {
            array.at(index)
        } else {
            0.0
        }
    });
    let args = vec![
        Arg::of(element, &array),
        Arg::zeros(element, rows * to),
        Arg::Int(rows as i32),
        Arg::Int(columns as i32),
        Arg::Int(from as i32),
        Arg::Int(to as i32),
    ];
    let name = format!("copy2d_{}", element.name());
    let launch = Launch::each(&FILL, name, rows * columns, args);
    launched(vec![source], Expected::exact(element, exact), launch)
}

/// The sums over the middle one of three dimensions, in any order.
fn sum(maker: &mut Maker, element: Element) -> Case {
    maker.edges = false;
    let shape = [maker.some(9), maker.some(9), maker.some(9)];
    let input = maker.input(element, &shape, (-9.0, 9.0));
    let array = input.array();
    let row = |left: usize, right: usize| (0..shape[1]).map(move |i| [left, i, right]);
    let out = [shape[0], shape[2]];
    let exact = Array::new(&out, |i| row(i[0], i[1]).map(|at| array.at(&at)).sum());
    let size = Array::new(&out, |i| {
        row(i[0], i[1]).map(|at| array.at(&at).abs()).sum()
    });
    let slack = size.map(|x| x * element.epsilon() * shape[1] as f64).data;
    let (memory, strides) = input.memory();
    let args = vec![
        Arg::Size(array.data.len()),
        Arg::Size(3),
        Arg::Size(1),
        Arg::sizes(&[&shape, &strides, &shape[1..2], &shape[2..3]]),
        memory,
        Arg::zeros(element, exact.data.len()),
    ];
    let name = format!("sum_{}", element.name());
    let launch = Launch::each(&REDUCE, name, array.data.len(), args);
    launched(
        vec![input],
        Expected::exact(element, exact).slack(slack),
        launch,
    )
}

/// The dimensions and strides of both inputs of a convolution, and their memory.
fn convolved(case: Case, name: String, window: Vec<Arg>) -> Case {
    let (x, k) = (&case.inputs[0], &case.inputs[1]);
    let ((x_memory, x_strides), (k_memory, k_strides)) = (x.memory(), k.memory());
    let element = case.expected[0].element;
    let mut args = vec![Arg::Size(x.array().data.len())];
    args.extend(window);
    args.extend([
        Arg::sizes(&[&x.array().shape, &x_strides, &k.array().shape, &k_strides]),
        x_memory,
        k_memory,
        Arg::zeros(element, count(&case.expected)),
    ]);
    let launch = Launch::each(&CONV, name, count(&case.expected), args);
    case.by(launch)
}

fn steps(moves: conv::Moves) -> [Arg; 3] {
    [moves.stride, moves.padding, moves.dilation].map(Arg::Size)
}

fn conv1d(maker: &mut Maker, element: Element) -> Case {
    let moves = conv::Moves::new(maker).alone();
    let case = conv::conv1d(maker, element, moves);
    let mut window = vec![Arg::Size(case.expected[0].array.shape[2])];
    window.extend(steps(moves));
    convolved(case, format!("conv1d_{}", element.name()), window)
}

fn conv2d(maker: &mut Maker, element: Element) -> Case {
    let moves = conv::Moves::new(maker).alone();
    let case = conv::conv2d(maker, element, moves);
    let shape = &case.expected[0].array.shape;
    let mut window = vec![Arg::Size(shape[3]), Arg::Size(shape[2])];
    window.extend(steps(moves));
    convolved(case, format!("conv2d_{}", element.name()), window)
}

/// Adds up columns where the windows that they come from lie upon each other.
fn col2im1d(maker: &mut Maker, element: Element) -> Case {
    maker.edges = false;
    let (batch, size, channels) = (maker.some(3), maker.some(9), maker.some(3));
    let (window, stride) = (maker.some(4), maker.rng.within(1, 3));
    let columns = maker.plain(element, &[batch, size, channels, window], (0.0, 9.0));
    let array = columns.array();
    let windows = [size, window];
    let out = [batch, channels, (size - 1) * stride + window];
    let exact = Array::new(&out, |index| {
        let pairs = indices(&windows).filter(|p| p[0] * stride + p[1] == index[2]);
        pairs
            .map(|p| array.at(&[index[0], p[0], index[1], p[1]]))
            .sum()
    });
    let sizes = [exact.data.len(), out[2], size, channels, window, stride];
    let mut args: Vec<Arg> = sizes.into_iter().map(Arg::Size).collect();
    args.extend([
        Arg::of(element, &array),
        Arg::zeros(element, exact.data.len()),
    ]);
    let name = format!("col2im1d_{}", element.name());
    let launch = Launch::each(&CONV, name, exact.data.len(), args);
    launched(vec![columns], Expected::exact(element, exact), launch)
}

/// The kernels below take indices and conditions of a type that candle's operations refuse. They
/// are there for one type of elements only.
const HELD: Element = F8E4M3;

fn choice(maker: &mut Maker, condition: Element) -> Case {
    let case = binary::choice(maker, condition, HELD);
    let shape = &case.expected[0].array.shape;
    let seen: Vec<(Arg, Vec<usize>)> = case.inputs.iter().map(Input::memory).collect();
    let mut args = vec![
        Arg::Size(count(&case.expected)),
        Arg::Size(shape.len()),
        Arg::sizes(&[shape, &seen[0].1, &seen[1].1, &seen[2].1]),
    ];
    args.extend(seen.into_iter().map(|(memory, _)| memory));
    args.push(Arg::zeros(HELD, count(&case.expected)));
    let name = format!("where_{}_{}", condition.name(), HELD.name());
    let launch = Launch::each(&TERNARY, name, count(&case.expected), args);
    case.by(launch)
}

/// Sizes before, along and behind a dimension, and how many places along it are named.
struct Along {
    left: usize,
    size: usize,
    right: usize,
    named: usize,
}

impl Along {
    fn new(maker: &mut Maker) -> Self {
        Self {
            left: maker.some(5),
            size: maker.some(20),
            right: maker.some(5),
            named: maker.some(9),
        }
    }

    fn args(&self, along: usize, other: usize) -> [Arg; 4] {
        [self.left, along, other, self.right].map(Arg::Size)
    }
}

fn select(maker: &mut Maker, place: Element) -> Case {
    let along = Along::new(maker);
    let source = maker.plain(HELD, &[along.left, along.size, along.right], (-9.0, 9.0));
    let ids = index::places(maker, place, &[along.named], along.size);
    let (array, rows) = (source.array(), ids.array());
    let exact = Array::new(&[along.left, along.named, along.right], |i| {
        array.at(&[i[0], rows.data[i[1]] as usize, i[2]])
    });
    let mut args = vec![
        Arg::Size(exact.data.len()),
        Arg::Size(1),
        Arg::sizes(&[&[along.named], &[1]]),
        Arg::of(place, &rows),
        Arg::of(HELD, &array),
        Arg::zeros(HELD, exact.data.len()),
    ];
    args.extend(along.args(along.size, along.named));
    let name = format!("is_{}_{}", place.name(), HELD.name());
    let launch = Launch::each(&INDEXING, name, exact.data.len(), args);
    launched(vec![source, ids], Expected::exact(HELD, exact), launch)
}

fn gather(maker: &mut Maker, place: Element) -> Case {
    let along = Along::new(maker);
    let source = maker.plain(HELD, &[along.left, along.size, along.right], (-9.0, 9.0));
    let ids = index::places(
        maker,
        place,
        &[along.left, along.named, along.right],
        along.size,
    );
    let (array, rows) = (source.array(), ids.array());
    let exact = Array::new(&rows.shape, |i| {
        array.at(&[i[0], rows.at(i) as usize, i[2]])
    });
    let mut args = vec![
        Arg::Size(exact.data.len()),
        Arg::of(place, &rows),
        Arg::of(HELD, &array),
        Arg::zeros(HELD, exact.data.len()),
    ];
    args.extend(along.args(along.size, along.named));
    let name = format!("gather_{}_{}", place.name(), HELD.name());
    let launch = Launch::each(&INDEXING, name, exact.data.len(), args);
    launched(vec![source, ids], Expected::exact(HELD, exact), launch)
}

/// Adds rows one after the other and rounds each time, as the kernels do; to scatter, each element
/// has a place of its own, to add rows, each row has.
fn add(maker: &mut Maker, place: Element, scatter: bool) -> Case {
    maker.edges = false;
    let along = Along::new(maker);
    let before = maker.plain(HELD, &[along.left, along.size, along.right], (-9.0, 9.0));
    let shape = [along.left, along.named, along.right];
    let source = maker.plain(HELD, &shape, (-9.0, 9.0));
    let ids = index::places(
        maker,
        place,
        if scatter { &shape } else { &shape[1..2] },
        along.size,
    );
    let (rows, from) = (ids.array(), source.array());
    let mut exact = before.array();
    for index in indices(&shape) {
        let at = if scatter {
            rows.at(&index)
        } else {
            rows.data[index[1]]
        };
        let to = (index[0] * along.size + at as usize) * along.right + index[2];
        exact.data[to] = HELD.round(exact.data[to] + from.at(&index));
    }
    let mut args = vec![Arg::of(place, &rows)];
    if !scatter {
        args.push(Arg::Size(along.named));
    }
    args.extend([
        Arg::of(HELD, &from),
        Arg::Out(HELD.encode(&before.array().data)),
    ]);
    args.extend(along.args(along.named, along.size));
    let operation = if scatter { "sa" } else { "ia" };
    let name = format!("{operation}_{}_{}", place.name(), HELD.name());
    let launch = Launch::each(&INDEXING, name, along.left * along.right, args);
    launched(
        vec![before, source, ids],
        Expected::exact(HELD, exact),
        launch,
    )
}
