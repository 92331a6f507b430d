#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/cover/node_kernels.h"
#include "optimizer/ir/common_part.h"

namespace plait {

// What reorders of tensors take, by type: looked up once per type. Not thread-safe.
class ReorderTimes {
 public:
  explicit ReorderTimes(const KernelTableOptions& options) : options_(options) {}

  // Infinite where it cannot run; nullopt where there is no profile yet.
  std::optional<WidthTimes> Find(const TensorType& type, Format from, Format to);

 private:
  std::optional<WidthTimes> LookUp(const TensorType& type, Format from, Format to) const;

  KernelTableOptions options_;
  absl::flat_hash_map<std::pair<DataType, Shape>, std::vector<std::optional<WidthTimes>>> known_;
};

// A CoverTable with the ids that it refers to. Moves, and is not copied.
struct OwnedCoverTable {
  OwnedCoverTable() = default;
  OwnedCoverTable(OwnedCoverTable&&) = default;
  OwnedCoverTable& operator=(OwnedCoverTable&&) = default;

  CoverTable table;
  std::vector<int32_t> ids;
};

// The kernels of every node of a graph: what a KernelTable has, as far as covers are priced by it,
// for a search that prices thousands of graphs of which each is a little different from the one
// before. What a node's kernels were decided by was noted (GraphReads); where all of that is still
// there, they are taken over. Immutable.
class GraphKernels {
 public:
  // The kernels of `graph`, asked for anew where `before`, whose kernels are `kernels_before`, does
  // not answer; nullptr for both: everywhere. Returns nullptr when a profile is missing.
  static std::shared_ptr<const GraphKernels> Of(const Graph& graph, const NamedGraph* before,
                                                const GraphKernels* kernels_before,
                                                const KernelTableOptions& options);

  // What covers of the graph are chosen from; equal to that of its KernelTable. It refers to these
  // kernels. nullopt when the profile of a reorder is missing.
  std::optional<OwnedCoverTable> Table(const Graph& graph, const KernelTableOptions& options,
                                       ReorderTimes& reorders) const;

  // Nodes whose kernels were taken over.
  int taken_over() const { return taken_over_; }

 private:
  // Of one node, with its lists in `nodes_` and `tensors_`.
  struct AtNode {
    std::shared_ptr<const NodeKernels> kernels;
    size_t first_node = 0;
    size_t first_tensor = 0;
  };

  void TakeOver(const GraphKernels& before, const CommonPart& common);
  bool IsUnchanged(const AtNode& at, const CommonPart& common) const;
  void Append(const PlacedKernels& placed, NodeId node);

  std::vector<AtNode> at_;
  std::vector<NodeId> nodes_;
  std::vector<TensorId> tensors_;
  int taken_over_ = 0;
};

}  // namespace plait
