#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <type_traits>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/element_types.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Lines of the middle axis of [outer, size, inner], of which `count` elements are kept.
struct Lines {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  int64_t count = 1;
  bool largest = true;
};

template <typename Ordered>
struct Entry {
  Ordered value;
  int32_t place;
};

// A NaN is larger than every number; of equal ones the first comes first.
template <typename Ordered>
bool IsLess(Ordered a, Ordered b) {
  return a < b || (b != b && a == a);
}
template <typename Ordered>
bool ComesBefore(const Entry<Ordered>& a, const Entry<Ordered>& b) {
  return IsLess(a.value, b.value) || (!IsLess(b.value, a.value) && a.place < b.place);
}
template <typename Ordered>
bool ComesBeforeFromTop(const Entry<Ordered>& a, const Entry<Ordered>& b) {
  return IsLess(b.value, a.value) || (!IsLess(a.value, b.value) && a.place < b.place);
}

// Whether a number and its place fit into 64 bits whose order is theirs.
template <typename Ordered>
constexpr bool kHasKey = std::is_same_v<Ordered, float> ||
                         (std::is_integral_v<Ordered> && sizeof(Ordered) <= 4);

// Numbers as unsigned ones in the same order, a NaN being the largest and both zeros one.
uint32_t KeyOf(float x) {
  if (x != x) return std::numeric_limits<uint32_t>::max();
  constexpr uint32_t kSign = uint32_t{1} << 31;
  const auto bits = std::bit_cast<uint32_t>(x + 0.0f);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
template <typename Integer>
uint32_t KeyOf(Integer x) {
  const int64_t from_lowest = int64_t{x} - std::numeric_limits<Integer>::min();
  return static_cast<uint32_t>(from_lowest) << (32 - 8 * sizeof(Integer));
}

// The key in front of the place, so that the greater of two is wanted more: no two are equal.
template <typename Ordered>
uint64_t RankOf(Ordered value, int64_t place, bool largest) {
  const uint32_t key = KeyOf(value);
  return uint64_t{largest ? key : ~key} << 32 | ~static_cast<uint32_t>(place);
}

int32_t PlaceOf(uint64_t rank) { return static_cast<int32_t>(~static_cast<uint32_t>(rank)); }
template <typename Ordered>
int32_t PlaceOf(const Entry<Ordered>& entry) {
  return entry.place;
}

// The `count` greatest come to stand in front, in order; what is behind them may be lost. Few of
// many are found by counting ranks that begin with the same bits: those that begin with less than
// the last wanted one are left out, and mostly hardly more than the wanted ones are left.
void SelectGreatest(uint64_t* ranks, int64_t size, int64_t count) {
  constexpr int kBits = 11;
  constexpr int64_t kManyTimes = 4;
  constexpr int64_t kSizeMin = 1024;  // half of what there is to count by
  if (size >= kSizeMin && count * kManyTimes <= size) {
    std::array<int32_t, size_t{1} << kBits> counts = {};
    for (int64_t i = 0; i < size; ++i) ++counts[ranks[i] >> (64 - kBits)];
    uint64_t least = counts.size() - 1;
    for (int64_t found = counts[least]; found < count; found += counts[least]) --least;
    // Each is written, and counts only if it is wanted: whether it is cannot be foretold.
    int64_t left = 0;
    for (int64_t i = 0; i < size; ++i) {
      ranks[left] = ranks[i];
      left += ranks[i] >> (64 - kBits) >= least ? 1 : 0;
    }
    size = left;
  }
  if (count < size) std::nth_element(ranks, ranks + count, ranks + size, std::greater<>());
  std::sort(ranks, ranks + count, std::greater<>());
}

// The same of other numbers, of which few of many are held in a heap.
template <typename Number, typename Order>
void SelectFirst(Entry<Number>* line, int64_t size, int64_t count, Order order) {
  Entry<Number>* const end = line + size;
  Entry<Number>* const kept = line + count;
  if (count * 8 < size) {
    std::partial_sort(line, kept, end, order);
    return;
  }
  if (kept != end) std::nth_element(line, kept, end, order);
  std::sort(line, kept, order);
}

// Each thread copies one line at a time beside its places, and sorts what is kept of that.
template <typename Element>
class TopKKernel : public CpuKernel {
 public:
  using Stored = typename Element::Stored;
  using Ordered = typename Element::Ordered;
  using Place = std::conditional_t<kHasKey<Ordered>, uint64_t, Entry<Ordered>>;

  struct Ends {
    const Stored* source;
    Stored* values;   // nullptr: nobody reads them
    int64_t* places;  // likewise
    Place* scratch;   // a line for each thread
  };

  TopKKernel(int threads, const Lines& lines, const Ends& ends)
      : threads_(threads), lines_(lines), ends_(ends) {}

  absl::Status Run() override {
    ForEachPart(threads_, lines_.outer * lines_.inner, [&](int64_t begin, int64_t end, int thread) {
      Place* const line = ends_.scratch + thread * lines_.size;
      for (int64_t i = begin; i < end; ++i) RunLine(i / lines_.inner, i % lines_.inner, line);
    });
    return absl::OkStatus();
  }

 private:
  void RunLine(int64_t outer, int64_t inner, Place* line) const {
    const Stored* const x = ends_.source + outer * lines_.size * lines_.inner + inner;
    Select(x, line);
    const int64_t first = outer * lines_.count * lines_.inner + inner;
    for (int64_t i = 0; i < lines_.count; ++i) {
      const int64_t place = PlaceOf(line[i]);
      if (ends_.values != nullptr) ends_.values[first + i * lines_.inner] = x[place * lines_.inner];
      if (ends_.places != nullptr) ends_.places[first + i * lines_.inner] = place;
    }
  }

  void Select(const Stored* x, Place* line) const {
    for (int64_t i = 0; i < lines_.size; ++i) {
      const auto value = static_cast<Ordered>(Element::Read(x[i * lines_.inner]));
      if constexpr (kHasKey<Ordered>) {
        line[i] = RankOf(value, i, lines_.largest);
      } else {
        line[i] = {value, static_cast<int32_t>(i)};
      }
    }
    if constexpr (kHasKey<Ordered>) {
      SelectGreatest(line, lines_.size, lines_.count);
    } else if (lines_.largest) {
      SelectFirst(line, lines_.size, lines_.count, ComesBeforeFromTop<Ordered>);
    } else {
      SelectFirst(line, lines_.size, lines_.count, ComesBefore<Ordered>);
    }
  }

  const int threads_;
  const Lines lines_;
  const Ends ends_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadTopK(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kTopKOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  const int axis = *AxisOf(graph, nodes[0], -1);
  Lines lines;
  for (int i = 0; i < source.type.rank(); ++i) {
    (i < axis ? lines.outer : i > axis ? lines.inner : lines.size) *= source.type.shape[i];
  }
  lines.count = graph.output_type(nodes[0]).shape[axis];
  lines.largest = node.attributes->Int("largest", 1) != 0;
  PLAIT_ASSIGN_OR_RETURN(std::byte* const values, OutputOf(context, node, 0, Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const places, OutputOf(context, node, 1, Format::kPlain));
  const int threads =
      static_cast<int>(std::min<int64_t>(context->width(), lines.outer * lines.inner));
  const auto load = [&](auto element) -> absl::StatusOr<std::unique_ptr<CpuKernel>> {
    using Kernel = TopKKernel<decltype(element)>;
    using Stored = typename Kernel::Stored;
    PLAIT_ASSIGN_OR_RETURN(auto* const scratch,
                           ScratchOf<typename Kernel::Place>(context, threads * lines.size));
    const typename Kernel::Ends ends = {reinterpret_cast<const Stored*>(source.data),
                                        reinterpret_cast<Stored*>(values),
                                        reinterpret_cast<int64_t*>(places), scratch};
    return std::make_unique<Kernel>(threads, lines, ends);
  };
  return VisitElement(source.type.dtype, load);
}

}  // namespace plait
