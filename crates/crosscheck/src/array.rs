//! Arrays of the reference: contiguous, of f64, with the few moves that shapes need.

#[derive(Clone, Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

/// Every index of a shape, the last one fastest.
pub fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    let count: usize = shape.iter().product();
    (0..count).map(move |flat| unflatten(shape, flat))
}

pub fn unflatten(shape: &[usize], mut flat: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &size) in index.iter_mut().zip(shape).rev() {
        *i = flat % size;
        flat /= size;
    }
    index
}

pub fn flatten(shape: &[usize], index: &[usize]) -> usize {
    shape
        .iter()
        .zip(index)
        .fold(0, |flat, (&size, &i)| flat * size + i)
}

impl Array {
    /// An array whose element at an index is what `f` says.
    pub fn new(shape: &[usize], f: impl Fn(&[usize]) -> f64) -> Self {
        let data = indices(shape).map(|index| f(&index)).collect();
        Self {
            shape: shape.to_vec(),
            data,
        }
    }

    pub fn at(&self, index: &[usize]) -> f64 {
        self.data[flatten(&self.shape, index)]
    }

    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            shape: self.shape.clone(),
            data: self.data.iter().map(|&x| f(x)).collect(),
        }
    }

    pub fn transpose(&self, a: usize, b: usize) -> Self {
        let mut shape = self.shape.clone();
        shape.swap(a, b);
        Self::new(&shape, |index| {
            let mut from = index.to_vec();
            from.swap(a, b);
            self.at(&from)
        })
    }

    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Self {
        let mut shape = self.shape.clone();
        shape[dim] = len;
        Self::new(&shape, |index| {
            let mut from = index.to_vec();
            from[dim] += start;
            self.at(&from)
        })
    }

    /// Without the last dimension, whose size is 1.
    pub fn squeeze(&self) -> Self {
        Self {
            shape: self.shape[..self.shape.len() - 1].to_vec(),
            data: self.data.clone(),
        }
    }

    /// Repeats dimensions of size 1; missing ones are on the left.
    pub fn broadcast(&self, shape: &[usize]) -> Self {
        let skipped = shape.len() - self.shape.len();
        Self::new(shape, |index| {
            let from: Vec<usize> = index[skipped..]
                .iter()
                .zip(&self.shape)
                .map(|(&i, &size)| if size == 1 { 0 } else { i })
                .collect();
            self.at(&from)
        })
    }

    /// The rows along a dimension: for each index without it, the values in order.
    pub fn rows(&self, dim: usize) -> impl Iterator<Item = Vec<f64>> + '_ {
        let mut outer = self.shape.clone();
        outer.remove(dim);
        let count: usize = outer.iter().product();
        (0..count).map(move |flat| {
            let mut index = unflatten(&outer, flat);
            index.insert(dim, 0);
            (0..self.shape[dim])
                .map(|i| {
                    index[dim] = i;
                    self.at(&index)
                })
                .collect()
        })
    }
}
