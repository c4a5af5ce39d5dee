// The bytes of a vector may begin anywhere, blocks may not.
let mut vec = vec![T::zeros(); n];
let bytes = &buffer[..std::mem::size_of_val(vec.as_slice())];
unsafe {
    std::ptr::copy_nonoverlapping(bytes.as_ptr(), vec.as_mut_ptr().cast(), bytes.len());
}
