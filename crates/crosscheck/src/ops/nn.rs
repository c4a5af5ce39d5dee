//! candle-nn's operations that have kernels of their own, but for attention.

use candle::{Result, Tensor};

use crate::array::{indices, Array};
use crate::case::{Case, Expected, Maker, Operation};
use crate::element::{Element, FLOATS};

pub fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for element in FLOATS {
        let mut add = |name, make: fn(&mut Maker, Element) -> Case| {
            operations.push(Operation::new(name, element.name(), move |m| {
                make(m, element)
            }));
        };
        add("softmax_last_dim", softmax);
        add("rms_norm", |m, e| norm(m, e, false));
        add("layer_norm", |m, e| norm(m, e, true));
        add("rope", |m, e| rope(m, e, Rope::Halves));
        add("rope_i", |m, e| rope(m, e, Rope::Pairs));
        add("rope_thd", |m, e| rope(m, e, Rope::HeadsInside));
    }
    operations
}

/// Rows of at least one element, now and then longer than a block of threads.
fn rows(maker: &mut Maker) -> Vec<usize> {
    let mut shape: Vec<usize> = maker.shape(1, 3).into_iter().map(|n| n.max(1)).collect();
    if maker.size > 8 && maker.rng.chance(15) {
        let last = shape.len() - 1;
        shape[last] = maker.rng.within(1000, 1100);
    }
    shape
}

fn softmax(maker: &mut Maker, element: Element) -> Case {
    let shape = rows(maker);
    maker.edges = false;
    let mut input = maker.plain(element, &shape, (-5.0, 5.0));
    if maker.rng.chance(20) {
        // What a mask leaves out.
        for value in input.base.data.iter_mut().skip(1).step_by(3) {
            *value = f64::NEG_INFINITY;
        }
    }
    let last = shape.len() - 1;
    let mut data = Vec::new();
    for row in input.base.rows(last) {
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = row.iter().map(|x| (x - most).exp()).sum();
        data.extend(row.iter().map(|x| (x - most).exp() / total));
    }
    // A masked first row gives NaN in every backend, by 0 / 0.
    let slack = data
        .iter()
        .map(|x: &f64| 8.0 * element.epsilon() * x.abs())
        .collect();
    let expected = Expected::exact(element, Array { shape, data })
        .within(4.0)
        .slack(slack);
    Case::new(
        vec![input],
        |t| candle_nn::ops::softmax_last_dim(&t[0]),
        expected,
    )
}

fn norm(maker: &mut Maker, element: Element, centred: bool) -> Case {
    let shape = rows(maker);
    maker.edges = false;
    let last = shape.len() - 1;
    let width = shape[last];
    let input = maker.plain(element, &shape, (-3.0, 3.0));
    let weight = maker.plain(element, &[width], (-2.0, 2.0));
    let bias = maker.plain(element, &[width], (-2.0, 2.0));
    let epsilon = 1e-5;
    let mut data = Vec::new();
    let mut slack = Vec::new();
    for row in input.base.rows(last) {
        let n = width as f64;
        let mean = if centred {
            row.iter().sum::<f64>() / n
        } else {
            0.0
        };
        let square = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let scale = 1.0 / (square + f64::from(epsilon)).sqrt();
        for (i, x) in row.iter().enumerate() {
            let bias = if centred { bias.base.data[i] } else { 0.0 };
            data.push((x - mean) * scale * weight.base.data[i] + bias);
            // The mean is as good as f32 makes it, and 1 / sqrt makes errors of nearly equal rows
            // large; so that what comes of the epsilon does not count, both are in the slack.
            let size = row.iter().map(|x| x.abs()).fold(0.0, f64::max) * scale;
            let precise = Element::F32.epsilon() * size.powi(3) * 32.0;
            let rounded = 8.0 * element.epsilon() * size;
            slack.push(
                (precise + rounded) * weight.base.data[i].abs()
                    + 4.0 * element.epsilon() * bias.abs(),
            );
        }
    }
    let expected = Expected::exact(element, Array { shape, data })
        .within(2.0)
        .slack(slack);
    let (inputs, run): (_, fn(&[Tensor], f32) -> Result<Tensor>) = if centred {
        (vec![input, weight, bias], |t, e| {
            candle_nn::ops::layer_norm(&t[0], &t[1], &t[2], e)
        })
    } else {
        (vec![input, weight], |t, e| {
            candle_nn::ops::rms_norm(&t[0], &t[1], e)
        })
    };
    Case::new(inputs, move |t| run(t, epsilon), expected)
}

/// Which two numbers are turned by an angle.
#[derive(Clone, Copy, PartialEq)]
enum Rope {
    /// Of (batch, heads, time, width): i and i + width / 2.
    Halves,
    /// Of the same: 2i and 2i + 1.
    Pairs,
    /// Of (batch, time, heads, width): i and i + width / 2.
    HeadsInside,
}

fn rope(maker: &mut Maker, element: Element, kind: Rope) -> Case {
    maker.edges = false;
    let (b, h, t, half) = (
        maker.some(3),
        maker.some(4),
        maker.large(6, 200),
        maker.some(8),
    );
    let shape = if kind == Rope::HeadsInside {
        [b, t, h, 2 * half]
    } else {
        [b, h, t, 2 * half]
    };
    // One table for all, or one for each of the batch.
    let table: &[usize] = if maker.rng.chance(30) {
        &[b, t, half]
    } else {
        &[t, half]
    };
    let input = maker.plain(element, &shape, (-3.0, 3.0));
    let cos = maker.plain(element, table, (-1.0, 1.0));
    let sin = maker.plain(element, table, (-1.0, 1.0));
    let (x, c, s) = (&input.base, &cos.base, &sin.base);
    let mut data = Vec::new();
    let mut slack = Vec::new();
    for index in indices(&shape) {
        let time = index[if kind == Rope::HeadsInside { 1 } else { 2 }];
        let (angle, other, second) = if kind == Rope::Pairs {
            (index[3] / 2, index[3] ^ 1, index[3] % 2 == 1)
        } else {
            (
                index[3] % half,
                (index[3] + half) % (2 * half),
                index[3] >= half,
            )
        };
        let at: &[usize] = if table.len() == 3 {
            &[index[0], time, angle]
        } else {
            &[time, angle]
        };
        let (cos, sin) = (c.at(at), s.at(at));
        let mine = x.at(&index) * cos;
        let mut from = index.clone();
        from[3] = other;
        let theirs = x.at(&from) * sin;
        data.push(if second { theirs + mine } else { mine - theirs });
        slack.push(element.epsilon() * (mine.abs() + theirs.abs()));
    }
    let array = Array {
        shape: shape.to_vec(),
        data,
    };
    let expected = Expected::exact(element, array).within(1.0).slack(slack);
    let run = match kind {
        Rope::Halves => candle_nn::rotary_emb::rope,
        Rope::Pairs => candle_nn::rotary_emb::rope_i,
        Rope::HeadsInside => candle_nn::rotary_emb::rope_thd,
    };
    Case::new(
        vec![input, cos, sin],
        move |t| run(&t[0], &t[1], &t[2]),
        expected,
    )
}
