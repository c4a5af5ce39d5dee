"""A HIP device that runs on the CPU: libraries, headers and a compiler that stand in for ROCm's."""
