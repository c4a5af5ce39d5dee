Device::Rocm(_) => match device.location() {
    ::candle::DeviceLocation::Rocm { gpu_id } => Self::Rocm(gpu_id),
    location => unreachable!("a ROCm device is at {location:?}"),
},
