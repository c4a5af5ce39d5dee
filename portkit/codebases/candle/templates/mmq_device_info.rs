fn get_device_info(dev: &RocmDevice) -> DeviceInfo {
    use candle_hip::driver::sys::hipDeviceAttribute_t;
    // The kernels tell AMD's architectures apart by their number, above this offset: gfx90a is
    // 0x100090a. HIP's compute capability has only the generation.
    const AMD: i32 = 0x0100_0000;

    let map = DEVICE_INFO.get_or_init(|| Mutex::new(HashMap::new()));
    let key = dev.id();
    let mut guard = map.lock().unwrap();
    if let Some(info) = guard.get(&key) {
        return *info;
    }
    let stream = dev.rocm_stream();
    let context = stream.context();
    let arch = context
        .arch()
        .ok()
        .and_then(|arch| i32::from_str_radix(arch.name().strip_prefix("gfx")?, 16).ok());
    let attribute = |wanted, default| context.attribute(wanted).unwrap_or(default);
    let info = DeviceInfo {
        cc: AMD + arch.unwrap_or(0),
        nsm: attribute(
            hipDeviceAttribute_t::hipDeviceAttributeMultiprocessorCount,
            1,
        ),
        smpbo: attribute(
            hipDeviceAttribute_t::hipDeviceAttributeMaxSharedMemoryPerBlock,
            64 * 1024,
        )
        .into(),
        warp_size: attribute(hipDeviceAttribute_t::hipDeviceAttributeWarpSize, 32),
    };
    guard.insert(key, info);
    info
}
