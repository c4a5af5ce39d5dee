match dev.rocm_stream().constant(&params).w()? {
    Some(values) => Ok(SlicePtrOrNull::Constant(values)),
    None => Ok(SlicePtrOrNull::Ptr(dev.clone_htod(&params)?)),
}
