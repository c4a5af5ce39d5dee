// CUDA, ROCm and Metal have no way between them but the host.
(Storage::Cuda(storage), Device::Rocm(rocm)) => {
    Storage::Rocm(rocm.storage_from_cpu_storage_owned(storage.to_cpu_storage()?)?)
}
(Storage::Metal(storage), Device::Rocm(rocm)) => {
    Storage::Rocm(rocm.storage_from_cpu_storage_owned(storage.to_cpu_storage()?)?)
}
(Storage::Rocm(storage), Device::Cuda(cuda)) => {
    Storage::Cuda(cuda.storage_from_cpu_storage_owned(storage.to_cpu_storage()?)?)
}
(Storage::Rocm(storage), Device::Metal(metal)) => {
    Storage::Metal(metal.storage_from_cpu_storage_owned(storage.to_cpu_storage()?)?)
}
