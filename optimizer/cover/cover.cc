#include "optimizer/cover/cover.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/cover/conversions.h"
#include "optimizer/cover/cover_state.h"
#include "optimizer/cover/cover_steps.h"
#include "optimizer/cover/shorten_path.h"

// A chain of three nodes; alone each takes 10 us, 0 and 1 fused 12, 1 and 2 fused 15. States by the
// first open node: at 1 one of 10 us; at 2 two, {0}{1} with 20 and {0,1} with 12, of which the
// cheaper stays because their futures are equal; at 3 {0,1}{2} with 22 and {0}{1,2} with 25, so 22
// wins.
//
// Now let the kernel of {0,1} write channels_last, and let those of 2 read plain, with a reorder of
// 4 us between. The futures at 2 differ in the format that exists, so both states stay, and
// {0,1}{2} costs 26: {0}{1,2} wins with 25. A kernel that covers a node ahead of an open one leaves
// that node in the state's `ahead`, so kernels need not be intervals.
//
// Where the times of some kernels are unknown the best states may all lead nowhere: each holds some
// tensor in channels_last, the next kernel reads plain, and no reorder was measured. Then the
// search runs again and keeps, beside the best states, the best of those whose tensors all exist in
// plain: it can go on by plain kernels of single nodes, which every node has.
//
// O(N * states_max * kernels per node) extensions; each copies the live tensors, and where a node
// ahead is covered, for a set of several nodes looks at the nodes up to that. Of the past only
// choices are kept.

namespace plait {
namespace {

class CoverSearch {
 public:
  CoverSearch(const Graph& graph, const CoverTable& table, const CoverOptions& options)
      : graph_(graph),
        table_(table),
        options_(options),
        positions_(graph.node_count() + 1),
        is_convex_(table.groups.size()),
        seen_in_walk_(graph.node_count(), 0) {
    single_us_.reserve(graph.node_count());
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      double best_us = kNever;
      for (int group = table.first_group_at[node]; group < table.first_group_at[node + 1];
           ++group) {
        if (table.groups[group].nodes.size() == 1) {
          best_us = std::min(best_us, CostUs(table.groups[group]));
        }
      }
      single_us_.push_back(best_us == kNever ? 0 : best_us);
    }
  }

  // The indices of the chosen groups, or an error.
  absl::StatusOr<std::vector<int>> Run() {
    const std::vector<CoverState>& complete = positions_[graph_.node_count()];
    Walk();
    if (complete.empty() && stuck_ == kNoNode) {
      keeps_plain_ = true;
      Walk();
    }
    if (complete.empty()) return NothingCovers();
    const CoverState& best = complete[BestOf(complete).front()];
    std::vector<int> groups;
    // Back to the state before any choice, which a graph without nodes ends with.
    for (Choice last = {best.parent, best.group}; last.group >= 0; last = choices_[last.parent]) {
      groups.push_back(last.group);
    }
    std::reverse(groups.begin(), groups.end());
    return groups;
  }

 private:
  // A group that some kept state has chosen, and its choice before; -1 for none.
  struct Choice {
    int parent;
    int group;
  };

  double CostUs(const CoverGroup& group) const { return group.cost.At(options_.width); }

  // From the state before any choice to those that cover the graph, if there are any.
  void Walk() {
    choices_.clear();
    positions_[0].emplace_back();
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      // States are dropped behind their position: what stays of one is the choice that led to it.
      const std::vector<CoverState> states = std::exchange(positions_[node], {});
      if (states.empty()) continue;
      const int first = table_.first_group_at[node];
      const int past = table_.first_group_at[node + 1];
      if (stuck_ == kNoNode && first == past) stuck_ = node;
      for (const size_t place : BestOf(states)) {
        const CoverState& state = states[place];
        choices_.push_back({state.parent, state.group});
        for (int group = first; group < past; ++group) Extend(state, node, group);
      }
    }
  }

  // Whether what is live exists in plain or may come in it, so that plain kernels can follow.
  static bool CanGoOnInPlain(const CoverState& state) {
    return std::all_of(state.live.begin(), state.live.end(), [](const LiveTensor& live) {
      if (live.available != 0) return Has(live.available, Format::kPlain);
      return (live.demanded & ~MaskOf(Format::kPlain)) == 0;
    });
  }

  // Of states with the same future only the cheapest stay, and of those the best few, best first. A
  // state that has covered more nodes ahead has paid for them already, so it is ranked without
  // their usual price.
  std::vector<size_t> BestOf(const std::vector<CoverState>& states) {
    order_.clear();
    for (size_t i = 0; i < states.size(); ++i) {
      order_.emplace_back(states[i].latency_us - states[i].ahead_us, i);
    }
    std::sort(order_.begin(), order_.end());
    std::vector<size_t> kept;
    for (const auto& [rank_us, place] : order_) {
      const CoverState& state = states[place];
      const bool known = std::any_of(kept.begin(), kept.end(),
                                     [&](size_t other) { return state.SameFuture(states[other]); });
      if (known) continue;
      kept.push_back(place);
      if (static_cast<int>(kept.size()) == options_.states_max) break;
    }
    if (keeps_plain_) KeepPlain(states, kept);
    return kept;
  }

  // Adds the best of the states that can go on in plain, unless one is kept. REQUIRES: order_ is
  // that of `states`.
  void KeepPlain(const std::vector<CoverState>& states, std::vector<size_t>& kept) const {
    const auto can_go_on = [&](size_t place) { return CanGoOnInPlain(states[place]); };
    if (std::any_of(kept.begin(), kept.end(), can_go_on)) return;
    const auto best = std::find_if(order_.begin(), order_.end(), [&](const auto& ranked) {
      return CanGoOnInPlain(states[ranked.second]);
    });
    if (best != order_.end()) kept.push_back(best->second);
  }

  absl::Status NothingCovers() const {
    if (stuck_ != kNoNode) {
      const Node& stuck = graph_.node(stuck_);
      return absl::FailedPreconditionError(absl::StrCat(
          stuck.name == nullptr ? absl::StrCat("node ", stuck_) : *stuck.name, " (",
          std::string(OpKindName(stuck.op)), "): the device has no kernel that could be measured"));
    }
    return absl::FailedPreconditionError(
        "no choice of the device's kernels runs every node exactly once");
  }

  bool IsCovered(const CoverState& state, NodeId first_open, NodeId node) const {
    return node < first_open || std::binary_search(state.ahead.begin(), state.ahead.end(), node);
  }

  // The state after covering `node`, the first open one, by `group`; dropped when impossible. The
  // last choice is that which led to `parent`.
  void Extend(const CoverState& parent, NodeId node, int group_index) {
    const CoverGroup& group = table_.groups[group_index];
    for (const NodeId member : group.nodes) {
      if (IsCovered(parent, node, member)) return;
    }
    if (group.nodes.size() > 1 && WaitsForItself(parent, node, group_index)) return;
    CoverState next = parent;
    next.parent = static_cast<int>(choices_.size()) - 1;
    next.group = group_index;
    next.latency_us += CostUs(group);
    for (const NodeId member : group.nodes) {
      if (member == node) continue;
      next.ahead.insert(std::lower_bound(next.ahead.begin(), next.ahead.end(), member), member);
      next.ahead_us += single_us_[member];
    }
    NodeId first_open = node + 1;
    while (!next.ahead.empty() && next.ahead.front() == first_open) {
      next.ahead_us -= single_us_[first_open];
      next.ahead.erase(next.ahead.begin());
      ++first_open;
    }
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      Read(next, group.inputs[i], group.input_formats[i]);
    }
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      Produce(next, group.outputs[i], group.output_formats[i]);
    }
    if (next.latency_us == kNever) return;
    for (const TensorId input : group.inputs) ForgetIfSettled(next, first_open, input);
    for (const TensorId output : group.outputs) ForgetIfSettled(next, first_open, output);
    positions_[first_open].push_back(std::move(next));
  }

  // What is known about a tensor that no covered kernel has touched.
  LiveTensor Untouched(TensorId tensor) const {
    LiveTensor fresh{tensor, 0, 0};
    if (graph_.tensor(tensor).producer == kNoNode) {
      fresh.available = options_.free_boundary ? kAnyFormat : MaskOf(Format::kPlain);
    } else if (graph_.is_output(tensor) && !options_.free_boundary) {
      fresh.demanded = MaskOf(Format::kPlain);
    }
    return fresh;
  }

  // Where the tensor is among the live ones, or has to be put.
  static LiveTensors::iterator PlaceOf(CoverState& state, TensorId tensor) {
    return std::lower_bound(
        state.live.begin(), state.live.end(), tensor,
        [](const LiveTensor& live, TensorId wanted) { return live.tensor < wanted; });
  }

  LiveTensor& Touch(CoverState& state, TensorId tensor) const {
    auto place = PlaceOf(state, tensor);
    if (place == state.live.end() || place->tensor != tensor) {
      place = state.live.insert(place, Untouched(tensor));
    }
    return *place;
  }

  void Read(CoverState& state, TensorId tensor, Format format) const {
    LiveTensor& live = Touch(state, tensor);
    if (live.available == 0) {
      live.demanded |= MaskOf(format);
    } else if (!Has(live.available, format)) {
      state.latency_us +=
          CheapestConversion(table_, options_.width, tensor, live.available, format).latency_us;
      live.available |= MaskOf(format);
    }
  }

  void Produce(CoverState& state, TensorId tensor, Format format) const {
    LiveTensor& live = Touch(state, tensor);
    for (const Conversion& conversion :
         CheapestConversions(table_, options_.width, tensor, MaskOf(format), live.demanded)) {
      state.latency_us += conversion.latency_us;
    }
    live.available = MaskOf(format) | live.demanded;
    live.demanded = 0;
  }

  // Drops a tensor that no longer distinguishes futures: one whose readers are all covered. Only
  // those that a group reads and writes can have come to that by it.
  void ForgetIfSettled(CoverState& state, NodeId first_open, TensorId tensor) const {
    const auto place = PlaceOf(state, tensor);
    if (place == state.live.end() || place->tensor != tensor) return;
    const auto is_settled = [&](const LiveTensor& live) {
      if (live == Untouched(tensor)) return true;
      if (live.available == 0) return false;
      const absl::Span<const NodeId> users = graph_.users(tensor);
      return std::all_of(users.begin(), users.end(),
                         [&](NodeId user) { return IsCovered(state, first_open, user); });
    };
    if (is_settled(*place)) state.live.erase(place);
  }

  // The nodes that run together with `node` in the partial cover that the last choice ends: itself
  // when it is uncovered. Otherwise the group is among the last choices, since groups are chosen in
  // the order of their first nodes.
  absl::Span<const NodeId> RunTogether(const CoverState& state, NodeId first_open,
                                       const NodeId& node) const {
    if (IsCovered(state, first_open, node)) {
      int choice = static_cast<int>(choices_.size()) - 1;
      for (; choices_[choice].group >= 0; choice = choices_[choice].parent) {
        const absl::Span<const NodeId> nodes = table_.groups[choices_[choice].group].nodes;
        if (std::binary_search(nodes.begin(), nodes.end(), node)) return nodes;
      }
    }
    return absl::MakeConstSpan(&node, 1);
  }

  // True when the group, run as one, would wait for its own output. Either through a node outside
  // of it: the set is not convex, whatever else is covered. Or through another group of the partial
  // cover, one of whose nodes comes ahead of the first open one.
  bool WaitsForItself(const CoverState& state, NodeId first_open, int group) {
    std::optional<bool>& is_convex = is_convex_[group];
    const absl::Span<const NodeId> members = table_.groups[group].nodes;
    if (!is_convex.has_value()) {
      is_convex = !PathLeadsBack(members, members.back(),
                                 [](const NodeId& node) { return absl::MakeConstSpan(&node, 1); });
    }
    if (!*is_convex) return true;
    if (state.ahead.empty()) return false;
    return PathLeadsBack(members, std::max(members.back(), state.ahead.back()),
                         [&](const NodeId& node) { return RunTogether(state, first_open, node); });
  }

  // Whether a path leaves the members and comes back, where a node takes along those that run
  // together with it. Behind `limit`, the last node that matters, paths only lead away.
  template <typename Together>
  bool PathLeadsBack(absl::Span<const NodeId> members, NodeId limit, Together together) {
    const auto is_member = [&](NodeId node) {
      return std::binary_search(members.begin(), members.end(), node);
    };
    ++walk_;
    std::vector<NodeId> open;
    const auto push_users = [&](NodeId node) {
      for (const TensorId output : graph_.node(node).outputs) {
        if (output == kNoTensor) continue;
        for (const NodeId user : graph_.users(output)) {
          if (user > limit || seen_in_walk_[user] == walk_) continue;
          seen_in_walk_[user] = walk_;
          open.push_back(user);
        }
      }
    };
    for (const NodeId member : members) push_users(member);
    // Steps inside the group are no way out of it.
    open.erase(std::remove_if(open.begin(), open.end(), is_member), open.end());
    for (const NodeId member : members) seen_in_walk_[member] = 0;
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      if (is_member(node)) return true;
      for (const NodeId other : together(node)) push_users(other);
    }
    return false;
  }

  const Graph& graph_;
  const CoverTable& table_;
  const CoverOptions& options_;
  std::vector<std::vector<CoverState>> positions_;  // per first open node
  std::vector<Choice> choices_;                     // of the states that were kept
  std::vector<std::pair<double, size_t>> order_;    // of states by rank; kept for its memory
  NodeId stuck_ = kNoNode;         // the first one that states came to and no kernel runs
  bool keeps_plain_ = false;       // see CanGoOnInPlain
  std::vector<double> single_us_;  // per node: its cheapest one-node kernel
  std::vector<std::optional<bool>> is_convex_;  // per group, as far as asked
  std::vector<int> seen_in_walk_;               // per node: the number of a walk
  int walk_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<int>> ChooseGroups(const Graph& graph, const CoverTable& table,
                                              const CoverOptions& options) {
  return CoverSearch(graph, table, options).Run();
}

absl::StatusOr<Cover> FindCover(const Graph& graph, const KernelTable& table,
                                const CoverOptions& options) {
  const CoverTable slim = CoverTableOf(table);
  PLAIT_ASSIGN_OR_RETURN(std::vector<int> groups, ChooseGroups(graph, slim, options));
  groups = ShortenPath(graph, slim, {options.width, options.launch_gap_us, options.streams},
                       std::move(groups));
  return MakeCover(graph, table, options, groups);
}

}  // namespace plait
