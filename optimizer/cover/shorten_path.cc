#include "optimizer/cover/shorten_path.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/status_macros.h"
#include "optimizer/cost/critical_path_cost.h"

// Let s = a + b, where a and b are convolutions of 10 us, and b is one of what another of 5 us
// makes. In sum it is the same, 25 us, whichever takes the sum along. But where the kernel of a
// does, it waits for b, and ends after 5 + 10 + 10 us; where that of b does, after 10 + 10. So the
// pair of groups in which a adds is exchanged for that in which b does. It need not be
// convolutions.

namespace plait {
namespace {

// What an exchange has to gain, so that rounding makes none.
constexpr double kGainUs = 1e-6;
// How many groups are looked at, in all paths that are measured: a second or two.
constexpr int64_t kLooksMax = 20'000'000;

// What a group waits for: the place of another, and a reorder between the two.
struct Wait {
  int place = 0;
  double reorder_us = 0;
};

// A group in its place of a path: what lies before it and behind it, itself in both.
struct Reach {
  double head_us = 0;
  double tail_us = 0;
};

struct Paths {
  PathCost cost;
  // Of all groups, the longest paths through each. Where several paths are as long as the longest,
  // making one of them shorter lowers this alone.
  double through_us = 0;
  std::vector<Reach> reach;  // by place of the group
};

class PathShortener {
 public:
  PathShortener(const Graph& graph, const CoverTable& table, const PathOptions& options,
                std::vector<int> groups)
      : graph_(graph),
        table_(table),
        options_(options),
        groups_(std::move(groups)),
        place_of_(graph.node_count(), -1) {
    for (size_t group = 0; group < table.groups.size(); ++group) {
      const absl::Span<const NodeId> nodes = table.groups[group].nodes;
      by_nodes_[{nodes.begin(), nodes.end()}].push_back(static_cast<int>(group));
    }
  }

  std::vector<int> Run() {
    std::optional<Paths> paths = Measure();
    PLAIT_CHECK(paths.has_value());  // no group waits for itself
    for (bool exchanged = true; exchanged;) {
      exchanged = false;
      for (size_t reader = 0; reader < groups_.size(); ++reader) {
        if (ExchangeAt(static_cast<int>(reader), &*paths)) exchanged = true;
      }
    }
    return std::move(groups_);
  }

 private:
  using Waits = absl::InlinedVector<Wait, 4>;

  // With the price of what is lost, as a cover has it.
  double Us(int group) const {
    return table_.groups[group].cost.At(options_.width) + options_.launch_gap_us;
  }

  bool IsBetter(const Paths& one, const Paths& other) const {
    const double gain_us =
        other.cost.ParallelBoundUs(options_.streams) - one.cost.ParallelBoundUs(options_.streams);
    if (std::abs(gain_us) > kGainUs) return gain_us > 0;
    return one.through_us < other.through_us - kGainUs;
  }

  // 0 where the formats agree, or where another reorder than that between them is taken.
  double ReorderUs(TensorId tensor, Format from, Format to) const {
    if (from == to) return 0;
    const double us = table_.ReorderUs(tensor, from, to, options_.width);
    return std::isfinite(us) ? us + options_.launch_gap_us : 0;
  }

  // Graphs are read and written row-major.
  double FrontUs(const CoverGroup& group) const {
    double us = 0;
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      if (graph_.tensor(group.inputs[i]).producer != kNoNode) continue;
      us = std::max(us, ReorderUs(group.inputs[i], Format::kPlain, group.input_formats[i]));
    }
    return us;
  }
  double BackUs(const CoverGroup& group) const {
    double us = 0;
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      if (!graph_.is_output(group.outputs[i])) continue;
      us = std::max(us, ReorderUs(group.outputs[i], group.output_formats[i], Format::kPlain));
    }
    return us;
  }

  Format FormatOf(TensorId tensor, const CoverGroup& producer) const {
    const auto output = std::find(producer.outputs.begin(), producer.outputs.end(), tensor);
    PLAIT_CHECK(output != producer.outputs.end());
    return producer.output_formats[output - producer.outputs.begin()];
  }

  Waits WaitsOf(int group) const {
    Waits waits;
    const CoverGroup& reader = table_.groups[group];
    for (size_t i = 0; i < reader.inputs.size(); ++i) {
      const NodeId producer = graph_.tensor(reader.inputs[i]).producer;
      if (producer == kNoNode) continue;
      const int place = place_of_[producer];
      const Format written = FormatOf(reader.inputs[i], table_.groups[groups_[place]]);
      waits.push_back({place, ReorderUs(reader.inputs[i], written, reader.input_formats[i])});
    }
    return waits;
  }

  void NotePlaces() {
    for (size_t place = 0; place < groups_.size(); ++place) {
      for (const NodeId node : table_.groups[groups_[place]].nodes) {
        place_of_[node] = static_cast<int>(place);
      }
    }
  }

  // nullopt: groups wait for each other in a circle.
  std::optional<Paths> Measure() {
    const size_t count = groups_.size();
    looks_ += static_cast<int64_t>(count);
    NotePlaces();
    // By place: those that wait for it, once for each tensor.
    std::vector<Waits> readers(count);
    std::vector<int> open_inputs(count);
    std::vector<int> order;
    for (size_t place = 0; place < count; ++place) {
      const Waits waits = WaitsOf(groups_[place]);
      for (const Wait& wait : waits) {
        readers[wait.place].push_back({static_cast<int>(place), wait.reorder_us});
      }
      open_inputs[place] = static_cast<int>(waits.size());
      if (waits.empty()) order.push_back(static_cast<int>(place));
    }
    return MeasureInOrder(readers, std::move(open_inputs), std::move(order));
  }

  // `order` begins with the places that wait for none.
  std::optional<Paths> MeasureInOrder(absl::Span<const Waits> readers, std::vector<int> open_inputs,
                                      std::vector<int> order) const {
    Paths paths;
    paths.reach.resize(groups_.size());
    for (size_t next = 0; next < order.size(); ++next) {
      const CoverGroup& group = table_.groups[groups_[order[next]]];
      Reach& reach = paths.reach[order[next]];
      const double us = Us(groups_[order[next]]);
      reach.head_us = std::max(reach.head_us, FrontUs(group)) + us;
      paths.cost.total_us += us;
      for (const Wait& reader : readers[order[next]]) {
        double& head_us = paths.reach[reader.place].head_us;
        head_us = std::max(head_us, reach.head_us + reader.reorder_us);
        if (--open_inputs[reader.place] == 0) order.push_back(reader.place);
      }
    }
    if (order.size() < groups_.size()) return std::nullopt;
    for (auto place = order.rbegin(); place != order.rend(); ++place) {
      Reach& reach = paths.reach[*place];
      reach.tail_us = BackUs(table_.groups[groups_[*place]]);
      for (const Wait& reader : readers[*place]) {
        reach.tail_us =
            std::max(reach.tail_us, paths.reach[reader.place].tail_us + reader.reorder_us);
      }
      paths.through_us += reach.head_us + reach.tail_us;
      paths.cost.critical_us = std::max(paths.cost.critical_us, reach.head_us + reach.tail_us);
      reach.tail_us += Us(groups_[*place]);
    }
    return paths;
  }

  // Exchanges a group on the longest path with one that it waits for; false: that gains nothing.
  bool ExchangeAt(int reader, Paths* paths) {
    const Reach& reach = paths->reach[reader];
    const double through_us = reach.head_us + reach.tail_us - Us(groups_[reader]);
    if (through_us < paths->cost.critical_us - kGainUs) return false;
    for (const Wait& wait : WaitsOf(groups_[reader])) {
      if (ExchangePair(reader, wait.place, paths)) return true;
    }
    return false;
  }

  bool ExchangePair(int reader, int producer, Paths* paths) {
    const std::pair<int, int> old = {groups_[reader], groups_[producer]};
    const std::vector<std::pair<int, int>> pairs = PairsLike(old.first, old.second);
    if (pairs.empty() || looks_ >= kLooksMax) return false;
    for (const auto& [first, second] : pairs) {
      groups_[reader] = first;
      groups_[producer] = second;
      std::optional<Paths> changed = Measure();
      if (changed.has_value() && IsBetter(*changed, *paths)) {
        *paths = *std::move(changed);
        return true;
      }
    }
    groups_[reader] = old.first;
    groups_[producer] = old.second;
    NotePlaces();
    return false;
  }

  // Pairs of groups with the nodes of the two, which read and write in the same formats.
  std::vector<std::pair<int, int>> PairsLike(int one, int other) const {
    const CoverGroup& a = table_.groups[one];
    const CoverGroup& b = table_.groups[other];
    std::vector<NodeId> all;
    std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
               std::back_inserter(all));
    std::vector<std::pair<int, int>> pairs;
    for (int first = table_.first_group_at[all[0]]; first < table_.first_group_at[all[0] + 1];
         ++first) {
      const absl::Span<const NodeId> nodes = table_.groups[first].nodes;
      if (!std::includes(all.begin(), all.end(), nodes.begin(), nodes.end())) continue;
      std::vector<NodeId> rest;
      std::set_difference(all.begin(), all.end(), nodes.begin(), nodes.end(),
                          std::back_inserter(rest));
      const auto found = by_nodes_.find(rest);
      if (found == by_nodes_.end() || nodes == a.nodes || nodes == b.nodes) continue;
      for (const int second : found->second) {
        if (AreLike(one, other, first, second)) pairs.emplace_back(first, second);
      }
    }
    return pairs;
  }

  using Formats = absl::flat_hash_map<TensorId, Format>;

  // False: a tensor has another format already.
  static bool AddFormats(const CoverGroup& group, Formats* formats) {
    const auto add = [&](TensorId tensor, Format format) {
      return formats->try_emplace(tensor, format).first->second == format;
    };
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      if (!add(group.inputs[i], group.input_formats[i])) return false;
    }
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      if (!add(group.outputs[i], group.output_formats[i])) return false;
    }
    return true;
  }

  bool AreLike(int one, int other, int first, int second) const {
    Formats formats;
    for (const int group : {one, other, first, second}) {
      if (!AddFormats(table_.groups[group], &formats)) return false;
    }
    return true;
  }

  const Graph& graph_;
  const CoverTable& table_;
  const PathOptions& options_;
  std::vector<int> groups_;
  std::vector<int> place_of_;  // by node: of its group in groups_
  absl::flat_hash_map<std::vector<NodeId>, absl::InlinedVector<int, 4>> by_nodes_;
  int64_t looks_ = 0;
};

}  // namespace

std::vector<int> ShortenPath(const Graph& graph, const CoverTable& table,
                             const PathOptions& options, std::vector<int> groups) {
  if (options.streams <= 1) return groups;
  return PathShortener(graph, table, options, std::move(groups)).Run();
}

}  // namespace plait
