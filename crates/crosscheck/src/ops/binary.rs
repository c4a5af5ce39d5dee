//! Operations on two or three tensors of one shape, element by element.

use candle::{Result, Tensor};

use crate::array::Array;
use crate::case::{Case, Expected, Input, Maker, Operation};
use crate::element::Element::{self, I64, U32, U8};
use crate::element::{ALL, FLOATS};

type Arithmetic = (
    &'static str,
    fn(&Tensor, &Tensor) -> Result<Tensor>,
    fn(f64, f64) -> f64,
);
type Comparison = (
    &'static str,
    fn(&Tensor, &Tensor) -> Result<Tensor>,
    fn(&f64, &f64) -> bool,
);

const ARITHMETIC: &[Arithmetic] = &[
    ("add", |a, b| a.add(b), |x, y| x + y),
    ("sub", |a, b| a.sub(b), |x, y| x - y),
    ("mul", |a, b| a.mul(b), |x, y| x * y),
    ("div", |a, b| a.div(b), |x, y| x / y),
    // IEEE 754-2008's minNum and maxNum: a number wins over NaN.
    ("minimum", |a, b| a.minimum(b), f64::min),
    ("maximum", |a, b| a.maximum(b), f64::max),
];

const COMPARISONS: &[Comparison] = &[
    ("eq", |a, b| a.eq(b), f64::eq),
    ("ne", |a, b| a.ne(b), f64::ne),
    ("lt", |a, b| a.lt(b), f64::lt),
    ("le", |a, b| a.le(b), f64::le),
    ("gt", |a, b| a.gt(b), f64::gt),
    ("ge", |a, b| a.ge(b), f64::ge),
];

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in ALL {
        for &(name, run, exact) in ARITHMETIC {
            operations.push(Operation::new(name, element.name(), move |maker| {
                arithmetic(maker, element, name, run, exact)
            }));
        }
        for &(name, run, exact) in COMPARISONS {
            operations.push(Operation::new(name, element.name(), move |maker| {
                comparison(maker, element, run, exact)
            }));
        }
        for condition in [U8, U32, I64] {
            let elements = format!("{} {}", condition.name(), element.name());
            operations.push(Operation::new("where", elements, move |maker| {
                choice(maker, condition, element)
            }));
        }
    }
    operations
}

fn pair(maker: &mut Maker, element: Element, low: f64, high: f64) -> (Input, Input) {
    let shape = maker.shape(0, 4);
    let left = maker.input(element, &shape, (low, high));
    let right = maker.input(element, &shape, (low, high));
    (left, right)
}

fn zip(left: &Array, right: &Array, f: impl Fn(f64, f64) -> f64) -> Array {
    let data = left
        .data
        .iter()
        .zip(&right.data)
        .map(|(&x, &y)| f(x, y))
        .collect();
    Array {
        shape: left.shape.clone(),
        data,
    }
}

fn arithmetic(
    maker: &mut Maker,
    element: Element,
    name: &str,
    run: fn(&Tensor, &Tensor) -> Result<Tensor>,
    exact: fn(f64, f64) -> f64,
) -> Case {
    // Integers stay where nothing overflows: what then happens is not the same everywhere.
    let integer = !element.is_float();
    let (low, high) = match name {
        "div" if integer => (1.0, 99.0),
        "mul" if element == U8 => (0.0, 15.0),
        "sub" if integer && element.limits().0 == 0.0 => (20.0, 40.0),
        _ if integer => (-99.0, 99.0),
        _ => (-9.0, 9.0),
    };
    maker.edges &= !integer || matches!(name, "minimum" | "maximum");
    let (mut left, right) = pair(maker, element, low, high);
    if name == "sub" && integer {
        left.base = left.base.map(|x| x + 40.0);
    }
    let (x, y) = (left.array(), right.array());
    let values = zip(&x, &y, |x, y| {
        if integer {
            exact(x, y).trunc()
        } else {
            exact(x, y)
        }
    });
    let ulps = if name == "div" { 1.0 } else { 0.0 };
    let expected = Expected::exact(element, values).within(ulps);
    Case::new(vec![left, right], move |t| run(&t[0], &t[1]), expected)
}

fn comparison(
    maker: &mut Maker,
    element: Element,
    run: fn(&Tensor, &Tensor) -> Result<Tensor>,
    exact: fn(&f64, &f64) -> bool,
) -> Case {
    // A narrow range, so that equal ones occur.
    let (left, right) = pair(maker, element, -2.0, 2.0);
    let values = zip(&left.array(), &right.array(), |x, y| {
        f64::from(exact(&x, &y))
    });
    Case::new(
        vec![left, right],
        move |t| run(&t[0], &t[1]),
        Expected::exact(U8, values),
    )
}

pub fn choice(maker: &mut Maker, condition: Element, element: Element) -> Case {
    let shape = maker.shape(0, 4);
    let edges = std::mem::replace(&mut maker.edges, false);
    let which = maker.input(condition, &shape, (0.0, 1.0));
    maker.edges = edges;
    let yes = maker.input(element, &shape, (-9.0, 9.0));
    let no = maker.input(element, &shape, (-9.0, 9.0));
    let (c, y, n) = (which.array(), yes.array(), no.array());
    let data = (0..c.data.len()).map(|i| {
        if c.data[i] != 0.0 {
            y.data[i]
        } else {
            n.data[i]
        }
    });
    let expected = Expected::exact(
        element,
        Array {
            shape,
            data: data.collect(),
        },
    );
    Case::new(
        vec![which, yes, no],
        |t| t[0].where_cond(&t[1], &t[2]),
        expected,
    )
}

/// Broadcasting as candle's users write it.
pub fn broadcasts() -> Vec<Operation> {
    let make = |element: Element| {
        move |maker: &mut Maker| {
            let shape = maker.shape(1, 4);
            let left = maker.input(element, &shape, (-9.0, 9.0));
            let narrow: Vec<usize> = shape
                .iter()
                .map(|&n| if n > 0 && maker.rng.chance(50) { 1 } else { n })
                .collect();
            let skipped = maker.rng.below(narrow.len());
            let right = maker.input(element, &narrow[skipped..], (-9.0, 9.0));
            let y = right.array().broadcast(&shape);
            let values = zip(&left.array(), &y, |x, y| x * y);
            let run = |t: &[Tensor]| t[0].broadcast_mul(&t[1]);
            Case::new(vec![left, right], run, Expected::exact(element, values))
        }
    };
    FLOATS
        .map(|element| Operation::new("broadcast_mul", element.name(), make(element)))
        .into()
}
