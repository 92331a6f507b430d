#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

#include "gpu_worker/backends/cuda/generated/elements.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;
using Movement = MovementProblem::Kind;

// A dimension's place in memory order.
size_t MemoryDimension(size_t dimension, size_t rank, MemoryLayout layout) {
  if (rank != 4 || layout != MemoryLayout::kNhwc || dimension == 0) return dimension;
  return dimension == 1 ? 3 : dimension - 1;
}

// `rows` runs of `chunk` elements, read and written at strides: one part of a concat or slice.
struct Part {
  int input = 0, output = 0;
  int64_t rows = 1, chunk = 1;
  int64_t input_start = 0, input_stride = 1;
  int64_t output_start = 0, output_stride = 1;
};

// By an example: {2,3,4} and {2,5,4} concatenated along axis 1 are two parts of 2 rows, with chunks
// of 12 and 20 elements, both written at a stride of 32 from the places 0 and 12. A slice is the
// same the other way round, and a copy is one row.
// Of images that are parts of others the rows are pixels.
std::vector<Part> Parts(const MovementProblem& p, const KernelForm& form) {
  const MemoryLayout layout = form.layout;
  const OperandPitches& pitches = form.pitches;
  std::vector<Part> parts;
  if (p.kind == Movement::kCopy) {
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      const int index = static_cast<int>(i);
      const int64_t count = ElementCount(p.inputs[i]);
      if (pitches.input(i).is_dense() && pitches.output(i).is_dense()) {
        parts.push_back({index, index, 1, count});
        continue;
      }
      const int64_t channels = p.inputs[i][1];
      parts.push_back({index, index, count / channels, channels, 0,
                       PitchOr(pitches.input(i), channels), 0,
                       PitchOr(pitches.output(i), channels)});
    }
    return parts;
  }
  const std::vector<int64_t> shape = InMemoryOrder(p.inputs[0], layout);
  const size_t axis = MemoryDimension(p.axis, shape.size(), layout);
  int64_t rows = 1, inner = 1;
  for (size_t d = 0; d < axis; ++d) rows *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  if (p.kind == Movement::kSlice) {
    for (size_t i = 0; i < p.starts.size(); ++i) {
      const int64_t chunk = p.sizes[i] * inner;
      parts.push_back({0, static_cast<int>(i), rows, chunk, p.starts[i] * inner,
                       PitchOr(pitches.input(0), shape[axis] * inner), 0,
                       PitchOr(pitches.output(i), chunk)});
    }
    return parts;
  }
  int64_t total = 0;
  for (const auto& input : p.inputs) total += input[p.axis];
  int64_t start = 0;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const int64_t chunk = p.inputs[i][p.axis] * inner;
    parts.push_back({static_cast<int>(i), 0, rows, chunk, 0, PitchOr(pitches.input(i), chunk),
                     start, PitchOr(pitches.output(0), total * inner)});
    start += chunk;
  }
  return parts;
}

std::vector<KernelArgument> PointersOf(const MovementProblem& p) {
  std::vector<KernelArgument> arguments;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    arguments.push_back({Kind::kInput, static_cast<int>(i), p.type});
  }
  for (size_t i = 0; i < OutputShapes(p).size(); ++i) {
    arguments.push_back({Kind::kOutput, static_cast<int>(i), p.type});
  }
  return arguments;
}

// One launch for all parts: each has its own range of blocks.
// A block finds its part by comparing its number, which costs less than a launch per part. Each
// element is read and written once, in vectors that lie within one row of a part.
GeneratedKernel PartsKernel(const MovementProblem& p, const std::vector<Part>& parts, int width) {
  GeneratedKernel kernel;
  kernel.arguments = PointersOf(p);
  kernel.variant = "parts/v" + std::to_string(width);
  std::string calls;
  int64_t blocks = 0;
  for (const Part& part : parts) {
    const int64_t count = CeilDivide(part.rows * part.chunk / width, kBlockThreads);
    calls += "  if (block >= " + std::to_string(blocks) + "u && block < " +
             std::to_string(blocks + count) + "u) {\n    MovePart<" + std::to_string(part.rows) +
             "u, " + std::to_string(part.chunk) + "u, " + std::to_string(part.input_stride) +
             "u, " + std::to_string(part.output_stride) + "u>(x" + std::to_string(part.input) +
             " + " + std::to_string(part.input_start) + "u, y" + std::to_string(part.output) +
             " + " + std::to_string(part.output_start) + "u, block - " + std::to_string(blocks) +
             "u);\n  }\n";
    blocks += count;
  }
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(blocks), 1, 1};
  kernel.source = ElementVectors(p.type);
  kernel.source += Constants({{"kWidth", width}, {"kThreads", kBlockThreads}});
  kernel.source += Replace(R"(
template <unsigned kRows, unsigned kChunk, unsigned kInputStride, unsigned kOutputStride>
__device__ inline void MovePart(const $E$* from, $E$* to, unsigned block) {
  const unsigned e = (block * kThreads + threadIdx.x) * kWidth;
  const unsigned row = e / kChunk, column = e % kChunk;
  if (row < kRows) {
    $COPY$<kWidth>(to + row * kOutputStride + column, from + row * kInputStride + column);
  }
}
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned block = blockIdx.x;
$CALLS$}
)",
                           {{"PARAMETERS", Parameters(kernel.arguments)},
                            {"E", StoredName(p.type)},
                            {"COPY", VectorFunction("Copy", p.type)},
                            {"CALLS", calls}});
  return kernel;
}

// What is written around the input, as a number of the kernel language.
std::string ValueText(const MovementProblem& p) {
  if (p.type != ElementType::kFloat) {
    return "static_cast<" + std::string(HeldName(p.type)) + ">(" +
           std::to_string(static_cast<int64_t>(p.value)) + "LL)";
  }
  return "__uint_as_float(" + std::to_string(std::bit_cast<uint32_t>(static_cast<float>(p.value))) +
         "u)";
}

// What turns a place that may lie outside into the one that is read there.
constexpr const char* kPlaces = R"(
__device__ inline unsigned EdgePlace(unsigned place, unsigned size) {
  return place < size ? place : static_cast<int>(place) < 0 ? 0u : size - 1u;
}
__device__ inline unsigned ReflectedPlace(unsigned place, unsigned size) {
  return place < size ? place : static_cast<int>(place) < 0 ? 0u - place : 2u * size - 2u - place;
}
__device__ inline unsigned WrappedPlace(unsigned place, unsigned size) { return place % size; }
)";

// The place along one dimension that an element `e` of the output has in the input.
std::string PadPlace(const MovementProblem& p, const std::string& place, int64_t before,
                     int64_t size) {
  using Fill = MovementProblem::Fill;
  // Never negative where it wraps.
  const int64_t turned = p.fill == Fill::kWrap ? before % size - size : before;
  const std::string moved =
      "(" + place + (turned < 0 ? " + " : " - ") + std::to_string(std::abs(turned)) + "u)";
  if (p.fill == Fill::kValue) return moved;
  const char* const name = p.fill == Fill::kEdge      ? "EdgePlace"
                           : p.fill == Fill::kReflect ? "ReflectedPlace"
                                                      : "WrappedPlace";
  return std::string(name) + "(" + moved + ", " + std::to_string(size) + "u)";
}

// Neighbours of which some are left out make no vector, nor do those beyond an edge.
bool HasVectors(const MovementProblem& p, int64_t step, int64_t padding) {
  using Fill = MovementProblem::Fill;
  return step == 1 && (padding == 0 || p.fill == Fill::kValue || p.fill == Fill::kWrap);
}

// One thread for kWidth neighbours of the output. A place before the input is negative, which as an
// unsigned number is huge: one comparison per dimension checks both ends. A vector is inside or
// outside as a whole, because its width divides the padding before and the size.
GeneratedKernel PadKernel(const MovementProblem& p, const KernelForm& form) {
  const std::vector<int64_t> input = InMemoryOrder(p.inputs[0], form.layout);
  const std::vector<int64_t> output = InMemoryOrder(OutputShapes(p)[0], form.layout);
  const std::vector<int64_t> before = InMemoryOrder(p.starts, form.layout);
  const std::vector<int64_t> ones(input.size(), 1);
  const std::vector<int64_t> steps = p.steps.empty() ? ones : InMemoryOrder(p.steps, form.layout);
  GeneratedKernel kernel;
  kernel.arguments = PointersOf(p);
  const int width = HasVectors(p, steps.back(), output.back() - input.back())
                        ? VectorWidth(form, {input.back(), output.back(), before.back()}, p.type)
                        : 1;
  const int64_t vectors = ElementCount(output) / width;
  std::string inside = "true", offset = "0u";
  int64_t output_stride = 1, input_stride = 1;
  for (size_t d = output.size(); d-- > 0;) {
    const std::string place =
        PadPlace(p,
                 "e / " + std::to_string(output_stride) + "u % " + std::to_string(output[d]) +
                     "u * " + std::to_string(steps[d]) + "u",
                 before[d], input[d]);
    inside += " && " + place + " < " + std::to_string(input[d]) + "u";
    offset += " + " + place + " * " + std::to_string(input_stride) + "u";
    const bool is_pixel = d + 1 == output.size();
    output_stride *= output[d];
    input_stride *= is_pixel ? PitchOr(form.pitches.input(0), input[d]) : input[d];
  }
  const PixelPitch& pitch = form.pitches.output(0);
  const std::string channels = std::to_string(output.back());
  const std::string place =
      pitch.is_dense()
          ? "e"
          : "e / " + channels + "u * " + std::to_string(pitch.pitch) + "u + e % " + channels + "u";
  kernel.variant = "pad/v" + std::to_string(width);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(vectors, kBlockThreads)), 1, 1};
  kernel.source = ElementVectors(p.type);
  if (p.fill != MovementProblem::Fill::kValue) kernel.source += kPlaces;
  kernel.source +=
      Constants({{"kVectors", vectors}, {"kWidth", width}, {"kThreads", kBlockThreads}});
  kernel.source += Replace(
      R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVectors) return;
  const unsigned e = i * kWidth;
  $HELD$ value[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) value[j] = $VALUE$;
  if ($INSIDE$) $LOAD$<kWidth>(x0 + ($OFFSET$), value);
  $STORE$<kWidth>(y0 + ($PLACE$), value);
}
)",
      {{"PARAMETERS", Parameters(kernel.arguments)},
       {"HELD", HeldName(p.type)},
       {"VALUE", ValueText(p)},
       {"LOAD", VectorFunction("Load", p.type)},
       {"STORE", VectorFunction("Store", p.type)},
       {"PLACE", place},
       {"INSIDE", inside},
       {"OFFSET", offset}});
  return kernel;
}

// A slice as a padding that takes away; nullopt for one of several outputs, or none.
std::optional<MovementProblem> CropOf(const MovementProblem& p) {
  if (p.kind != Movement::kSlice || p.starts.size() != 1) return std::nullopt;
  const std::vector<int64_t>& shape = p.inputs[0];
  MovementProblem crop{.kind = Movement::kPad, .inputs = p.inputs, .type = p.type};
  crop.starts.assign(shape.size(), 0);
  crop.sizes.assign(shape.size(), 0);
  crop.starts[p.axis] = -p.starts[0];
  crop.sizes[p.axis] = p.starts[0] + p.sizes[0] - shape[p.axis];
  return crop;
}

std::vector<GeneratedKernel> GenerateMovement(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<MovementProblem>(&problem);
  if (p == nullptr || p->kind == Movement::kTranspose || p->kind == Movement::kGather) return {};
  if (p->kind == Movement::kPad) return {PadKernel(*p, form)};
  // Along other axes than the channels neighbours are no pixels of one run.
  if (!form.pitches.are_dense() && p->kind != Movement::kCopy && p->axis != 1) {
    const std::optional<MovementProblem> crop = CropOf(*p);
    return crop.has_value() ? std::vector<GeneratedKernel>{PadKernel(*crop, form)}
                            : std::vector<GeneratedKernel>();
  }
  const std::vector<Part> parts = Parts(*p, form);
  int width = VectorWidth(form, {}, p->type);
  for (const Part& part : parts) {
    width = std::min(width, VectorWidth(form,
                                        {part.chunk, part.input_start, part.input_stride,
                                         part.output_start, part.output_stride},
                                        p->type));
  }
  // A copy has no rows, so only its length matters; strides of one would make vectors single.
  if (p->kind == Movement::kCopy) {
    width = VectorWidth(form, {}, p->type);
    for (const Part& part : parts) {
      width = std::min(width, VectorWidth(form, {part.chunk}, p->type));
    }
  }
  return {PartsKernel(*p, parts, width)};
}

}  // namespace

extern const GeneratedFamily kGeneratedMovement;
const GeneratedFamily kGeneratedMovement = {"movement", GenerateMovement, true};

}  // namespace plait::cuda
