#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace plait::cuda {
namespace {

constexpr size_t kCallsMax = 200'000;
constexpr size_t kAlignment = 256;

Error Refuse(const std::string& what) { return Error{ErrorCode::kDevice, "fake: " + what}; }

}  // namespace

RecordingRuntime::RecordingRuntime() = default;
RecordingRuntime::~RecordingRuntime() = default;

Kernel RecordingRuntime::AddKernel(const std::string& name, double duration_us, int parameters,
                                   std::function<void(void**)> run) {
  const auto kernel = NextHandle<Kernel>();
  kernels_[kernel] = {name, duration_us, parameters, std::move(run)};
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
  add("streams", streams_.size());
  add("events", events_.size());
  add("graphs", graphs_.size());
  add("executable graphs", execs_.size());
  add("libraries", libraries_.size());
  return leaks;
}

Status RecordingRuntime::Record(const std::string& call) {
  if (calls_.size() < kCallsMax) calls_.push_back(call);
  if (broken_) return Refuse(call + ": sticky error");
  if (calls_until_failure_ >= 0 && calls_until_failure_-- == 0) {
    broken_ = sticky_;
    return Refuse(call + ": planted failure");
  }
  return Ok();
}

bool RecordingRuntime::InAllocation(const void* memory, size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(memory);
  auto next = allocations_.upper_bound(begin);
  if (next == allocations_.begin()) return false;
  const auto& [start, size] = *std::prev(next);
  return begin + bytes <= start + size;
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

Status RecordingRuntime::CheckHealth() { return Record("CheckHealth"); }

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
  if (storage_.erase(memory) == 0) return Refuse("Free: not an allocation");
  allocations_.erase(static_cast<std::byte*>(memory));
  return Ok();
}

Status RecordingRuntime::CopyToDevice(void* to, const void* from, size_t bytes) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CopyToDevice"));
  if (!InAllocation(to, bytes)) return Refuse("CopyToDevice: out of range");
  if (bytes > 0) std::memcpy(to, from, bytes);
  return Ok();
}

Status RecordingRuntime::CopyToHost(void* to, const void* from, size_t bytes) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CopyToHost"));
  if (!InAllocation(from, bytes)) return Refuse("CopyToHost: out of range");
  if (bytes > 0) std::memcpy(to, from, bytes);
  return Ok();
}

Status RecordingRuntime::CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CopyOnDevice"));
  if (!InAllocation(to, bytes) || !InAllocation(from, bytes)) {
    return Refuse("CopyOnDevice: out of range");
  }
  return Enqueue(stream, NodeDescription::Kind::kMemcpy, "", {}, static_cast<double>(bytes) / 2e6,
                 [=] { std::memcpy(to, from, bytes); });
}

Status RecordingRuntime::Fill(void* memory, int byte, size_t bytes, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Fill"));
  if (!InAllocation(memory, bytes)) return Refuse("Fill: out of range");
  return Enqueue(stream, NodeDescription::Kind::kMemset, "", {}, static_cast<double>(bytes) / 4e6,
                 [=] { std::memset(memory, byte, bytes); });
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
  return Ok();
}

Status RecordingRuntime::WaitForEvent(Stream stream, Event event) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("WaitForEvent"));
  const auto s = streams_.find(stream);
  const auto e = events_.find(event);
  if (s == streams_.end() || e == events_.end()) return Refuse("WaitForEvent: not alive");
  if (e->second.capture == nullptr) return Ok();
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
  return AddKernel(name, 5, 0, nullptr);
}

Status RecordingRuntime::UnloadLibrary(Library library) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("UnloadLibrary"));
  if (libraries_.erase(library) == 0) return Refuse("UnloadLibrary: not a library");
  return Ok();
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
  return Enqueue(stream, NodeDescription::Kind::kKernel, host.name, shape, host.duration_us,
                 [&host, values]() mutable {
                   std::vector<void*> pointers;
                   for (uint64_t& value : values) pointers.push_back(&value);
                   if (host.run) host.run(pointers.data());
                 });
}

Status RecordingRuntime::Enqueue(Stream stream, NodeDescription::Kind kind, const std::string& name,
                                 const LaunchShape& shape, double duration_us,
                                 const std::function<void()>& effect) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return Refuse("not a stream");
  if (found->second.capture == nullptr) {
    effect();
    clock_us_ += duration_us;
    return Ok();
  }
  NodeDescription description;
  description.kind = kind;
  description.kernel = name;
  description.grid = shape.grid;
  description.block = shape.block;
  description.shared_bytes = static_cast<int>(shape.shared_bytes);
  description.registers = 32;
  description.blocks_per_multiprocessor = 2;
  description.occupancy = 0.25;
  CaptureNode(&found->second, {nullptr, description, duration_us, effect});
  return Ok();
}

}  // namespace plait::cuda
