#include <algorithm>
#include <functional>
#include <limits>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/element_types.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/reduced_groups.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/reduced_axes.h"

namespace plait {
namespace {

struct AddsUp {
  template <typename Element>
  using Number = typename Element::Number;
  template <typename T>
  static constexpr T kFirst = 0;
  template <typename T>
  static T Combined(T a, T b) {
    return a + b;
  }
};

struct Multiplies {
  template <typename Element>
  using Number = typename Element::Number;
  template <typename T>
  static constexpr T kFirst = 1;
  template <typename T>
  static T Combined(T a, T b) {
    return a * b;
  }
};

struct TakesLargest {
  template <typename Element>
  using Number = typename Element::Ordered;
  template <typename T>
  static constexpr T kFirst = std::numeric_limits<T>::lowest();
  template <typename T>
  static T Combined(T a, T b) {
    return std::max(a, b);
  }
};

struct TakesSmallest {
  template <typename Element>
  using Number = typename Element::Ordered;
  template <typename T>
  static constexpr T kFirst = std::numeric_limits<T>::max();
  template <typename T>
  static T Combined(T a, T b) {
    return std::min(a, b);
  }
};

// Where the elements of a result lie: axes that are walked by counting, and what lies beside each
// other behind them, which is reduced (a row) or kept (columns).
struct ReducedPlaces {
  struct Walked {
    int64_t size;
    int64_t stride;
  };

  std::vector<Walked> kept;  // innermost first
  std::vector<Walked> reduced;
  int64_t results = 1;    // that are counted
  int64_t positions = 1;  // that each is made of
  int64_t row = 1;        // elements of a row; 1 where there are columns
  int64_t columns = 1;

  static int64_t OffsetAt(const std::vector<Walked>& walked, int64_t index) {
    int64_t offset = 0;
    for (const Walked& axis : walked) {
      offset += index % axis.size * axis.stride;
      index /= axis.size;
    }
    return offset;
  }
};

ReducedPlaces PlacesOf(std::vector<ReducedGroup> groups) {
  ReducedPlaces places;
  int64_t stride = 1;
  if (!groups.empty()) {
    (groups.back().is_reduced ? places.row : places.columns) = stride = groups.back().size;
    groups.pop_back();
  }
  for (size_t i = groups.size(); i-- > 0;) {
    (groups[i].is_reduced ? places.reduced : places.kept).push_back({groups[i].size, stride});
    (groups[i].is_reduced ? places.positions : places.results) *= groups[i].size;
    stride *= groups[i].size;
  }
  return places;
}

// Columns are taken 64 at a time, whose numbers stay in the first-level cache while the rows pass
// by. A row has eight numbers, of every eighth element each, because one would wait for itself.
template <typename Element, typename Operation>
class ReduceExactKernel : public CpuKernel {
 public:
  using Stored = typename Element::Stored;
  using Number = typename Operation::template Number<Element>;

  ReduceExactKernel(int width, ReducedPlaces places, const std::byte* source, std::byte* result)
      : width_(width),
        places_(std::move(places)),
        source_(reinterpret_cast<const Stored*>(source)),
        result_(reinterpret_cast<Stored*>(result)) {}

  absl::Status Run() override {
    const int64_t pieces = CeilDiv(places_.columns, kColumns);
    ForEachPart(width_, places_.results * pieces, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const Stored* const x = source_ + places_.OffsetAt(places_.kept, i / pieces);
        if (places_.columns == 1) {
          result_[i] = ReduceRows(x);
        } else {
          const int64_t first = i % pieces * kColumns;
          ReduceColumns(x + first, std::min(kColumns, places_.columns - first),
                        result_ + i / pieces * places_.columns + first);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kColumns = 64;
  static constexpr int64_t kParts = 8;

  static Number Read(Stored stored) { return static_cast<Number>(Element::Read(stored)); }
  static Stored Write(Number number) {
    return Element::Write(static_cast<typename Element::Number>(number));
  }

  void ReduceColumns(const Stored* x, int64_t columns, Stored* y) const {
    Number numbers[kColumns];
    std::fill_n(numbers, columns, Operation::template kFirst<Number>);
    for (int64_t i = 0; i < places_.positions; ++i) {
      const Stored* const row = x + places_.OffsetAt(places_.reduced, i);
      for (int64_t j = 0; j < columns; ++j) {
        numbers[j] = Operation::Combined(numbers[j], Read(row[j]));
      }
    }
    for (int64_t j = 0; j < columns; ++j) y[j] = Write(numbers[j]);
  }

  Stored ReduceRows(const Stored* x) const {
    Number parts[kParts];
    std::fill_n(parts, kParts, Operation::template kFirst<Number>);
    for (int64_t i = 0; i < places_.positions; ++i) {
      const Stored* const row = x + places_.OffsetAt(places_.reduced, i);
      int64_t j = 0;
      for (; j + kParts <= places_.row; j += kParts) {
        for (int64_t k = 0; k < kParts; ++k) {
          parts[k] = Operation::Combined(parts[k], Read(row[j + k]));
        }
      }
      for (; j < places_.row; ++j) parts[0] = Operation::Combined(parts[0], Read(row[j]));
    }
    for (int64_t k = 1; k < kParts; ++k) parts[0] = Operation::Combined(parts[0], parts[k]);
    return Write(parts[0]);
  }

  const int width_;
  const ReducedPlaces places_;
  const Stored* const source_;
  Stored* const result_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadReduceExact(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kReduceExactOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  const ReducedPlaces places =
      PlacesOf(ReducedGroupsOf(source.type.shape, *ReducedAxes(graph, nodes[0])));
  return VisitElement(source.type.dtype, [&](auto element) -> std::unique_ptr<CpuKernel> {
    const auto kernel = [&](auto operation) -> std::unique_ptr<CpuKernel> {
      return std::make_unique<ReduceExactKernel<decltype(element), decltype(operation)>>(
          context->width(), places, source.data, result.data);
    };
    if (node.op == OpKind::kReduceProd) return kernel(Multiplies());
    if (node.op == OpKind::kReduceMax) return kernel(TakesLargest());
    if (node.op == OpKind::kReduceMin) return kernel(TakesSmallest());
    return kernel(AddsUp());
  });
}

}  // namespace plait
