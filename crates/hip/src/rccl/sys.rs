//! The C interface of RCCL: the part of `rccl/rccl.h` that this crate uses.
//!
//! RCCL has NCCL's names. Types, values and signatures are those of the header of RCCL 2.13 (ROCm 5.4,
//! which Debian has) and newer; what came later says so, and a library that lacks it says that.

use crate::driver::sys::hipStream_t;
use crate::loader::RCCL;
use std::ffi::{c_char, c_int, c_void};

/// What [`ncclComm_t`] points to.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct ncclComm {
    _opaque: [u8; 0],
}

/// A communicator: one rank of several.
#[allow(non_camel_case_types)]
pub type ncclComm_t = *mut ncclComm;

/// What the ranks of a communicator know each other by.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ncclUniqueId {
    /// Bytes that mean nothing to others.
    pub internal: [c_char; 128],
}

impl std::fmt::Debug for ncclUniqueId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ncclUniqueId").finish_non_exhaustive()
    }
}

c_enum! {
    /// The status that each function of RCCL returns. `ncclInProgress` came with RCCL 2.14.
    ncclResult_t(c_int) {
        ncclSuccess = 0,
        ncclUnhandledCudaError = 1,
        ncclSystemError = 2,
        ncclInternalError = 3,
        ncclInvalidArgument = 4,
        ncclInvalidUsage = 5,
        ncclRemoteError = 6,
        ncclInProgress = 7,
    }
}

impl ncclResult_t {
    /// Not a status of RCCL: the library, or the called function in it, could not be loaded.
    pub const NOT_LOADED: Self = Self(-1);
    /// Not a status of RCCL: the other ranks did not come within the
    /// [time limit](super::time_limit).
    pub const TIMED_OUT: Self = Self(-2);
    /// Not a status of RCCL: `HIPRC_RCCL_TIMEOUT` is no number.
    pub const NO_LIMIT: Self = Self(-3);
}

c_enum! {
    /// How values of several ranks become one.
    ncclRedOp_t(c_int) {
        ncclSum = 0,
        ncclProd = 1,
        ncclMax = 2,
        ncclMin = 3,
        ncclAvg = 4,
    }
}

c_enum! {
    /// Of which type values are.
    ncclDataType_t(c_int) {
        ncclInt8 = 0,
        ncclUint8 = 1,
        ncclInt32 = 2,
        ncclUint32 = 3,
        ncclInt64 = 4,
        ncclUint64 = 5,
        ncclFloat16 = 6,
        ncclFloat32 = 7,
        ncclFloat64 = 8,
        ncclBfloat16 = 9,
    }
}

c_enum! {
    /// Where a scalar is.
    ncclScalarResidence_t(c_int) {
        ncclScalarDevice = 0,
        ncclScalarHostImmediate = 1,
    }
}

c_functions! {
    library RCCL;
    otherwise ncclResult_t::NOT_LOADED;

    /// The version, such as 22203 for 2.22.3.
    fn ncclGetVersion(version: *mut c_int) -> ncclResult_t;
    /// Makes an id, for one rank to hand to the others.
    fn ncclGetUniqueId(id: *mut ncclUniqueId) -> ncclResult_t;
    /// Makes a rank on the calling thread's device, and waits for the others.
    fn ncclCommInitRank(
        comm: *mut ncclComm_t, ranks: c_int, id: ncclUniqueId, rank: c_int,
    ) -> ncclResult_t;
    /// Makes a rank on each of several devices.
    fn ncclCommInitAll(
        comms: *mut ncclComm_t, devices: c_int, list: *const c_int,
    ) -> ncclResult_t;
    /// Ends what has been put in, before the communicator is destroyed. Since RCCL 2.14.
    fn ncclCommFinalize(comm: ncclComm_t) -> ncclResult_t;
    /// Destroys a communicator, after what has been put in.
    fn ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t;
    /// Destroys a communicator, and ends what has been put in where it stands.
    fn ncclCommAbort(comm: ncclComm_t) -> ncclResult_t;
    /// What went wrong meanwhile.
    fn ncclCommGetAsyncError(comm: ncclComm_t, error: *mut ncclResult_t) -> ncclResult_t;
    /// How many ranks there are.
    fn ncclCommCount(comm: ncclComm_t, count: *mut c_int) -> ncclResult_t;
    /// On which device a rank is.
    fn ncclCommCuDevice(comm: ncclComm_t, device: *mut c_int) -> ncclResult_t;
    /// Which rank it is.
    fn ncclCommUserRank(comm: ncclComm_t, rank: *mut c_int) -> ncclResult_t;
    /// Makes an operation: a sum of values that are multiplied first.
    fn ncclRedOpCreatePreMulSum(
        op: *mut ncclRedOp_t, scalar: *mut c_void, datatype: ncclDataType_t,
        residence: ncclScalarResidence_t, comm: ncclComm_t,
    ) -> ncclResult_t;
    /// Destroys an operation that was made.
    fn ncclRedOpDestroy(op: ncclRedOp_t, comm: ncclComm_t) -> ncclResult_t;
    /// The values of all ranks as one, for one rank.
    fn ncclReduce(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        op: ncclRedOp_t, root: c_int, comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// The values of one rank, for all.
    fn ncclBroadcast(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        root: c_int, comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// The values of all ranks as one, for all.
    fn ncclAllReduce(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        op: ncclRedOp_t, comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// The values of all ranks as one, a part of it for each.
    fn ncclReduceScatter(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        op: ncclRedOp_t, comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// The values of each rank, one after the other, for all.
    fn ncclAllGather(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Values for one rank.
    fn ncclSend(
        send: *const c_void, count: usize, datatype: ncclDataType_t, peer: c_int,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Values of one rank.
    fn ncclRecv(
        receive: *mut c_void, count: usize, datatype: ncclDataType_t, peer: c_int,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t;
    /// Begins a group: what follows is put in when it ends.
    fn ncclGroupStart() -> ncclResult_t;
    /// Ends a group.
    fn ncclGroupEnd() -> ncclResult_t;
}
