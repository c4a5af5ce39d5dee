use ug::lang::{ssa, LaunchConfig};
use ug::Result;

/// How a kernel that changes one tensor of `f32` in place is launched, where it says so.
///
/// A kernel that was lowered says how many blocks and threads it was lowered for. One that was put
/// together from instructions has one block of one thread, which says nothing if it asks for the
/// index of either: for such a kernel there is no answer, and the tensor decides.
///
/// # Errors
///
/// If the kernel takes anything else than one pointer to `f32`, wants no block or no thread, or wants
/// more threads than the `max_threads` that a block can have.
pub fn launch_in_place(
    name: &str,
    kernel: &ssa::Kernel,
    max_threads: u32,
) -> Result<Option<LaunchConfig>> {
    let types: Vec<_> = kernel.args().iter().map(|(arg, _)| arg.type_()).collect();
    if types != [ssa::Type::Ptr(ssa::DType::F32)] {
        ug::bail!("{name}: an operation in place takes one pointer to f32, this takes {types:?}")
    }
    let wanted = *kernel.launch_config();
    if wanted.grid_dim == 0 || wanted.block_dim == 0 {
        ug::bail!(
            "{name}: nothing can be launched with {} blocks of {} threads",
            wanted.grid_dim,
            wanted.block_dim
        )
    }
    if wanted.block_dim > max_threads {
        ug::bail!(
            "{name}: the kernel wants blocks of {} threads, the device has at most {max_threads}",
            wanted.block_dim
        )
    }
    let asks = |instr: &ssa::Instr| matches!(instr, ssa::Instr::Special(_));
    let unsaid = (wanted.grid_dim, wanted.block_dim) == (1, 1) && kernel.instrs().iter().any(asks);
    Ok((!unsaid).then_some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssa::{Arg, DType, Instr, Special};

    fn kernel(types: &[DType], special: Option<Special>, grid: u32, block: u32) -> ssa::Kernel {
        let mut instrs: Vec<_> = types
            .iter()
            .enumerate()
            .map(|(index, &dtype)| Instr::DefineGlobal { index, dtype })
            .collect();
        instrs.extend(special.map(Instr::Special));
        let args = types
            .iter()
            .map(|&dtype| Arg::ptr(dtype))
            .zip(0..)
            .collect();
        let config = LaunchConfig {
            grid_dim: grid,
            block_dim: block,
            shared_mem: 0,
        };
        ssa::Kernel::new(instrs, args, config)
    }

    fn launch(kernel: &ssa::Kernel) -> std::result::Result<Option<(u32, u32)>, String> {
        launch_in_place("k", kernel, 1024)
            .map(|config| config.map(|c| (c.grid_dim, c.block_dim)))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_kernel_that_says_how_is_taken_at_its_word() {
        let f32 = [DType::F32];
        assert_eq!(
            launch(&kernel(&f32, Some(Special::BlockIdx), 3, 32)),
            Ok(Some((3, 32)))
        );
        assert_eq!(launch(&kernel(&f32, None, 1, 1)), Ok(Some((1, 1))));
        for special in [Special::BlockIdx, Special::ThreadIdx] {
            assert_eq!(launch(&kernel(&f32, Some(special), 1, 1)), Ok(None));
        }
        assert_eq!(launch(&kernel(&f32, None, 1, 1024)), Ok(Some((1, 1024))));
    }

    #[test]
    fn what_cannot_be_launched_is_an_error() {
        let f32 = [DType::F32];
        for (kernel, part) in [
            (
                kernel(&f32, None, 0, 32),
                "k: nothing can be launched with 0 blocks of 32 threads",
            ),
            (kernel(&f32, None, 1, 0), "with 1 blocks of 0 threads"),
            (
                kernel(&f32, None, 1, 1025),
                "wants blocks of 1025 threads, the device has at most 1024",
            ),
            (
                kernel(&[DType::F16], None, 1, 1),
                "one pointer to f32, this takes [Ptr(F16)]",
            ),
            (
                kernel(&[DType::F32; 2], None, 1, 1),
                "this takes [Ptr(F32), Ptr(F32)]",
            ),
            (kernel(&[], None, 1, 1), "this takes []"),
        ] {
            let error = launch(&kernel).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
