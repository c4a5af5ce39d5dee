// The kernel counts by the sizes of the source, which may be larger than those of the indices.
let mut part = l.clone();
for (i, &size) in ids_l.dims().iter().enumerate() {
    if i != dim {
        part = part.narrow(i, 0, size)?;
    }
}
if part.shape() != l.shape() {
    let mut copy = unsafe { device.alloc_uninit(part.shape(), self.dtype())? };
    self.copy_strided_src(&mut copy, 0, &part)?;
    return copy.gather(&Layout::contiguous(part.shape()), ids, ids_l, dim);
}
$all
