Self::Rocm(ordinal) => {
    let mut devices = ROCM_DEVICE.lock().unwrap();
    if let Some(device) = devices.get(ordinal) {
        return Ok(device.clone());
    };
    let d = Device::new_rocm(*ordinal).map_err(wrap_err)?;
    devices.insert(*ordinal, d.clone());
    Ok(d)
}
