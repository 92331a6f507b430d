#pragma once

#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// The time of what a device cannot run.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What kernels take with the copies of images in channels-last that are made for their sake. A
// Concat copies what does not lie in its result as a part (see optimizer/plan/place_parts.h): what
// is written by kernels that write no parts, and what is read by kernels that read none. Each of
// these is priced with the copies of that tensor in all Concats, and a Concat with those of what
// nobody could write as a part, at what copies take in a plan. So a cover sees what a choice costs
// where it chooses. A value.
class PartPrices {
 public:
  // A kernel with what it reads and writes, and its measured time.
  struct Measured {
    absl::Span<const TensorId> inputs;
    absl::Span<const TensorId> outputs;
    absl::Span<const Format> input_formats;
    absl::Span<const Format> output_formats;
    NodeId concat = kNoNode;  // its node, if it puts pieces together: see ConcatPiecesOf
    double latency_us = 0;
    bool takes_all = false;  // and leaves others no room on the device
    bool reads_parts = false;
    bool writes_parts = false;
  };
  // By whether a kernel takes all of the device; infinite for a Concat of which none does.
  struct Times {
    double us[2];
  };
  struct Concat {
    NodeId node;
    Times times;  // of its fastest kernels
  };

  // Of these kernels of the graph, which must outlive the prices; a copy in a plan takes
  // `copy_ratio` times what it takes alone.
  PartPrices(const Graph& graph, double copy_ratio, absl::Span<const Measured> kernels);

  // The same where it is known what is concatenated, by ascending nodes, and, by tensor, what some
  // kernel writes as a part in channels-last. Without Concats that is not looked at.
  PartPrices(const Graph& graph, double copy_ratio, absl::Span<const Concat> concats,
             const std::vector<bool>& may_be_part);

  // The time of one of the kernels with its copies.
  double LatencyUs(const Measured& measured) const;

  // Whether that may be another one than the measured time, for a kernel of these nodes.
  bool Touch(const Measured& measured) const;

 private:
  void AddCopiesOf(const Concat& concat, const std::vector<bool>& may_be_part);
  double CopiesUs(const Measured& measured) const;

  const Graph& graph_;
  double copy_ratio_;
  absl::flat_hash_map<TensorId, Times> copies_;  // of a tensor, in all Concats
  absl::flat_hash_map<NodeId, double> copied_;   // the share of a Concat that no part can save
};

}  // namespace plait
