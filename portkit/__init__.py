"""portkit ports a Rust GPU codebase from CUDA to AMD ROCm by program."""

__version__ = "0.1.0"
