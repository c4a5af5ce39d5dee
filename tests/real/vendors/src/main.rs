//! CUDA and ROCm in one program: `vendors alone` where there is no NVIDIA GPU, `vendors beside`
//! where both devices are. It ends with an error at the first thing that is not right.

mod computed;
mod together;

use candle::{bail, Device, Result};

fn main() -> Result<()> {
    let gpu = match std::env::args().nth(1).as_deref() {
        Some("alone") => false,
        Some("beside") => true,
        _ => bail!("vendors alone|beside"),
    };
    let rocm = Device::new_rocm(0)?;
    computed::all(&rocm)?;
    match Device::new_cuda(0) {
        Ok(cuda) if gpu => {
            computed::all(&cuda)?;
            together::all(&rocm, &cuda)?;
        }
        Ok(_) => bail!("there is a CUDA device"),
        Err(error) if gpu => return Err(error),
        Err(error) => println!("CUDA: {}", error.to_string().replace('\n', " ")),
    }
    // Whatever CUDA's side did or said, ROCm's goes on.
    computed::all(&rocm)
}
