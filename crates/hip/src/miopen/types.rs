use super::sys::miopenDataType_t;
use half::{bf16, f16};

/// A type of elements.
///
/// Of these MIOpen computes convolutions of `f16`, `bf16` and [`f32`], with sums in single
/// precision; what else it can do with the others is for the library to say.
pub trait MiopenDataType: 'static {
    /// What MIOpen calls it.
    const DATA_TYPE: miopenDataType_t;
    /// What a sentence calls it.
    const NAME: &'static str;

    /// The value as a factor of a result.
    fn into_scaling_parameter(self) -> f64;
}

macro_rules! types {
    ($($type:ty: $name:ident, $scaling:expr;)*) => {
        $(
            impl MiopenDataType for $type {
                const DATA_TYPE: miopenDataType_t = miopenDataType_t::$name;
                const NAME: &'static str = stringify!($type);

                fn into_scaling_parameter(self) -> f64 {
                    $scaling(self)
                }
            }
        )*
    };
}

types! {
    f16: miopenHalf, f16::to_f64;
    bf16: miopenBFloat16, bf16::to_f64;
    f32: miopenFloat, f64::from;
    f64: miopenDouble, |value| value;
    i8: miopenInt8, f64::from;
    i32: miopenInt32, f64::from;
    i64: miopenInt64, |value| value as f64;
}
