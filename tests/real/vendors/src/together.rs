//! Both devices at work: tensors that go from one to the other, and what may not be mixed.

use candle::{bail, DType, Device, Result, Tensor, Var};

use crate::computed;

pub fn all(rocm: &Device, cuda: &Device) -> Result<()> {
    for (from, to) in [(rocm, cuda), (cuda, rocm)] {
        moved(from, to)?;
        views(from, to)?;
        gradients(from, to)?;
        refused(from, to)?;
    }
    by_turns(rocm, cuda)?;
    at_once(rocm, cuda)?;
    println!("both: tensors and gradients go from one to the other, both work at once");
    Ok(())
}

/// Every type, there and back.
fn moved(from: &Device, to: &Device) -> Result<()> {
    let types = [
        DType::U8,
        DType::U32,
        DType::I64,
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
    ];
    for (seed, dtype) in types.into_iter().enumerate() {
        // An unsigned type holds none below zero.
        let numbers = computed::numbers(1000, seed as u64)
            .into_iter()
            .map(|x| 16.0 * x + 16.0);
        let expected: Vec<_> = numbers.map(|x| (x as f64, 0.0)).collect();
        let values: Vec<f32> = expected.iter().map(|&(x, _)| x as f32).collect();
        let here = Tensor::new(values, &Device::Cpu)?
            .to_dtype(dtype)?
            .to_device(from)?;
        let there = here.to_device(to)?;
        if !there.device().same_device(to) || there.dtype() != dtype {
            bail!(
                "{dtype:?} came as {:?} to {:?}",
                there.dtype(),
                there.device().location()
            );
        }
        computed::near("there", &there.to_device(&Device::Cpu)?, &expected)?;
        let back = there.to_device(from)?.to_device(&Device::Cpu)?;
        computed::near("and back", &back, &expected)?;
    }
    Ok(())
}

/// What is a part of a tensor, or lies otherwise in memory, arrives as what it is.
fn views(from: &Device, to: &Device) -> Result<()> {
    let all = Tensor::arange(0f32, 60.0, from)?.reshape((3, 4, 5))?;
    let views = [
        all.transpose(0, 2)?,
        all.narrow(1, 1, 2)?,
        all.i_last()?,
        all.narrow(0, 1, 1)?.broadcast_as((3, 4, 5))?,
    ];
    for view in views {
        let expected = view
            .to_device(&Device::Cpu)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let expected: Vec<_> = expected
            .into_iter()
            .map(|x| (2.0 * x as f64, 0.0))
            .collect();
        let there = view.to_device(to)?;
        computed::near("a view", &(&there + &there)?, &expected)?;
    }
    Ok(())
}

trait Last {
    fn i_last(&self) -> Result<Tensor>;
}

impl Last for Tensor {
    /// The last column of the last axis.
    fn i_last(&self) -> Result<Tensor> {
        let last = self.dims().len() - 1;
        self.narrow(last, self.dim(last)? - 1, 1)
    }
}

fn gradients(from: &Device, to: &Device) -> Result<()> {
    let values = computed::numbers(20, 8);
    let x = Var::from_tensor(&Tensor::from_slice(&values, 20, from)?)?;
    let grads = x.to_device(to)?.sqr()?.sum_all()?.backward()?;
    let Some(grad) = grads.get(&x) else {
        bail!("no gradient came back");
    };
    let expected: Vec<_> = values.iter().map(|&x| (2.0 * x as f64, 0.0)).collect();
    computed::near("a gradient", &grad.to_device(&Device::Cpu)?, &expected)
}

/// Operations of tensors on two devices are errors.
fn refused(one: &Device, other: &Device) -> Result<()> {
    let (a, b) = (
        Tensor::ones((4, 4), DType::F32, one)?,
        Tensor::ones((4, 4), DType::F32, other)?,
    );
    let mixed = [
        a.add(&b),
        a.matmul(&b),
        a.index_select(&b, 0),
        a.eq(&b),
        Tensor::cat(&[&a, &b], 0),
    ];
    for (number, result) in mixed.into_iter().enumerate() {
        if result.is_ok() {
            bail!("operation {number} takes tensors of two devices");
        }
    }
    Ok(())
}

/// Layers of a network by turns on one and the other.
fn by_turns(rocm: &Device, cuda: &Device) -> Result<()> {
    let mut x = Tensor::ones((2, 16), DType::F32, rocm)?;
    for step in 0..20 {
        let device = if step % 2 == 0 { cuda } else { rocm };
        // Each row of the weights sums up to one.
        let weights = Tensor::full(1f32 / 16.0, (16, 16), device)?;
        x = x.to_device(device)?.matmul(&weights)?.affine(1.0, 1.0)?;
    }
    computed::near("layers by turns", &x, &[(21.0, 0.0); 32])
}

/// Two threads, each with its own device, at the same time.
fn at_once(rocm: &Device, cuda: &Device) -> Result<()> {
    let work = |device: &Device| -> Result<()> { (0..10).try_for_each(|_| computed::all(device)) };
    std::thread::scope(|scope| {
        let threads = [rocm, cuda].map(|device| scope.spawn(move || work(device)));
        threads
            .into_iter()
            .try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(_) => bail!("a thread panicked"),
            })
    })
}
