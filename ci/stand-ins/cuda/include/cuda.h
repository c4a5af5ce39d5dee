// Stands in for the header of CUDA: cudarc looks whether there is one.
