//! Operations on one tensor, element by element.

use candle::{Result, Tensor};

use crate::case::{Case, Expected, Maker, Operation};
use crate::element::{Element, ALL};

/// A function of one number.
#[derive(Clone, Copy)]
pub struct Unary {
    name: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    exact: fn(f64) -> f64,
    /// How exact a library's function is, in units of the last place.
    ulps: f64,
    /// By how many epsilons, as a function of the argument, terms that cancel may add.
    slack: fn(f64) -> f64,
    range: (f64, f64),
}

const fn exactly(
    name: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    exact: fn(f64) -> f64,
) -> Unary {
    Unary {
        name,
        run,
        exact,
        ulps: 0.0,
        slack: |_| 0.0,
        range: (-9.0, 9.0),
    }
}

/// A function of the C library. CUDA and HIP promise 1 to 2 units in the last place for most.
pub const fn library(
    name: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    exact: fn(f64) -> f64,
    range: (f64, f64),
) -> Unary {
    Unary {
        name,
        run,
        exact,
        ulps: 4.0,
        slack: |_| 0.0,
        range,
    }
}

/// A formula that cancels for negative numbers: 1 plus what comes close to -1, times the number.
const fn gated(
    name: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    exact: fn(f64) -> f64,
) -> Unary {
    Unary {
        name,
        run,
        exact,
        ulps: 4.0,
        slack: |x| 4.0 * x.abs(),
        range: (-9.0, 9.0),
    }
}

const FUNCTIONS: &[Unary] = &[
    exactly("neg", |x| x.neg(), |x| -x),
    exactly("abs", |x| x.abs(), f64::abs),
    // As IEEE 754-2008's maxNum: a number wins over NaN.
    exactly("relu", |x| x.relu(), |x| x.max(0.0)),
    exactly("ceil", |x| x.ceil(), f64::ceil),
    exactly("floor", |x| x.floor(), f64::floor),
    exactly("round", |x| x.round(), f64::round),
    exactly(
        "sign",
        |x| x.sign(),
        |x| {
            if x == 0.0 || x.is_nan() {
                0.0
            } else {
                x.signum()
            }
        },
    ),
    exactly("sqr", |x| x.sqr(), |x| x * x),
    library("sqrt", |x| x.sqrt(), f64::sqrt, (0.0, 99.0)),
    library("recip", |x| x.recip(), f64::recip, (-9.0, 9.0)),
    library("exp", |x| x.exp(), f64::exp, (-9.0, 6.0)),
    library("log", |x| x.log(), f64::ln, (0.0, 99.0)),
    library("sin", |x| x.sin(), f64::sin, (-9.0, 9.0)),
    library("cos", |x| x.cos(), f64::cos, (-9.0, 9.0)),
    library("tanh", |x| x.tanh(), f64::tanh, (-5.0, 5.0)),
    library("erf", |x| x.erf(), libm::erf, (-4.0, 4.0)),
    library(
        "silu",
        |x| x.silu(),
        |x| x / (1.0 + (-x).exp()),
        (-9.0, 9.0),
    ),
    library(
        "sigmoid",
        candle_nn::ops::sigmoid,
        |x| 1.0 / (1.0 + (-x).exp()),
        (-9.0, 9.0),
    ),
    gated("gelu", |x| x.gelu(), gelu),
    gated(
        "gelu_erf",
        |x| x.gelu_erf(),
        |x| x * 0.5 * (1.0 + libm::erf(x / 2f64.sqrt())),
    ),
];

/// The approximation by tanh, as Hendrycks and Gimpel have it.
fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * x * (1.0 + 0.044715 * x * x);
    0.5 * x * (1.0 + inner.tanh())
}

/// What kernels for integers could be asked for.
const INTEGERS: &[&str] = &["neg", "abs", "relu", "sqr"];

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in ALL {
        for function in FUNCTIONS {
            if element.is_float() || INTEGERS.contains(&function.name) {
                operations.push(Operation::new(
                    function.name,
                    element.name(),
                    move |maker| unary(maker, element, *function),
                ));
            }
        }
        operations.push(Operation::new("affine", element.name(), move |m| {
            affine(m, element)
        }));
        if element.is_float() {
            operations.push(Operation::new("powf", element.name(), move |m| {
                powf(m, element)
            }));
            operations.push(Operation::new("elu", element.name(), move |m| {
                elu(m, element)
            }));
        }
    }
    operations
}

pub fn unary(maker: &mut Maker, element: Element, function: Unary) -> Case {
    let shape = maker.shape(0, 4);
    let input = maker.input(element, &shape, function.range);
    let array = input.array();
    let epsilon = element.epsilon();
    let slack = array
        .data
        .iter()
        .map(|&x| finite((function.slack)(x) * epsilon))
        .collect();
    let expected = Expected::exact(element, array.map(function.exact));
    let run = function.run;
    Case::new(
        vec![input],
        move |t| run(&t[0]),
        expected.within(function.ulps).slack(slack),
    )
}

fn finite(x: f64) -> f64 {
    if x.is_finite() {
        x
    } else {
        0.0
    }
}

fn affine(maker: &mut Maker, element: Element) -> Case {
    // What happens when an integer overflows is not the same everywhere.
    maker.edges &= element.is_float();
    let shape = maker.shape(0, 4);
    let input = maker.input(element, &shape, (-9.0, 9.0));
    let (factor, term) = if element.is_float() {
        (maker.rng.real(-3.0, 3.0), maker.rng.real(-3.0, 3.0))
    } else {
        (maker.rng.below(4) as f64, maker.rng.below(9) as f64)
    };
    // Both are rounded to the type of the elements before they are used.
    let (a, b) = (element.round(factor), element.round(term));
    let array = input.array();
    let slack = array
        .data
        .iter()
        .map(|&x| finite((x * a).abs() * element.epsilon()))
        .collect();
    let expected = Expected::exact(element, array.map(|x| x * a + b))
        .within(1.0)
        .slack(slack);
    Case::new(vec![input], move |t| t[0].affine(factor, term), expected)
        .with(format!("x * {factor} + {term}"))
}

fn powf(maker: &mut Maker, element: Element) -> Case {
    let shape = maker.shape(0, 4);
    let input = maker.input(element, &shape, (0.1, 9.0));
    let exponent = *maker.rng.pick(&[2.0, 0.5, 1.7, -1.0, 3.0, 0.0]);
    let rounded = element.round(exponent);
    let expected = Expected::exact(element, input.array().map(|x| x.powf(rounded))).within(8.0);
    Case::new(vec![input], move |t| t[0].powf(exponent), expected)
        .with(format!("exponent {exponent}"))
}

fn elu(maker: &mut Maker, element: Element) -> Case {
    let shape = maker.shape(0, 4);
    let input = maker.input(element, &shape, (-5.0, 5.0));
    let alpha = maker.rng.real(0.2, 2.0);
    let a = element.round(alpha);
    let array = input.array();
    // exp(x) - 1 loses what exp(x) was rounded by.
    let slack = array.data.iter().map(|_| 4.0 * element.epsilon()).collect();
    let exact = array.map(|x| {
        if x > 0.0 || x.is_nan() {
            x
        } else {
            a * x.exp_m1()
        }
    });
    let expected = Expected::exact(element, exact).within(2.0).slack(slack);
    Case::new(vec![input], move |t| t[0].elu(alpha), expected).with(format!("alpha {alpha}"))
}
