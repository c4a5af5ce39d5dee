//! What reads or writes at places that a tensor names.

use candle::Tensor;

use crate::array::{flatten, indices, Array};
use crate::case::{Case, Expected, Input, Maker, Operation, View};
use crate::element::Element::{self, I64, U32, U8};
use crate::element::ALL;

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in ALL {
        for place in [U8, U32, I64] {
            let elements = format!("{} {}", place.name(), element.name());
            let mut add = |name, make: fn(&mut Maker, Element, Element) -> Case| {
                let make = move |m: &mut Maker| make(m, place, element);
                operations.push(Operation::new(name, elements.clone(), make));
            };
            // What backends treat apart, or leave out, has a name of its own.
            add("index_select", |m, p, e| index_select(m, p, e, false));
            add("index_select by a view", |m, p, e| {
                index_select(m, p, e, true)
            });
            add("gather", |m, p, e| gather(m, p, e, false));
            add("gather of a part", |m, p, e| gather(m, p, e, true));
            add("scatter", |m, p, e| scatter(m, p, e, false));
            add("scatter_add", |m, p, e| scatter(m, p, e, true));
            add("index_add", |m, p, e| index_add(m, p, e, false));
            add("index_add to a view", |m, p, e| index_add(m, p, e, true));
        }
    }
    operations
}

/// A shape that is not empty, and one of its dimensions, of a size that every type of place reaches.
fn whole(maker: &mut Maker) -> (Vec<usize>, usize) {
    let rank = maker.rng.within(1, 4);
    let shape: Vec<usize> = (0..rank).map(|_| maker.some(40)).collect();
    (shape, maker.rng.below(rank))
}

pub fn places(maker: &mut Maker, element: Element, shape: &[usize], below: usize) -> Input {
    let edges = std::mem::replace(&mut maker.edges, false);
    let mut input = maker.plain(element, shape, (0.0, 1.0));
    maker.edges = edges;
    for value in &mut input.base.data {
        *value = maker.rng.below(below) as f64;
    }
    input
}

/// Places of which none occurs twice along a dimension: which of two writes stays is not said.
fn different(maker: &mut Maker, element: Element, shape: &[usize], dim: usize, n: usize) -> Input {
    let mut array = Array::new(shape, |_| 0.0);
    let mut outer = shape.to_vec();
    outer[dim] = 1;
    for index in indices(&outer) {
        let order = maker.rng.order(n);
        for (i, place) in order.into_iter().take(shape[dim]).enumerate() {
            let mut at = index.clone();
            at[dim] = i;
            array.data[flatten(shape, &at)] = place as f64;
        }
    }
    Input::contiguous(element, array)
}

fn moved(index: &[usize], dim: usize, to: f64) -> Vec<usize> {
    let mut index = index.to_vec();
    index[dim] = to as usize;
    index
}

fn index_select(maker: &mut Maker, place: Element, element: Element, view: bool) -> Case {
    let (shape, dim) = whole(maker);
    let input = maker.input(element, &shape, (-99.0, 99.0));
    let count = maker.dim();
    let mut ids = places(maker, place, &[count], shape[dim]);
    if view {
        // A column of a table, so that there are others between its elements.
        let table = places(maker, place, &[count, 2], shape[dim]);
        ids = Input {
            views: vec![View::Narrow(1, 1, 1), View::Squeeze],
            ..table
        };
    }
    let (array, rows) = (input.array(), ids.array());
    let mut out = shape.clone();
    out[dim] = count;
    let exact = Array::new(&out, |index| {
        array.at(&moved(index, dim, rows.data[index[dim]]))
    });
    let run = move |t: &[Tensor]| t[0].index_select(&t[1], dim);
    Case::new(vec![input, ids], run, Expected::exact(element, exact))
        .with(format!("dimension {dim}"))
}

fn gather(maker: &mut Maker, place: Element, element: Element, part: bool) -> Case {
    let (shape, dim) = whole(maker);
    let input = maker.input(element, &shape, (-99.0, 99.0));
    // The other dimensions of the places may be smaller.
    let out: Vec<usize> = shape
        .iter()
        .enumerate()
        .map(|(i, &n)| {
            if i == dim {
                maker.some(9)
            } else if part {
                maker.rng.within(1, n)
            } else {
                n
            }
        })
        .collect();
    let ids = places(maker, place, &out, shape[dim]);
    let (array, rows) = (input.array(), ids.array());
    let exact = Array::new(&out, |index| array.at(&moved(index, dim, rows.at(index))));
    let run = move |t: &[Tensor]| t[0].gather(&t[1], dim);
    Case::new(vec![input, ids], run, Expected::exact(element, exact))
        .with(format!("dimension {dim}"))
}

fn scatter(maker: &mut Maker, place: Element, element: Element, add: bool) -> Case {
    let (shape, dim) = whole(maker);
    maker.edges &= !add;
    let values = if element == U8 {
        (0.0, 9.0)
    } else {
        (-9.0, 9.0)
    };
    let input = maker.input(element, &shape, values);
    let mut part = shape.clone();
    part[dim] = maker.rng.within(1, shape[dim]);
    // Adding goes in any order, so places may meet; at most a few do, so that 8 bits suffice.
    let ids = if add && maker.rng.chance(50) {
        places(maker, place, &part, shape[dim])
    } else {
        different(maker, place, &part, dim, shape[dim])
    };
    let values = if element == U8 { (0.0, 5.0) } else { values };
    let source = maker.input(element, &part, values);
    let (rows, from) = (ids.array(), source.array());
    let mut exact = input.array();
    let mut slack = vec![0.0; exact.data.len()];
    for index in indices(&part) {
        let to = flatten(&shape, &moved(&index, dim, rows.at(&index)));
        let value = from.at(&index);
        let before = exact.data[to];
        exact.data[to] = if add { before + value } else { value };
        if add {
            slack[to] += element.epsilon() * (before.abs() + value.abs());
        }
    }
    let expected = Expected::exact(element, exact).slack(slack);
    let run = move |t: &[Tensor]| {
        if add {
            t[0].scatter_add(&t[1], &t[2], dim)
        } else {
            t[0].scatter(&t[1], &t[2], dim)
        }
    };
    Case::new(vec![input, ids, source], run, expected).with(format!("dimension {dim}"))
}

fn index_add(maker: &mut Maker, place: Element, element: Element, view: bool) -> Case {
    let (shape, dim) = whole(maker);
    maker.edges = false;
    let values = if element == U8 {
        (0.0, 5.0)
    } else {
        (-9.0, 9.0)
    };
    let input = if view {
        maker.input(element, &shape, values)
    } else {
        maker.plain(element, &shape, values)
    };
    let mut part = shape.clone();
    part[dim] = maker.some(9);
    let ids = places(maker, place, &part[dim..=dim], shape[dim]);
    let source = maker.input(element, &part, values);
    let (rows, from) = (ids.array(), source.array());
    let mut exact = input.array();
    let mut slack = vec![0.0; exact.data.len()];
    for index in indices(&part) {
        let to = flatten(&shape, &moved(&index, dim, rows.data[index[dim]]));
        let before = exact.data[to];
        exact.data[to] += from.at(&index);
        slack[to] += element.epsilon() * (before.abs() + from.at(&index).abs());
    }
    let expected = Expected::exact(element, exact).slack(slack);
    let run = move |t: &[Tensor]| t[0].index_add(&t[1], &t[2], dim);
    Case::new(vec![input, ids, source], run, expected).with(format!("dimension {dim}"))
}
