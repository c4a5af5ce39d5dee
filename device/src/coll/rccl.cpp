// RCCL's interface: groups, and what is put into them.
#include <string.h>

#include <algorithm>
#include <memory>

#include "comm.h"
#include "values.h"

struct ncclComm {
  std::shared_ptr<hipcpu::coll::Comm> rank;
};
using ncclComm_t = ncclComm *;

#define API extern "C" __attribute__((visibility("default")))

namespace hipcpu::coll {

namespace {

// What a thread has put in since it began a group.
struct Group {
  int open = 0;
  std::vector<std::shared_ptr<Comm>> made;
  std::vector<std::pair<std::shared_ptr<Comm>, Task>> tasks;
};

Group &group() {
  static thread_local Group group;
  return group;
}

void end_group() {
  const auto made = std::move(group().made);
  const auto tasks = std::move(group().tasks);
  group().made.clear();
  group().tasks.clear();
  for (const auto &comm : made) comm->wait_for_others();
  Comm::put(tasks);
}

template <typename Body>
ncclResult_t answer(const char *name, Body body) {
  count_library_call(name);
  try {
    body();
  } catch (const Failure &failure) {
    return failure.status;
  }
  return ncclSuccess;
}

int current_device() {
  int device = 0;
  require(hipGetDevice(&device) == hipSuccess, ncclUnhandledCudaError);
  return device;
}

ncclComm_t join(int ranks, const ncclUniqueId &id, int rank, int device) {
  require(ranks > 0 && ranks <= most_ranks && rank >= 0 && rank < ranks, ncclInvalidArgument);
  const std::string folder(id.internal, strnlen(id.internal, sizeof id.internal));
  require(!folder.empty(), ncclInvalidArgument);
  auto comm = std::make_shared<Comm>(folder, rank, ranks, device);
  group().made.push_back(comm);
  return new ncclComm{std::move(comm)};
}

void fresh_id(ncclUniqueId *id) {
  require(id != nullptr, ncclInvalidArgument);
  const std::string folder = Board::fresh_folder();
  require(folder.size() < sizeof id->internal, ncclSystemError);
  memset(id->internal, 0, sizeof id->internal);
  memcpy(id->internal, folder.data(), folder.size());
}

ncclResult_t put(const char *name, ncclComm_t comm, Task task, int most) {
  return answer(name, [&] {
    require(comm != nullptr, ncclInvalidArgument);
    const std::shared_ptr<Comm> &rank = comm->rank;
    require(rank->error() == ncclSuccess, rank->error());
    require(task.post.number >= 0 && task.post.number < most, ncclInvalidArgument);
    size_of(task.post.datatype);
    require(task.post.op >= ncclSum, ncclInvalidArgument);
    if (task.post.op >= ncclNumOps) {
      task.scalar = rank->scalar(task.post.op, task.post.datatype);
      task.post.op = ncclNumOps;
    }
    group().tasks.emplace_back(rank, std::move(task));
    if (group().open == 0) end_group();
  });
}

}  // namespace

}  // namespace hipcpu::coll

using namespace hipcpu;
using namespace hipcpu::coll;

API const char *ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
  }
  return "unknown result code";
}

API ncclResult_t ncclGetVersion(int *version) {
  return answer(__func__, [&] {
    require(version != nullptr, ncclInvalidArgument);
    *version = 22105;
  });
}

API ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  return answer(__func__, [&] { fresh_id(id); });
}

API ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) {
  return answer(__func__, [&] {
    require(comm != nullptr, ncclInvalidArgument);
    *comm = join(ranks, id, rank, coll::current_device());
    if (group().open > 0) return;
    try {
      end_group();
    } catch (const Failure &) {
      delete *comm;
      *comm = nullptr;
      throw;
    }
  });
}

API ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices) {
  return answer(__func__, [&] {
    int there = 0;
    require(comms != nullptr && count > 0, ncclInvalidArgument);
    require(hipGetDeviceCount(&there) == hipSuccess, ncclUnhandledCudaError);
    for (int i = 0; i < count; ++i) {
      const int device = devices == nullptr ? i : devices[i];
      require(device >= 0 && device < there, ncclInvalidUsage);
      require(devices == nullptr || std::find(devices, devices + i, device) == devices + i,
              ncclInvalidUsage);
    }
    ncclUniqueId id;
    fresh_id(&id);
    for (int i = 0; i < count; ++i) {
      comms[i] = join(count, id, i, devices == nullptr ? i : devices[i]);
    }
    if (group().open == 0) end_group();
  });
}

API ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return answer(__func__, [&] {
    require(comm != nullptr, ncclInvalidArgument);
    comm->rank->finish();
  });
}

API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return answer(__func__, [&] {
    if (comm == nullptr) return;
    comm->rank->finish();
    delete comm;
  });
}

API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return answer(__func__, [&] {
    if (comm == nullptr) return;
    comm->rank->abort();
    delete comm;
  });
}

API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  return answer(__func__, [&] {
    require(comm != nullptr && error != nullptr, ncclInvalidArgument);
    *error = comm->rank->error();
  });
}

API ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  return answer(__func__, [&] {
    require(comm != nullptr && count != nullptr, ncclInvalidArgument);
    *count = comm->rank->ranks;
  });
}

API ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) {
  return answer(__func__, [&] {
    require(comm != nullptr && device != nullptr, ncclInvalidArgument);
    *device = comm->rank->device;
  });
}

API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  return answer(__func__, [&] {
    require(comm != nullptr && rank != nullptr, ncclInvalidArgument);
    *rank = comm->rank->rank;
  });
}

API ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
                                          ncclScalarResidence_t residence, ncclComm_t comm) {
  return answer(__func__, [&] {
    require(op != nullptr && scalar != nullptr && comm != nullptr, ncclInvalidArgument);
    // A scalar on the device is read here as well: its memory is the host's.
    require(residence == ncclScalarDevice || residence == ncclScalarHostImmediate,
            ncclInvalidArgument);
    const char *bytes = static_cast<const char *>(scalar);
    std::vector<char> copy(bytes, bytes + size_of(datatype));
    *op = static_cast<ncclRedOp_t>(comm->rank->add_scalar(datatype, std::move(copy)));
  });
}

API ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return answer(__func__, [&] {
    require(comm != nullptr && comm->rank->remove_scalar(op), ncclInvalidArgument);
  });
}

API ncclResult_t ncclReduce(const void *send, void *receive, size_t count, ncclDataType_t datatype,
                            ncclRedOp_t op, int root, ncclComm_t comm, hipStream_t stream) {
  const Post post{Post::reduce, datatype, op, root, count};
  return put(__func__, comm, {post, send, receive, {}, stream}, comm ? comm->rank->ranks : 0);
}

API ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count,
                               ncclDataType_t datatype, int root, ncclComm_t comm,
                               hipStream_t stream) {
  const Post post{Post::broadcast, datatype, ncclSum, root, count};
  return put(__func__, comm, {post, send, receive, {}, stream}, comm ? comm->rank->ranks : 0);
}

API ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, hipStream_t stream) {
  const Post post{Post::broadcast, datatype, ncclSum, root, count};
  return put(__func__, comm, {post, buffer, buffer, {}, stream}, comm ? comm->rank->ranks : 0);
}

API ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               hipStream_t stream) {
  const Post post{Post::all_reduce, datatype, op, 0, count};
  return put(__func__, comm, {post, send, receive, {}, stream}, 1);
}

API ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                                   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                   hipStream_t stream) {
  const Post post{Post::reduce_scatter, datatype, op, 0, count};
  return put(__func__, comm, {post, send, receive, {}, stream}, 1);
}

API ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                               ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream) {
  const Post post{Post::all_gather, datatype, ncclSum, 0, count};
  return put(__func__, comm, {post, send, receive, {}, stream}, 1);
}

API ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t datatype, int peer,
                          ncclComm_t comm, hipStream_t stream) {
  const Post post{Post::send, datatype, ncclSum, peer, count};
  return put(__func__, comm, {post, send, nullptr, {}, stream}, comm ? comm->rank->ranks : 0);
}

API ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t datatype, int peer,
                          ncclComm_t comm, hipStream_t stream) {
  const Post post{Post::receive, datatype, ncclSum, peer, count};
  return put(__func__, comm, {post, nullptr, receive, {}, stream}, comm ? comm->rank->ranks : 0);
}

API ncclResult_t ncclGroupStart() {
  return answer(__func__, [&] { ++group().open; });
}

API ncclResult_t ncclGroupEnd() {
  return answer(__func__, [&] {
    require(group().open > 0, ncclInvalidUsage);
    if (--group().open == 0) end_group();
  });
}
