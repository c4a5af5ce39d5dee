"""What HIP runtimes answer to the questions of ``programs/answers.hip``.

AMD's answers are those of HIP 6.4.3 on AMD's emulator of a gfx1100 (2026-11-28).
"""

from __future__ import annotations

from typing import Final, NamedTuple

RELEASE: Final = "6.4"
"""AMD's answers are those of this HIP."""
UNSUPPORTED: Final = "ErrorStreamCaptureUnsupported"
BROKEN: Final = "ErrorStreamCaptureInvalidated"
REFUSED: Final = f"{UNSUPPORTED}, then {BROKEN}"
"""The runtime refuses the action, and the capture is broken."""
ALLOWED: Final = "Success, then Success"

SAME: Final = {
    "a_bundle_for_another_gpu": "ErrorInvalidValue",
    "a_capture_begins_twice": "ErrorIllegalState, then Success",
    "a_capture_ends_that_never_began": "ErrorIllegalState",
    "a_capture_runs_when_it_is_launched": "0 14",
    "a_captured_stream_is_asked": REFUSED,
    "a_captured_stream_is_destroyed": "Success Success",
    "a_captured_stream_is_waited_for": REFUSED,
    "a_copy_between_the_same_device": "Success",
    "a_copy_from_the_host_is_read_before_the_call_returns": "5 5",
    "a_copy_in_no_direction": "ErrorInvalidMemcpyDirection",
    "a_copy_past_the_end": "ErrorInvalidValue",
    "a_copy_to_null": "ErrorInvalidValue",
    "a_copy_to_the_host_beside_a_relaxed_capture": f"ErrorStreamCaptureImplicit, then {BROKEN}",
    "a_destroyed_stream_is_asked": "ErrorContextIsDestroyed",
    "a_destroyed_stream_is_destroyed": "ErrorContextIsDestroyed",
    "a_destroyed_stream_is_waited_for": "ErrorContextIsDestroyed",
    "a_device_that_is_not_there": "ErrorInvalidDevice ErrorInvalidDevice ErrorInvalidDevice",
    "a_function_that_is_not_there": "ErrorInvalidValue",
    "a_launch_beyond_the_bounds_of_the_kernel": "ErrorLaunchFailure",
    "a_launch_of_65535_blocks_in_y": "Success Success",
    "a_launch_with_too_much_shared_memory": "ErrorInvalidValue",
    "a_module_that_is_not_there": "ErrorFileNotFound",
    "a_module_without_code": "ErrorInvalidImage",
    "a_null_event": "ErrorInvalidHandle ErrorInvalidHandle",
    "a_stream_ends_before_its_work": "Success 20",
    "a_stream_is_asked_beside_a_thread_local_capture": REFUSED,
    "a_stream_is_captured_again_after_its_capture_was_broken": "Success",
    "a_stream_is_waited_for_beside_a_relaxed_capture": ALLOWED,
    "a_stream_is_waited_for_beside_a_thread_local_capture": REFUSED,
    "a_stream_that_joined_does_not_come_back": "ErrorStreamCaptureUnjoined, then a capture",
    "a_stream_that_joined_does_nothing": "Success",
    "a_stream_waits_for_what_came_before_a_capture": "ErrorStreamCaptureIsolation, then Success",
    "a_stream_whose_capture_was_broken": f"{UNSUPPORTED} {BROKEN}",
    "a_thread_that_exchanged_its_mode_waits_beside_a_global_capture": f"Success {ALLOWED}",
    "access_of_a_device_to_itself": "Success 0 ErrorInvalidDevice",
    "an_empty_graph_is_launched": "Success Success",
    "an_event_from_before_a_capture_is_asked": f"ErrorCapturedEvent, then {BROKEN}",
    "an_event_from_before_a_capture_is_waited_for": f"ErrorCapturedEvent, then {BROKEN}",
    "an_event_is_recorded_on_a_destroyed_stream": "ErrorContextIsDestroyed",
    "an_event_that_is_not_ready_is_an_error": "yes",
    "an_event_that_was_never_recorded": "Success Success Success",
    "another_thread_ends_a_relaxed_capture": "Success",
    "another_thread_ends_a_thread_local_capture": "ErrorStreamCaptureWrongThread, then Success",
    "another_thread_waits_beside_a_global_capture": REFUSED,
    "another_thread_waits_beside_a_thread_local_capture": ALLOWED,
    "another_thread_waits_for_the_device_beside_a_relaxed_capture": REFUSED,
    "attributes_of_device_memory": "device 0",
    "attributes_of_host_memory": "Success unregistered",
    "attributes_of_page_locked_memory": "host",
    "blocks_of_256_threads": "8",
    "blocks_of_32_kib": "2",
    "blocks_of_nothing": "ErrorInvalidValue ErrorInvalidDeviceFunction",
    "compute_capability": "11 0",
    "flags_of_a_stream": "0 1",
    "host_functions_run_in_order": "2",
    "host_memory_is_freed": "ErrorInvalidValue",
    "limits_of_a_launch": "1024 1024 1024 2147483647 65536 65536",
    "memory_has_no_size": "Success null",
    "memory_is_aligned_to_256": "0",
    "memory_is_allocated_beside_a_global_capture": REFUSED,
    "memory_is_allocated_beside_a_relaxed_capture": ALLOWED,
    "memory_is_allocated_beside_a_thread_local_capture": REFUSED,
    "memory_is_copied_on_a_destroyed_stream": "ErrorContextIsDestroyed",
    "memory_is_freed_beside_a_thread_local_capture": REFUSED,
    "memory_is_freed_twice": "ErrorInvalidValue",
    "memory_of_the_pool_comes_back": "the same",
    "memory_of_the_pool_is_freed_by_free": "Success",
    "more_memory_than_there_is": "ErrorOutOfMemory ErrorOutOfMemory",
    "nothing_is_copied": "Success",
    "null_is_freed": "Success Success",
    "null_is_freed_on_a_stream": "ErrorInvalidValue",
    "page_locked_memory_has_the_same_address": "the same Success",
    "page_locked_memory_is_supported": "1 1",
    "plain_memory_is_freed_on_a_stream": "Success",
    "priorities_of_streams": "1 -1",
    "the_device_has_pools": "1",
    "the_device_is_waited_for_beside_a_relaxed_capture": REFUSED,
    "the_last_error_is_cleared_when_it_is_read": "ErrorInvalidDevice ErrorInvalidDevice Success",
    "the_last_error_of_another_thread": "Success",
    "the_name_of_no_error": "hipErrorUnknown",
    "the_null_stream_is_captured": UNSUPPORTED,
    "the_null_stream_is_destroyed": "ErrorInvalidHandle",
    "the_stream_of_a_thread_is_captured": "Success",
    "threads_of_a_block_and_a_wavefront": "1024 32",
    "time_between_events_that_were_not_recorded": "ErrorInvalidHandle",
    "time_between_events_without_times": "ErrorInvalidHandle",
    "what_was_not_registered_is_unregistered": "ErrorHostMemoryNotRegistered",
    "work_of_the_null_stream_beside_a_capture": ALLOWED,
    "work_of_the_null_stream_waits_for_a_blocking_stream": "20",
}
"""Answers that both give."""


class Difference(NamedTuple):
    """Two answers.

    Attributes:
        why: the reason why the CPU device answers differently.
    """

    cpu: str
    amd: str
    why: str


DIFFERENT: Final = {
    "a_bundle_for_other_generic_gpus": Difference(
        "ErrorNoBinaryForGpu",
        "ErrorInvalidValue",
        "the CPU device follows the sources of HIP 6.4.3",
    ),
    "a_captured_stream_waits_for_another_s_event": Difference(
        "ErrorStreamCaptureIsolation, then Success",
        ALLOWED,
        "AMD's runtime leaves the order out of the graph; CUDA refuses it",
    ),
    "a_destroyed_stream_waits_for_an_event": Difference(
        "ErrorContextIsDestroyed", "ErrorInvalidHandle", "one status for every destroyed stream"
    ),
    "a_kernel_is_launched_on_a_destroyed_stream": Difference(
        "ErrorContextIsDestroyed", "ErrorInvalidValue", "one status for every destroyed stream"
    ),
    "a_launch_of_70000_blocks_in_y": Difference(
        "ErrorInvalidConfiguration", "Success", "more blocks than the device says that it supports"
    ),
    "a_launch_of_no_blocks": Difference(
        "ErrorInvalidConfiguration",
        "ErrorInvalidValue",
        "the CPU device follows the sources of another release",
    ),
    "a_launch_of_no_threads": Difference(
        "ErrorInvalidConfiguration",
        "ErrorInvalidValue",
        "the CPU device follows the sources of another release",
    ),
    "a_launch_of_too_many_threads": Difference(
        "ErrorInvalidConfiguration",
        "ErrorInvalidValue",
        "the CPU device follows the sources of another release",
    ),
    "an_event_of_another_stream_is_asked_beside_a_thread_local_capture": Difference(
        REFUSED, ALLOWED, "the CPU device follows the sources of another release"
    ),
    "an_integer_divided_by_zero": Difference("-1", "8", "it has no value"),
    "blocks_beyond_the_bounds_of_the_kernel": Difference(
        "Success 0", "Success 16", "no such launch succeeds"
    ),
    "device_memory_is_copied_as_the_host_s": Difference(
        "ErrorInvalidValue", "Success", "the program names the wrong direction"
    ),
    "free_memory_is_at_most_all": Difference("yes", "no", "a defect of the emulator"),
    "memory_is_registered_twice": Difference(
        "ErrorHostMemoryAlreadyRegistered", "Success", "HIP's documentation, hipHostRegister"
    ),
    "memory_of_the_pool_in_a_capture": Difference(
        "ErrorStreamCaptureUnsupported, then Success",
        "Success Success, then Success",
        "graphs have no memory nodes here; the bindings allocate outside of captures",
    ),
    "shared_memory_of_a_block": Difference(
        "65536 0", "65536 65536", "older releases answer 0 for the second value"
    ),
    "the_last_error_after_a_success": Difference(
        "ErrorInvalidDevice", "Success", "the CPU device follows the sources of another release"
    ),
    "the_middle_of_memory_is_freed": Difference(
        "ErrorInvalidValue", "Success", "the program frees an address that it did not get"
    ),
    "work_of_the_null_stream_beside_a_blocking_stream_s_capture": Difference(
        "ErrorStreamCaptureImplicit, then ErrorStreamCaptureInvalidated", ALLOWED, "CUDA refuses it"
    ),
}
