$all
if dst_el == 0 {
    return Ok(wrap(dev.alloc_zeros::<T>(0).w()?));
}
