// How fast the kernel families are on the layers of models: `kernel_times MODEL.onnx...` measures,
// with cold weights and on all threads, each kernel that is offered for a layer by which families
// compete: convolutions and products, with as much behind them as can be fused. For every layer it
// prints how often the models have it, and for each kernel its microseconds, GFLOP/s, share of the
// processor's fp32 peak and how many times as fast as oneDNN it is (the families conv and matmul,
// at their best); and what bounds it, the peak or reading and writing each tensor once. libxsmm,
// where the program was built with it, computes the layer alone, without what is fused behind it.
// At the end the sums of each family, over the layers that it runs. A squeeze-and-excitation block
// is a layer too, and compared with the fastest kernels of its nodes, one after the other.
// `kernel_times --loops` prints what the elementwise loops take.
//
//   cmake --build build --target kernel_times && build/kernel_times resnet50.onnx
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "bench/kernels/libxsmm_layer.h"
#include "bench/kernels/loop_times.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/profile_batch.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

bool IsOnednn(absl::string_view family) { return family == "conv" || family == "matmul"; }

constexpr absl::string_view kBlockFamily = "squeeze_excite";

bool IsLayer(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  return op == OpKind::kConv || op == OpKind::kMatMul || op == OpKind::kGemm;
}

std::string TextOf(const Graph& graph, absl::Span<const NodeId> nodes) {
  std::vector<std::string> parts;
  for (const NodeId node : nodes) {
    std::string part(OpKindName(graph.node(node).op));
    if (node == nodes[0] && IsLayer(graph, node)) {
      absl::StrAppend(&part, " ", absl::StrJoin(graph.input_type(node, 0).shape, "x"), " by ",
                      absl::StrJoin(graph.input_type(node, 1).shape, "x"));
    }
    parts.push_back(std::move(part));
  }
  return absl::StrJoin(parts, " + ");
}

// A block of several layers, with the kernel that runs it as a whole, and those of its parts: of
// each part all that may run it.
struct Block {
  std::string text;
  int count = 0;
  LoneKernel whole;
  std::vector<std::vector<LoneKernel>> parts;
};

// A layer of one or more models, with the kernels that may run it.
struct Layer {
  std::string text;
  double flops = 0;
  int count = 0;
  std::vector<LoneKernel> kernels;
  std::optional<double> libxsmm_us;
};

class LayerTimes {
 public:
  explicit LayerTimes(std::unique_ptr<Executor> executor) : executor_(std::move(executor)) {}

  absl::Status AddModel(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    PLAIT_ASSIGN_OR_RETURN(const Model model, ImportOnnx(bytes));
    PLAIT_ASSIGN_OR_RETURN(const Bound bound, Bind(model, {}));
    RuleCounts counts;
    PLAIT_ASSIGN_OR_RETURN(const Graph graph, Canonicalize(bound.graph, AllRules(), &counts));
    PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(executor_->device()));
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      if (IsLayer(graph, node)) PLAIT_RETURN_IF_ERROR(AddLayer(graph, node, *catalog));
      PLAIT_RETURN_IF_ERROR(AddBlocks(graph, node, *catalog));
    }
    return absl::OkStatus();
  }

  absl::Status Print() {
    for (const auto& [key, layer] : layers_) {
      PLAIT_ASSIGN_OR_RETURN(const std::vector<KernelProfile> profiles,
                             ProfileKernels(*executor_, layer.kernels, {}));
      PrintLayer(layer, profiles);
    }
    for (const auto& [key, block] : blocks_) PLAIT_RETURN_IF_ERROR(PrintBlock(block));
    for (const auto& [family, sum] : sums_) {
      std::printf("%-16s %10.0f us, %5.2f times as fast as oneDNN\n", family.c_str(), sum.us,
                  sum.onednn_us / sum.us);
    }
    return absl::OkStatus();
  }

 private:
  struct Sum {
    double us = 0;
    double onednn_us = 0;  // of the same layers
  };

  // Of all kernels that start at the node those of the largest set of nodes that oneDNN's families
  // run too, as wide as the device.
  absl::Status AddLayer(const Graph& graph, NodeId node, const KernelCatalog& catalog) {
    std::vector<Kernel> kernels = catalog.KernelsAt(graph, node, true);
    size_t largest = 0;
    for (const Kernel& kernel : kernels) {
      if (IsOnednn(kernel.family)) largest = std::max(largest, kernel.nodes.size());
    }
    std::erase_if(kernels, [&](const Kernel& kernel) {
      return kernel.nodes.size() != largest || kernel.width < executor_->device().threads;
    });
    if (kernels.empty()) return absl::OkStatus();
    Layer& layer = layers_[KernelProfileKey(graph, kernels[0], {}).ToString()];
    if (++layer.count > 1) return absl::OkStatus();
    layer.text = TextOf(graph, kernels[0].nodes);
    for (const NodeId one : kernels[0].nodes) {
      layer.flops += static_cast<double>(WorkOf(graph, one).flops);
    }
    for (const Kernel& kernel : kernels) {
      PLAIT_ASSIGN_OR_RETURN(LoneKernel lone, LoneKernelOf(KernelProfileKey(graph, kernel, {})));
      layer.kernels.push_back(std::move(lone));
    }
    layer.libxsmm_us = LibxsmmMicroseconds(graph, node, executor_->device().threads);
    return absl::OkStatus();
  }

  // The largest block that begins at the node, as wide as the device.
  absl::Status AddBlocks(const Graph& graph, NodeId node, const KernelCatalog& catalog) {
    const Kernel* largest = nullptr;
    const std::vector<Kernel> kernels = catalog.KernelsAt(graph, node, true);
    for (const Kernel& kernel : kernels) {
      const bool is_one =
          kernel.family == kBlockFamily && kernel.width == executor_->device().threads;
      if (is_one && (largest == nullptr || kernel.nodes.size() > largest->nodes.size())) {
        largest = &kernel;
      }
    }
    if (largest == nullptr) return absl::OkStatus();
    Block& block = blocks_[KernelProfileKey(graph, *largest, {}).ToString()];
    if (++block.count > 1) return absl::OkStatus();
    block.text = absl::StrCat(TextOf(graph, largest->nodes), " of ",
                              absl::StrJoin(graph.input_type(node, 0).shape, "x"));
    PLAIT_ASSIGN_OR_RETURN(block.whole, LoneKernelOf(KernelProfileKey(graph, *largest, {})));
    return AddParts(graph, *largest, catalog, &block);
  }

  // From the first node on, each time all kernels of as many nodes as any that stays within.
  absl::Status AddParts(const Graph& graph, const Kernel& whole, const KernelCatalog& catalog,
                        Block* block) {
    std::set<NodeId> left(whole.nodes.begin(), whole.nodes.end());
    while (!left.empty()) {
      std::vector<Kernel> kernels = catalog.KernelsAt(graph, *left.begin(), true);
      size_t largest = 0;
      std::erase_if(kernels, [&](const Kernel& kernel) {
        return kernel.family == kBlockFamily ||
               !std::includes(left.begin(), left.end(), kernel.nodes.begin(), kernel.nodes.end());
      });
      for (const Kernel& kernel : kernels) largest = std::max(largest, kernel.nodes.size());
      std::vector<LoneKernel>& part = block->parts.emplace_back();
      for (const Kernel& kernel : kernels) {
        if (kernel.nodes.size() != largest) continue;
        for (const NodeId node : kernel.nodes) left.erase(node);
        PLAIT_ASSIGN_OR_RETURN(LoneKernel lone, LoneKernelOf(KernelProfileKey(graph, kernel, {})));
        part.push_back(std::move(lone));
      }
      if (part.empty()) return absl::InternalError("no kernel for a node");
    }
    return absl::OkStatus();
  }

  absl::Status PrintBlock(const Block& block) {
    PLAIT_ASSIGN_OR_RETURN(const auto whole, ProfileKernels(*executor_, {block.whole}, {}));
    std::printf("%s, %d times\n", block.text.c_str(), block.count);
    double sum_us = 0;
    for (const std::vector<LoneKernel>& part : block.parts) {
      PLAIT_ASSIGN_OR_RETURN(const auto profiles, ProfileKernels(*executor_, part, {}));
      const LoneKernel* best = nullptr;
      double best_us = 0;
      for (size_t i = 0; i < profiles.size(); ++i) {
        const double us = profiles[i].profile.latency_us_median;
        if (profiles[i].profile.samples == 0 || (best != nullptr && us >= best_us)) continue;
        best = &part[i];
        best_us = us;
      }
      if (best == nullptr) continue;
      sum_us += best_us;
      std::printf("  %-32s %8.1f us\n", best->kernel.family.c_str(), best_us);
    }
    const double us = whole[0].profile.latency_us_median;
    std::printf("  %-32s %8.1f us, %.2f times as fast as all of these\n",
                std::string(kBlockFamily).c_str(), us, sum_us / us);
    std::fflush(stdout);
    return absl::OkStatus();
  }

  void PrintLayer(const Layer& layer, const std::vector<KernelProfile>& profiles) {
    std::map<std::string, double> best;
    double onednn_us = 0;
    for (size_t i = 0; i < profiles.size(); ++i) {
      if (profiles[i].profile.samples == 0) continue;
      const std::string& family = layer.kernels[i].kernel.family;
      double& us = best[family];
      const double median = profiles[i].profile.latency_us_median;
      us = us == 0 ? median : std::min(us, median);
      if (IsOnednn(family)) onednn_us = onednn_us == 0 ? us : std::min(onednn_us, us);
    }
    std::printf("%s, %d times\n", layer.text.c_str(), layer.count);
    for (size_t i = 0; i < profiles.size(); ++i) {
      const Kernel& kernel = layer.kernels[i].kernel;
      const double us = profiles[i].profile.latency_us_median;
      const std::string name = absl::StrCat(kernel.family, " ", kernel.variant, " ",
                                            FormatName(kernel.output_formats[0]));
      if (profiles[i].profile.samples == 0) {
        std::printf("  %-32s %s\n", name.c_str(), profiles[i].error.c_str());
        continue;
      }
      const double gflops = layer.flops / us * 1e-3;
      // While the kernel was measured.
      const double peak = profiles[i].profile.yardsticks.multiply_add_flops_per_us * 1e-3;
      std::printf("  %-32s %8.1f us %6.0f GFLOP/s %4.0f %% %5.2f\n", name.c_str(), us, gflops,
                  100 * gflops / peak, onednn_us / us);
    }
    PrintBound(layer, profiles);
    std::fflush(stdout);
    if (onednn_us == 0) return;  // nothing to compare with
    if (layer.libxsmm_us.has_value()) best["libxsmm"] = *layer.libxsmm_us;
    for (const auto& [family, us] : best) {
      sums_[family].us += us * layer.count;
      sums_[family].onednn_us += onednn_us * layer.count;
    }
  }

  // libxsmm's line, and what no kernel can be faster than.
  static void PrintBound(const Layer& layer, const std::vector<KernelProfile>& profiles) {
    const auto measured = std::find_if(profiles.begin(), profiles.end(), [](const auto& profile) {
      return profile.profile.samples > 0;
    });
    if (measured == profiles.end()) return;
    const Profile& profile = measured->profile;
    const double flops_us = layer.flops / profile.yardsticks.multiply_add_flops_per_us;
    const double bytes_us =
        static_cast<double>(profile.bytes) / profile.yardsticks.read_bytes_per_us;
    if (layer.libxsmm_us.has_value()) {
      std::printf("  %-32s %8.1f us %6.0f GFLOP/s %4.0f %%\n", "libxsmm", *layer.libxsmm_us,
                  layer.flops / *layer.libxsmm_us * 1e-3, 100 * flops_us / *layer.libxsmm_us);
    }
    std::printf("  %-32s %8.1f us, by %s\n", "bound", std::max(flops_us, bytes_us),
                flops_us >= bytes_us ? "flops" : "bytes");
  }

  std::unique_ptr<Executor> executor_;
  std::map<std::string, Layer> layers_;
  std::map<std::string, Block> blocks_;
  std::map<std::string, Sum> sums_;
};

absl::Status Run(int argc, char** argv) {
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                         OpenExecutor("cpu", {.pins_threads = true}));
  LayerTimes times(std::move(executor));
  for (int i = 1; i < argc; ++i) PLAIT_RETURN_IF_ERROR(times.AddModel(argv[i]));
  return times.Print();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: kernel_times MODEL.onnx... | --loops\n");
    return 2;
  }
  if (std::string(argv[1]) == "--loops") {
    plait::PrintLoopTimes();
    return 0;
  }
  const absl::Status status = plait::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
