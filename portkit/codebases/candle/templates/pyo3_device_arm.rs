name if name.starts_with("rocm:") => match name["rocm:".len()..].parse() {
    Ok(ordinal) => PyDevice::Rocm(ordinal),
    Err(_) => Err(PyTypeError::new_err(format!("invalid device '{name}'")))?,
},
