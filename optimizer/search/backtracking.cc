#include "optimizer/search/backtracking.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/cost/roofline.h"
#include "optimizer/ops/shared/op_spec.h"

// One node, %y = Tanh(%x), and two rules: Tanh(x) = Floor(Ceil(x)) and Floor(Ceil(x)) = Neg(x).
// Tanh takes 10 us, the pair 10.32 us, Neg 2 us.
//
//   expand Tanh (10)      finds the pair; 10.32 <= 1.05 * 10, so it waits in the queue
//   expand pair (10.32)   finds Neg (2), the new best
//   expand Neg (2)        finds nothing; the queue is empty, the search ends
//
// With a relaxation of 1 the pair is dropped and Neg is never seen. Steps are remembered as (rule,
// node), so that the way to Neg can be repeated in every region of the same structure. The cost is
// that of pricing: at most expanded_max times the matches of a graph, less what was visited before.

namespace plait {
namespace {

// A rewrite may grow a region to twice its size (TASO's bound) and a little more for tiny ones.
int NodesMax(const Graph& region) { return 2 * region.node_count() + 8; }

// Flops of a node that a rewrite would add, from its own types.
int64_t FlopsOfAdded(const Graph& graph, const Rewrite& rewrite, const Rewrite::NewNode& node,
                     absl::Span<const TensorType> added_types) {
  if (node.op == OpKind::kOpaque || SpecOf(node.op).work == nullptr) return 0;
  std::vector<TensorType> input_types;
  std::vector<const Tensor*> constants;
  for (const TensorId input : node.inputs) {
    const int constant = input - graph.tensor_count();
    const int output = constant - static_cast<int>(rewrite.constants.size());
    ConstantRef value;
    if (input == kNoTensor) {
      input_types.emplace_back();
    } else if (constant < 0) {
      input_types.push_back(graph.type(input));
      value = graph.tensor(input).constant;
    } else if (output < 0) {
      input_types.push_back(rewrite.constants[constant]->type());
      value = rewrite.constants[constant];
    } else {
      input_types.push_back(added_types[output]);
    }
    constants.push_back(value == nullptr ? nullptr : value->inline_value());
  }
  const OpCall call{*node.attributes, input_types, constants,
                    static_cast<int>(node.output_types.size())};
  return SpecOf(node.op).work(call, node.output_types).flops;
}

}  // namespace

Backtracking::Backtracking(Graph region, const BacktrackingOptions& options,
                           const SearchDevice& device)
    : options_(options),
      device_(device),
      region_(region),
      nodes_max_(NodesMax(region)),
      pricer_(device, options.cost_model, options.checks_prices) {
  visited_.insert(region.fingerprint());
  pending_.push_back({std::move(region), {}, {}, 0});
}

absl::Status Backtracking::Advance(int64_t nodes_max, std::vector<ProfileQuery>* missing) {
  const size_t missing_before = missing->size();
  int64_t nodes_left = nodes_max;
  while (!finished_ && nodes_left > 0 && missing->size() == missing_before) {
    if (next_match_ < matches_.size()) {
      PLAIT_RETURN_IF_ERROR(BuildNext(nodes_left));
    } else if (prices_.size() < pending_.size()) {
      PricePending(nodes_left, missing);
    } else {
      AcceptPending();
      const bool exhausted = queue_.empty() || expanded_ == options_.expanded_max;
      finished_ = exhausted || queue_.begin()->variant.latency_us > BestUs() * options_.relaxation;
      if (finished_) {
        Forget();
      } else {
        ExpandBest();
      }
    }
  }
  return absl::OkStatus();
}

void Backtracking::PricePending(int64_t& nodes_left, std::vector<ProfileQuery>* missing) {
  const size_t missing_before = missing->size();
  const PricedGraph* const parent = priced_parent_.has_value() ? &*priced_parent_ : nullptr;
  std::vector<RegionPrice> prices;
  for (size_t i = prices_.size(); i < pending_.size() && nodes_left > 0; ++i) {
    const Graph& graph = pending_[i].graph;
    prices.push_back(pricer_.PriceOf(graph, parent, missing));
    nodes_left -= graph.node_count();
  }
  if (missing->size() == missing_before) {
    prices_.insert(prices_.end(), std::make_move_iterator(prices.begin()),
                   std::make_move_iterator(prices.end()));
  }
}

void Backtracking::Conclude(int64_t nodes_max) {
  if (finished_) return;
  int64_t nodes_left = nodes_max;
  while (prices_.size() < pending_.size() && nodes_left > 0) {
    const Graph& graph = pending_[prices_.size()].graph;
    prices_.push_back({KnownRegionCostUs(graph, device_, options_.cost_model), nullptr});
    nodes_left -= graph.node_count();
  }
  is_cut_short_ = true;
  waiting_ = static_cast<int64_t>(pending_.size() - prices_.size());
  AcceptPending();
  waiting_ += static_cast<int64_t>(queue_.size() + matches_.size() - next_match_);
  finished_ = true;
  Forget();
}

void Backtracking::Forget() {
  queue_.clear();
  visited_.clear();
  priced_parent_.reset();
}

void Backtracking::AcceptPending() {
  for (size_t i = 0; i < prices_.size(); ++i) {
    if (!prices_[i].cost_us.has_value()) continue;
    ++candidates_;
    pending_[i].latency_us = *prices_[i].cost_us;
    Accept(std::move(pending_[i]), std::move(prices_[i].kernels));
  }
  pending_.clear();
  prices_.clear();
}

void Backtracking::Accept(RegionVariant variant, std::shared_ptr<const GraphKernels> kernels) {
  const Entry entry{std::move(variant), discovered_++, std::move(kernels)};
  if (!best_.empty() && entry.variant.latency_us > BestUs() * options_.relaxation) return;
  queue_.insert(entry);
  if (static_cast<int>(queue_.size()) > options_.queue_max) queue_.erase(std::prev(queue_.end()));
  KeepIfBest(entry);
}

void Backtracking::KeepIfBest(const Entry& entry) {
  const std::vector<int> rules = RulesOf(entry.variant.steps);
  const auto same_rules = std::find_if(best_.begin(), best_.end(), [&](const Entry& other) {
    return RulesOf(other.variant.steps) == rules;
  });
  if (same_rules != best_.end()) {
    if (!(entry < *same_rules)) return;
    best_.erase(same_rules);
  }
  best_.insert({entry.variant, entry.number, nullptr});
  if (static_cast<int>(best_.size()) <= options_.variants_max) return;
  // Beside the best the region itself stays: it does without each rule.
  auto dropped = std::prev(best_.end());
  if (dropped->variant.steps.empty() && best_.size() > 2) --dropped;
  best_.erase(dropped);
}

void Backtracking::ExpandBest() {
  Entry best = std::move(queue_.extract(queue_.begin()).value());
  parent_ = std::move(best.variant);
  priced_parent_.emplace(parent_.graph, std::move(best.kernels));
  ++expanded_;
  parent_flops_ = 0;
  for (NodeId node = 0; node < parent_.graph.node_count(); ++node) {
    parent_flops_ += WorkOf(parent_.graph, node).flops;
  }
  matches_ = MatchIndex(parent_.graph).FindMatches(options_.rules);
  next_match_ = 0;
}

absl::Status Backtracking::BuildNext(int64_t& nodes_left) {
  const Match& match = matches_[next_match_++];
  if (CannotPay(parent_.graph, parent_flops_, match.rewrite)) return absl::OkStatus();
  nodes_left -= parent_.graph.node_count();
  PLAIT_ASSIGN_OR_RETURN(const Graph applied,
                         ApplyRule(parent_.graph, options_.rules, match.rule, match.rewrite));
  // Rewrites that do not touch meet in one graph whatever their order, mostly before it is brought
  // into normal form, which costs more than applying them does.
  if (!visited_.insert(applied.fingerprint()).second) return absl::OkStatus();
  RegionVariant child;
  child.counts = parent_.counts;
  ++child.counts[std::string(options_.rules[match.rule]->name)];
  PLAIT_ASSIGN_OR_RETURN(child.graph, Canonicalize(applied, options_.rules, &child.counts));
  if (child.graph.node_count() > nodes_max_) return absl::OkStatus();
  const bool has_changed = child.graph.fingerprint() != applied.fingerprint();
  if (has_changed && !visited_.insert(child.graph.fingerprint()).second) return absl::OkStatus();
  child.steps = parent_.steps;
  child.steps.push_back({match.rule, match.node, match.choice});
  pending_.push_back(std::move(child));
  return absl::OkStatus();
}

// The test before a graph is built: were every node that goes to take all of the parent's time with
// it, the arithmetic of those that come would still cost too much at the best rate seen. Kernels of
// the region's own nodes have been measured by then, so a rewrite would have to raise that rate.
bool Backtracking::CannotPay(const Graph& parent, int64_t parent_flops,
                             const Rewrite& rewrite) const {
  const Roofline roofline{.flops_per_us = device_.profiles.peak_flops_per_us()};
  Work kept{.flops = parent_flops};
  for (const NodeId node : rewrite.removed) kept.flops -= WorkOf(parent, node).flops;
  std::vector<TensorType> added_types;
  for (const Rewrite::NewNode& node : rewrite.added) {
    kept.flops += FlopsOfAdded(parent, rewrite, node, added_types);
    added_types.insert(added_types.end(), node.output_types.begin(), node.output_types.end());
  }
  return roofline.ComputeUs(kept) > BestUs() * options_.relaxation;
}

std::vector<RegionVariant> Backtracking::BestVariants() const {
  std::vector<RegionVariant> variants;
  for (const Entry& entry : best_) variants.push_back(entry.variant);
  if (variants.empty()) {
    variants.push_back({region_, {}, {}, std::numeric_limits<double>::infinity()});
  }
  return variants;
}

}  // namespace plait
