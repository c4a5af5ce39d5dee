static ROCM_DEVICE: std::sync::Mutex<std::collections::BTreeMap<usize, Device>> =
    std::sync::Mutex::new(std::collections::BTreeMap::new());
