//! Runs a case on a backend and compares what comes out with what must.

use std::panic::{catch_unwind, AssertUnwindSafe};

use candle::{Device, Result, Tensor};

use crate::array::unflatten;
use crate::case::{Case, Expected};
use crate::element::Element;

/// A tensor's type, shape and values.
type Values = (Element, Vec<usize>, Vec<f64>);

/// What a backend made of a case.
pub enum Outcome {
    Values(Vec<Values>),
    /// An error, which is an answer.
    Refused(String),
    Panicked(String),
}

/// How an outcome differs from what is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// `finite`, `infinite`, `nan`, `shape`, `refused` or `panic`.
    pub kind: &'static str,
    /// What was found, for a person.
    pub message: String,
    /// By how much, in units of the last place of the expected value.
    pub ulps: f64,
}

/// Takes a case on a backend; where it is to be a graph, that is captured and launched.
pub fn run(case: &Case, device: &Device, as_graph: bool) -> Outcome {
    let inputs = || -> Result<Vec<Tensor>> {
        let inputs = case.inputs.iter();
        inputs.map(|input| input.tensor(device)).collect()
    };
    let once = || -> Result<Vec<_>> {
        if as_graph {
            (case.run)(&inputs()?)?; // loads what kernels there are
            return launched(case, &inputs()?, device);
        }
        (case.run)(&inputs()?)?.iter().map(read).collect()
    };
    match catch_unwind(AssertUnwindSafe(once)) {
        Ok(Ok(values)) => Outcome::Values(values),
        Ok(Err(error)) => Outcome::Refused(first_line(&error.to_string())),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            Outcome::Panicked(first_line(text.unwrap_or("no message")))
        }
    }
}

#[cfg(feature = "rocm")]
fn launched(case: &Case, inputs: &[Tensor], device: &Device) -> Result<Vec<Values>> {
    use candle::rocm_backend::candle_hip::driver::sys;
    use candle::Error;

    let (mode, flags) = (
        sys::hipStreamCaptureMode::hipStreamCaptureModeThreadLocal,
        sys::hipGraphInstantiateFlags::hipGraphInstantiateFlagAutoFreeOnLaunch,
    );
    let stream = device.as_rocm_device()?.rocm_stream();
    stream.begin_capture(mode).map_err(Error::wrap)?;
    let outputs = (case.run)(inputs);
    let graph = stream.end_capture(flags);
    let outputs = outputs?;
    let graph = graph.map_err(Error::wrap)?;
    if let Some(graph) = &graph {
        graph.launch().map_err(Error::wrap)?;
    }
    outputs.iter().map(read).collect()
}

#[cfg(not(feature = "rocm"))]
fn launched(_: &Case, _: &[Tensor], _: &Device) -> Result<Vec<Values>> {
    candle::bail!("graphs are ROCm's")
}

/// The values of a tensor.
pub fn read(tensor: &Tensor) -> Result<Values> {
    let Some(element) = Element::of(tensor.dtype()) else {
        candle::bail!("unexpected dtype {:?}", tensor.dtype())
    };
    let shape = tensor.dims().to_vec();
    if tensor.elem_count() == 0 {
        return Ok((element, shape, Vec::new()));
    }
    let mut bytes = Vec::new();
    tensor
        .to_device(&Device::Cpu)?
        .contiguous()?
        .write_bytes(&mut bytes)?;
    Ok((element, shape, element.decode(&bytes)))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").to_string()
}

/// The largest difference, if there is one.
pub fn judge(expected: &[Expected], outcome: &Outcome) -> Option<Difference> {
    let found = match outcome {
        Outcome::Values(found) => found,
        Outcome::Refused(message) => {
            return Some(Difference {
                kind: "refused",
                message: message.clone(),
                ulps: 0.0,
            })
        }
        Outcome::Panicked(message) => {
            return Some(Difference {
                kind: "panic",
                message: message.clone(),
                ulps: 0.0,
            })
        }
    };
    let mut worst: Option<Difference> = None;
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        if let Some(difference) = compare(expected, found, number) {
            let worse = worst.as_ref().is_none_or(|w| rank(&difference) > rank(w));
            if worse {
                worst = Some(difference);
            }
        }
    }
    worst
}

/// Wrong shapes first, then NaN and infinities, then by size.
fn rank(difference: &Difference) -> (u8, f64) {
    let kind = match difference.kind {
        "shape" => 3,
        "nan" => 2,
        "infinite" => 1,
        _ => 0,
    };
    (kind, difference.ulps)
}

fn compare(
    expected: &Expected,
    (element, shape, values): &(Element, Vec<usize>, Vec<f64>),
    number: usize,
) -> Option<Difference> {
    if *element != expected.element || *shape != expected.array.shape {
        let message = format!(
            "output {number} is {} {shape:?}, expected {} {:?}",
            element.name(),
            expected.element.name(),
            expected.array.shape
        );
        return Some(Difference {
            kind: "shape",
            message,
            ulps: 0.0,
        });
    }
    let mut worst: Option<Difference> = None;
    for (flat, (&exact, &value)) in expected.array.data.iter().zip(values).enumerate() {
        let slack = expected.slack.get(flat).copied().unwrap_or(0.0);
        let Some((kind, ulps)) = distance(*element, exact, value, expected.ulps, slack) else {
            continue;
        };
        let place = unflatten(shape, flat);
        let message = format!("output {number} at {place:?}: {value:e}, expected {exact:e}");
        let difference = Difference {
            kind,
            message,
            ulps,
        };
        if worst.as_ref().is_none_or(|w| rank(&difference) > rank(w)) {
            worst = Some(difference);
        }
    }
    worst
}

/// The kind of a difference and how large it is, unless a value is close enough to the exact one.
fn distance(
    element: Element,
    exact: f64,
    value: f64,
    ulps: f64,
    slack: f64,
) -> Option<(&'static str, f64)> {
    let rounded = element.round(exact);
    if value == rounded || value.is_nan() && rounded.is_nan() {
        return None;
    }
    if value.is_nan() || rounded.is_nan() {
        return Some(("nan", 0.0));
    }
    let step = element.step(if rounded.is_finite() {
        rounded
    } else {
        element.limits().1
    });
    let allowed = ulps * step + slack;
    // An infinity stands for the first value that is too large.
    let finite = |x: f64| {
        if x.is_finite() {
            x
        } else {
            (element.limits().1 + step).copysign(x)
        }
    };
    let error = (finite(value) - finite(rounded)).abs();
    if error <= allowed * 1.000_001 {
        return None;
    }
    let kind = if value.is_finite() && rounded.is_finite() {
        "finite"
    } else {
        "infinite"
    };
    let step = if step > 0.0 { step } else { 1.0 };
    Some((kind, (error / step).min(1e300)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element::{F16, F32, I64, U8};

    #[test]
    fn close_is_close_enough() {
        let up = f64::from(1.0f32.next_up());
        assert_eq!(distance(F32, 1.0, up, 1.0, 0.0), None);
        assert_eq!(distance(F32, 1.0, up, 0.0, 0.0), Some(("finite", 1.0)));
        assert_eq!(distance(F32, 1.0, 1.1, 0.0, 0.2), None);
        assert_eq!(distance(U8, 3.0, 4.0, 0.0, 0.0), Some(("finite", 1.0)));
        assert_eq!(distance(I64, 3.0, 3.0, 0.0, 0.0), None);
    }

    #[test]
    fn nan_and_infinity_are_not_numbers() {
        assert_eq!(distance(F32, f64::NAN, f64::NAN, 0.0, 0.0), None);
        assert_eq!(distance(F32, f64::NAN, 1.0, 9.0, 9.0), Some(("nan", 0.0)));
        assert_eq!(distance(F16, 1e6, f64::INFINITY, 0.0, 0.0), None);
        assert_eq!(
            distance(F16, 1e6, 65504.0, 0.0, 0.0).map(|d| d.0),
            Some("infinite")
        );
        assert_eq!(distance(F16, 1e6, 65504.0, 1.0, 0.0), None);
    }
}
