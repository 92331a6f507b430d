#include "gpu_worker/backends/cuda/problem/sample.h"

#include <numeric>
#include <random>
#include <set>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"

// By an example: a matrix of 100 x 512 and 600 samples. The edges of 100 are 0, 15, 16, 31, 32, 63,
// 64, 95, 96 and 99; each is met in 4 columns, and each of the 18 edges of 512 in 4 rows. The 600
// others are six runs through the rows and one and a bit through the columns, each run with a step
// of its own that has no factor with the length: all indices once, in an order of its own.

namespace plait::cuda {
namespace {

// 4: enough that a whole edge that is wrong is met, where its elements are wrong by chance of a
// half.
constexpr int kPerEdge = 4;

struct MemoryShapes {
  MemoryLayout layout;

  std::vector<int64_t> Image(int64_t n, int64_t c, int64_t h, int64_t w) const {
    if (layout == MemoryLayout::kNhwc) return {n, h, w, c};
    return {n, c, h, w};
  }

  std::vector<std::vector<int64_t>> operator()(const ConvProblem& p) const {
    return {Image(p.n, p.k, p.output_h(), p.output_w())};
  }
  std::vector<std::vector<int64_t>> operator()(const SeparableConvProblem& p) const {
    return (*this)(p.pointwise);
  }
  std::vector<std::vector<int64_t>> operator()(const GemmProblem& p) const {
    return {{p.batch, p.m, p.n}};
  }
  std::vector<std::vector<int64_t>> operator()(const AttentionProblem& p) const {
    return {{p.batch, p.heads, p.query, p.dim}};
  }
  std::vector<std::vector<int64_t>> operator()(const PoolProblem& p) const {
    return {Image(p.n, p.c, p.output_h, p.output_w)};
  }
  std::vector<std::vector<int64_t>> operator()(const RowsProblem& p) const {
    return {{p.rows / p.inner, p.reduces() ? 1 : p.columns, p.inner}};
  }
  std::vector<std::vector<int64_t>> operator()(const ScaleShiftProblem& p) const {
    return {Image(p.n, p.c, p.spatial, 1)};
  }
  std::vector<std::vector<int64_t>> operator()(const ElementwiseProblem& p) const {
    return {Any(p.shape)};
  }
  std::vector<std::vector<int64_t>> operator()(const MovementProblem& p) const {
    std::vector<std::vector<int64_t>> shapes = OutputShapes(p);
    // A transpose writes row-major tensors, whatever the layout of the others.
    if (p.kind == MovementProblem::Kind::kTranspose) return shapes;
    for (std::vector<int64_t>& shape : shapes) shape = Any(shape);
    return shapes;
  }

  std::vector<std::vector<int64_t>> operator()(const ResizeProblem& p) const {
    return {Image(p.n, p.c, p.rows.output(), p.columns.output())};
  }
  std::vector<std::vector<int64_t>> operator()(const RecurrenceProblem& p) const {
    std::vector<std::vector<int64_t>> shapes;
    for (const std::vector<int64_t>& rows : p.outputs) {
      shapes.push_back({static_cast<int64_t>(rows.size()), p.columns});
    }
    return shapes;
  }

  std::vector<std::vector<int64_t>> operator()(const RecurrentLayerProblem& p) const {
    std::vector<std::vector<int64_t>> shapes;
    if (p.y) shapes.push_back({p.steps, p.directions(), p.batch, p.hidden});
    if (p.y_h) shapes.push_back({p.directions(), p.batch, p.hidden});
    if (p.y_c) shapes.push_back({p.directions(), p.batch, p.hidden});
    return shapes;
  }

  std::vector<int64_t> Any(const std::vector<int64_t>& shape) const {
    return shape.size() == 4 ? Image(shape[0], shape[1], shape[2], shape[3]) : shape;
  }
};

int64_t OffsetOf(const std::vector<int64_t>& place, const std::vector<int64_t>& shape) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + place[d];
  return offset;
}

// Runs through a dimension again and again, each time in another order.
class Runner {
 public:
  Runner(int64_t size, std::mt19937_64* random) : size_(size), random_(random) {}

  int64_t Next() {
    if (left_ == 0) {
      left_ = size_;
      at_ = Draw();
      do {
        step_ = Draw();
      } while (std::gcd(step_, size_) != 1);
    }
    --left_;
    at_ = (at_ + step_) % size_;
    return at_;
  }

 private:
  int64_t Draw() const { return static_cast<int64_t>((*random_)() % static_cast<uint64_t>(size_)); }

  int64_t size_;
  std::mt19937_64* random_;
  int64_t left_ = 0, at_ = 0, step_ = 1;
};

}  // namespace

std::vector<std::vector<int64_t>> OutputsInMemory(const Problem& problem, MemoryLayout layout) {
  return std::visit(MemoryShapes{layout}, problem);
}

std::vector<int64_t> EdgesOf(int64_t size) {
  std::set<int64_t> edges = {0, size - 1};
  for (const int64_t tile : {16, 32, 64, 128}) {
    if (size <= tile) continue;
    const int64_t last = (size - 1) / tile * tile;
    edges.insert({tile - 1, tile, last - 1, last});
  }
  return {edges.begin(), edges.end()};
}

std::vector<int64_t> SampleOffsets(const std::vector<int64_t>& shape, int64_t count,
                                   uint64_t seed) {
  const int64_t total = ElementCount(shape);
  std::vector<int64_t> offsets;
  if (total <= count) {
    offsets.resize(total);
    std::iota(offsets.begin(), offsets.end(), 0);
    return offsets;
  }
  offsets = {0, total - 1};
  std::vector<int64_t> place(shape.size());
  for (size_t corner = 0; corner < size_t{1} << shape.size(); ++corner) {
    for (size_t d = 0; d < shape.size(); ++d) {
      place[d] = ((corner >> d) & 1) == 0 ? 0 : shape[d] - 1;
    }
    offsets.push_back(OffsetOf(place, shape));
  }
  std::mt19937_64 random(seed);
  for (size_t d = 0; d < shape.size(); ++d) {
    for (const int64_t edge : EdgesOf(shape[d])) {
      for (int i = 0; i < kPerEdge; ++i) {
        for (size_t e = 0; e < shape.size(); ++e) {
          place[e] = static_cast<int64_t>(random() % static_cast<uint64_t>(shape[e]));
        }
        place[d] = edge;
        offsets.push_back(OffsetOf(place, shape));
      }
    }
  }
  std::vector<Runner> runners;
  for (const int64_t size : shape) runners.emplace_back(size, &random);
  for (int64_t i = 0; i < count; ++i) {
    for (size_t d = 0; d < shape.size(); ++d) place[d] = runners[d].Next();
    offsets.push_back(OffsetOf(place, shape));
  }
  return offsets;
}

}  // namespace plait::cuda
