#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cuda.h>

#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/driver/commands.h"
#include "gpu_worker/simulated_gpu/replay/operation_queue.h"

namespace plait::simulated_gpu {

// What the driver's handles stand for. Owned by DriverCalls, under its lock.

struct LibraryObject {
  std::map<std::string, CUkernel> kernels;
};

struct KernelObject {
  CUlibrary library = nullptr;  // null: a stand-in
  KernelCode code;
};

struct NodeObject {
  CUgraph graph = nullptr;
  Command command;
  int priority = 0;
};

struct EdgeObject {
  CUgraphNode from = nullptr;
  CUgraphNode to = nullptr;
  CUgraphEdgeData data = {};
};

struct GraphObject {
  std::vector<CUgraphNode> nodes;  // in the order in which they were added
  std::vector<EdgeObject> edges;
};

// A node of an executable graph, behind those that it comes after.
struct ExecNode {
  std::string name;
  Command command;
  std::vector<size_t> after, after_trigger;  // indices of nodes
};

// One capture, from its begin in the stream `origin` to its end, and of which graph.
struct CaptureObject {
  CUgraph graph = nullptr;
  CUstream origin = nullptr;
  std::set<CUstream> streams;
  bool is_valid = true;
  bool has_ended = false;
};

struct StreamObject {
  int number = 0;
  OperationRef last;
  std::shared_ptr<CaptureObject> capture;
  std::vector<CUgraphNode> frontier;  // what comes next in the capture comes after these
};

struct EventObject {
  OperationRef record;
  std::shared_ptr<CaptureObject> capture;
  std::vector<CUgraphNode> frontier;
};

struct ExecObject {
  std::vector<ExecNode> nodes;
  OperationRef last;  // the end of the last launch
};

// A device's primary context. One that nobody retains cannot be used; what it had stays for
// Leaks().
struct ContextObject {
  ContextObject(int of_device, uint64_t seed) : device(of_device), queue(&memory, seed) {}

  const int device;
  int retained = 0;
  CUresult sticky = CUDA_SUCCESS;
  DeviceMemory memory;
  OperationQueue queue;
  std::map<uint64_t, int64_t> allocations;  // bytes, by address
  int64_t allocated_bytes = 0;
  int64_t allocations_made = 0;
  std::map<uint64_t, std::vector<std::byte>> pinned;  // of the host, by address
  // Given back while the queue remembers accesses to it: its addresses must not get another
  // meaning.
  std::vector<std::vector<std::byte>> was_pinned;
  std::map<CUstream, StreamObject> streams;  // null: the default stream
  std::map<CUevent, EventObject> events;
  std::map<CUgraphExec, ExecObject> execs;
  int streams_made = 0;
  int64_t operations = 0;
};

}  // namespace plait::simulated_gpu
