//! Launches a kernel by its name, with arguments as its source declares them.

use candle::rocm_backend::candle_hip::driver::{HipSlice, LaunchConfig, PushKernelArg};
use candle::rocm_backend::{kernels::Module, RocmDevice, WrapErr};
use candle::{Device, Result, Tensor};

use crate::array::Array;
use crate::case::{Case, Expected, Input};
use crate::element::Element;

/// An argument of a kernel.
pub enum Arg {
    /// Memory to read.
    Bytes(Vec<u8>),
    /// Memory to write, with what is there before; the kernel's result.
    Out(Vec<u8>),
    Size(usize),
    Int(i32),
    Value(Element, f64),
}

impl Arg {
    /// Sizes in memory: the dimensions and strides of tensors.
    pub fn sizes(parts: &[&[usize]]) -> Self {
        let bytes = parts.concat().into_iter().flat_map(usize::to_le_bytes);
        Self::Bytes(bytes.collect())
    }

    /// The elements of a contiguous tensor.
    pub fn of(element: Element, array: &Array) -> Self {
        Self::Bytes(element.encode(&array.data))
    }

    /// Memory for a result.
    pub fn zeros(element: Element, count: usize) -> Self {
        Self::Out(element.encode(&vec![0.0; count]))
    }
}

/// A launch: which kernel, how many threads, which arguments.
pub struct Launch {
    pub module: &'static Module,
    pub name: String,
    pub config: LaunchConfig,
    pub args: Vec<Arg>,
}

impl Launch {
    /// One with a thread for each of a number of elements.
    pub fn each(
        module: &'static Module,
        name: impl Into<String>,
        count: usize,
        args: Vec<Arg>,
    ) -> Self {
        Self {
            module,
            name: name.into(),
            config: LaunchConfig::for_num_elems(count as u32),
            args,
        }
    }

    /// What the kernel leaves in the memory of its result.
    fn run(&self, device: &RocmDevice) -> Result<Vec<u8>> {
        if self
            .args
            .iter()
            .any(|arg| matches!(arg, Arg::Out(bytes) if bytes.is_empty()))
        {
            return Ok(Vec::new());
        }
        enum Held {
            Memory(HipSlice<u8>),
            // HIP copies as many bytes as the kernel declares.
            Scalar([u8; 8]),
        }
        let mut held = Vec::new();
        let mut result = None;
        for arg in &self.args {
            held.push(match arg {
                Arg::Bytes(bytes) => Held::Memory(device.clone_htod(bytes)?),
                Arg::Out(bytes) => {
                    result = Some(held.len());
                    Held::Memory(device.clone_htod(bytes)?)
                }
                Arg::Size(size) => Held::Scalar((*size as u64).to_le_bytes()),
                Arg::Int(number) => Held::Scalar(i64::from(*number).to_le_bytes()),
                Arg::Value(element, value) => {
                    let mut wide = [0; 8];
                    let bytes = element.encode(&[element.round(*value)]);
                    wide[..bytes.len()].copy_from_slice(&bytes);
                    Held::Scalar(wide)
                }
            });
        }
        let function = device.get_or_load_func(&self.name, self.module)?;
        let mut builder = function.builder();
        for arg in &held {
            match arg {
                Held::Memory(memory) => builder.arg(memory),
                Held::Scalar(bytes) => builder.arg(bytes),
            };
        }
        // SAFETY: the arguments are those that the kernel's source declares.
        unsafe { builder.launch(self.config) }.w()?;
        match result.map(|number| &held[number]) {
            Some(Held::Memory(memory)) => device.clone_dtoh(memory),
            _ => candle::bail!("{} has no result", self.name),
        }
    }
}

/// A case by a kernel that is given what the caller says; the inputs are shown to a person.
pub fn launched(inputs: Vec<Input>, expected: Expected, launch: Launch) -> Case {
    Case::new(inputs, |tensors| Ok(tensors[0].clone()), expected).by(launch)
}

impl Case {
    /// The same case, by a kernel.
    pub fn by(self, launch: Launch) -> Self {
        let (element, shape) = (
            self.expected[0].element,
            self.expected[0].array.shape.clone(),
        );
        let run = move |tensors: &[Tensor]| match tensors[0].device() {
            Device::Rocm(device) => {
                let bytes = launch.run(device)?;
                let result =
                    Tensor::from_raw_buffer(&bytes, element.dtype(), &shape, &Device::Cpu)?;
                Ok(vec![result])
            }
            _ => candle::bail!("only implemented for ROCm: a kernel by its name"),
        };
        Self {
            run: Box::new(run),
            ..self
        }
    }
}

impl Input {
    /// The memory that a tensor looks at, from its first element on, and its strides.
    pub fn memory(&self) -> (Arg, Vec<usize>) {
        let tensor = self
            .tensor(&Device::Cpu)
            .unwrap_or_else(|error| panic!("no tensor on the CPU: {error}"));
        let (start, strides) = (tensor.layout().start_offset(), tensor.stride().to_vec());
        let seen = self.base.data.get(start..).unwrap_or(&[]);
        (Arg::Bytes(self.element.encode(seen)), strides)
    }
}
