//! The functions of [`sys`] with [`Result`]s.

use super::sys::{self, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};
use crate::driver::sys::hipStream_t;
use crate::driver::HipError;
use crate::loader::RCCL;
use std::ffi::{c_int, c_void};
use std::fmt;

/// A status of RCCL other than success.
///
/// [`ncclResult_t::NOT_LOADED`] stands for a library or a function that could not be loaded; its text
/// says which, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RcclError(pub ncclResult_t);

/// What a call that did not fail says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RcclStatus {
    /// It is done, or has been put into the stream.
    Success,
    /// It goes on; only of a communicator that was made so.
    InProgress,
}

impl ncclResult_t {
    /// `Ok` for success, else the status as an error.
    pub fn result(self) -> Result<RcclStatus, RcclError> {
        match self {
            Self::ncclSuccess => Ok(RcclStatus::Success),
            Self::ncclInProgress => Ok(RcclStatus::InProgress),
            status => Err(RcclError(status)),
        }
    }
}

impl fmt::Display for RcclError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ncclResult_t::NOT_LOADED => f.write_str(&RCCL.not_loaded()),
            ncclResult_t::TIMED_OUT => f.write_str(
                "RCCL: the other ranks did not come within the time limit: see whether each is \
                 there and does the same; HIPRC_RCCL_TIMEOUT is the limit in seconds",
            ),
            ncclResult_t::NO_LIMIT => {
                let said = std::env::var("HIPRC_RCCL_TIMEOUT").unwrap_or_default();
                write!(f, "HIPRC_RCCL_TIMEOUT is {said}: it is a number of seconds")
            }
            ncclResult_t::ncclRemoteError => f.write_str(
                "RCCL: ncclRemoteError: another rank has failed, or its process has ended: see what \
                 that one says",
            ),
            ncclResult_t::ncclInvalidUsage => f.write_str(
                "RCCL: ncclInvalidUsage: the ranks have to do the same in the same order, with as many \
                 values of one type, and each on a device of its own; NCCL_DEBUG=WARN lets it say more",
            ),
            status => write!(f, "RCCL: {status:?}; NCCL_DEBUG=WARN lets it say more"),
        }
    }
}

impl std::error::Error for RcclError {}

impl From<HipError> for RcclError {
    /// What kept a stream from waiting before RCCL was called.
    fn from(_: HipError) -> Self {
        Self(ncclResult_t::ncclUnhandledCudaError)
    }
}

macro_rules! number {
    ($(#[$meta:meta])* $name:ident, $function:ident) => {
        $(#[$meta])*
        ///
        /// # Safety
        ///
        /// The communicator has to be alive.
        pub unsafe fn $name(comm: ncclComm_t) -> Result<c_int, RcclError> {
            let mut number = 0;
            sys::$function(comm, &mut number).result()?;
            Ok(number)
        }
    };
}

macro_rules! checked {
    ($($(#[$meta:meta])* $name:ident = $function:ident($($arg:ident: $type:ty),* $(,)?);)*) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            ///
            /// What the arguments name has to be alive, and memory to be as large as is said until
            /// the stream has got past this.
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $name($($arg: $type),*) -> Result<RcclStatus, RcclError> {
                sys::$function($($arg),*).result()
            }
        )*
    };
}

/// The version, such as 22203 for 2.22.3.
pub fn get_rccl_version() -> Result<c_int, RcclError> {
    let mut version = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::ncclGetVersion(&mut version) }.result()?;
    Ok(version)
}

/// Makes an id, for one rank to hand to the others.
pub fn get_uniqueid() -> Result<sys::ncclUniqueId, RcclError> {
    let mut id = sys::ncclUniqueId { internal: [0; 128] };
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::ncclGetUniqueId(&mut id) }.result()?;
    Ok(id)
}

/// Begins a group: what the thread puts in is put in when the group ends.
pub fn group_start() -> Result<RcclStatus, RcclError> {
    // SAFETY: it has no arguments.
    unsafe { sys::ncclGroupStart() }.result()
}

/// Ends a group.
pub fn group_end() -> Result<RcclStatus, RcclError> {
    // SAFETY: it has no arguments.
    unsafe { sys::ncclGroupEnd() }.result()
}

number! {
    /// How many ranks there are.
    comm_count, ncclCommCount
}
number! {
    /// On which device a rank is.
    comm_cu_device, ncclCommCuDevice
}
number! {
    /// Which rank it is.
    comm_user_rank, ncclCommUserRank
}

/// What went wrong meanwhile.
///
/// # Safety
///
/// The communicator has to be alive.
pub unsafe fn comm_get_async_error(comm: ncclComm_t) -> Result<RcclStatus, RcclError> {
    let mut error = ncclResult_t::ncclSuccess;
    sys::ncclCommGetAsyncError(comm, &mut error).result()?;
    error.result()
}

checked! {
    /// Makes a rank on the thread's device, and waits for the others.
    comm_init_rank = ncclCommInitRank(
        comm: *mut ncclComm_t, ranks: c_int, id: sys::ncclUniqueId, rank: c_int,
    );
    /// Makes a rank on each of several devices.
    comm_init_all = ncclCommInitAll(
        comms: *mut ncclComm_t, devices: c_int, list: *const c_int,
    );
    /// Ends what has been put in, before the communicator is destroyed. Since RCCL 2.14.
    comm_finalize = ncclCommFinalize(comm: ncclComm_t);
    /// Destroys a communicator, after what has been put in.
    comm_destroy = ncclCommDestroy(comm: ncclComm_t);
    /// Destroys a communicator, and ends what has been put in where it stands.
    comm_abort = ncclCommAbort(comm: ncclComm_t);
    /// Makes an operation: a sum of values that are multiplied first.
    reduce_op_create_pre_mul_sum = ncclRedOpCreatePreMulSum(
        op: *mut ncclRedOp_t, scalar: *mut c_void, datatype: ncclDataType_t,
        residence: sys::ncclScalarResidence_t, comm: ncclComm_t,
    );
    /// Destroys an operation that was made.
    reduce_op_destroy = ncclRedOpDestroy(op: ncclRedOp_t, comm: ncclComm_t);
    /// The values of all ranks as one, for the rank `root`.
    reduce = ncclReduce(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        op: ncclRedOp_t, root: c_int, comm: ncclComm_t, stream: hipStream_t,
    );
    /// The values of the rank `root`, for all.
    broadcast = ncclBroadcast(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        root: c_int, comm: ncclComm_t, stream: hipStream_t,
    );
    /// The values of all ranks as one, for all.
    all_reduce = ncclAllReduce(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        op: ncclRedOp_t, comm: ncclComm_t, stream: hipStream_t,
    );
    /// The values of all ranks as one, `count` of them for each.
    reduce_scatter = ncclReduceScatter(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        op: ncclRedOp_t, comm: ncclComm_t, stream: hipStream_t,
    );
    /// `count` values of each rank, one after the other, for all.
    all_gather = ncclAllGather(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t,
        comm: ncclComm_t, stream: hipStream_t,
    );
    /// Values for the rank `peer`.
    send = ncclSend(
        send: *const c_void, count: usize, datatype: ncclDataType_t, peer: c_int,
        comm: ncclComm_t, stream: hipStream_t,
    );
    /// Values of the rank `peer`.
    recv = ncclRecv(
        receive: *mut c_void, count: usize, datatype: ncclDataType_t, peer: c_int,
        comm: ncclComm_t, stream: hipStream_t,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_success_or_an_error() {
        assert_eq!(ncclResult_t::ncclSuccess.result(), Ok(RcclStatus::Success));
        assert_eq!(
            ncclResult_t::ncclInProgress.result(),
            Ok(RcclStatus::InProgress)
        );
        let error = ncclResult_t(6).result().unwrap_err();
        assert!(error
            .to_string()
            .starts_with("RCCL: ncclRemoteError: another rank"));
    }

    #[test]
    fn without_the_library_the_error_says_so() {
        if let Err(reason) = RCCL.load() {
            let error = get_uniqueid().unwrap_err();
            assert_eq!(error, RcclError(ncclResult_t::NOT_LOADED));
            assert_eq!(error.to_string(), reason.to_string());
            let packages = "AMD's package rccl; Debian's and Ubuntu's librccl-dev, Fedora's rccl";
            assert!(error.to_string().contains(packages), "{error}");
        }
    }
}
