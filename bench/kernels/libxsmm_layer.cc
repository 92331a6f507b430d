#include "bench/kernels/libxsmm_layer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <libxsmm.h>
#include <sched.h>
#include <x86intrin.h>

#include "base/statistics.h"
#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {
namespace {

// As ProfileOptions.
constexpr int kSamplesMax = 100;
constexpr int kSamplesMin = 3;
constexpr double kTimeMaxUs = 200e3;

// Twice the second cache of a core.
constexpr size_t kPrivateFloats = size_t{2} << 18;

// Memory of a tensor in libxsmm's format, by the kind of layer that asks for the layout.
struct Buffer {
  explicit Buffer(size_t bytes) : bytes(bytes), data(libxsmm_aligned_malloc(bytes, 64)) {
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    auto* const floats = static_cast<float*>(data);
    for (size_t i = 0; i < bytes / sizeof(float); ++i) floats[i] = uniform(random);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { libxsmm_free(data); }

  void Evict() const {
    for (size_t byte = 0; byte < bytes; byte += 64) _mm_clflush(static_cast<char*>(data) + byte);
    _mm_mfence();
  }

  const size_t bytes;
  void* const data;
};

// The cores that this program has, before an executor pins the thread that the others come from.
std::vector<int> Cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}
const std::vector<int>& kCores = *new std::vector<int>(Cores());

// Threads that all run the same at once: libxsmm's wait for each other, so that none may run
// another one's share, as OpenMP's do where plait gives them its own team. Each has a core, as the
// executor's have, and spins.
class Gang {
 public:
  explicit Gang(int threads) {
    for (int thread = 1; thread < threads; ++thread) {
      others_.emplace_back([this, thread] { Serve(thread); });
    }
  }
  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;
  ~Gang() {
    run_ = nullptr;
    ++asked_;
    for (std::thread& other : others_) other.join();
  }

  void Run(const std::function<void(int thread)>& run) {
    run_ = &run;
    ready_ = 0;
    ++asked_;
    run(0);
    while (ready_ < static_cast<int>(others_.size())) _mm_pause();
  }

 private:
  void Serve(int thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(kCores[thread], &set);
    sched_setaffinity(0, sizeof(set), &set);
    for (int seen = 0;; ++seen) {
      while (asked_ == seen) _mm_pause();
      if (run_ == nullptr) return;
      (*run_)(thread);
      ++ready_;
    }
  }

  const std::function<void(int thread)>* run_ = nullptr;
  std::atomic<int> asked_ = 0;
  std::atomic<int> ready_ = 0;
  std::vector<std::thread> others_;
};

// Drives what the threads have read out of their own caches.
void EvictPrivateCaches(Gang* gang, int threads) {
  static std::vector<float> memory(kPrivateFloats * threads);
  gang->Run([](int thread) {
    float* const mine = memory.data() + kPrivateFloats * thread;
    for (size_t i = 0; i < kPrivateFloats; ++i) mine[i] += 1;
  });
}

// The median of runs by all threads at once. The first, which is not counted, wakes them.
double Time(const Buffer& weights, int threads, const std::function<void(int thread)>& run) {
  using Clock = std::chrono::steady_clock;
  Gang gang(threads);
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  const auto us_since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  for (int sample = 0; sample <= kSamplesMax; ++sample) {
    if (sample > kSamplesMin && us_since(start) > kTimeMaxUs) break;
    weights.Evict();
    EvictPrivateCaches(&gang, threads);
    const Clock::time_point begin = Clock::now();
    gang.Run(run);
    if (sample > 0) samples.push_back(us_since(begin));
  }
  return Median(std::move(samples));
}

// What both kinds of layers have, each by functions of its own name.
struct ConvolutionLayer {
  using Handle = libxsmm_dnn_layer;
  static constexpr auto kLayout = libxsmm_dnn_create_tensor_datalayout;
  static constexpr auto kBind = libxsmm_dnn_bind_tensor;
  static constexpr auto kDestroy = libxsmm_dnn_destroy_conv_layer;
  static size_t ScratchBytes(Handle* handle, libxsmm_dnn_err_t* status) {
    return libxsmm_dnn_get_scratch_size(handle, LIBXSMM_DNN_COMPUTE_KIND_FWD, status);
  }
  static libxsmm_dnn_err_t BindScratch(Handle* handle, void* scratch) {
    return libxsmm_dnn_bind_scratch(handle, LIBXSMM_DNN_COMPUTE_KIND_FWD, scratch);
  }
  static void Run(Handle* handle, int thread) {
    libxsmm_dnn_execute_st(handle, LIBXSMM_DNN_COMPUTE_KIND_FWD, 0, thread);
  }
};

struct ProductLayer {
  using Handle = libxsmm_dnn_fullyconnected;
  static constexpr auto kLayout = libxsmm_dnn_fullyconnected_create_tensor_datalayout;
  static constexpr auto kBind = libxsmm_dnn_fullyconnected_bind_tensor;
  static constexpr auto kDestroy = libxsmm_dnn_destroy_fullyconnected;
  static size_t ScratchBytes(Handle* handle, libxsmm_dnn_err_t* status) {
    return libxsmm_dnn_fullyconnected_get_scratch_size(handle, status);
  }
  static libxsmm_dnn_err_t BindScratch(Handle* handle, void* scratch) {
    return libxsmm_dnn_fullyconnected_bind_scratch(handle, scratch);
  }
  static void Run(Handle* handle, int thread) {
    libxsmm_dnn_fullyconnected_execute_st(handle, LIBXSMM_DNN_COMPUTE_KIND_FWD, 0, thread);
  }
};

// Allocates what the layer reads and writes, and times it.
template <typename Layer>
std::optional<double> TimeLayer(typename Layer::Handle* handle, libxsmm_dnn_err_t created,
                                int threads) {
  if (handle == nullptr || created != LIBXSMM_DNN_SUCCESS) return std::nullopt;
  constexpr libxsmm_dnn_tensor_type kTypes[] = {
      LIBXSMM_DNN_REGULAR_FILTER, LIBXSMM_DNN_REGULAR_INPUT, LIBXSMM_DNN_REGULAR_OUTPUT};
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<libxsmm_dnn_tensor*> tensors;
  bool is_ready = true;
  libxsmm_dnn_err_t status = LIBXSMM_DNN_SUCCESS;
  for (const libxsmm_dnn_tensor_type type : kTypes) {
    libxsmm_dnn_tensor_datalayout* const layout = Layer::kLayout(handle, type, &status);
    if (layout == nullptr) return std::nullopt;
    buffers.push_back(std::make_unique<Buffer>(libxsmm_dnn_get_tensor_size(layout, &status)));
    tensors.push_back(libxsmm_dnn_link_tensor(layout, buffers.back()->data, &status));
    libxsmm_dnn_destroy_tensor_datalayout(layout);
    is_ready &= Layer::kBind(handle, tensors.back(), type) == LIBXSMM_DNN_SUCCESS;
  }
  const Buffer scratch(Layer::ScratchBytes(handle, &status) + 64);
  is_ready &= Layer::BindScratch(handle, scratch.data) == LIBXSMM_DNN_SUCCESS;
  std::optional<double> us;
  if (is_ready) {
    us = Time(*buffers[0], threads, [&](int thread) { Layer::Run(handle, thread); });
  }
  for (libxsmm_dnn_tensor* const tensor : tensors) libxsmm_dnn_destroy_tensor(tensor);
  Layer::kDestroy(handle);
  return us;
}

std::optional<double> TimeConvolution(const Graph& graph, NodeId node, int threads) {
  const Shape& input = graph.input_type(node, 0).shape;
  const Shape& filters = graph.input_type(node, 1).shape;
  const Shape& output = graph.output_type(node).shape;
  if (input.size() != 4 || filters[1] != input[1]) return std::nullopt;
  const auto axes = ReadWindow(*graph.node(node).attributes, graph.input_type(node, 0),
                               absl::MakeConstSpan(filters).subspan(2), /*ceil_mode=*/false);
  if (!axes.ok()) return std::nullopt;
  for (const WindowAxis& axis : *axes) {
    if (axis.dilation != 1 || axis.pad_begin != axis.pad_end) return std::nullopt;
  }
  const auto& rows = (*axes)[0];
  const auto& columns = (*axes)[1];
  libxsmm_dnn_conv_desc layer = {};
  layer.N = static_cast<int>(input[0]);
  layer.C = static_cast<int>(input[1]);
  layer.H = static_cast<int>(input[2]);
  layer.W = static_cast<int>(input[3]);
  layer.K = static_cast<int>(output[1]);
  layer.R = static_cast<int>(rows.kernel);
  layer.S = static_cast<int>(columns.kernel);
  layer.u = static_cast<int>(rows.stride);
  layer.v = static_cast<int>(columns.stride);
  layer.pad_h = layer.pad_h_in = static_cast<int>(rows.pad_begin);
  layer.pad_w = layer.pad_w_in = static_cast<int>(columns.pad_begin);
  layer.threads = threads;
  layer.datatype_in = layer.datatype_out = LIBXSMM_DNN_DATATYPE_F32;
  layer.buffer_format = layer.filter_format = LIBXSMM_DNN_TENSOR_FORMAT_LIBXSMM;
  layer.algo = LIBXSMM_DNN_CONV_ALGO_DIRECT;
  layer.options = LIBXSMM_DNN_CONV_OPTION_OVERWRITE;
  layer.fuse_ops = LIBXSMM_DNN_CONV_FUSE_NONE;
  libxsmm_dnn_err_t status = LIBXSMM_DNN_SUCCESS;
  auto* const handle = libxsmm_dnn_create_conv_layer(layer, &status);
  return TimeLayer<ConvolutionLayer>(handle, status, threads);
}

// Those of `wanted` that divide a dimension, or all of it.
std::vector<int> Blocks(int64_t size, std::initializer_list<int> wanted) {
  std::vector<int> blocks;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(blocks),
               [&](int block) { return size % block == 0; });
  if (blocks.empty()) blocks.push_back(static_cast<int>(size));
  return blocks;
}

std::optional<double> TimeProduct(const ConstantProduct& product, int threads) {
  std::optional<double> best;
  for (const int rows : Blocks(product.rows, {14, 16, 24, 32, 48, 64})) {
    for (const int columns : Blocks(product.columns, {32, 48, 64})) {
      for (const int depth : Blocks(product.depth, {32, 64, 128})) {
        libxsmm_dnn_fullyconnected_desc layer = {};
        layer.N = static_cast<int>(product.rows);
        layer.C = static_cast<int>(product.depth);
        layer.K = static_cast<int>(product.columns);
        layer.bn = rows;
        layer.bk = columns;
        layer.bc = depth;
        layer.threads = threads;
        layer.datatype_in = layer.datatype_out = LIBXSMM_DNN_DATATYPE_F32;
        layer.buffer_format = LIBXSMM_DNN_TENSOR_FORMAT_NCPACKED;
        layer.filter_format = LIBXSMM_DNN_TENSOR_FORMAT_CKPACKED;
        layer.fuse_ops = LIBXSMM_DNN_FULLYCONNECTED_FUSE_NONE;
        libxsmm_dnn_err_t status = LIBXSMM_DNN_SUCCESS;
        auto* const handle = libxsmm_dnn_create_fullyconnected(layer, &status);
        const std::optional<double> us = TimeLayer<ProductLayer>(handle, status, threads);
        if (us.has_value() && (!best.has_value() || *us < *best)) best = us;
      }
    }
  }
  return best;
}

}  // namespace

bool HasLibxsmm() { return true; }

std::optional<double> LibxsmmMicroseconds(const Graph& graph, NodeId node, int threads) {
  if (threads > static_cast<int>(kCores.size())) return std::nullopt;
  if (graph.node(node).op == OpKind::kConv) return TimeConvolution(graph, node, threads);
  const std::optional<ConstantProduct> product = ConstantProductAt(graph, node);
  return product.has_value() ? TimeProduct(*product, threads) : std::nullopt;
}

}  // namespace plait
