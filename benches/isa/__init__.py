"""The port's kernels beside llama.cpp's, instruction by instruction."""
