//! The C interface of the HIP runtime: the part of `hip/hip_runtime_api.h` that this crate uses.
//!
//! Types, values and signatures are those of the header from ROCm 6.0 on, with one exception:
//! [`hipDeviceptr_t`] is an integer.

use crate::loader::HIP;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

/// The address of device memory.
///
/// HIP's type is `void *`; an integer of the same size lets offsets be added, and casts to any
/// pointer type.
#[allow(non_camel_case_types)]
pub type hipDeviceptr_t = u64;

/// A device; the same number as its ordinal.
#[allow(non_camel_case_types)]
pub type hipDevice_t = c_int;

macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident = $target:ident;)*) => {
        $(
            #[doc = concat!("What [`", stringify!($name), "`] points to.")]
            #[allow(non_camel_case_types)]
            #[repr(C)]
            pub struct $target {
                _opaque: [u8; 0],
            }

            $(#[$meta])*
            #[allow(non_camel_case_types)]
            pub type $name = *mut $target;
        )*
    };
}

handles! {
    /// A stream; null is the default stream.
    hipStream_t = ihipStream_t;
    /// An event.
    hipEvent_t = ihipEvent_t;
    /// A loaded code object.
    hipModule_t = ihipModule_t;
    /// A kernel of a module.
    hipFunction_t = ihipModuleSymbol_t;
    /// A graph.
    hipGraph_t = ihipGraph;
    /// A graph that can be launched.
    hipGraphExec_t = hipGraphExec;
}

/// The default stream of the calling thread (`hipStreamPerThread`).
#[allow(non_upper_case_globals)]
pub const hipStreamPerThread: hipStream_t = 2 as hipStream_t;

c_enum! {
    /// The status that each function of HIP returns.
    hipError_t(c_uint) {
        hipSuccess = 0,
        hipErrorInvalidValue = 1,
        hipErrorOutOfMemory = 2,
        hipErrorNotInitialized = 3,
        hipErrorDeinitialized = 4,
        hipErrorProfilerDisabled = 5,
        hipErrorProfilerNotInitialized = 6,
        hipErrorProfilerAlreadyStarted = 7,
        hipErrorProfilerAlreadyStopped = 8,
        hipErrorInvalidConfiguration = 9,
        hipErrorInvalidPitchValue = 12,
        hipErrorInvalidSymbol = 13,
        hipErrorInvalidDevicePointer = 17,
        hipErrorInvalidMemcpyDirection = 21,
        hipErrorInsufficientDriver = 35,
        hipErrorMissingConfiguration = 52,
        hipErrorPriorLaunchFailure = 53,
        hipErrorInvalidDeviceFunction = 98,
        hipErrorNoDevice = 100,
        hipErrorInvalidDevice = 101,
        hipErrorInvalidImage = 200,
        hipErrorInvalidContext = 201,
        hipErrorContextAlreadyCurrent = 202,
        hipErrorMapFailed = 205,
        hipErrorUnmapFailed = 206,
        hipErrorArrayIsMapped = 207,
        hipErrorAlreadyMapped = 208,
        hipErrorNoBinaryForGpu = 209,
        hipErrorAlreadyAcquired = 210,
        hipErrorNotMapped = 211,
        hipErrorNotMappedAsArray = 212,
        hipErrorNotMappedAsPointer = 213,
        hipErrorECCNotCorrectable = 214,
        hipErrorUnsupportedLimit = 215,
        hipErrorContextAlreadyInUse = 216,
        hipErrorPeerAccessUnsupported = 217,
        hipErrorInvalidKernelFile = 218,
        hipErrorInvalidGraphicsContext = 219,
        hipErrorInvalidSource = 300,
        hipErrorFileNotFound = 301,
        hipErrorSharedObjectSymbolNotFound = 302,
        hipErrorSharedObjectInitFailed = 303,
        hipErrorOperatingSystem = 304,
        hipErrorInvalidHandle = 400,
        hipErrorIllegalState = 401,
        hipErrorNotFound = 500,
        hipErrorNotReady = 600,
        hipErrorIllegalAddress = 700,
        hipErrorLaunchOutOfResources = 701,
        hipErrorLaunchTimeOut = 702,
        hipErrorPeerAccessAlreadyEnabled = 704,
        hipErrorPeerAccessNotEnabled = 705,
        hipErrorSetOnActiveProcess = 708,
        hipErrorContextIsDestroyed = 709,
        hipErrorAssert = 710,
        hipErrorHostMemoryAlreadyRegistered = 712,
        hipErrorHostMemoryNotRegistered = 713,
        hipErrorLaunchFailure = 719,
        hipErrorCooperativeLaunchTooLarge = 720,
        hipErrorNotSupported = 801,
        hipErrorStreamCaptureUnsupported = 900,
        hipErrorStreamCaptureInvalidated = 901,
        hipErrorStreamCaptureMerge = 902,
        hipErrorStreamCaptureUnmatched = 903,
        hipErrorStreamCaptureUnjoined = 904,
        hipErrorStreamCaptureIsolation = 905,
        hipErrorStreamCaptureImplicit = 906,
        hipErrorCapturedEvent = 907,
        hipErrorStreamCaptureWrongThread = 908,
        hipErrorGraphExecUpdateFailure = 910,
        hipErrorUnknown = 999,
        hipErrorRuntimeMemory = 1052,
        hipErrorRuntimeOther = 1053,
    }
}

impl hipError_t {
    /// Not a status of HIP: the library, or the called function in it, could not be loaded.
    pub const NOT_LOADED: Self = Self(c_uint::MAX);
}

c_enum! {
    /// What can be asked about a device.
    hipDeviceAttribute_t(c_uint) {
        hipDeviceAttributeEccEnabled = 0,
        hipDeviceAttributeAccessPolicyMaxWindowSize = 1,
        hipDeviceAttributeAsyncEngineCount = 2,
        hipDeviceAttributeCanMapHostMemory = 3,
        hipDeviceAttributeCanUseHostPointerForRegisteredMem = 4,
        hipDeviceAttributeClockRate = 5,
        hipDeviceAttributeComputeMode = 6,
        hipDeviceAttributeComputePreemptionSupported = 7,
        hipDeviceAttributeConcurrentKernels = 8,
        hipDeviceAttributeConcurrentManagedAccess = 9,
        hipDeviceAttributeCooperativeLaunch = 10,
        hipDeviceAttributeCooperativeMultiDeviceLaunch = 11,
        hipDeviceAttributeDirectManagedMemAccessFromHost = 13,
        hipDeviceAttributeGlobalL1CacheSupported = 14,
        hipDeviceAttributeHostNativeAtomicSupported = 15,
        hipDeviceAttributeIntegrated = 16,
        hipDeviceAttributeIsMultiGpuBoard = 17,
        hipDeviceAttributeKernelExecTimeout = 18,
        hipDeviceAttributeL2CacheSize = 19,
        hipDeviceAttributeLocalL1CacheSupported = 20,
        hipDeviceAttributeComputeCapabilityMajor = 23,
        hipDeviceAttributeManagedMemory = 24,
        hipDeviceAttributeMaxBlocksPerMultiProcessor = 25,
        hipDeviceAttributeMaxBlockDimX = 26,
        hipDeviceAttributeMaxBlockDimY = 27,
        hipDeviceAttributeMaxBlockDimZ = 28,
        hipDeviceAttributeMaxGridDimX = 29,
        hipDeviceAttributeMaxGridDimY = 30,
        hipDeviceAttributeMaxGridDimZ = 31,
        hipDeviceAttributeMaxThreadsPerBlock = 56,
        hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
        hipDeviceAttributeMaxPitch = 58,
        hipDeviceAttributeMemoryBusWidth = 59,
        hipDeviceAttributeMemoryClockRate = 60,
        hipDeviceAttributeComputeCapabilityMinor = 61,
        hipDeviceAttributeMultiGpuBoardGroupID = 62,
        hipDeviceAttributeMultiprocessorCount = 63,
        hipDeviceAttributePageableMemoryAccess = 65,
        hipDeviceAttributePageableMemoryAccessUsesHostPageTables = 66,
        hipDeviceAttributePciBusId = 67,
        hipDeviceAttributePciDeviceId = 68,
        hipDeviceAttributePersistingL2CacheMaxSize = 70,
        hipDeviceAttributeMaxRegistersPerBlock = 71,
        hipDeviceAttributeMaxRegistersPerMultiprocessor = 72,
        hipDeviceAttributeReservedSharedMemPerBlock = 73,
        hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
        hipDeviceAttributeSharedMemPerBlockOptin = 75,
        hipDeviceAttributeSharedMemPerMultiprocessor = 76,
        hipDeviceAttributeSingleToDoublePrecisionPerfRatio = 77,
        hipDeviceAttributeStreamPrioritiesSupported = 78,
        hipDeviceAttributeTccDriver = 80,
        hipDeviceAttributeTotalConstantMemory = 83,
        hipDeviceAttributeTotalGlobalMem = 84,
        hipDeviceAttributeUnifiedAddressing = 85,
        hipDeviceAttributeWarpSize = 87,
        hipDeviceAttributeMemoryPoolsSupported = 88,
        hipDeviceAttributeVirtualMemoryManagementSupported = 89,
        hipDeviceAttributeHostRegisterSupported = 90,
    }
}

c_enum! {
    /// What may be done in other threads while a stream is captured.
    hipStreamCaptureMode(c_uint) {
        hipStreamCaptureModeGlobal = 0,
        hipStreamCaptureModeThreadLocal = 1,
        hipStreamCaptureModeRelaxed = 2,
    }
}

c_enum! {
    /// Whether a stream is being captured.
    hipStreamCaptureStatus(c_uint) {
        hipStreamCaptureStatusNone = 0,
        hipStreamCaptureStatusActive = 1,
        hipStreamCaptureStatusInvalidated = 2,
    }
}

c_enum! {
    /// How a graph is made ready for launch; the values can be combined with `|`.
    hipGraphInstantiateFlags(c_uint) {
        hipGraphInstantiateFlagAutoFreeOnLaunch = 1,
        hipGraphInstantiateFlagUpload = 2,
        hipGraphInstantiateFlagDeviceLaunch = 4,
        hipGraphInstantiateFlagUseNodePriority = 8,
    }
}

impl std::ops::BitOr for hipGraphInstantiateFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

c_enum! {
    /// What can be asked about a kernel. The two that can be set have the numbers of
    /// `hipFuncAttribute`.
    hipFunction_attribute(c_uint) {
        HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
        HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
        HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
        HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
        HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
        HIP_FUNC_ATTRIBUTE_PTX_VERSION = 5,
        HIP_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
        HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
        HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
        HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
    }
}

c_enum! {
    /// How a kernel wants cache and shared memory to be balanced.
    hipFuncCache_t(c_uint) {
        hipFuncCachePreferNone = 0,
        hipFuncCachePreferShared = 1,
        hipFuncCachePreferL1 = 2,
        hipFuncCachePreferEqual = 3,
    }
}

c_enum! {
    /// A limit of a device that can be set.
    hipLimit_t(c_uint) {
        hipLimitStackSize = 0,
        hipLimitPrintfFifoSize = 1,
        hipLimitMallocHeapSize = 2,
    }
}

c_enum! {
    /// The `hipEvent…` flags that an event is created with.
    hipEventFlags(c_uint) {
        hipEventDefault = 0,
        hipEventBlockingSync = 1,
        hipEventDisableTiming = 2,
        hipEventInterprocess = 4,
    }
}

c_enum! {
    /// The `hipStream…` flags that a stream is created with.
    hipStreamFlags(c_uint) {
        hipStreamDefault = 0,
        hipStreamNonBlocking = 1,
    }
}

c_enum! {
    /// The `hipDeviceSchedule…` flags: how a thread waits for a device.
    hipDeviceFlags(c_uint) {
        hipDeviceScheduleAuto = 0,
        hipDeviceScheduleSpin = 1,
        hipDeviceScheduleYield = 2,
        hipDeviceScheduleBlockingSync = 4,
    }
}

c_enum! {
    /// The `hipOccupancy…` flags of an occupancy query.
    hipOccupancyFlags(c_uint) {
        hipOccupancyDefault = 0,
        hipOccupancyDisableCachingOverride = 1,
    }
}

/// Host memory that the processor writes and does not read (`hipHostMallocWriteCombined`).
#[allow(non_upper_case_globals)]
pub const hipHostMallocWriteCombined: c_uint = 4;

/// The identity of a device.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct hipUUID {
    /// The bytes, not a C string.
    pub bytes: [c_char; 16],
}

/// The properties of a device, as they have been laid out since ROCm 6.0; only the name of the
/// architecture is spelled out.
#[allow(non_camel_case_types, non_snake_case)]
#[repr(C, align(8))]
pub struct hipDeviceProp_tR0600 {
    _before: [u8; 1160],
    /// The architecture and its target features, ending in a zero.
    pub gcnArchName: [c_char; 256],
    _after: [u8; 56],
}

c_functions! {
    library HIP;
    otherwise hipError_t::NOT_LOADED;

    /// Initializes HIP.
    fn hipInit(flags: c_uint) -> hipError_t;
    /// The version of the runtime.
    fn hipRuntimeGetVersion(version: *mut c_int) -> hipError_t;

    /// Gives and forgets the last failure of the calling thread.
    fn hipGetLastError() -> hipError_t;

    /// The number of devices.
    fn hipGetDeviceCount(count: *mut c_int) -> hipError_t;
    /// The device with an ordinal.
    fn hipDeviceGet(device: *mut hipDevice_t, ordinal: c_int) -> hipError_t;
    /// Makes a device the one of the calling thread.
    fn hipSetDevice(device: c_int) -> hipError_t;
    /// The device of the calling thread.
    fn hipGetDevice(device: *mut c_int) -> hipError_t;
    /// Sets how threads wait for the device of the calling thread.
    fn hipSetDeviceFlags(flags: hipDeviceFlags) -> hipError_t;
    /// Waits until all work of the calling thread's device is done.
    fn hipDeviceSynchronize() -> hipError_t;
    /// The value of an attribute of a device.
    fn hipDeviceGetAttribute(
        value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int,
    ) -> hipError_t;
    /// The name of a device.
    fn hipDeviceGetName(name: *mut c_char, len: c_int, device: hipDevice_t) -> hipError_t;
    /// The identity of a device.
    fn hipDeviceGetUuid(uuid: *mut hipUUID, device: hipDevice_t) -> hipError_t;
    /// The size of a device's memory.
    fn hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) -> hipError_t;
    /// The properties of a device.
    fn hipGetDevicePropertiesR0600(
        properties: *mut hipDeviceProp_tR0600, device: c_int,
    ) -> hipError_t;
    /// A limit of the calling thread's device.
    fn hipDeviceGetLimit(value: *mut usize, limit: hipLimit_t) -> hipError_t;
    /// Sets a limit of the calling thread's device.
    fn hipDeviceSetLimit(limit: hipLimit_t, value: usize) -> hipError_t;
    /// The lowest and the highest priority of streams.
    fn hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> hipError_t;

    /// Creates a stream.
    fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: hipStreamFlags) -> hipError_t;
    /// Creates a stream with a priority.
    fn hipStreamCreateWithPriority(
        stream: *mut hipStream_t, flags: hipStreamFlags, priority: c_int,
    ) -> hipError_t;
    /// Waits until all work of a stream is done.
    fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
    /// Destroys a stream.
    fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
    /// Makes a stream wait for an event.
    fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) -> hipError_t;
    /// Begins to capture a stream into a graph.
    fn hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode) -> hipError_t;
    /// Ends the capture of a stream.
    fn hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) -> hipError_t;
    /// Whether a stream is being captured.
    fn hipStreamIsCapturing(
        stream: hipStream_t, status: *mut hipStreamCaptureStatus,
    ) -> hipError_t;
    /// Swaps what captures forbid the calling thread.
    fn hipThreadExchangeStreamCaptureMode(mode: *mut hipStreamCaptureMode) -> hipError_t;
    /// Puts a call of a host function into a stream.
    fn hipLaunchHostFunc(
        stream: hipStream_t, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void,
    ) -> hipError_t;

    /// Creates an event.
    fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: hipEventFlags) -> hipError_t;
    /// Puts an event into a stream.
    fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
    /// The milliseconds between two events.
    fn hipEventElapsedTime(ms: *mut f32, start: hipEvent_t, stop: hipEvent_t) -> hipError_t;
    /// Whether an event has been reached.
    fn hipEventQuery(event: hipEvent_t) -> hipError_t;
    /// Waits until an event has been reached.
    fn hipEventSynchronize(event: hipEvent_t) -> hipError_t;
    /// Destroys an event.
    fn hipEventDestroy(event: hipEvent_t) -> hipError_t;

    /// Allocates device memory.
    fn hipMalloc(pointer: *mut *mut c_void, bytes: usize) -> hipError_t;
    /// Allocates device memory in the order of a stream.
    fn hipMallocAsync(pointer: *mut *mut c_void, bytes: usize, stream: hipStream_t) -> hipError_t;
    /// Frees device memory.
    fn hipFree(pointer: *mut c_void) -> hipError_t;
    /// Frees device memory in the order of a stream.
    fn hipFreeAsync(pointer: *mut c_void, stream: hipStream_t) -> hipError_t;
    /// Allocates page-locked host memory.
    fn hipHostMalloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> hipError_t;
    /// Frees page-locked host memory.
    fn hipHostFree(pointer: *mut c_void) -> hipError_t;
    /// Free and total bytes of the calling thread's device.
    fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
    /// Sets bytes of device memory.
    fn hipMemsetD8(destination: *mut c_void, value: c_uchar, bytes: usize) -> hipError_t;
    /// Sets bytes of device memory in the order of a stream.
    fn hipMemsetD8Async(
        destination: *mut c_void, value: c_uchar, bytes: usize, stream: hipStream_t,
    ) -> hipError_t;
    /// Copies from host to device.
    fn hipMemcpyHtoD(
        destination: *mut c_void, source: *const c_void, bytes: usize,
    ) -> hipError_t;
    /// Copies from host to device in the order of a stream.
    fn hipMemcpyHtoDAsync(
        destination: *mut c_void, source: *const c_void, bytes: usize, stream: hipStream_t,
    ) -> hipError_t;
    /// Copies from device to host.
    fn hipMemcpyDtoH(destination: *mut c_void, source: *mut c_void, bytes: usize) -> hipError_t;
    /// Copies from device to host in the order of a stream.
    fn hipMemcpyDtoHAsync(
        destination: *mut c_void, source: *mut c_void, bytes: usize, stream: hipStream_t,
    ) -> hipError_t;
    /// Copies within a device.
    fn hipMemcpyDtoD(destination: *mut c_void, source: *mut c_void, bytes: usize) -> hipError_t;
    /// Copies within a device in the order of a stream.
    fn hipMemcpyDtoDAsync(
        destination: *mut c_void, source: *mut c_void, bytes: usize, stream: hipStream_t,
    ) -> hipError_t;
    /// Copies from one device to another in the order of a stream.
    fn hipMemcpyPeerAsync(
        destination: *mut c_void, destination_device: c_int, source: *const c_void,
        source_device: c_int, bytes: usize, stream: hipStream_t,
    ) -> hipError_t;

    /// Loads a code object from a file.
    fn hipModuleLoad(module: *mut hipModule_t, path: *const c_char) -> hipError_t;
    /// Loads a code object from memory.
    fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t;
    /// Unloads a code object.
    fn hipModuleUnload(module: hipModule_t) -> hipError_t;
    /// The kernel of a module with a name.
    fn hipModuleGetFunction(
        function: *mut hipFunction_t, module: hipModule_t, name: *const c_char,
    ) -> hipError_t;
    /// The global variable of a module with a name.
    fn hipModuleGetGlobal(
        pointer: *mut *mut c_void, bytes: *mut usize, module: hipModule_t, name: *const c_char,
    ) -> hipError_t;
    /// Launches a kernel.
    fn hipModuleLaunchKernel(
        function: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint,
        stream: hipStream_t, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    ) -> hipError_t;
    /// Launches a kernel whose blocks can synchronize with each other.
    fn hipModuleLaunchCooperativeKernel(
        function: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint,
        stream: hipStream_t, parameters: *mut *mut c_void,
    ) -> hipError_t;
    /// The value of an attribute of a kernel.
    fn hipFuncGetAttribute(
        value: *mut c_int, attribute: hipFunction_attribute, function: hipFunction_t,
    ) -> hipError_t;
    /// Sets an attribute of a kernel.
    fn hipFuncSetAttribute(
        function: *const c_void, attribute: hipFunction_attribute, value: c_int,
    ) -> hipError_t;
    /// Sets the balance of cache and shared memory for a kernel.
    fn hipFuncSetCacheConfig(function: *const c_void, config: hipFuncCache_t) -> hipError_t;
    /// The number of blocks of a kernel that a compute unit can hold.
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, function: hipFunction_t, block_size: c_int,
        dynamic_shared_bytes: usize, flags: hipOccupancyFlags,
    ) -> hipError_t;
    /// The launch that fills a device best.
    fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
        grid_size: *mut c_int, block_size: *mut c_int, function: hipFunction_t,
        dynamic_shared_bytes: usize, block_size_limit: c_int, flags: hipOccupancyFlags,
    ) -> hipError_t;

    /// Makes a graph ready for launch.
    fn hipGraphInstantiateWithFlags(
        exec: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong,
    ) -> hipError_t;
    /// Launches a graph.
    fn hipGraphLaunch(exec: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
    /// Uploads a graph before its first launch.
    fn hipGraphUpload(exec: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
    /// Destroys a graph.
    fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t;
    /// Destroys a graph that was made ready for launch.
    fn hipGraphExecDestroy(exec: hipGraphExec_t) -> hipError_t;
}

c_functions! {
    library HIP;
    otherwise std::ptr::null();

    /// The name of a status; null where HIP is not loaded.
    fn hipGetErrorName(error: hipError_t) -> *const c_char;
    /// What a status means, in English; null where HIP is not loaded.
    fn hipGetErrorString(error: hipError_t) -> *const c_char;
}
