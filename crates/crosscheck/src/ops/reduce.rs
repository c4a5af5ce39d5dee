//! What makes fewer elements of many, or puts them in order.

use candle::{Device, Result, Tensor};

use crate::array::{flatten, indices, Array};
use crate::case::{Case, Expected, Maker, Operation};
use crate::element::Element::{self, U32};
use crate::element::{ALL, FLOATS, USUAL};

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in ALL {
        let mut add = |name, make: fn(&mut Maker, Element) -> Case| {
            operations.push(Operation::new(name, element.name(), move |m| {
                make(m, element)
            }));
        };
        add("sum", sum);
        add("min", |m, e| extreme(m, e, |t, d| t.min(d), f64::min));
        add("max", |m, e| extreme(m, e, |t, d| t.max(d), f64::max));
        add("argmin", |m, e| {
            place(m, e, |t, d| t.argmin_keepdim(d), f64::min)
        });
        add("argmax", |m, e| {
            place(m, e, |t, d| t.argmax_keepdim(d), f64::max)
        });
    }
    for element in USUAL {
        for ascending in [true, false] {
            let name = if ascending { "sort" } else { "sort descending" };
            let make = move |m: &mut Maker| sort(m, element, ascending);
            operations.push(Operation::new(name, element.name(), make));
        }
    }
    for element in FLOATS {
        operations.push(Operation::new("mean", element.name(), move |m| {
            mean(m, element)
        }));
    }
    operations
}

/// A shape that is not empty, and one of its dimensions.
fn rows(maker: &mut Maker) -> (Vec<usize>, usize) {
    let shape: Vec<usize> = maker.shape(1, 4).into_iter().map(|n| n.max(1)).collect();
    let dim = maker.rng.below(shape.len());
    (shape, dim)
}

/// By how much a sum may be off that is rounded at each step: a tree has few steps, a loop many, but
/// errors of a loop cancel.
fn sum_slack(element: Element, terms: &[f64]) -> f64 {
    let size: f64 = terms
        .iter()
        .filter(|x| x.is_finite())
        .map(|x| x.abs())
        .sum();
    terms.len().min(32) as f64 * element.epsilon() * size
}

/// The sum of numbers. What each addition loses is added up by itself (A. Neumaier,
/// "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974): a plain loop over a
/// thousand numbers in double precision is less exact than the trees that it is compared with.
fn total(terms: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for &x in terms {
        let next = sum + x;
        lost += if sum.abs() < x.abs() {
            (x - next) + sum
        } else {
            (sum - next) + x
        };
        sum = next;
    }
    // Of infinities nothing is lost that is a number.
    if lost.is_finite() {
        sum + lost
    } else {
        sum
    }
}

fn sum(maker: &mut Maker, element: Element) -> Case {
    let rank = maker.rng.within(1, 4);
    let shape = maker.shape(rank, rank);
    let mut dims = maker.rng.order(shape.len());
    dims.truncate(maker.rng.within(1, shape.len()));
    // NaN and infinities in a sum are tested, the largest values are not: whether a sum of them is
    // an infinity depends on its order.
    maker.edges &= matches!(element, Element::F32 | Element::F64);
    let mut input = maker.input(element, &shape, (-9.0, 9.0));
    let largest = element.limits().1;
    if element.is_float() {
        input.base = input.base.map(|x| if x.abs() == largest { 1.0 } else { x });
    }
    let array = input.array();
    let mut kept = shape.clone();
    for &dim in &dims {
        kept[dim] = 1;
    }
    let mut terms = vec![Vec::new(); kept.iter().product()];
    for index in indices(&shape) {
        let mut to = index.clone();
        for &dim in &dims {
            to[dim] = 0;
        }
        terms[flatten(&kept, &to)].push(array.at(&index));
    }
    let slack = terms.iter().map(|t| sum_slack(element, t)).collect();
    let data = terms.iter().map(|t| total(t)).collect();
    let expected = Expected::exact(element, Array { shape: kept, data })
        .within(1.0)
        .slack(slack);
    let arguments = format!("dimensions {dims:?}");
    Case::new(
        vec![input],
        move |t| t[0].sum_keepdim(dims.as_slice()),
        expected,
    )
    .with(arguments)
}

fn mean(maker: &mut Maker, element: Element) -> Case {
    let (shape, dim) = rows(maker);
    maker.edges = false;
    let input = maker.input(element, &shape, (-9.0, 9.0));
    let mut kept = shape.clone();
    kept[dim] = 1;
    let n = shape[dim] as f64;
    let terms: Vec<Vec<f64>> = input.array().rows(dim).collect();
    let slack = terms
        .iter()
        .map(|t| 2.0 * sum_slack(element, t) / n)
        .collect();
    let data = terms.iter().map(|t| total(t) / n).collect();
    let expected = Expected::exact(element, Array { shape: kept, data })
        .within(2.0)
        .slack(slack);
    Case::new(vec![input], move |t| t[0].mean_keepdim(dim), expected)
        .with(format!("dimension {dim}"))
}

fn extreme(
    maker: &mut Maker,
    element: Element,
    run: fn(&Tensor, usize) -> Result<Tensor>,
    exact: fn(f64, f64) -> f64,
) -> Case {
    let (shape, dim) = rows(maker);
    let input = maker.input(element, &shape, (-99.0, 99.0));
    let mut left = shape.clone();
    left.remove(dim);
    let best = input
        .array()
        .rows(dim)
        .map(|row| row.into_iter().fold(f64::NAN, exact))
        .collect();
    let expected = Expected::exact(
        element,
        Array {
            shape: left,
            data: best,
        },
    );
    Case::new(vec![input], move |t| run(&t[0], dim), expected).with(format!("dimension {dim}"))
}

/// Where the extreme is: of several equal ones any will do, so what stands there is compared.
fn place(
    maker: &mut Maker,
    element: Element,
    run: fn(&Tensor, usize) -> Result<Tensor>,
    exact: fn(f64, f64) -> f64,
) -> Case {
    let (shape, dim) = rows(maker);
    maker.edges = false;
    let input = maker.input(element, &shape, (-99.0, 99.0));
    let mut kept = shape.clone();
    kept[dim] = 1;
    let best = input
        .array()
        .rows(dim)
        .map(|row| row.into_iter().fold(f64::NAN, exact))
        .collect();
    let expected = Expected::exact(
        element,
        Array {
            shape: kept,
            data: best,
        },
    );
    let array = input.array();
    let run = move |t: &[Tensor]| {
        let found = run(&t[0], dim)?;
        let places = found
            .to_device(&Device::Cpu)?
            .flatten_all()?
            .to_vec1::<u32>()?;
        let values: Vec<f64> = array
            .rows(dim)
            .zip(&places)
            .map(|(row, &i)| row.get(i as usize).copied().unwrap_or(f64::NAN))
            .collect();
        Tensor::from_raw_buffer(
            &element.encode(&values),
            element.dtype(),
            found.dims(),
            &Device::Cpu,
        )
    };
    Case::new(vec![input], run, expected).with(format!("dimension {dim}"))
}

/// Sorted values, and whether the places are an order: equal values may come in any.
fn sort(maker: &mut Maker, element: Element, ascending: bool) -> Case {
    let (shape, _) = rows(maker);
    maker.edges = false;
    let mut input = maker.input(element, &shape, (-99.0, 99.0));
    input.views.clear();
    let shape = input.base.shape.clone();
    let last = shape.len() - 1;
    let mut sorted = Vec::new();
    let mut order = Vec::new();
    for mut row in input.base.rows(last) {
        row.sort_by(f64::total_cmp);
        if !ascending {
            row.reverse();
        }
        order.extend((0..row.len()).map(|i| i as f64));
        sorted.extend(row);
    }
    let array = |data| Array {
        shape: shape.clone(),
        data,
    };
    let expected = vec![
        Expected::exact(element, array(sorted)),
        Expected::exact(U32, array(order)),
    ];
    let run = move |t: &[Tensor]| {
        let (values, places) = t[0].sort_last_dim(ascending)?;
        let flat = places
            .to_device(&Device::Cpu)?
            .flatten_all()?
            .to_vec1::<u32>()?;
        let mut rows = Vec::new();
        for row in flat.chunks(shape[last]) {
            let mut row = row.to_vec();
            row.sort_unstable();
            rows.extend(row);
        }
        Ok(vec![
            values,
            Tensor::from_vec(rows, places.dims(), &Device::Cpu)?,
        ])
    };
    Case {
        inputs: vec![input],
        arguments: String::new(),
        run: Box::new(run),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn a_long_sum_is_as_exact_as_its_type() {
        // Added one after the other they give -1450.5988928035247.
        assert_eq!(total(&[-1.4419472095462655; 1006]), -1450.598892803543);
        assert_eq!(total(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(total(&[]), 0.0);
        assert_eq!(total(&[1.0, f64::INFINITY, 3.0]), f64::INFINITY);
        assert!(total(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(total(&[f64::NAN, 1.0]).is_nan());
    }
}
