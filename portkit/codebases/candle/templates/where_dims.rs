// Of what is contiguous the kernel is told no dimensions: each of its threads would look at them.
let contiguous = [ids_l, layout_t, layout_f].map(Layout::is_contiguous) == [true; 3];
let dims: &[usize] = if contiguous { &[] } else { shape.dims() };
