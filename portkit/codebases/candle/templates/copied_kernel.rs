kernel_c, 0, kernel_l)?;
let kernel_l = Layout::contiguous_with_offset($shape, 0)$layout;
col.matmul(&kernel_c,
