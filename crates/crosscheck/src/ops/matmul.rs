//! Products of matrices, of every layout that candle hands to the BLAS.

use crate::array::{indices, Array};
use crate::case::{Case, Expected, Input, Maker, Operation, View};
use crate::element::{Element, FLOATS, USUAL};

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in USUAL {
        let make = move |m: &mut Maker| matmul(m, element);
        operations.push(Operation::new("matmul", element.name(), make));
    }
    for element in FLOATS {
        let make = move |m: &mut Maker| broadcast(m, element);
        operations.push(Operation::new("broadcast_matmul", element.name(), make));
    }
    operations
}

/// A matrix as a BLAS may be given it: transposed or not, narrowed in front, batches broadcast.
fn side(maker: &mut Maker, element: Element, shape: &[usize]) -> Input {
    let rank = shape.len();
    let mut base = shape.to_vec();
    let mut views = Vec::new();
    if rank > 2 && base[0] > 1 && maker.rng.chance(25) {
        views.push(View::Broadcast(base.clone()));
        base[0] = 1;
    }
    if maker.rng.chance(40) {
        views.push(View::Transpose(rank - 2, rank - 1));
        base.swap(rank - 2, rank - 1);
    }
    if maker.rng.chance(30) {
        // Rarely another dimension than the first: then the matrix has gaps, which is refused.
        let dim = if maker.rng.chance(90) {
            0
        } else {
            maker.rng.below(rank)
        };
        let start = maker.rng.below(3);
        views.push(View::Narrow(dim, start, base[dim]));
        base[dim] += start + maker.rng.below(2);
    }
    views.reverse();
    let range = if element.is_float() {
        (-2.0, 2.0)
    } else {
        (0.0, 2.0)
    };
    let mut input = maker.plain(element, &base, range);
    input.views = views;
    input
}

fn matmul(maker: &mut Maker, element: Element) -> Case {
    maker.edges = false;
    let batch: Vec<usize> = (0..maker.rng.below(3)).map(|_| maker.some(4)).collect();
    let (m, n) = (maker.some(17), maker.some(17));
    let k = if maker.size > 8 && maker.rng.chance(20) {
        maker.rng.within(64, 300)
    } else {
        maker.some(17)
    };
    let left = side(maker, element, &[batch.as_slice(), &[m, k]].concat());
    let right = side(maker, element, &[batch.as_slice(), &[k, n]].concat());
    let expected = product(element, &left.array(), &right.array(), &batch);
    Case::new(vec![left, right], |t| t[0].matmul(&t[1]), expected)
}

fn broadcast(maker: &mut Maker, element: Element) -> Case {
    maker.edges = false;
    let batch: Vec<usize> = (0..maker.rng.within(1, 2)).map(|_| maker.some(4)).collect();
    let (m, k, n) = (maker.some(9), maker.some(9), maker.some(9));
    let (mut one, mut other) = (batch.clone(), batch.clone());
    for i in 0..batch.len() {
        match maker.rng.below(3) {
            0 => one[i] = 1,
            1 => other[i] = 1,
            _ => {}
        }
    }
    let left = side(maker, element, &[one.as_slice(), &[m, k]].concat());
    let right = side(maker, element, &[other.as_slice(), &[k, n]].concat());
    let wide = |array: Array, rows: usize, columns: usize| {
        array.broadcast(&[batch.as_slice(), &[rows, columns]].concat())
    };
    let (x, y) = (wide(left.array(), m, k), wide(right.array(), k, n));
    let expected = product(element, &x, &y, &batch);
    Case::new(
        vec![left, right],
        |t| t[0].broadcast_matmul(&t[1]),
        expected,
    )
}

/// The product; sums of half-precision numbers are f32 or better, those of f32 may go in any order.
pub fn product(element: Element, left: &Array, right: &Array, batch: &[usize]) -> Expected {
    let rank = batch.len();
    let (m, k, n) = (
        left.shape[rank],
        left.shape[rank + 1],
        right.shape[rank + 1],
    );
    let shape = [batch, &[m, n]].concat();
    let epsilon = if element == Element::F64 {
        element.epsilon()
    } else {
        Element::F32.epsilon()
    };
    let mut slack = Vec::new();
    let mut data = Vec::new();
    for index in indices(&shape) {
        let (mut sum, mut size) = (0.0, 0.0);
        for i in 0..k {
            let (mut a, mut b) = (index.clone(), index.clone());
            a[rank + 1] = i;
            b[rank] = i;
            let term = left.at(&a) * right.at(&b);
            sum += term;
            size += term.abs();
        }
        data.push(sum);
        slack.push(size * epsilon * k as f64);
    }
    Expected::exact(element, Array { shape, data })
        .within(1.0)
        .slack(slack)
}
