//! The standard library, in which a range has bounds of its own.
//!
//! With `generic_const_exprs` rustc asks for that (E0310) where dfdx implements a trait for arrays
//! whose length is an expression, and dfdx does not say it.

pub use ::std::*;

pub mod ops {
    pub use ::std::ops::*;

    pub trait RangeBounds<T: ?Sized>: ::std::ops::RangeBounds<T> + 'static {}

    impl<T: ?Sized, R: ::std::ops::RangeBounds<T> + 'static> RangeBounds<T> for R {}
}
