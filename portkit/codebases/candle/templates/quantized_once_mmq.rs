let how = [k, b_size, ds_layout_for(w_dtype) as usize];
unsafe {
    if stream.is_to_make(before, rhs_ptr, scratch_ptr, &how) {
        quantize_launcher(ds_layout_for(w_dtype))($arguments);
    }
