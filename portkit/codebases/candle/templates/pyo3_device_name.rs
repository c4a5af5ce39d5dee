PyDevice::Rocm(ordinal) => &match ordinal {
    0 => "rocm".to_string(),
    _ => format!("rocm:{ordinal}"),
}
