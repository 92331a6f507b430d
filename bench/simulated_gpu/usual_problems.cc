#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/simulated_gpu/kernel_table.h"

namespace plait {
namespace {

using cuda::ConvProblem;
using cuda::MemoryLayout;
using cuda::MovementProblem;
using cuda::PoolProblem;
using cuda::RowsProblem;
using Move = MovementProblem::Kind;

// Of what vectors of 16 bytes, of 8 and of 4 divide: odd sizes are those of cut images.
constexpr int64_t kChannels[] = {144, 22, 11};

ConvProblem Depthwise(int64_t channels, int64_t pixels, int64_t window) {
  ConvProblem conv{.n = 1, .c = channels, .h = pixels, .w = pixels, .k = channels};
  conv.r = conv.s = window;
  conv.pad = {window / 2, window / 2, window / 2, window / 2};
  conv.groups = channels;
  conv.bias = true;
  return conv;
}

// As those of EfficientNet.
cuda::Problem Convolution(int64_t window) {
  ConvProblem conv{.n = 1, .c = 32, .h = 56, .w = 56, .k = 96, .r = window, .s = window};
  conv.pad = {window / 2, window / 2, window / 2, window / 2};
  conv.bias = true;
  conv.activation = cuda::Activation::kSilu;
  return conv;
}

// As those of NASNet.
cuda::Problem Separable(int64_t channels) {
  cuda::SeparableConvProblem problem{.depthwise = Depthwise(channels, 28, 5), .pointwise = {}};
  problem.depthwise.prologue_relu = true;
  problem.pointwise = {.n = 1, .c = channels, .h = 28, .w = 28, .k = 88, .bias = true};
  return problem;
}

PoolProblem Pool(PoolProblem::Mode mode, int64_t channels, int64_t pixels, int64_t window,
                 int64_t stride) {
  const int64_t pad = stride == pixels ? 0 : 1, output = (pixels + 2 * pad - window) / stride + 1;
  return {.mode = mode,
          .n = 1,
          .c = channels,
          .h = pixels,
          .w = pixels,
          .r = window,
          .s = window,
          .stride = {stride, stride},
          .pad = {pad, pad, pad, pad},
          .output_h = output,
          .output_w = output};
}

// Ten steps of two rows each, as those of a simple recurrent unit.
cuda::Problem Recurrence() {
  cuda::RecurrenceProblem problem{.columns = 512, .inputs = {11, 10}, .outputs = {{}}};
  int64_t state = 0;
  for (int64_t step = 0; step < 10; ++step) {
    problem.steps.push_back(
        absl::StrCat("add(mul(sigmoid(x", 11 + step, "),x", state, "),x", 1 + step, ")"));
    state = 21 + step;
    problem.outputs[0].push_back(state);
  }
  return problem;
}

cuda::Problem Resize(int64_t channels) {
  cuda::ResizeProblem problem{.n = 1, .c = channels, .rows = {28, 2, {}, {}}, .columns = {}};
  for (int64_t row = 0; row < 56; ++row) {
    const int64_t first = std::max<int64_t>(0, (row - 1) / 2);
    problem.rows.elements.insert(problem.rows.elements.end(),
                                 {first, std::min<int64_t>(27, first + 1)});
    problem.rows.weights.insert(problem.rows.weights.end(), {0.75F, 0.25F});
  }
  problem.columns = problem.rows;
  return problem;
}

class ProblemList {
 public:
  void Add(cuda::Problem problem) { list_.push_back({std::move(problem), MemoryLayout::kNchw}); }
  void AddImages(const cuda::Problem& problem) {
    list_.push_back({problem, MemoryLayout::kNchw});
    list_.push_back({problem, MemoryLayout::kNhwc});
  }
  std::vector<UsualProblem> Take() && { return std::move(list_); }

 private:
  std::vector<UsualProblem> list_;
};

// Sums of two, an activation with a constant, and one of many terms.
void AddElementwise(ProblemList* list) {
  for (const int64_t channels : kChannels) {
    const std::vector<int64_t> shape = {64, 7, 7, channels};
    list->Add(cuda::ElementwiseProblem{"relu(add(x0,x1))", shape, {shape, shape}});
    list->Add(cuda::ElementwiseProblem{"gelu(add(x0,x1))", shape, {shape, {channels}}});
    list->Add(
        cuda::ElementwiseProblem{"mul(x0,sigmoid(x1))", shape, {shape, {64, 1, 1, channels}}});
  }
  const std::vector<int64_t> row = {1, 768};
  list->Add(cuda::ElementwiseProblem{"relu(add(x0,x1))", row, {row, row}});
  list->AddImages(cuda::ScaleShiftProblem{
      .n = 1, .c = 256, .spatial = 784, .activation = cuda::Activation::kRelu});
  for (const int64_t channels : {22, 11}) {
    list->AddImages(cuda::ScaleShiftProblem{
        .n = 1, .c = channels, .spatial = 7 * channels, .activation = cuda::Activation::kRelu});
  }
}

void AddRows(ProblemList* list) {
  for (const int64_t columns : {197, 198, 768, 4096}) {
    list->Add(RowsProblem{.kind = RowsProblem::Kind::kLayerNorm, .rows = 128, .columns = columns});
    list->Add(RowsProblem{.kind = RowsProblem::Kind::kSoftmax, .rows = 128, .columns = columns});
  }
  for (const int64_t inner : {128, 98, 49}) {
    for (const auto kind : {RowsProblem::Kind::kSoftmax, RowsProblem::Kind::kReduceMean}) {
      list->Add(RowsProblem{.kind = kind, .rows = 128 * inner, .columns = 64, .inner = inner});
    }
  }
}

void AddMovements(ProblemList* list) {
  for (const int64_t channels : kChannels) {
    const std::vector<int64_t> image = {1, channels, 28, 28}, row = {1, 196, channels};
    const std::vector<int64_t> odd = {1, channels, 1, 7};
    list->Add(MovementProblem{.kind = Move::kConcat, .inputs = {row, row}, .axis = 2});
    list->Add(MovementProblem{.kind = Move::kCopy, .inputs = {odd}});
    list->Add(MovementProblem{
        .kind = Move::kPad, .inputs = {row}, .starts = {0, 1, 0}, .sizes = {0, 1, 0}});
    list->Add(MovementProblem{.kind = Move::kTranspose, .inputs = {row}, .permutation = {1, 0, 2}});
    list->Add(MovementProblem{
        .kind = Move::kTranspose, .inputs = {{12, 196, channels}}, .permutation = {1, 0, 2}});
    list->Add(MovementProblem{.kind = Move::kGather, .inputs = {{30522, channels}, {1, 128}}});
    list->AddImages(MovementProblem{.kind = Move::kConcat, .inputs = {image, image}, .axis = 1});
  }
  list->Add(MovementProblem{
      .kind = Move::kTranspose, .inputs = {{1, 256, 784}}, .permutation = {0, 2, 1}});
}

void AddWindows(ProblemList* list) {
  for (const int64_t channels : kChannels) {
    list->AddImages(Depthwise(channels, 56, 3));
    list->AddImages(Depthwise(channels, 56, 5));
    list->AddImages(Pool(PoolProblem::Mode::kMax, channels, 112, 3, 2));
    for (const int64_t pixels : {7, 32, 112}) {
      list->AddImages(Pool(PoolProblem::Mode::kAverage, channels, pixels, pixels, pixels));
    }
    list->AddImages(Resize(channels));
  }
  list->AddImages(Separable(88));
  for (const int64_t window : {1, 3}) list->AddImages(Convolution(window));
}

void AddLayers(ProblemList* list) {
  list->Add(Recurrence());
  for (const int64_t batch : {1, 2, 4, 8}) {
    list->Add(cuda::RecurrentLayerProblem{
        .steps = 64, .batch = batch, .input = 256, .hidden = 256, .bias = true});
  }
  list->Add(cuda::AttentionProblem{
      .batch = 1, .heads = 12, .query = 128, .keys = 128, .dim = 64, .mask = true});
}

}  // namespace

std::vector<UsualProblem> UsualProblems() {
  ProblemList list;
  AddElementwise(&list);
  AddRows(&list);
  AddMovements(&list);
  AddWindows(&list);
  AddLayers(&list);
  return std::move(list).Take();
}

}  // namespace plait
