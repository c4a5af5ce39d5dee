unsafe {
    if stream.is_to_make(before, rhs_ptr, scratch_ptr, &[k, b_size]) {
        ffi::$quantize(rhs_ptr, $arguments);
    }
    let launcher
