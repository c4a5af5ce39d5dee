//! What Rust's types are called in the source of a kernel.

/// A type that kernels have as well.
pub trait HipTypeName {
    /// What it is called there.
    const NAME: &'static str;
}

macro_rules! names {
    ($($type:ty = $name:literal),* $(,)?) => {
        $(
            impl HipTypeName for $type {
                const NAME: &'static str = $name;
            }
        )*
    };
}

// On AMD's devices `long` has 64 bits, as on the hosts that ROCm runs on. hipRTC knows `size_t` without a
// header, `intptr_t` it does not, and what sources declare of it by the host's macros has 32 bits there.
names! {
    bool = "bool",
    i8 = "signed char",
    i16 = "short",
    i32 = "int",
    i64 = "long",
    isize = "long",
    u8 = "unsigned char",
    u16 = "unsigned short",
    u32 = "unsigned int",
    u64 = "unsigned long",
    usize = "size_t",
    f32 = "float",
    f64 = "double",
    half::f16 = "__half",
    half::bf16 = "__hip_bfloat16",
}
