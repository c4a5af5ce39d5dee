//! One case: inputs, what candle does with them, and what must come out.

use candle::{Device, Result, Tensor};

use crate::array::Array;
use crate::element::{Element, EXACT};
use crate::rng::Rng;

/// How a tensor looks at its storage.
#[derive(Clone, Debug)]
pub enum View {
    Transpose(usize, usize),
    Narrow(usize, usize, usize),
    Broadcast(Vec<usize>),
    /// Without the last dimension, whose size is 1.
    Squeeze,
}

/// A tensor: a contiguous storage, and the views through which it is seen.
#[derive(Clone, Debug)]
pub struct Input {
    pub element: Element,
    pub base: Array,
    pub views: Vec<View>,
}

impl Input {
    pub fn contiguous(element: Element, array: Array) -> Self {
        let base = array.map(|value| element.round(value));
        Self {
            element,
            base,
            views: Vec::new(),
        }
    }

    /// What is seen.
    pub fn array(&self) -> Array {
        self.views
            .iter()
            .fold(self.base.clone(), |array, view| match view {
                View::Transpose(a, b) => array.transpose(*a, *b),
                View::Narrow(dim, start, len) => array.narrow(*dim, *start, *len),
                View::Broadcast(shape) => array.broadcast(shape),
                View::Squeeze => array.squeeze(),
            })
    }

    pub fn tensor(&self, device: &Device) -> Result<Tensor> {
        let bytes = self.element.encode(&self.base.data);
        let dtype = self.element.dtype();
        let base = Tensor::from_raw_buffer(&bytes, dtype, &self.base.shape, device)?;
        self.views.iter().try_fold(base, |tensor, view| match view {
            View::Transpose(a, b) => tensor.transpose(*a, *b),
            View::Narrow(dim, start, len) => tensor.narrow(*dim, *start, *len),
            View::Broadcast(shape) => tensor.broadcast_as(shape.as_slice()),
            View::Squeeze => tensor.squeeze(tensor.rank() - 1),
        })
    }

    /// As a person reads it: `f32 [2, 3] narrowed transposed`.
    pub fn layout(&self) -> String {
        let mut text = format!("{} {:?}", self.element.name(), self.array().shape);
        for view in &self.views {
            text += match view {
                View::Transpose(..) => " transposed",
                View::Narrow(..) => " narrowed",
                View::Broadcast(_) => " broadcast",
                View::Squeeze => " squeezed",
            };
        }
        text
    }
}

/// What must come out: of which type and shape, and how far each value may lie from the true one.
pub struct Expected {
    pub element: Element,
    pub array: Array,
    /// In units of the last place, on top of the half that rounding takes.
    pub ulps: f64,
    /// Absolute, for each value, such as where terms cancel; empty where there is none.
    pub slack: Vec<f64>,
}

impl Expected {
    /// Exactly these values.
    pub fn exact(element: Element, array: Array) -> Self {
        Self {
            element,
            array,
            ulps: 0.0,
            slack: Vec::new(),
        }
    }

    pub fn within(mut self, ulps: f64) -> Self {
        self.ulps = ulps;
        self
    }

    pub fn slack(mut self, slack: Vec<f64>) -> Self {
        self.slack = slack;
        self
    }
}

pub type Run = Box<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>>;

pub struct Case {
    pub inputs: Vec<Input>,
    /// What else the operation takes, for a person.
    pub arguments: String,
    pub run: Run,
    pub expected: Vec<Expected>,
}

impl Case {
    pub fn new(
        inputs: Vec<Input>,
        run: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
        expected: Expected,
    ) -> Self {
        Self {
            inputs,
            arguments: String::new(),
            run: Box::new(move |inputs| Ok(vec![run(inputs)?])),
            expected: vec![expected],
        }
    }

    /// Whether a tensor without elements goes in or comes out.
    pub fn empty(&self) -> bool {
        let inputs = self
            .inputs
            .iter()
            .any(|input| input.array().data.is_empty());
        inputs
            || self
                .expected
                .iter()
                .any(|expected| expected.array.data.is_empty())
    }

    pub fn with(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = arguments.into();
        self
    }
}

/// An operation on one type of element.
pub struct Operation {
    pub name: String,
    /// The type, or a pair of types.
    pub elements: String,
    pub make: Box<dyn Fn(&mut Maker) -> Case>,
    /// How many cases are enough, where one takes long.
    pub most: usize,
}

impl Operation {
    pub fn new(
        name: impl Into<String>,
        elements: impl Into<String>,
        make: impl Fn(&mut Maker) -> Case + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            elements: elements.into(),
            make: Box::new(make),
            most: usize::MAX,
        }
    }

    pub fn at_most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }
}

/// How many elements a tensor of any rank has at most.
const MOST: usize = 4096;

/// Makes the parts of a case.
pub struct Maker {
    pub rng: Rng,
    /// No dimension is larger. What differs is sought again with smaller ones.
    pub size: usize,
    /// Whether values at the edges of the type are among the others.
    pub edges: bool,
}

impl Maker {
    /// A dimension, rarely 0.
    pub fn dim(&mut self) -> usize {
        if self.rng.chance(2) {
            0
        } else {
            self.rng.within(1, self.size)
        }
    }

    /// A dimension that is not 0.
    pub fn some(&mut self, most: usize) -> usize {
        self.rng.within(1, most.min(self.size).max(1))
    }

    /// A dimension that is not 0 and now and then large, where a kernel takes one element a thread and
    /// must be given more than one block of 1024.
    pub fn large(&mut self, most: usize, large: usize) -> usize {
        if self.size > 8 && self.rng.chance(15) {
            self.rng.within(large / 2, large)
        } else {
            self.some(most)
        }
    }

    /// A shape of at most [`MOST`] elements.
    pub fn shape(&mut self, low: usize, high: usize) -> Vec<usize> {
        let rank = self.rng.within(low, high);
        let mut shape: Vec<usize> = (0..rank).map(|_| self.dim()).collect();
        // One long dimension now and then: more than one block of 1024 threads.
        if rank > 0 && self.size > 8 && self.rng.chance(8) {
            shape[self.rng.below(rank)] = self.rng.within(1000, 1500);
        }
        let mut left = MOST;
        for i in self.rng.order(rank) {
            shape[i] = shape[i].min(left);
            left = (left / shape[i].max(1)).max(1);
        }
        shape
    }

    /// A value of a range; where the case has edges, every fourth one is such.
    pub fn value(&mut self, element: Element, (low, high): (f64, f64)) -> f64 {
        if self.edges && self.rng.chance(25) {
            return *self.rng.pick(&element.special());
        }
        let (least, most) = element.limits();
        let value = self.rng.real(low.max(least), high.min(most));
        if element.is_float() {
            element.round(value)
        } else {
            value.round().clamp(-EXACT, EXACT)
        }
    }

    /// A tensor of a shape, contiguous or seen through up to two views.
    pub fn input(&mut self, element: Element, shape: &[usize], range: (f64, f64)) -> Input {
        let rank = shape.len();
        let mut base = shape.to_vec();
        let mut views = Vec::new();
        let count = if rank == 0 {
            0
        } else {
            *self.rng.pick(&[0, 1, 1, 2])
        };
        // From what is seen back to the storage, so that the last view comes first.
        for _ in 0..count {
            match self.rng.below(3) {
                0 if rank > 1 => {
                    let (a, b) = (self.rng.below(rank), self.rng.below(rank));
                    base.swap(a, b);
                    views.push(View::Transpose(a, b));
                }
                1 => {
                    let dim = self.rng.below(rank);
                    let start = self.rng.below(3);
                    views.push(View::Narrow(dim, start, base[dim]));
                    base[dim] += start + self.rng.below(3);
                }
                _ => {
                    let dim = self.rng.below(rank);
                    if base[dim] > 1 {
                        views.push(View::Broadcast(base.clone()));
                        base[dim] = 1;
                    }
                }
            }
        }
        views.reverse();
        let data = (0..base.iter().product())
            .map(|_| self.value(element, range))
            .collect();
        Input {
            element,
            base: Array { shape: base, data },
            views,
        }
    }

    /// A contiguous tensor.
    pub fn plain(&mut self, element: Element, shape: &[usize], range: (f64, f64)) -> Input {
        let data = (0..shape.iter().product())
            .map(|_| self.value(element, range))
            .collect();
        Input {
            element,
            base: Array {
                shape: shape.to_vec(),
                data,
            },
            views: Vec::new(),
        }
    }
}
