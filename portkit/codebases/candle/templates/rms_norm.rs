use candle::backend::BackendStorage;
use candle::rocm_backend::{decode::RmsNorm, Map2};

let dev = s1.device();
let slice = RmsNorm(self.eps)
