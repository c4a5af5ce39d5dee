let launch = device.launch_in_place(name, &kernel)?;
let func = device.compile(name, kernel)?;
Ok(Self {
    name,
    func: func.into_rocm_function(),
    launch,
