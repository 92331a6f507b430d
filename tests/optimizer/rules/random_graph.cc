#include "tests/optimizer/rules/random_graph.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "optimizer/ops/shared/op_spec.h"

// A node is drawn as text and kept where the graph still has types with it: what a draw may not
// combine is for the operators to say.

namespace plait {
namespace {

constexpr int kDraws = 16;
constexpr int64_t kElementsMax = 1500;

using Dims = std::vector<int64_t>;

struct DrawnValue {
  std::string name;
  Dims shape;
};

std::string ListText(const Dims& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

class GraphDrawer {
 public:
  explicit GraphDrawer(uint64_t seed) : random_(seed) {}

  Graph Draw() {
    // Images or matrices, seldom both.
    const bool has_images = random_.Integer(0, 2) > 0;
    AddInput(has_images ? Dims{Int(1, 2), 2 * Int(1, 3), Int(3, 7), Int(3, 7)}
                        : Dims{Int(1, 4), Int(2, 6)});
    if (Chance(3)) AddInput(values_[0].shape);
    if (Chance(4)) AddInput({Int(1, 3), Int(2, 5), Int(2, 6)});
    for (int draw = 0; draw < kDraws; ++draw) DrawNode();
    return ParseTypedGraph(Text()).value();
  }

 private:
  int64_t Int(int64_t low, int64_t high) { return random_.Integer(low, high); }
  // True once in so many times.
  bool Chance(int64_t times) { return Int(1, times) == 1; }

  std::string Name() { return absl::StrCat("%v", names_++); }

  void AddInput(Dims shape) {
    values_.push_back({Name(), std::move(shape)});
    const DrawnValue& input = values_.back();
    inputs_ += absl::StrCat("input ", input.name, ": float32", ListText(input.shape), "\n");
  }

  // The names of constants.
  std::string Weights(const Dims& shape) {
    const std::string name = Name();
    // A few seeds, so that equal constants meet.
    absl::StrAppend(&constants_, "const ", name, ": float32", ListText(shape), " = synthetic ",
                    Int(1, 4), "\n");
    return name;
  }
  std::string Ints(const Dims& values) {
    const std::string name = Name();
    absl::StrAppend(&constants_, "const ", name, ": int64[", values.size(),
                    "] = ", ListText(values), "\n");
    return name;
  }
  std::string Scalar() {
    constexpr std::array<const char*, 6> kNumbers = {"0.5", "2", "1", "0", "-1.5", "3"};
    const std::string name = Name();
    absl::StrAppend(&constants_, "const ", name, ": float32[] = [",
                    kNumbers[static_cast<size_t>(Int(0, kNumbers.size() - 1))], "]\n");
    return name;
  }

  // The last one as often as any of all.
  DrawnValue Pick() {
    return Chance(2)
               ? values_.back()
               : values_[static_cast<size_t>(Int(0, static_cast<int64_t>(values_.size()) - 1))];
  }

  // One of the same rank, where there is another one.
  DrawnValue PickLike(const DrawnValue& value) {
    for (int draw = 0; draw < 8; ++draw) {
      DrawnValue other = Pick();
      if (other.shape.size() == value.shape.size() && other.name != value.name) return other;
    }
    return value;
  }

  int64_t Axis(const DrawnValue& value) {
    return Int(0, static_cast<int64_t>(value.shape.size()) - 1);
  }

  void DrawNode() {
    const std::string constants = constants_;
    const size_t values = values_.size();
    const std::string nodes = nodes_;
    const DrawnValue x = Pick();
    if (x.shape.size() == 4 && Chance(2)) {
      DrawImageNode(x);
    } else if (Chance(3)) {
      DrawProduct(x);
    } else if (Chance(2)) {
      DrawView(x);
    } else {
      DrawElementwise(x);
    }
    if (TakeShapes(values)) return;
    constants_ = constants;
    values_.resize(values);
    nodes_ = nodes;
  }

  // Reads the shapes of the values from `first` on; false where they have none.
  bool TakeShapes(size_t first) {
    const absl::StatusOr<Graph> graph = ParseTypedGraph(Text());
    if (!graph.ok()) return false;
    for (size_t i = first; i < values_.size(); ++i) {
      for (TensorId id = 0; id < graph->tensor_count(); ++id) {
        const auto& name = graph->tensor(id).name;
        if (name == nullptr || absl::StrCat("%", *name) != values_[i].name) continue;
        if (graph->type(id).elements() > kElementsMax || graph->type(id).elements() == 0) {
          return false;
        }
        values_[i].shape.assign(graph->type(id).shape.begin(), graph->type(id).shape.end());
      }
    }
    return true;
  }

  void Add(absl::string_view op, const std::vector<std::string>& operands,
           const std::string& attributes = "", int outputs = 1) {
    std::vector<std::string> names;
    for (int i = 0; i < outputs; ++i) {
      names.push_back(Name());
      values_.push_back({names.back(), {}});
    }
    absl::StrAppend(&nodes_, absl::StrJoin(names, ", "), " = ", op, "(",
                    absl::StrJoin(operands, ", "), ") {", attributes, "}\n");
  }

  void DrawImageNode(const DrawnValue& x) {
    const int64_t channels = x.shape[1];
    const int64_t kernel = Chance(2) ? 1 : 2 * Int(0, 1) + 1;
    const std::string window =
        absl::StrCat("kernel_shape=[", kernel + 1, ",2], strides=[", Int(1, 2), ",", Int(1, 2),
                     "], pads=[", Int(0, 1), ",", Int(0, 1), ",", Int(0, 1), ",0]");
    switch (Int(0, 7)) {
      case 0:
        return Add("MaxPool", {x.name}, window);
      case 1:
        return Add("AveragePool", {x.name},
                   absl::StrCat(window, ", count_include_pad=", Int(0, 1)));
      case 2:
        return Add("GlobalAveragePool", {x.name});
      case 3:
        return DrawBatchNormalization(x);
      default:
        return DrawConv(x, channels, kernel);
    }
  }

  void DrawConv(const DrawnValue& x, int64_t channels, int64_t kernel) {
    const int64_t groups = Chance(3) ? (Chance(2) ? channels : 2) : 1;
    const int64_t outputs = groups == 1 ? Int(1, 4) : groups * Int(1, 2);
    std::vector<std::string> operands = {
        x.name, Weights({outputs, channels / groups, kernel, Chance(4) ? 1 : kernel})};
    if (Chance(2)) operands.push_back(Weights({outputs}));
    const int64_t stride = Chance(4) ? 2 : 1;
    const int64_t pad = kernel / 2;
    const Dims pads = Chance(3) ? Dims{Int(0, 1), Int(0, 2), 0, Int(0, 1)} : Dims(4, pad);
    Add("Conv", operands,
        absl::StrCat("group=", groups, ", pads=", ListText(pads), ", strides=[", stride, ",",
                     stride, "]"));
  }

  void DrawBatchNormalization(const DrawnValue& x) {
    const Dims channels = {x.shape[1]};
    const std::string root = Weights(channels);
    const std::string variance = Name();
    absl::StrAppend(&constants_, "const ", variance, ": float32", ListText(channels), " = Mul(",
                    root, ", ", root, ") {}\n");
    Add("BatchNormalization",
        {x.name, Weights(channels), Weights(channels), Weights(channels), variance}, "epsilon=0.5");
  }

  void DrawProduct(const DrawnValue& x) {
    const int64_t columns = x.shape.empty() ? 1 : x.shape.back();
    switch (Int(0, 4)) {
      case 0:
        return Add("MatMul", {x.name, PickLike(x).name});
      case 1:
        return Add(
            "MatMul",
            {Weights({Int(1, 4), x.shape.size() < 2 ? columns : x.shape.end()[-2]}), x.name});
      case 2: {
        const bool is_transposed = Chance(2);
        const int64_t outputs = Int(1, 5);
        std::vector<std::string> operands = {
            x.name, Weights(is_transposed ? Dims{outputs, columns} : Dims{columns, outputs})};
        if (Chance(2)) operands.push_back(Weights({outputs}));
        return Add("Gemm", operands,
                   absl::StrCat("transB=", is_transposed, Chance(4) ? ", alpha=0.5" : ""));
      }
      default:
        return Add("MatMul", {x.name, Weights({columns, Int(1, 5)})});
    }
  }

  void DrawView(const DrawnValue& x) {
    const int64_t axis = Axis(x);
    const int64_t size = x.shape.empty() ? 1 : x.shape[static_cast<size_t>(axis)];
    switch (Int(0, 6)) {
      case 0:
        return Add("Concat", {x.name, PickLike(x).name}, absl::StrCat("axis=", axis));
      case 1: {
        const int64_t first = Int(1, size);
        return Add("Split", {x.name, Ints({first, size - first})}, absl::StrCat("axis=", axis), 2);
      }
      case 2:
        return Add("Slice", {x.name, Ints({Int(0, size - 1)}), Ints({Int(1, size + 1)}),
                             Ints({axis}), Ints({Chance(4) ? 2 : 1})});
      case 3: {
        Dims pads(2 * x.shape.size(), 0);
        for (int64_t& pad : pads) pad = Chance(3) ? Int(0, 2) : 0;
        std::vector<std::string> operands = {x.name, Ints(pads)};
        if (Chance(4)) operands.push_back(Scalar());
        return Add("Pad", operands);
      }
      case 4: {
        Dims order;
        for (size_t i = 0; i < x.shape.size(); ++i) {
          order.insert(order.begin() + Int(0, static_cast<int64_t>(i)), static_cast<int64_t>(i));
        }
        return Add("Transpose", {x.name}, absl::StrCat("perm=", ListText(order)));
      }
      case 5:
        return Add("Reshape", {x.name, Ints(Chance(2) ? Dims{x.shape.empty() ? 1 : x.shape[0], -1}
                                                      : Dims{-1, size})});
      default:
        return Add("ReduceMean", {x.name, Ints({axis})}, absl::StrCat("keepdims=", Int(0, 1)));
    }
  }

  void DrawElementwise(const DrawnValue& x) {
    constexpr std::array<const char*, 9> kUnary = {"Relu", "Relu", "Relu",    "Tanh",    "Sigmoid",
                                                   "Neg",  "Erf",  "Softmax", "Identity"};
    constexpr std::array<const char*, 5> kBinary = {"Add", "Add", "Mul", "Mul", "Sub"};
    const std::string binary = kBinary[static_cast<size_t>(Int(0, kBinary.size() - 1))];
    switch (Int(0, 6)) {
      case 0: {
        // x - x is nothing that rounding could be compared with.
        const DrawnValue other = PickLike(x);
        return Add(other.name == x.name ? "Add" : binary, {x.name, other.name});
      }
      case 1: {
        std::vector<std::string> operands = {x.name, Scalar()};
        if (Chance(2)) std::swap(operands[0], operands[1]);
        return Add(binary, operands);
      }
      case 2: {
        // By channel, or by the last dimension.
        Dims shape = {x.shape.empty() ? 1 : x.shape.back()};
        if (x.shape.size() > 2 && Chance(2)) {
          shape = Dims(x.shape.size() - 1, 1);
          shape[0] = x.shape[1];
        }
        return Add(binary, {x.name, Weights(shape)});
      }
      case 3:
        return Add("Clip", {x.name, Scalar(), Scalar()});
      default:
        return Add(kUnary[static_cast<size_t>(Int(0, kUnary.size() - 1))], {x.name});
    }
  }

  std::string Text() {
    std::vector<std::string> outputs;
    for (size_t i = 0; i < values_.size(); ++i) {
      const std::string& name = values_[i].name;
      const bool is_read = nodes_.find(absl::StrCat(name, ",")) != std::string::npos ||
                           nodes_.find(absl::StrCat(name, ")")) != std::string::npos;
      // The same ones each time, whatever was drawn since.
      if (!is_read || i % 7 == 5) outputs.push_back(name);
    }
    return absl::StrCat("graph {\n", inputs_, constants_, nodes_, "output ",
                        absl::StrJoin(outputs, ", "), "\n}\n");
  }

  Random random_;
  int names_ = 0;
  std::string inputs_;     // lines
  std::string constants_;  // lines
  std::string nodes_;      // lines
  std::vector<DrawnValue> values_;
};

}  // namespace

Graph RandomGraph(uint64_t seed) { return GraphDrawer(seed).Draw(); }

}  // namespace plait
