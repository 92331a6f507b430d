#include "bench/gpu/fake_device.h"

#include <cstring>
#include <string>
#include <utility>

#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {
namespace {

constexpr int64_t kEveryElement = int64_t{1} << 40;

// The device's memory is the host's, so that operands can be read where they lie.
HostOperands Read(const Operands& operands, const Problem& problem, const ProblemShape& shape,
                  Precision precision) {
  HostOperands host;
  const auto floats = [&](const void* from, int64_t count) {
    return FromStorage(static_cast<const std::byte*>(from), count, precision);
  };
  const auto* movement = std::get_if<MovementProblem>(&problem);
  const bool gathers = movement != nullptr && movement->kind == MovementProblem::Kind::kGather;
  for (size_t i = 0; i < shape.inputs.size(); ++i) {
    if (gathers && i == 1) {
      host.indices.resize(shape.inputs[i]);
      std::memcpy(host.indices.data(), operands.inputs[i], host.indices.size() * 8);
      host.inputs.emplace_back();
    } else {
      host.inputs.push_back(floats(operands.inputs[i], shape.inputs[i]));
    }
  }
  host.weights = floats(operands.weights, shape.weights);
  host.second_weights = floats(operands.second_weights, shape.second_weights);
  host.bias = floats(operands.bias, shape.bias);
  host.second_bias = floats(operands.second_bias, shape.second_bias);
  host.residual = floats(operands.residual, shape.residual);
  return host;
}

// What a launch reads and writes.
std::vector<MemoryAccess> Touched(const Operands& operands, const ProblemShape& shape,
                                  Precision precision) {
  std::vector<MemoryAccess> touched;
  const auto add = [&](const void* memory, int64_t elements, bool writes) {
    if (memory == nullptr) return;
    touched.push_back({static_cast<const std::byte*>(memory),
                       static_cast<size_t>(elements * ElementBytes(precision)), writes});
  };
  for (size_t i = 0; i < shape.inputs.size(); ++i) add(operands.inputs[i], shape.inputs[i], false);
  add(operands.weights, shape.weights, false);
  add(operands.second_weights, shape.second_weights, false);
  add(operands.bias, shape.bias, false);
  add(operands.second_bias, shape.second_bias, false);
  add(operands.residual, shape.residual, false);
  for (size_t i = 0; i < shape.outputs.size(); ++i)
    add(operands.outputs[i], shape.outputs[i], true);
  return touched;
}

class FakeCandidate : public Candidate {
 public:
  FakeCandidate(RecordingRuntime* runtime, std::string name, double duration_us, bool wrong,
                Problem problem, Precision precision, MemoryLayout layout)
      : runtime_(runtime),
        name_(std::move(name)),
        duration_us_(duration_us),
        wrong_(wrong),
        problem_(std::move(problem)),
        precision_(precision),
        layout_(layout) {}

  std::string name() const override { return name_; }
  std::vector<std::string> notes() const override { return {"fake"}; }
  size_t workspace_bytes() const override { return 256; }

  Status Prepare() override {
    const Result<ProblemShape> shape = ShapeOf(problem_);
    if (!shape.ok()) return shape.error();
    shape_ = shape.value();
    const auto operands = [](void** arguments) -> const Operands& {
      return **static_cast<const Operands**>(arguments[0]);
    };
    kernel_ = runtime_->AddKernel(
        name_, duration_us_, 1, [=, this](void** arguments) { Write(operands(arguments)); },
        [=, this](void** arguments) { return Touched(operands(arguments), shape_, precision_); });
    return Ok();
  }

  Status Launch(const Operands& operands, CUstream_st* stream) override {
    const Operands* pointer = &operands;
    void* arguments[] = {&pointer};
    return runtime_->LaunchKernel(kernel_, {.grid = {8, 1, 1}, .block = {128, 1, 1}}, arguments,
                                  stream);
  }

 private:
  // Every launch of a recording has the same numbers, so that they are computed once.
  void Write(const Operands& operands) {
    if (outputs_.empty()) outputs_ = Compute(operands);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const size_t written = outputs_[i].size() - (wrong_ ? ElementBytes(precision_) : 0);
      std::memcpy(operands.outputs[i], outputs_[i].data(), written);
    }
  }

  std::vector<std::vector<std::byte>> Compute(const Operands& operands) const {
    const HostOperands host = Read(operands, problem_, shape_, precision_);
    std::vector<std::vector<float>> outputs;
    for (int64_t count : shape_.outputs) outputs.emplace_back(count);
    for (const ReferenceElement& element :
         ComputeReference(problem_, shape_, layout_, host, kEveryElement, 1)) {
      outputs[element.output][element.offset] = static_cast<float>(element.value);
    }
    std::vector<std::vector<std::byte>> stored;
    for (const std::vector<float>& output : outputs) {
      stored.push_back(ToStorage(output, precision_));
    }
    return stored;
  }

  RecordingRuntime* const runtime_;
  const std::string name_;
  const double duration_us_;
  const bool wrong_;
  const Problem problem_;
  const Precision precision_;
  const MemoryLayout layout_;
  ProblemShape shape_;
  Kernel kernel_ = nullptr;
  std::vector<std::vector<std::byte>> outputs_;
};

}  // namespace

FakeDevice MakeFakeDevice() {
  auto runtime = std::make_unique<RecordingRuntime>();
  RecordingRuntime* raw = runtime.get();
  FakeDevice device;
  device.probes = {.empty = raw->AddKernel("empty", 2, 0, nullptr),
                   .spin = raw->AddKernel("spin", 5, 0, nullptr),
                   .read = raw->AddKernel("read", 50, 0, nullptr),
                   .producer = raw->AddKernel("producer", 5, 0, nullptr),
                   .consumer = raw->AddKernel("consumer", 5, 0, nullptr)};
  device.enumerate = [raw](const Problem& problem, Precision precision, MemoryLayout layout) {
    std::vector<std::unique_ptr<Candidate>> candidates;
    const auto add = [&](const char* name, double duration_us, bool wrong) {
      candidates.push_back(std::make_unique<FakeCandidate>(raw, name, duration_us, wrong, problem,
                                                           precision, layout));
    };
    add("fake/slow", 7, false);
    add("fake/reference", 5, false);
    add("fake/wrong", 3, true);
    return candidates;
  };
  device.runtime = std::move(runtime);
  device.read_clock = [] { return ClockReading{.sm_mhz = 1980, .limits = 0x4}; };
  return device;
}

}  // namespace plait::cuda
