#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

namespace plait::cuda {
namespace {

constexpr size_t kCallsMax = 200'000;
constexpr size_t kAlignment = 256;

// Only what a launch has, not what it would take.
NodeDescription DescribeLaunch(const std::string& name, const LaunchShape& shape) {
  NodeDescription description;
  description.kind = NodeDescription::Kind::kKernel;
  description.kernel = name;
  description.grid = shape.grid;
  description.block = shape.block;
  description.shared_bytes = static_cast<int>(shape.shared_bytes);
  description.registers = 32;
  description.blocks_per_multiprocessor = 2;
  description.occupancy = 0.25;
  return description;
}

MemoryAccess Touch(const void* memory, size_t bytes, bool writes) {
  return {static_cast<const std::byte*>(memory), bytes, writes};
}

size_t HashOf(const std::byte* bytes, size_t count) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes), count});
}

bool InRanges(const std::map<const std::byte*, size_t>& ranges, const void* memory, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(memory);
  const auto next = ranges.upper_bound(begin);
  if (next == ranges.begin()) return false;
  const auto& [start, size] = *std::prev(next);
  return begin + bytes <= start + size;
}

}  // namespace

RecordingRuntime::RecordingRuntime() = default;
RecordingRuntime::~RecordingRuntime() = default;

Kernel RecordingRuntime::AddKernel(const std::string& name, double duration_us, int parameters,
                                   std::function<void(void**)> run,
                                   std::function<std::vector<MemoryAccess>(void**)> touch) {
  const auto kernel = NextHandle<Kernel>();
  kernels_[kernel] = {name, duration_us, parameters, std::move(run), std::move(touch), nullptr};
  return kernel;
}

void RecordingRuntime::FailAfter(int calls, bool sticky) {
  calls_until_failure_ = calls;
  sticky_ = sticky;
}

int RecordingRuntime::Count(const std::string& call) const {
  return static_cast<int>(std::count(calls_.begin(), calls_.end(), call));
}

std::vector<std::string> RecordingRuntime::Leaks() const {
  std::vector<std::string> leaks;
  const auto add = [&](const char* what, size_t count) {
    if (count > 0) leaks.push_back(std::to_string(count) + " " + what);
  };
  add("allocations", allocations_.size());
  add("pinned allocations", pinned_.size());
  add("streams", streams_.size());
  add("events", events_.size());
  add("graphs", graphs_.size());
  add("executable graphs", execs_.size());
  add("libraries", libraries_.size());
  return leaks;
}

Error RecordingRuntime::Refuse(const std::string& what) const {
  refusals_.push_back(what);
  return Error{ErrorCode::kDevice, "fake: " + what};
}

Status RecordingRuntime::Record(const std::string& call) {
  if (calls_.size() < kCallsMax) calls_.push_back(call);
  if (broken_) return Error{ErrorCode::kDevice, "fake: " + call + ": sticky error"};
  if (calls_until_failure_ >= 0 && calls_until_failure_-- == 0) {
    broken_ = sticky_;
    return Error{ErrorCode::kDevice, "fake: " + call + ": planted failure"};
  }
  return Ok();
}

bool RecordingRuntime::InAllocation(const void* memory, size_t bytes) const {
  return InRanges(allocations_, memory, bytes);
}

bool RecordingRuntime::InPinned(const void* memory, size_t bytes) const {
  return InRanges(pinned_, memory, bytes);
}

Status RecordingRuntime::CheckUnused(const std::string& call,
                                     const std::function<bool(const ExecState&)>& uses) const {
  for (const auto& [exec, state] : execs_) {
    if (uses(state)) return Refuse(call + ": an executable graph that is alive uses it");
  }
  return Ok();
}

Status RecordingRuntime::FinishHostCopies() {
  Status status = Ok();
  std::erase_if(host_copies_, [&](HostCopy& copy) {
    if (!order_.HostKnows(copy.stream, copy.place)) return false;
    if (!copy.arrive.empty()) std::memcpy(copy.host, copy.arrive.data(), copy.bytes);
    if (copy.arrive.empty() && HashOf(copy.host, copy.bytes) != copy.hash) {
      status = Refuse("the host changed its memory before it was copied");
    }
    return true;
  });
  return status;
}

Result<DeviceFacts> RecordingRuntime::Describe() {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Describe"));
  DeviceFacts facts;
  facts.name = "fake";
  facts.sm_major = 9;
  facts.multiprocessors = 132;
  facts.threads_per_multiprocessor = 2048;
  facts.l2_bytes = 1 << 20;
  facts.memory_bytes = int64_t{2} << 30;
  return facts;
}

Status RecordingRuntime::CheckHealth() {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CheckHealth"));
  order_.SynchronizeAll();
  return FinishHostCopies();
}

Result<void*> RecordingRuntime::Allocate(size_t bytes) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Allocate"));
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes + kAlignment);
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  auto* aligned = memory.get() + (kAlignment - address % kAlignment);
  storage_[aligned] = std::move(memory);
  allocations_[aligned] = bytes;
  return static_cast<void*>(aligned);
}

Status RecordingRuntime::Free(void* memory) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Free"));
  const auto allocation = allocations_.find(static_cast<std::byte*>(memory));
  if (allocation == allocations_.end()) return Refuse("Free: not an allocation");
  const MemoryAccess all = Touch(memory, allocation->second, true);
  const Status unused = CheckUnused("Free", [&](const ExecState& exec) {
    return std::any_of(exec.accesses.begin(), exec.accesses.end(),
                       [&](const MemoryAccess& access) { return Conflict(all, access); });
  });
  allocations_.erase(allocation);
  // As the real one, it waits for running work.
  order_.SynchronizeAll();
  const Status finished = FinishHostCopies();
  storage_.erase(memory);
  return unused.ok() ? finished : unused;
}

Result<void*> RecordingRuntime::AllocateHost(size_t bytes) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("AllocateHost"));
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::byte* const begin = memory.get();
  storage_[begin] = std::move(memory);
  pinned_[begin] = bytes;
  return static_cast<void*>(begin);
}

Status RecordingRuntime::FreeHost(void* memory) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("FreeHost"));
  const auto pinned = pinned_.find(static_cast<std::byte*>(memory));
  if (pinned == pinned_.end()) return Refuse("FreeHost: not an allocation");
  const MemoryAccess all = Touch(memory, pinned->second, true);
  const bool busy = std::any_of(
      host_copies_.begin(), host_copies_.end(),
      [&](const HostCopy& copy) { return Conflict(all, Touch(copy.host, copy.bytes, true)); });
  pinned_.erase(pinned);
  storage_.erase(memory);
  return busy ? Status(Refuse("FreeHost: a copy may still use it")) : Ok();
}

Status RecordingRuntime::CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CopyToDevice"));
  if (!InAllocation(to, bytes)) return Refuse("CopyToDevice: out of range");
  if (!InPinned(from, bytes)) return Refuse("CopyToDevice: the host's memory is not pinned");
  PLAIT_CUDA_RETURN_IF_ERROR(
      Enqueue(stream, {.description = {.kind = NodeDescription::Kind::kMemcpy},
                       .duration_us = static_cast<double>(bytes) / 5e4,
                       .effect = [=] { std::memcpy(to, from, bytes); },
                       .accesses = {Touch(to, bytes, true)}}));
  if (streams_.at(stream).capture != nullptr) return Ok();
  auto* const host = static_cast<std::byte*>(const_cast<void*>(from));
  host_copies_.push_back({stream, order_.place(stream), host, bytes, HashOf(host, bytes), {}});
  return Ok();
}

Status RecordingRuntime::CopyToHost(void* to, const void* from, size_t bytes, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CopyToHost"));
  if (!InAllocation(from, bytes)) return Refuse("CopyToHost: out of range");
  if (!InPinned(to, bytes)) return Refuse("CopyToHost: the host's memory is not pinned");
  NodeState node{.description = {.kind = NodeDescription::Kind::kMemcpy},
                 .duration_us = static_cast<double>(bytes) / 5e4,
                 .accesses = {Touch(from, bytes, false)}};
  const auto found = streams_.find(stream);
  if (found != streams_.end() && found->second.capture != nullptr) {
    node.effect = [=] { std::memcpy(to, from, bytes); };
    return Enqueue(stream, std::move(node));
  }
  PLAIT_CUDA_RETURN_IF_ERROR(Enqueue(stream, std::move(node)));
  const auto* begin = static_cast<const std::byte*>(from);
  host_copies_.push_back({stream, order_.place(stream), static_cast<std::byte*>(to), bytes, 0,
                          std::vector<std::byte>(begin, begin + bytes)});
  // Nobody may take these for what was copied.
  std::memset(to, 0xcd, bytes);
  return Ok();
}

Status RecordingRuntime::CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CopyOnDevice"));
  if (!InAllocation(to, bytes) || !InAllocation(from, bytes)) {
    return Refuse("CopyOnDevice: out of range");
  }
  return Enqueue(stream, {.description = {.kind = NodeDescription::Kind::kMemcpy},
                          .duration_us = static_cast<double>(bytes) / 2e6,
                          .effect = [=] { std::memcpy(to, from, bytes); },
                          .accesses = {Touch(from, bytes, false), Touch(to, bytes, true)}});
}

Status RecordingRuntime::Fill(void* memory, int byte, size_t bytes, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Fill"));
  if (!InAllocation(memory, bytes)) return Refuse("Fill: out of range");
  return Enqueue(stream, {.description = {.kind = NodeDescription::Kind::kMemset},
                          .duration_us = static_cast<double>(bytes) / 4e6,
                          .effect = [=] { std::memset(memory, byte, bytes); },
                          .accesses = {Touch(memory, bytes, true)}});
}

Result<Stream> RecordingRuntime::CreateStream(int) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CreateStream"));
  const auto stream = NextHandle<Stream>();
  streams_[stream];
  return stream;
}

Status RecordingRuntime::DestroyStream(Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("DestroyStream"));
  if (streams_.erase(stream) == 0) return Refuse("DestroyStream: not a stream");
  return Ok();
}

Status RecordingRuntime::Synchronize(Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Synchronize"));
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return Refuse("Synchronize: not a stream");
  if (found->second.capture != nullptr) return Refuse("Synchronize: the stream captures");
  order_.Synchronize(stream);
  return FinishHostCopies();
}

Status RecordingRuntime::WaitForEvent(Stream stream, Event event) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("WaitForEvent"));
  const auto s = streams_.find(stream);
  const auto e = events_.find(event);
  if (s == streams_.end() || e == events_.end()) return Refuse("WaitForEvent: not alive");
  if (e->second.capture == nullptr) {
    order_.Wait(stream, event);
    return Ok();
  }
  if (s->second.capture != nullptr && s->second.capture != e->second.capture) {
    return Refuse("WaitForEvent: event of another capture");
  }
  s->second.capture = e->second.capture;
  auto& frontier = s->second.frontier;
  for (GraphNode node : e->second.frontier) {
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) {
      frontier.push_back(node);
    }
  }
  return Ok();
}

Result<Event> RecordingRuntime::CreateEvent() {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CreateEvent"));
  const auto event = NextHandle<Event>();
  events_[event];
  return event;
}

Status RecordingRuntime::DestroyEvent(Event event) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("DestroyEvent"));
  if (events_.erase(event) == 0) return Refuse("DestroyEvent: not an event");
  return Ok();
}

Status RecordingRuntime::RecordEvent(Event event, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("RecordEvent"));
  const auto s = streams_.find(stream);
  const auto e = events_.find(event);
  if (s == streams_.end() || e == events_.end()) return Refuse("RecordEvent: not alive");
  e->second = {clock_us_, s->second.capture, s->second.frontier};
  if (s->second.capture == nullptr) order_.Record(event, stream);
  return Ok();
}

Result<double> RecordingRuntime::ElapsedUs(Event begin, Event end) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("ElapsedUs"));
  const auto b = events_.find(begin);
  const auto e = events_.find(end);
  if (b == events_.end() || e == events_.end() || b->second.time_us < 0 || e->second.time_us < 0) {
    return Refuse("ElapsedUs: an event that was not recorded");
  }
  return e->second.time_us - b->second.time_us;
}

Status RecordingRuntime::LaunchGraph(GraphExec exec, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("LaunchGraph"));
  const auto found = execs_.find(exec);
  if (found == execs_.end()) return Refuse("LaunchGraph: not an executable graph");
  const auto s = streams_.find(stream);
  if (s == streams_.end() || s->second.capture != nullptr) {
    return Refuse("LaunchGraph: no stream, or one that captures");
  }
  if (const auto race = order_.Enqueue(stream, "LaunchGraph", found->second.accesses)) {
    return Refuse(*race);
  }
  clock_us_ += found->second.duration_us;
  for (const auto& effect : std::exchange(found->second.effects, {})) effect();
  return Ok();
}

Result<Library> RecordingRuntime::LoadLibrary(const std::string& cubin) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("LoadLibrary"));
  if (cubin.empty()) return Refuse("LoadLibrary: empty");
  return *libraries_.insert(NextHandle<Library>()).first;
}

Result<Kernel> RecordingRuntime::FindKernel(Library library, const char* name) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("FindKernel"));
  if (!libraries_.contains(library)) return Refuse("FindKernel: not a library");
  const Kernel kernel = AddKernel(name, 5, 0, nullptr);
  kernels_[kernel].library = library;
  return kernel;
}

Status RecordingRuntime::UnloadLibrary(Library library) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("UnloadLibrary"));
  if (libraries_.erase(library) == 0) return Refuse("UnloadLibrary: not a library");
  std::erase_if(kernels_, [&](const auto& kernel) { return kernel.second.library == library; });
  return CheckUnused("UnloadLibrary",
                     [library](const ExecState& exec) { return exec.libraries.contains(library); });
}

Status RecordingRuntime::LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                                      Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("LaunchKernel"));
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return Refuse("LaunchKernel: not a kernel");
  const HostKernel& host = found->second;
  // The caller's arguments are gone when a graph runs.
  std::vector<uint64_t> values(host.parameters);
  for (int i = 0; i < host.parameters; ++i) std::memcpy(&values[i], arguments[i], 8);
  return Enqueue(stream,
                 {.description = DescribeLaunch(host.name, shape),
                  .duration_us = host.duration_us,
                  .effect =
                      [run = host.run, values]() mutable {
                        std::vector<void*> pointers;
                        for (uint64_t& value : values) pointers.push_back(&value);
                        if (run) run(pointers.data());
                      },
                  .accesses = host.touch ? host.touch(arguments) : std::vector<MemoryAccess>(),
                  .library = host.library});
}

Status RecordingRuntime::Enqueue(Stream stream, NodeState node) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return Refuse("not a stream");
  if (found->second.capture != nullptr) {
    CaptureNode(&found->second, std::move(node));
    return Ok();
  }
  const std::string name = calls_.empty() ? "" : calls_.back();
  if (const auto race = order_.Enqueue(stream, name, node.accesses)) return Refuse(*race);
  if (node.effect) node.effect();
  clock_us_ += node.duration_us;
  return Ok();
}

}  // namespace plait::cuda
