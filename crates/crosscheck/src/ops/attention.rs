//! Scaled dot-product attention, for which the port has kernels of its own. The CPU backend refuses.

use candle::Tensor;

use crate::array::{indices, Array};
use crate::case::{Case, Expected, Maker, Operation};
use crate::element::{Element, FLOATS};

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in FLOATS {
        let mut add = |name, kind| {
            operations.push(Operation::new(name, element.name(), move |m| {
                sdpa(m, element, kind)
            }));
        };
        add("sdpa of few queries", Kind::Few);
        add("sdpa of many queries", Kind::Many);
    }
    operations.push(Operation::new("sdpa of odd heads", "f32", |m| {
        sdpa(m, Element::F32, Kind::Odd)
    }));
    operations
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The keys are shared out among blocks.
    Few,
    /// A block has 64 rows.
    Many,
    /// Of a width that the kernels do not take.
    Odd,
}

/// Attention with grouped heads, and all that candle_nn's function takes.
fn sdpa(maker: &mut Maker, element: Element, kind: Kind) -> Case {
    maker.edges = false;
    let whole = maker.size > 8;
    let (b, kv) = (maker.some(2), maker.some(2));
    let groups = (*maker.rng.pick(&[1, 1, 2, 3, 4, 9])).min(maker.size);
    let queries = match kind {
        Kind::Few => *maker.rng.pick(&[1, 1, 1, 2, 5, 8]),
        Kind::Many => maker.rng.within(9, 9 + 2 * maker.size),
        Kind::Odd => maker.some(6),
    };
    let keys = match (whole && maker.rng.chance(40), kind) {
        (true, Kind::Few) => maker.rng.within(200, 500),
        (true, Kind::Many) => maker.rng.within(60, 140),
        _ => maker.some(17),
    };
    let width = |maker: &mut Maker| match kind {
        Kind::Odd => 8 * maker.some(4) + 4,
        _ => 8 * *maker.rng.pick(&[1, 4, 8, 9, 10, 16, 32]),
    };
    let wide = width(maker);
    let v_wide = if maker.rng.chance(70) {
        wide
    } else {
        width(maker)
    };
    let heads = kv * groups;
    let scale = 1.0 / (wide as f32).sqrt();
    let cap: f32 = if maker.rng.chance(70) { 1.0 } else { 3.0 };
    let causal = maker.rng.chance(50);
    let masked = maker.rng.chance(50);

    let range = (-2.0, 2.0);
    let mut inputs = vec![
        maker.input(element, &[b, heads, queries, wide], range),
        maker.input(element, &[b, kv, keys, wide], range),
        maker.input(element, &[b, kv, keys, v_wide], range),
    ];
    if masked {
        let shape = if maker.rng.chance(50) {
            vec![b, heads, queries, keys]
        } else {
            vec![queries, keys]
        };
        let mut mask = maker.input(element, &shape, range);
        for value in mask.base.data.iter_mut().skip(1).step_by(3) {
            *value = f64::NEG_INFINITY;
        }
        inputs.push(mask);
    }
    let seen: Vec<Array> = inputs.iter().map(|input| input.array()).collect();
    let (q, k, v) = (&seen[0], &seen[1], &seen[2]);
    let mask = seen
        .get(3)
        .map(|mask| mask.broadcast(&[b, heads, queries, keys]));

    let mut data = Vec::new();
    let mut slack = Vec::new();
    for row in indices(&[b, heads, queries]) {
        let (batch, head, query) = (row[0], row[1], row[2]);
        let mut scores = Vec::new();
        // Of the terms of a score, before they cancel, and of what they sum up to on the way: each of
        // these is rounded, all of them the same way where the terms are equal.
        let (mut size, mut partial) = (1.0_f64, 0.0_f64);
        for key in 0..keys {
            let terms = (0..wide).map(|d| {
                q.at(&[batch, head, query, d])
                    * k.at(&[batch, head / groups, key, d])
                    * f64::from(scale)
            });
            let (sum, sizes, partials) = terms.fold(
                (0.0, 0.0, 0.0),
                |(sum, sizes, partials): (f64, f64, f64), x| {
                    let sum = sum + x;
                    (sum, sizes + x.abs(), partials + sum.abs())
                },
            );
            (size, partial) = (size.max(sizes), partial.max(partials));
            let cap = f64::from(cap);
            let mut score = if cap == 1.0 {
                sum
            } else {
                (sum / cap).tanh() * cap
            };
            if let Some(mask) = &mask {
                score += mask.at(&[batch, head, query, key]);
            }
            // The last query sees all keys.
            if causal && key + queries > query + keys {
                score = f64::NEG_INFINITY;
            }
            scores.push(score);
        }
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        for d in 0..v_wide {
            let terms =
                (0..keys).map(|key| weights[key] / total * v.at(&[batch, head / groups, key, d]));
            let (sum, sizes) = terms.fold((0.0, 0.0), |(sum, sizes): (f64, f64), x| {
                (sum + x, sizes + x.abs())
            });
            data.push(sum);
            // A score is as good as f32 makes it, and a weight as good as its score. Those of half
            // precision for many queries are made by single operations on a GPU without matrix cores,
            // which round each to it: the product, its scale, the cap, the mask, the weight, in the sum
            // of weights as well. With them only the weight is.
            let sums = Element::F32.epsilon() * (partial + 4.0 * size + 16.0);
            let each = match kind == Kind::Many && element != Element::F32 {
                true => element.epsilon() * (8.0 * size + 16.0),
                false => 0.0,
            };
            let precise = (sums + each) * sizes;
            slack.push(if sum.is_nan() { 0.0 } else { precise });
        }
    }
    let array = Array {
        shape: vec![b, heads, queries, v_wide],
        data,
    };
    let run =
        move |t: &[Tensor]| candle_nn::ops::sdpa(&t[0], &t[1], &t[2], t.get(3), causal, scale, cap);
    let expected = Expected::exact(element, array).within(1.0).slack(slack);
    Case::new(inputs, run, expected).with(format!("causal {causal}, cap {cap}"))
}
