// The target of ROCm's for the example `llama_multiprocess`: cargo builds a file for one target.
include!("../llama_multiprocess/main.rs");
