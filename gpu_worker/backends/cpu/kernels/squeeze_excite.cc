#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/squeeze_excite_pattern.h"
#include "gpu_worker/backends/cpu/team/team.h"

// [1, 672, 14, 14] with 28 numbers in between, by two threads: the 196 pixels are nine chunks of
// 22, whose sums the threads make; each chunk is 58 KiB. The squeeze layer's depth of 672 is eight
// parts of 84, as its 28 columns are one block alone, and the excite layer has 21 blocks. Then each
// thread multiplies the chunks that it has summed, which are still in its second cache.

namespace plait {
namespace {

// Of a chunk at most: they leave room for others in a second cache. A small image has chunks to
// share all the same. Chunks do not depend on the threads, so that neither do sums.
constexpr int64_t kChunkFloats = 16384;
constexpr int64_t kChunksMin = 4;

// Parts of the depth of the squeeze layer, and the numbers that each has at least.
constexpr int64_t kDepthPartsMax = 8;
constexpr int64_t kDepthPartMin = 32;

// Of a thread, that stay in its second cache.
constexpr int64_t kThreadWeightsBytesMax = 384 << 10;

// What the gate is repeated up to, so that a call of a loop has more to do than a pixel.
constexpr int64_t kGateFloats = 1024;

class SqueezeExciteKernel : public CpuKernel {
 public:
  // Rows of numbers, one for each image.
  struct Layer {
    FmaProduct product;
    RowEpilogue epilogue;
  };
  struct Parts {
    const float* source = nullptr;
    float* result = nullptr;  // nullptr: the gates alone
    int64_t images = 0;
    int64_t pixels = 0;  // of an image
    int64_t channels = 0;
    int64_t between = 0;      // numbers of a row between the layers
    int64_t depth_parts = 1;  // of the squeeze layer, each one matrix of its product
    Layer squeeze;
    Layer excite;
    float* gates = nullptr;
  };

  SqueezeExciteKernel(int width, Parts parts)
      : width_(width),
        p_(std::move(parts)),
        runner_(width),
        chunk_pixels_(CeilDiv(
            p_.pixels, std::max(kChunksMin, CeilDiv(p_.pixels * p_.channels, kChunkFloats)))),
        chunks_(CeilDiv(p_.pixels, chunk_pixels_)),
        repeats_(std::clamp<int64_t>(kGateFloats / p_.channels, 1, chunk_pixels_)),
        excite_stays_(p_.squeeze.product.weights_bytes() + p_.excite.product.weights_bytes() <=
                      width * kThreadWeightsBytesMax) {}

  absl::Status Prepare(LoadContext* context) {
    PLAIT_ASSIGN_OR_RETURN(sums_, ScratchOf<float>(context, p_.images * chunks_ * p_.channels));
    PLAIT_ASSIGN_OR_RETURN(means_, ScratchOf<float>(context, p_.images * p_.channels));
    PLAIT_ASSIGN_OR_RETURN(between_,
                           ScratchOf<float>(context, p_.depth_parts * p_.images * p_.between));
    PLAIT_ASSIGN_OR_RETURN(repeated_,
                           ScratchOf<float>(context, p_.images * repeats_ * p_.channels));
    if (p_.result != nullptr) {
      PLAIT_ASSIGN_OR_RETURN(p_.gates, ScratchOf<float>(context, p_.images * p_.channels));
    }
    p_.squeeze.product.set_left_row_floats(p_.channels);
    PLAIT_RETURN_IF_ERROR(p_.squeeze.product.AddRows(p_.images));
    return p_.excite.product.AddRows(p_.images);
  }

  absl::Status Run() override {
    SumChunks();
    MakeMeans();
    PLAIT_RETURN_IF_ERROR(Squeeze());
    PLAIT_RETURN_IF_ERROR(Excite());
    if (p_.result != nullptr) Multiply();
    return absl::OkStatus();
  }

 private:
  // Some pixels of an image, by number of the chunk among all.
  struct Chunk {
    int64_t image;
    int64_t pixels;
    int64_t offset;  // in floats, from the first image
  };
  Chunk ChunkAt(int64_t number) const {
    const int64_t image = number / chunks_;
    const int64_t first = number % chunks_ * chunk_pixels_;
    return {image, std::min(chunk_pixels_, p_.pixels - first),
            (image * p_.pixels + first) * p_.channels};
  }

  template <typename Take>
  void ForEachChunk(const Take& take) {
    ForEachPart(width_, p_.images * chunks_, [&](int64_t begin, int64_t end, int) {
      for (int64_t number = begin; number < end; ++number) take(number, ChunkAt(number));
    });
  }

  // A share of the weights is called while a chunk is read, mostly by the thread that will multiply
  // by it.
  void Prefetch(const FmaProduct& product, int64_t number) const {
    constexpr int64_t kLineBytes = 64;
    const int64_t lines = product.weights_bytes() / kLineBytes;
    const auto* const weights = reinterpret_cast<const std::byte*>(product.RightAt(0, 0));
    const int64_t all = p_.images * chunks_;
    for (int64_t line = lines * number / all; line < lines * (number + 1) / all; ++line) {
      __builtin_prefetch(weights + line * kLineBytes, 0, 2);
    }
  }

  // A window over all pixels of the chunk.
  void SumChunks() {
    ForEachChunk([&](int64_t number, const Chunk& chunk) {
      Prefetch(p_.squeeze.product, number);
      if (excite_stays_) Prefetch(p_.excite.product, number);
      WindowPixels window;
      window.x = p_.source + chunk.offset;
      window.x_tap_floats[1] = p_.channels;
      window.taps[0] = 1;
      window.taps[1] = chunk.pixels;
      window.y = sums_ + number * p_.channels;
      window.pixels = 1;
      window.channels = p_.channels;
      Loops().mean_pixels(window, 1.0f);
    });
  }

  // Chunks are added in order, whoever summed them.
  void MakeMeans() {
    const auto linear = Loops().unary[static_cast<int>(UnaryLoop::kLinear)];
    for (int64_t image = 0; image < p_.images; ++image) {
      float* const mean = means_ + image * p_.channels;
      AddRows(sums_ + image * chunks_ * p_.channels, chunks_, p_.channels, p_.channels, mean);
      linear(mean, mean, p_.channels, 1.0f / static_cast<float>(p_.pixels), 0);
    }
  }

  static void AddRows(const float* rows, int64_t count, int64_t apart_floats, int64_t size,
                      float* to) {
    const auto add = Loops().binary[static_cast<int>(BinaryLoop::kAdd)];
    std::copy_n(rows, size, to);
    for (int64_t i = 1; i < count; ++i) add(to, rows + i * apart_floats, to, size);
  }

  // By parts of the depth and blocks of columns; the sums of the parts are then added in order.
  absl::Status Squeeze() {
    const FmaProduct& product = p_.squeeze.product;
    const int64_t part_floats = p_.images * p_.between;
    const int64_t depth = p_.channels / p_.depth_parts;
    const auto run = [&](int64_t begin, int64_t end, int) -> absl::Status {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t part = piece / product.blocks();
        const int64_t block = piece % product.blocks();
        PLAIT_RETURN_IF_ERROR(product.Run(
            {.left = means_ + part * depth,
             .rows = p_.images,
             .matrix = part,
             .first = block,
             .last = block + 1,
             .result = between_ + part * part_floats + block * product.block_columns()}));
      }
      return absl::OkStatus();
    };
    PLAIT_RETURN_IF_ERROR(runner_.Run(p_.depth_parts * product.blocks(), run));
    const auto add = Loops().binary[static_cast<int>(BinaryLoop::kAdd)];
    for (int64_t part = 1; part < p_.depth_parts; ++part) {
      add(between_, between_ + part * part_floats, between_, part_floats);
    }
    const float* const bias = p_.squeeze.epilogue.bias();
    for (int64_t image = 0; image < p_.images; ++image) {
      float* const row = between_ + image * p_.between;
      if (bias != nullptr) add(row, bias, row, p_.between);
      p_.squeeze.epilogue.Apply(row, image, 0, p_.between);
    }
    return absl::OkStatus();
  }

  absl::Status Excite() {
    const FmaProduct& product = p_.excite.product;
    return runner_.Run(product.blocks(), [&](int64_t begin, int64_t end, int) -> absl::Status {
      const int64_t first = begin * product.block_columns();
      const int64_t last = std::min(end * product.block_columns(), p_.channels);
      PLAIT_RETURN_IF_ERROR(product.Run({.left = between_,
                                         .rows = p_.images,
                                         .first = begin,
                                         .last = end,
                                         .result = p_.gates + first}));
      for (int64_t image = 0; image < p_.images; ++image) {
        float* const row = p_.gates + image * p_.channels + first;
        p_.excite.epilogue.Apply(row, image, first, last - first);
      }
      return absl::OkStatus();
    });
  }

  void Multiply() {
    const int64_t row_floats = repeats_ * p_.channels;
    for (int64_t image = 0; image < p_.images; ++image) {
      for (int64_t i = 0; i < repeats_; ++i) {
        std::copy_n(p_.gates + image * p_.channels, p_.channels,
                    repeated_ + image * row_floats + i * p_.channels);
      }
    }
    const auto multiply = Loops().binary[static_cast<int>(BinaryLoop::kMul)];
    ForEachChunk([&](int64_t, const Chunk& chunk) {
      const float* const gate = repeated_ + chunk.image * row_floats;
      const int64_t floats = chunk.pixels * p_.channels;
      for (int64_t at = 0; at < floats; at += row_floats) {
        multiply(p_.source + chunk.offset + at, gate, p_.result + chunk.offset + at,
                 std::min(row_floats, floats - at));
      }
    });
  }

  const int width_;
  Parts p_;
  ChunkRunner runner_;
  const int64_t chunk_pixels_;
  const int64_t chunks_;     // of an image
  const int64_t repeats_;    // of an image's gate
  const bool excite_stays_;  // in the second caches, beside the squeeze layer's weights
  // Scratch.
  float* sums_ = nullptr;  // a row for each chunk
  float* means_ = nullptr;
  float* between_ = nullptr;  // [part of the depth][image][number]
  float* repeated_ = nullptr;
};

int64_t DepthParts(int64_t depth) {
  int64_t parts = kDepthPartsMax;
  while (depth % parts != 0 || (parts > 1 && depth / parts < kDepthPartMin)) parts /= 2;
  return parts;
}

// By so many matrices that lie along the depth. One of several adds no bias: the sum does.
absl::StatusOr<SqueezeExciteKernel::Layer> LoadLayer(LoadContext* context,
                                                     const SqueezeExcitePattern::Layer& layer,
                                                     int64_t depth_parts, bool adds_bias) {
  const Node& node = context->graph().node(layer.node);
  SqueezeExciteKernel::Layer loaded;
  PLAIT_ASSIGN_OR_RETURN(const float* const bias, BiasOf(context, node));
  PLAIT_ASSIGN_OR_RETURN(loaded.epilogue,
                         RowEpilogue::Load(context, layer.after.operations, bias, Format::kPlain,
                                           {layer.shape.columns, layer.shape.columns}));
  ConstantProduct shape = layer.shape;
  shape.depth /= depth_parts;
  Tensor values;
  const auto make = [&]() -> absl::StatusOr<const float*> {
    PLAIT_ASSIGN_OR_RETURN(values, context->ConstantValue(node.inputs[1]));
    return reinterpret_cast<const float*>(values.bytes().data());
  };
  PLAIT_ASSIGN_OR_RETURN(loaded.product,
                         FmaProduct::Load(context, shape,
                                          {.matrices = depth_parts,
                                           .matrix_floats = shape.depth * shape.right_row_floats,
                                           .bias = adds_bias ? loaded.epilogue.bias() : nullptr,
                                           .may_widen_blocks = true,
                                           .made_of = node.inputs[1]},
                                          make));
  return loaded;
}

}  // namespace

// The means of an image's channels, two small products and what follows them, and the image times
// what comes out: of images in channels-last, in fp32.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadSqueezeExcite(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::optional<SqueezeExcitePattern> pattern =
      ParseSqueezeExcite(graph, context->kernel().nodes);
  if (!pattern.has_value()) return context->Refuse();
  const bool multiplies = pattern->multiplied != kNoNode;
  const TensorId output = multiplies ? graph.node(pattern->multiplied).outputs[0] : pattern->gate;
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, graph.node(pattern->pool).inputs[0],
                                                      Format::kChannelsLast));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, output, Format::kChannelsLast));
  const Shape& shape = source.type.shape;
  const int64_t depth_parts = DepthParts(shape[1]);
  SqueezeExciteKernel::Parts parts{.source = source.floats(),
                                   .images = shape[0],
                                   .pixels = shape[2] * shape[3],
                                   .channels = shape[1],
                                   .between = pattern->squeeze.shape.columns,
                                   .depth_parts = depth_parts};
  (multiplies ? parts.result : parts.gates) = result.floats();
  PLAIT_ASSIGN_OR_RETURN(parts.squeeze, LoadLayer(context, pattern->squeeze, depth_parts,
                                                  /*adds_bias=*/false));
  PLAIT_ASSIGN_OR_RETURN(parts.excite, LoadLayer(context, pattern->excite, 1, /*adds_bias=*/true));
  auto kernel = std::make_unique<SqueezeExciteKernel>(context->width(), std::move(parts));
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

}  // namespace plait
