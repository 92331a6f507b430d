#include "optimizer/cover/cover_steps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/cover/conversions.h"

namespace plait {
namespace {

// Sorts steps that wait for each other: Kahn's algorithm, lowest rank first.
class StepSorter {
 public:
  // Ranks are twice the first node of a kernel plus one, and twice that of its first reader for a
  // reorder, which so runs right before it.
  void Add(CoverStep step, int rank) {
    for (const FormattedTensor& output : step.outputs) {
      producers_[output] = static_cast<int>(steps_.size());
    }
    steps_.push_back(std::move(step));
    ranks_.push_back(rank);
  }

  std::vector<CoverStep> Sort() {
    std::vector<std::vector<int>> readers(steps_.size());
    std::vector<int> open_inputs(steps_.size(), 0);
    for (size_t step = 0; step < steps_.size(); ++step) {
      for (const int producer : ProducersOf(step)) {
        readers[producer].push_back(static_cast<int>(step));
        ++open_inputs[step];
      }
    }
    using Ranked = std::pair<int, int>;
    std::priority_queue<Ranked, std::vector<Ranked>, std::greater<Ranked>> ready;
    for (size_t step = 0; step < steps_.size(); ++step) {
      if (open_inputs[step] == 0) ready.emplace(ranks_[step], static_cast<int>(step));
    }
    std::vector<CoverStep> sorted;
    std::vector<int> place(steps_.size(), -1);
    while (!ready.empty()) {
      const int step = ready.top().second;
      ready.pop();
      place[step] = static_cast<int>(sorted.size());
      std::vector<int> predecessors;
      for (const int producer : ProducersOf(step)) predecessors.push_back(place[producer]);
      std::sort(predecessors.begin(), predecessors.end());
      steps_[step].predecessors = std::move(predecessors);
      sorted.push_back(steps_[step]);
      for (const int reader : readers[step]) {
        if (--open_inputs[reader] == 0) ready.emplace(ranks_[reader], reader);
      }
    }
    PLAIT_CHECK(sorted.size() == steps_.size());
    return sorted;
  }

 private:
  std::vector<int> ProducersOf(size_t step) const {
    std::vector<int> producers;
    for (const FormattedTensor& input : steps_[step].inputs) {
      const auto found = producers_.find(input);
      if (found == producers_.end()) continue;  // a graph input
      if (std::find(producers.begin(), producers.end(), found->second) == producers.end()) {
        producers.push_back(found->second);
      }
    }
    return producers;
  }

  std::vector<CoverStep> steps_;
  std::vector<int> ranks_;
  std::map<FormattedTensor, int> producers_;
};

CoverStep StepOf(const KernelGroup& group) {
  CoverStep step;
  step.group = group;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    step.inputs.push_back({group.inputs[i], group.input_formats[i]});
  }
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    step.outputs.push_back({group.outputs[i], group.output_formats[i]});
  }
  return step;
}

// Every tensor and format that is read, with the first node of its first reader.
std::map<FormattedTensor, NodeId> CollectReads(const Graph& graph, const KernelTable& table,
                                               const CoverOptions& options,
                                               const std::vector<int>& groups) {
  std::map<FormattedTensor, NodeId> reads;
  for (const int index : groups) {
    const KernelGroup& group = table.groups[index];
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      const FormattedTensor read{group.inputs[i], group.input_formats[i]};
      const auto [place, is_new] = reads.emplace(read, group.nodes.front());
      if (!is_new) place->second = std::min(place->second, group.nodes.front());
    }
  }
  if (options.free_boundary) return reads;
  for (const TensorId output : graph.outputs()) {
    if (graph.tensor(output).producer == kNoNode) continue;
    reads.emplace(FormattedTensor{output, Format::kPlain}, graph.node_count());
  }
  return reads;
}

}  // namespace

Cover MakeCover(const Graph& graph, const KernelTable& table, const CoverOptions& options,
                const std::vector<int>& groups) {
  Cover cover;
  StepSorter sorter;
  std::map<TensorId, Format> produced;
  for (const int index : groups) {
    const KernelGroup& group = table.groups[index];
    cover.latency_us += LatencyUs(group, options.width);
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      produced[group.outputs[i]] = group.output_formats[i];
    }
    sorter.Add(StepOf(group), 2 * group.nodes.front() + 1);
  }
  const std::map<FormattedTensor, NodeId> reads = CollectReads(graph, table, options, groups);
  std::map<TensorId, FormatMask> wanted;
  for (const auto& [read, reader] : reads) wanted[read.tensor] |= MaskOf(read.format);
  for (const auto& [tensor, formats] : wanted) {
    const auto found = produced.find(tensor);
    if (found == produced.end() && options.free_boundary) continue;
    const Format first = found == produced.end() ? Format::kPlain : found->second;
    for (const Conversion& conversion :
         CheapestConversions(table, options.width, tensor, MaskOf(first), formats)) {
      PLAIT_CHECK(conversion.reorder != nullptr);  // the search has paid for it
      cover.latency_us += conversion.latency_us;
      const FormattedTensor result{tensor, conversion.reorder->output_formats[0]};
      sorter.Add(StepOf(*conversion.reorder), 2 * reads.at(result));
    }
  }
  cover.steps = sorter.Sort();
  return cover;
}

}  // namespace plait
