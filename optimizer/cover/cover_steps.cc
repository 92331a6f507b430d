#include "optimizer/cover/cover_steps.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/cover/conversions.h"

namespace plait {
namespace {

constexpr int kNobody = -1;

// One number for a tensor in a format.
size_t PlaceOf(TensorId tensor, Format format) {
  return static_cast<size_t>(tensor) * kFormatCount + static_cast<size_t>(format);
}

// Sorts launches that wait for each other: Kahn's algorithm, lowest rank first.
class LaunchSorter {
 public:
  LaunchSorter(const Graph& graph, const CoverTable& table)
      : table_(table), producers_(size_t{kFormatCount} * graph.tensor_count(), kNobody) {}

  // Ranks are twice the first node of a kernel plus one, and twice that of its first reader for a
  // reorder, which so runs right before it.
  void Add(const CoverLaunch& launch, int rank) {
    const int place = static_cast<int>(launches_.size());
    if (launch.group < 0) {
      producers_[PlaceOf(launch.reordered, launch.to)] = place;
    } else {
      const CoverGroup& group = table_.groups[launch.group];
      for (size_t i = 0; i < group.outputs.size(); ++i) {
        producers_[PlaceOf(group.outputs[i], group.output_formats[i])] = place;
      }
    }
    launches_.push_back(launch);
    ranks_.push_back(rank);
  }

  std::vector<CoverLaunch> Sort() {
    std::vector<absl::InlinedVector<int, 4>> readers(launches_.size());
    std::vector<absl::InlinedVector<int, 4>> producers;
    std::vector<int> open_inputs;
    producers.reserve(launches_.size());
    for (size_t launch = 0; launch < launches_.size(); ++launch) {
      producers.push_back(ProducersOf(launches_[launch]));
      for (const int producer : producers.back()) {
        readers[producer].push_back(static_cast<int>(launch));
      }
      open_inputs.push_back(static_cast<int>(producers.back().size()));
    }
    using Ranked = std::pair<int, int>;
    std::priority_queue<Ranked, std::vector<Ranked>, std::greater<Ranked>> ready;
    for (size_t launch = 0; launch < launches_.size(); ++launch) {
      if (open_inputs[launch] == 0) ready.emplace(ranks_[launch], static_cast<int>(launch));
    }
    std::vector<CoverLaunch> sorted;
    sorted.reserve(launches_.size());
    std::vector<int> place(launches_.size(), -1);
    while (!ready.empty()) {
      const int launch = ready.top().second;
      ready.pop();
      place[launch] = static_cast<int>(sorted.size());
      sorted.push_back(launches_[launch]);
      std::vector<int>& predecessors = sorted.back().predecessors;
      for (const int producer : producers[launch]) predecessors.push_back(place[producer]);
      std::sort(predecessors.begin(), predecessors.end());
      for (const int reader : readers[launch]) {
        if (--open_inputs[reader] == 0) ready.emplace(ranks_[reader], reader);
      }
    }
    PLAIT_CHECK(sorted.size() == launches_.size());
    return sorted;
  }

 private:
  absl::InlinedVector<int, 4> ProducersOf(const CoverLaunch& launch) const {
    absl::InlinedVector<int, 4> producers;
    const auto read = [&](TensorId tensor, Format format) {
      const int producer = producers_[PlaceOf(tensor, format)];
      if (producer == kNobody) return;  // a graph input
      if (std::find(producers.begin(), producers.end(), producer) == producers.end()) {
        producers.push_back(producer);
      }
    };
    if (launch.group < 0) {
      read(launch.reordered, launch.from);
      return producers;
    }
    const CoverGroup& group = table_.groups[launch.group];
    for (size_t i = 0; i < group.inputs.size(); ++i) read(group.inputs[i], group.input_formats[i]);
    return producers;
  }

  const CoverTable& table_;
  std::vector<CoverLaunch> launches_;
  std::vector<int> ranks_;
  std::vector<int> producers_;  // by tensor and format: the launch that gives it
};

// By tensor and format: the first node of its first reader; kNoNode where there is none.
std::vector<NodeId> CollectReads(const Graph& graph, const CoverTable& table,
                                 const CoverOptions& options, absl::Span<const int> groups) {
  std::vector<NodeId> reads(size_t{kFormatCount} * graph.tensor_count(), kNoNode);
  const auto read = [&](TensorId tensor, Format format, NodeId reader) {
    NodeId& first = reads[PlaceOf(tensor, format)];
    if (first == kNoNode || reader < first) first = reader;
  };
  for (const int index : groups) {
    const CoverGroup& group = table.groups[index];
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      read(group.inputs[i], group.input_formats[i], group.nodes.front());
    }
  }
  if (options.free_boundary) return reads;
  for (const TensorId output : graph.outputs()) {
    if (graph.tensor(output).producer == kNoNode) continue;
    read(output, Format::kPlain, graph.node_count());
  }
  return reads;
}

FormatMask WantedOf(TensorId tensor, const std::vector<NodeId>& reads) {
  FormatMask wanted = 0;
  for (const Format format : kAllFormats) {
    if (reads[PlaceOf(tensor, format)] != kNoNode) wanted |= MaskOf(format);
  }
  return wanted;
}

std::vector<FormattedTensor> FormattedTensors(absl::Span<const TensorId> tensors,
                                              absl::Span<const Format> formats) {
  std::vector<FormattedTensor> formatted;
  for (size_t i = 0; i < tensors.size(); ++i) formatted.push_back({tensors[i], formats[i]});
  return formatted;
}

CoverStep StepOf(const KernelGroup& group, std::vector<int> predecessors) {
  return {.group = group,
          .inputs = FormattedTensors(group.inputs, group.input_formats),
          .outputs = FormattedTensors(group.outputs, group.output_formats),
          .predecessors = std::move(predecessors)};
}

}  // namespace

std::vector<CoverLaunch> LaunchesOf(const Graph& graph, const CoverTable& table,
                                    const CoverOptions& options, absl::Span<const int> groups) {
  LaunchSorter sorter(graph, table);
  std::vector<FormatMask> produced(graph.tensor_count(), 0);
  for (const int index : groups) {
    const CoverGroup& group = table.groups[index];
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      produced[group.outputs[i]] = MaskOf(group.output_formats[i]);
    }
    sorter.Add({.group = index, .latency_us = group.latency.At(options.width)},
               2 * group.nodes.front() + 1);
  }
  const std::vector<NodeId> reads = CollectReads(graph, table, options, groups);
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    const FormatMask wanted = WantedOf(tensor, reads);
    const bool is_given = produced[tensor] == 0;
    if (wanted == 0 || (is_given && options.free_boundary)) continue;
    const FormatMask first = is_given ? MaskOf(Format::kPlain) : produced[tensor];
    for (const Conversion& conversion :
         CheapestConversions(table, options.width, tensor, first, wanted)) {
      PLAIT_CHECK(conversion.can_run());  // the search has paid for it
      sorter.Add({.reordered = tensor,
                  .from = conversion.from,
                  .to = conversion.to,
                  .latency_us = conversion.latency_us},
                 2 * reads[PlaceOf(tensor, conversion.to)]);
    }
  }
  return sorter.Sort();
}

Cover MakeCover(const Graph& graph, const KernelTable& table, const CoverOptions& options,
                const std::vector<int>& groups) {
  Cover cover;
  for (const int index : groups) {
    cover.latency_us += LatencyUs(table.groups[index], options.width);
  }
  for (CoverLaunch& launch : LaunchesOf(graph, CoverTableOf(table), options, groups)) {
    const bool is_reorder = launch.group < 0;
    if (is_reorder) cover.latency_us += launch.latency_us;
    const KernelGroup& group = is_reorder
                                   ? *table.FindReorder(launch.reordered, launch.from, launch.to)
                                   : table.groups[launch.group];
    cover.steps.push_back(StepOf(group, std::move(launch.predecessors)));
  }
  return cover;
}

}  // namespace plait
