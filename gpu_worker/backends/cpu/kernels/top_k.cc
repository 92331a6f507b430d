#include <algorithm>

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

// Each thread copies one line at a time beside its places, and sorts what is kept of that. Few of
// many are held in a heap, which most elements leave as it is after one comparison; many are parted
// from the rest first.
template <typename Element>
class TopKKernel : public CpuKernel {
 public:
  using Stored = typename Element::Stored;
  using Ordered = typename Element::Ordered;
  using Place = Entry<Ordered>;

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
    for (int64_t i = 0; i < lines_.size; ++i) {
      line[i] = {static_cast<Ordered>(Element::Read(x[i * lines_.inner])), static_cast<int32_t>(i)};
    }
    if (lines_.largest) {
      Sort(line, ComesBeforeFromTop<Ordered>);
    } else {
      Sort(line, ComesBefore<Ordered>);
    }
    const int64_t first = outer * lines_.count * lines_.inner + inner;
    for (int64_t i = 0; i < lines_.count; ++i) {
      const int32_t place = line[i].place;
      if (ends_.values != nullptr) ends_.values[first + i * lines_.inner] = x[place * lines_.inner];
      if (ends_.places != nullptr) ends_.places[first + i * lines_.inner] = place;
    }
  }

  template <typename Order>
  void Sort(Place* line, Order order) const {
    Place* const end = line + lines_.size;
    Place* const kept = line + lines_.count;
    if (lines_.count * 8 < lines_.size) {
      std::partial_sort(line, kept, end, order);
      return;
    }
    if (kept != end) std::nth_element(line, kept, end, order);
    std::sort(line, kept, order);
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
