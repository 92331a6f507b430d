#include "tests/gpu_worker/simulated_gpu/library_fixture.h"

#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_table.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_table.h"
#include "gpu_worker/simulated_gpu/cudnn/real_library.h"

namespace plait::simulated_gpu {
namespace {

constexpr size_t kStagingBytes = 1 << 20;

}  // namespace

SimulatedProcess::SimulatedProcess(DriverOptions options) : driver_(std::move(options)) {
#ifdef PLAIT_SIMULATED_LIBCUDA
  UseDriverForEngineLists(PLAIT_SIMULATED_LIBCUDA);
#endif
  cuda::CudnnLibrary::Use(&SimulatedCudnn());
  cuda::CublasLtLibrary::Use(&SimulatedCublasLt());
}

SimulatedProcess::~SimulatedProcess() {
  cuda::CudnnLibrary::Use(nullptr);
  cuda::CublasLtLibrary::Use(nullptr);
}

LibraryDevice::LibraryDevice(const cuda::DriverLibrary* library, int device)
    : runtime_(device, library) {
  cuda::Result<cuda::DeviceFacts> facts = runtime_.Describe();
  PLAIT_CHECK(facts.ok());
  device_ = cuda::PresentDevice(&runtime_, facts.value(), cuda::DescribeDevice(device));
  cuda::Result<cuda::Stream> stream = runtime_.CreateStream(0);
  PLAIT_CHECK(stream.ok());
  stream_ = stream.value();
}

// A device that has failed does not take things back.
LibraryDevice::~LibraryDevice() {
  Free();
  static_cast<void>(runtime_.DestroyStream(stream_).ok());
}

void LibraryDevice::Free() {
  for (void* buffer : std::exchange(buffers_, {})) {
    static_cast<void>(runtime_.Free(buffer).ok());
  }
}

cuda::Result<std::vector<std::unique_ptr<cuda::Candidate>>> LibraryDevice::Ask(
    const cuda::CandidateSource& source, const LibraryCase& problem) const {
  return source.enumerate(problem.problem, problem.precision, problem.layout,
                          {.alignment = problem.alignment, .pitches = problem.pitches}, device_);
}

std::vector<std::unique_ptr<cuda::Candidate>> LibraryDevice::List(
    const cuda::CandidateSource& source, const LibraryCase& problem) {
  auto candidates = Ask(source, problem);
  PLAIT_CHECK(candidates.ok());
  return std::move(candidates).value();
}

void* LibraryDevice::Allocate(size_t bytes, int64_t alignment_bytes) {
  // What is allocated is aligned to 256; one step further it is aligned to no more than the step.
  const auto shift = static_cast<size_t>(alignment_bytes % 256);
  const cuda::Result<void*> buffer = runtime_.Allocate(bytes + shift);
  PLAIT_CHECK(buffer.ok());
  buffers_.push_back(buffer.value());
  return static_cast<char*>(buffer.value()) + shift;
}

void* LibraryDevice::Place(const std::vector<float>& values, const LibraryCase& problem,
                           int64_t alignment_bytes, const cuda::PixelPitch& pitch) {
  if (values.empty()) return nullptr;
  const std::vector<std::byte> bytes = cuda::Spread(cuda::ToStorage(values, problem.precision),
                                                    pitch, cuda::ElementBytes(problem.precision));
  void* to = Allocate(bytes.size(), alignment_bytes);
  auto staging = cuda::Staging::Make(&runtime_, kStagingBytes);
  PLAIT_CHECK(staging.ok());
  PLAIT_CHECK(staging.value()->Upload(to, bytes.data(), bytes.size(), stream_).ok());
  return to;
}

LibraryOperands LibraryDevice::Upload(const LibraryCase& problem, size_t workspace_bytes,
                                      uint64_t seed) {
  const cuda::Result<cuda::ProblemShape> shape = cuda::ShapeOf(problem.problem);
  PLAIT_CHECK(shape.ok());
  LibraryOperands operands;
  operands.host = cuda::MakeHostOperands(problem.problem, shape.value(), problem.precision, seed);
  const cuda::OperandAlignment& alignment = problem.alignment;
  const cuda::OperandPitches& pitches = problem.pitches;
  for (size_t i = 0; i < operands.host.inputs.size(); ++i) {
    operands.device.inputs.push_back(
        Place(operands.host.inputs[i], problem, alignment.inputs, pitches.input(i)));
  }
  operands.device.weights = Place(operands.host.weights, problem, alignment.weights);
  operands.device.bias = Place(operands.host.bias, problem, alignment.bias);
  operands.device.residual =
      Place(operands.host.residual, problem, alignment.residual, pitches.residual);
  for (const int64_t count : shape.value().outputs) {
    const int64_t span = pitches.output(operands.output_counts.size()).SpanOf(count);
    operands.output_counts.push_back(static_cast<size_t>(count));
    operands.device.outputs.push_back(Allocate(
        static_cast<size_t>(span * cuda::ElementBytes(problem.precision)), alignment.outputs));
  }
  operands.workspace_bytes = workspace_bytes;
  if (workspace_bytes > 0) operands.device.workspace = Allocate(workspace_bytes);
  return operands;
}

cuda::Result<std::vector<std::vector<float>>> LibraryDevice::Download(
    const LibraryCase& problem, const LibraryOperands& operands) {
  std::vector<std::vector<float>> outputs;
  auto staging = cuda::Staging::Make(&runtime_, kStagingBytes);
  if (!staging.ok()) return staging.error();
  for (size_t i = 0; i < operands.output_counts.size(); ++i) {
    const size_t count = operands.output_counts[i];
    const auto element = static_cast<size_t>(cuda::ElementBytes(problem.precision));
    // What lies between pixels nobody has written.
    const cuda::PixelPitch pitch = problem.pitches.output(i);
    const size_t run = element * (pitch.is_dense() ? count : static_cast<size_t>(pitch.channels));
    std::vector<std::byte> bytes(count * element);
    const auto* from = static_cast<const std::byte*>(operands.device.outputs[i]);
    for (size_t at = 0; at < bytes.size(); at += run, from += pitch.pitch * element) {
      PLAIT_CUDA_RETURN_IF_ERROR(staging.value()->Download(bytes.data() + at, from, run, stream_));
    }
    outputs.push_back(cuda::FromStorage(bytes.data(), count, problem.precision));
  }
  return outputs;
}

cuda::Result<std::vector<std::vector<float>>> LibraryDevice::Run(cuda::Candidate& candidate,
                                                                 const LibraryCase& problem,
                                                                 const LibraryOperands& operands) {
  PLAIT_CUDA_RETURN_IF_ERROR(candidate.Prepare());
  PLAIT_CUDA_RETURN_IF_ERROR(candidate.Launch(operands.device, stream_));
  return Download(problem, operands);
}

}  // namespace plait::simulated_gpu
