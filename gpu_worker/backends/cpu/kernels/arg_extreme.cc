#include <algorithm>
#include <functional>
#include <iterator>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/element_types.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// What is looked for in the middle axis of [outer, size, inner].
struct Extreme {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  bool largest = true;
  bool last = false;
};

// Of float32, in rows of neighbours the extreme is found first and then its place, both by vectors.
// Where columns lie side by side, pieces of 64 of them keep their best and its place in the
// first-level cache while the rows pass by.
template <typename Element>
class ArgExtremeKernel : public CpuKernel {
 public:
  using Stored = typename Element::Stored;
  using Ordered = typename Element::Ordered;

  // What is wanted of an extreme, the other being nullptr.
  struct Found {
    int64_t* places = nullptr;
    Stored* ones = nullptr;  // 1 where an extreme is, and 0 elsewhere, as Hardmax gives
  };

  ArgExtremeKernel(int width, const Extreme& extreme, const Stored* source, const Found& found)
      : width_(width), extreme_(extreme), source_(source), found_(found) {}

  absl::Status Run() override {
    const int64_t pieces = CeilDiv(extreme_.inner, kPiece);
    ForEachPart(width_, extreme_.outer * pieces, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        if (extreme_.inner == 1) {
          Write(i, 0, {FindInRow(source_ + i * extreme_.size)});
        } else {
          const int64_t first = i % pieces * kPiece;
          FindInColumns(i / pieces, first, std::min(kPiece, extreme_.inner - first));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kPiece = 64;
  static constexpr bool kHasLoops = std::is_same_v<Element, NumberElement<float>>;

  // Whether x is the extreme of both, of which `best` comes first. A NaN is.
  bool Beats(Ordered x, Ordered best) const {
    if (x != x) return extreme_.last || best == best;
    if (best != best) return false;
    if (x == best) return extreme_.last;
    return extreme_.largest ? x > best : x < best;
  }

  static Ordered NumberOf(Stored stored) { return static_cast<Ordered>(Element::Read(stored)); }

  // A NaN anywhere is.
  Ordered BestOfRow(const Stored* row) const {
    if constexpr (kHasLoops) {
      return extreme_.largest ? Loops().maximum(row, extreme_.size)
                              : Loops().minimum(row, extreme_.size);
    } else {
      Ordered best = NumberOf(row[0]);
      const auto keep = [&](const auto& is_better) {
        for (int64_t i = 1; i < extreme_.size; ++i) {
          const Ordered x = NumberOf(row[i]);
          best = is_better(x, best) || x != x ? x : best;
        }
      };
      if (extreme_.largest) keep(std::greater<Ordered>());
      if (!extreme_.largest) keep(std::less<Ordered>());
      return best;
    }
  }

  // Equal ones have to be told apart only once the best is known.
  int32_t FindInRow(const Stored* row) const {
    const auto is_best = [best = BestOfRow(row)](Stored stored) {
      const Ordered x = NumberOf(stored);
      return x == best || (x != x && best != best);
    };
    const Stored* const end = row + extreme_.size;
    if (!extreme_.last) return static_cast<int32_t>(std::find_if(row, end, is_best) - row);
    const auto reversed = std::make_reverse_iterator(end);
    return static_cast<int32_t>(
        extreme_.size - 1 -
        (std::find_if(reversed, std::make_reverse_iterator(row), is_best) - reversed));
  }

  void FindInColumns(int64_t outer, int64_t first, int64_t width) const {
    const Stored* const x = source_ + outer * extreme_.size * extreme_.inner + first;
    Ordered best[kPiece];
    int32_t places[kPiece] = {};
    for (int64_t j = 0; j < width; ++j) best[j] = NumberOf(x[j]);
    for (int64_t i = 1; i < extreme_.size; ++i) {
      StepColumns(x + i * extreme_.inner, static_cast<int32_t>(i), best, places, width);
    }
    Write(outer, first, absl::MakeConstSpan(places, width));
  }

  void StepColumns(const Stored* x, int32_t place, Ordered* best, int32_t* places,
                   int64_t width) const {
    if constexpr (kHasLoops) {
      const auto step = Loops().best_columns[extreme_.largest ? 1 : 0][extreme_.last ? 1 : 0];
      return step(x, place, best, places, width);
    }
    for (int64_t j = 0; j < width; ++j) {
      const Ordered number = NumberOf(x[j]);
      if (!Beats(number, best[j])) continue;
      best[j] = number;
      places[j] = place;
    }
  }

  // What was found in neighbouring columns of a block.
  void Write(int64_t outer, int64_t first, absl::Span<const int32_t> places) const {
    if (found_.places != nullptr) {
      std::copy(places.begin(), places.end(), found_.places + outer * extreme_.inner + first);
      return;
    }
    Stored* const block = found_.ones + outer * extreme_.size * extreme_.inner + first;
    for (int64_t i = 0; i < extreme_.size; ++i) {
      std::fill_n(block + i * extreme_.inner, places.size(), Stored(0));
    }
    for (size_t j = 0; j < places.size(); ++j) {
      block[places[j] * extreme_.inner + static_cast<int64_t>(j)] = Element::Write(1);
    }
  }

  const int width_;
  const Extreme extreme_;
  const Stored* const source_;
  const Found found_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadArgExtreme(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kArgExtremeOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  const bool wants_ones = node.op == OpKind::kHardmax;
  const int axis = *AxisOf(graph, nodes[0], wants_ones ? -1 : 0);
  Extreme extreme;
  for (int i = 0; i < source.type.rank(); ++i) {
    (i < axis ? extreme.outer : i > axis ? extreme.inner : extreme.size) *= source.type.shape[i];
  }
  extreme.largest = node.op != OpKind::kArgMin;
  extreme.last = node.attributes->Int("select_last_index", 0) != 0;
  return VisitElement(source.type.dtype, [&](auto element) -> std::unique_ptr<CpuKernel> {
    using Kernel = ArgExtremeKernel<decltype(element)>;
    using Stored = typename Kernel::Stored;
    typename Kernel::Found found;
    if (wants_ones) {
      found.ones = reinterpret_cast<Stored*>(result.data);
    } else {
      found.places = reinterpret_cast<int64_t*>(result.data);
    }
    return std::make_unique<Kernel>(context->width(), extreme,
                                    reinterpret_cast<const Stored*>(source.data), found);
  });
}

}  // namespace plait
