let device = device.as_rocm_device()?;
let launch = device.launch_in_place(name, &kernel)?;
let func = device.compile(name, kernel)?;
Ok(Self { name, func, launch })
