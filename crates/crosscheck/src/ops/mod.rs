//! The operations, each with arithmetic of our own for what must come out.

mod attention;
mod binary;
mod conv;
mod copy;
#[cfg(feature = "rocm")]
mod direct;
#[cfg(feature = "rocm")]
mod direct_quantized;
mod index;
mod matmul;
mod model;
mod nn;
mod quantized;
mod reduce;
mod unary;

use crate::case::Operation;

pub fn all() -> Vec<Operation> {
    let mut all = unary::operations();
    all.extend(binary::operations());
    all.extend(binary::broadcasts());
    all.extend(copy::operations());
    all.extend(reduce::operations());
    all.extend(index::operations());
    all.extend(conv::operations());
    all.extend(matmul::operations());
    all.extend(nn::operations());
    all.extend(attention::operations());
    all.extend(quantized::operations());
    all.extend(model::operations());
    #[cfg(feature = "rocm")]
    all.extend(direct::operations());
    #[cfg(feature = "rocm")]
    all.extend(direct_quantized::operations());
    all
}
