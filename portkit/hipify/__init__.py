"""CUDA sources to HIP sources: engines, rules, prelude headers, the kernels crate."""
