#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/element_types.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/reduced_axes.h"

namespace plait {
namespace {

// What is combined along the middle axis of [outer, size, inner].
struct Cumulation {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  bool multiplies = false;
  bool exclusive = false;
  bool reverse = false;
};

// A sum waits for the one before it, so that several lines are taken side by side: where columns
// lie beside each other, pieces of 64 of them keep their sums in the first-level cache while the
// rows pass by; where they are few, eight lines are, wherever each is.
template <typename Element, bool kMultiplies>
class CumulationKernel : public CpuKernel {
 public:
  using Stored = typename Element::Stored;
  using Number = typename Element::Number;

  CumulationKernel(int width, const Cumulation& cumulation, const std::byte* source,
                   std::byte* result)
      : width_(width),
        cumulation_(cumulation),
        source_(reinterpret_cast<const Stored*>(source)),
        result_(reinterpret_cast<Stored*>(result)) {}

  absl::Status Run() override {
    const int64_t inner = cumulation_.inner;
    const bool by_columns = inner >= kLines;
    const int64_t pieces = by_columns ? CeilDiv(inner, kColumns) : 1;
    const int64_t count =
        by_columns ? cumulation_.outer * pieces : CeilDiv(cumulation_.outer * inner, kLines);
    ForEachPart(width_, count, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        if (!by_columns) {
          RunLines(i * kLines);
        } else {
          const int64_t first = i % pieces * kColumns;
          RunColumns(i / pieces, first, std::min(kColumns, inner - first));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kColumns = 64;
  static constexpr int64_t kLines = 8;

  static Number Combined(Number a, Number b) { return kMultiplies ? a * b : a + b; }

  // Where row `i` of those that are combined lies behind the first one of its block.
  int64_t RowAt(int64_t i) const {
    return (cumulation_.reverse ? cumulation_.size - 1 - i : i) * cumulation_.inner;
  }

  void RunColumns(int64_t outer, int64_t first, int64_t columns) const {
    Number sums[kColumns];
    std::fill(sums, sums + columns, Number(kMultiplies ? 1 : 0));
    const int64_t block = outer * cumulation_.size * cumulation_.inner + first;
    for (int64_t i = 0; i < cumulation_.size; ++i) {
      const Stored* const x = source_ + block + RowAt(i);
      Stored* const y = result_ + block + RowAt(i);
      if (cumulation_.exclusive) {
        for (int64_t j = 0; j < columns; ++j) y[j] = Element::Write(sums[j]);
      }
      for (int64_t j = 0; j < columns; ++j) sums[j] = Combined(sums[j], Element::Read(x[j]));
      if (!cumulation_.exclusive) {
        for (int64_t j = 0; j < columns; ++j) y[j] = Element::Write(sums[j]);
      }
    }
  }

  // The last lines may be fewer than eight: the very last one then counts several times.
  void RunLines(int64_t first) const {
    Number sums[kLines];
    int64_t places[kLines];
    for (int64_t j = 0; j < kLines; ++j) {
      const int64_t line = std::min(first + j, cumulation_.outer * cumulation_.inner - 1);
      const int64_t inner = cumulation_.inner;
      places[j] = line / inner * cumulation_.size * inner + line % inner;
      sums[j] = Number(kMultiplies ? 1 : 0);
    }
    for (int64_t i = 0; i < cumulation_.size; ++i) {
      const int64_t row = RowAt(i);
#pragma GCC unroll 8
      for (int64_t j = 0; j < kLines; ++j) {
        const Number before = sums[j];
        sums[j] = Combined(before, Element::Read(source_[places[j] + row]));
        result_[places[j] + row] = Element::Write(cumulation_.exclusive ? before : sums[j]);
      }
    }
  }

  const int width_;
  const Cumulation cumulation_;
  const Stored* const source_;
  Stored* const result_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadCumulation(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kCumulationOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  const int axis = ReducedAxes(graph, nodes[0])->front();
  Cumulation cumulation;
  for (int i = 0; i < source.type.rank(); ++i) {
    (i < axis   ? cumulation.outer
     : i > axis ? cumulation.inner
                : cumulation.size) *= source.type.shape[i];
  }
  cumulation.multiplies = node.op == OpKind::kCumProd;
  cumulation.exclusive = node.attributes->Int("exclusive", 0) != 0;
  cumulation.reverse = node.attributes->Int("reverse", 0) != 0;
  return VisitElement(source.type.dtype, [&](auto element) -> std::unique_ptr<CpuKernel> {
    using Element = decltype(element);
    if (cumulation.multiplies) {
      return std::make_unique<CumulationKernel<Element, true>>(context->width(), cumulation,
                                                               source.data, result.data);
    }
    return std::make_unique<CumulationKernel<Element, false>>(context->width(), cumulation,
                                                              source.data, result.data);
  });
}

}  // namespace plait
