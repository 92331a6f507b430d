// Graphs that the builder makes, on the GPU that is here and on the simulated device: both drivers
// have the same nodes and edges when a graph is instantiated, and every replay gives the same bits
// as the operations one after another. Without a driver every test says that it is skipped.
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "gmock/gmock.h"
#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/gpu/device_code.h"

namespace plait::cuda {
namespace {

// y is constant for a kernel that begins early, which reads it before it waits.
constexpr char kMix[] = R"(
extern "C" __global__ void mix(const unsigned* x, const unsigned* y, unsigned* z) {
  const unsigned i = 32 * blockIdx.x + threadIdx.x;
  z[i] = 3 * x[i] + y[i];
}
)";
constexpr char kEarly[] = R"(
extern "C" __global__ void early(const unsigned* x, const unsigned* y, unsigned* z) {
  const unsigned i = 32 * blockIdx.x + threadIdx.x;
  const unsigned constant = y[i];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  z[i] = 3 * x[i] + constant;
}
)";

constexpr int kInputs = 2;
constexpr int kOperationsMax = 16;
// An operation is known by its number of blocks: its own number and one.
constexpr int kWords = 32 * kOperationsMax;
constexpr size_t kBytes = kWords * sizeof(uint32_t);
constexpr int kReplays = 20;
constexpr uint64_t kSeeds = 3;  // orders of the simulated device

using Words = std::vector<uint32_t>;

// z = 3 x + y in the first 32 * (number + 1) words; z is a buffer of its own, behind the inputs.
struct Operation {
  int x = 0, y = 1;  // inputs, then results of earlier operations
  bool early = false;
};

struct Shape {
  std::string name;
  std::vector<Operation> operations;
  std::vector<std::vector<int>> streams;  // orders beside those of data
  std::vector<int> barrier_before, barrier_after;
};

Shape Random(uint64_t seed) {
  plait::Random random(seed);
  Shape shape{absl::StrCat("random_", seed), {}, {}, {}, {}};
  for (int i = 0; i < 12; ++i) {
    const auto any = [&] { return static_cast<int>(random.Next() % (kInputs + i)); };
    const int x = any();
    shape.operations.push_back({x, any()});
  }
  return shape;
}

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes = {
      {"chain", {{0, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}, {}, {}, {}},
      {"fork_and_join", {{0, 1}, {2, 1}, {2, 0}, {2, 1}, {3, 4}, {5, 6}}, {}, {}, {}},
      {"streams", {{0, 1}, {1, 0}, {0, 0}, {1, 1}, {0, 1}}, {{0, 2, 4}, {1, 3}}, {}, {}},
      {"stage_barrier", {{0, 1}, {1, 0}, {0, 0}, {2, 3}, {3, 4}, {4, 2}}, {}, {0, 1, 2}, {3, 4, 5}},
      {"early", {{0, 1}, {2, 1, true}, {3, 1, true}, {2, 0}}, {}, {}, {}},
  };
  for (uint64_t seed = 1; seed <= 4; ++seed) shapes.push_back(Random(seed));
  return shapes;
}

std::vector<Words> Inputs() {
  std::vector<Words> inputs(kInputs, Words(kWords));
  for (int i = 0; i < kInputs; ++i) {
    for (int w = 0; w < kWords; ++w) inputs[i][w] = static_cast<uint32_t>(1000 * i + w + 1);
  }
  return inputs;
}

// Of the operations one after another, where nothing else was written: zero.
std::vector<Words> Expected(const Shape& shape) {
  std::vector<Words> buffers = Inputs();
  for (size_t i = 0; i < shape.operations.size(); ++i) {
    const auto& [x, y, early] = shape.operations[i];
    Words z(kWords, 0);
    for (size_t w = 0; w < 32 * (i + 1); ++w) z[w] = 3 * buffers[x][w] + buffers[y][w];
    buffers.push_back(z);
  }
  buffers.erase(buffers.begin(), buffers.begin() + kInputs);
  return buffers;
}

// What a driver says of a graph: a node by its kernel and its blocks.
struct Observed {
  std::multiset<std::string> nodes, edges;
};

// Asks before a graph is instantiated.
class ObservingRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;

  Result<GraphExec> Instantiate(Graph graph) override {
    const Status asked = Ask(graph);
    if (!asked.ok()) return asked.error();
    return DriverRuntime::Instantiate(graph);
  }

  const Observed& observed() const { return observed_; }

 private:
  Result<std::string> NameOf(GraphNode node) {
    const Result<NodeDescription> described = DescribeNode(node);
    if (!described.ok()) return described.error();
    const NodeDescription& said = described.value();
    if (said.kind == NodeDescription::Kind::kEmpty) return std::string("empty");
    return absl::StrCat(said.kernel, " of ", said.grid[0], " blocks of ", said.block[0]);
  }

  Status Ask(Graph graph) {
    observed_ = {};
    const Result<std::vector<GraphNode>> nodes = Nodes(graph);
    if (!nodes.ok()) return nodes.error();
    for (const GraphNode node : nodes.value()) {
      const Result<std::string> name = NameOf(node);
      if (!name.ok()) return name.error();
      observed_.nodes.insert(name.value());
    }
    const Result<std::vector<GraphEdge>> edges = Edges(graph);
    if (!edges.ok()) return edges.error();
    for (const GraphEdge& edge : edges.value()) {
      const Result<std::string> from = NameOf(edge.from), to = NameOf(edge.to);
      if (!from.ok()) return from.error();
      if (!to.ok()) return to.error();
      observed_.edges.insert(
          absl::StrCat(from.value(), " -> ", to.value(), edge.data.type == 0 ? "" : ", early"));
    }
    return Ok();
  }

  Observed observed_;
};

// A device with the buffers of a shape, which are given back at the end.
class Device {
 public:
  explicit Device(const DriverLibrary* library) : runtime_(0, library) {}

  // Errors: kUnavailable without a driver; kDevice.
  Status Open() {
    Result<DeviceFacts> facts = runtime_.Describe();
    if (!facts.ok()) return facts.error();
    facts_ = std::move(facts).value();
    const Result<Stream> stream = runtime_.CreateStream(0);
    if (!stream.ok()) return stream.error();
    stream_ = OwnedStream(&runtime_, stream.value());
    Result<std::unique_ptr<Staging>> staging = Staging::Make(&runtime_, kBytes);
    if (!staging.ok()) return staging.error();
    staging_ = std::move(staging).value();
    for (int i = 0; i < kInputs + kOperationsMax; ++i) {
      const Result<void*> memory = runtime_.Allocate(kBytes);
      if (!memory.ok()) return memory.error();
      buffers_.emplace_back(&runtime_, memory.value());
    }
    return Ok();
  }

  bool BeginsEarly() const { return facts_.sm_major >= 9; }
  const Observed& observed() const { return runtime_.observed(); }

  // Errors: of compilation and of the driver.
  Status Build(const Shape& shape) {
    const Result<std::string> code = CompileForDevice(
        runtime_, facts_, BeginsEarly() ? absl::StrCat(kMix, kEarly) : std::string(kMix));
    if (!code.ok()) return code.error();
    const Result<Library> library = runtime_.LoadLibrary(code.value());
    if (!library.ok()) return library.error();
    library_ = OwnedLibrary(&runtime_, library.value());
    FlatGraphBuilder builder(&runtime_);
    for (size_t i = 0; i < shape.operations.size(); ++i) {
      PLAIT_CUDA_RETURN_IF_ERROR(Add(shape.operations[i], static_cast<int>(i), builder));
    }
    for (const std::vector<int>& order : shape.streams) {
      PLAIT_CUDA_RETURN_IF_ERROR(builder.AddStreamOrder(order));
    }
    if (!shape.barrier_before.empty()) {
      PLAIT_CUDA_RETURN_IF_ERROR(
          builder.AddStageBarrier(shape.barrier_before, shape.barrier_after));
    }
    Result<ExecutableGraph> graph = builder.Build();
    if (!graph.ok()) return graph.error();
    graph_.emplace(std::move(graph).value());
    return Ok();
  }

  // The results of one run, in buffers that held nothing.
  Result<std::vector<Words>> Replay(size_t operations) {
    const std::vector<Words> inputs = Inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      PLAIT_CUDA_RETURN_IF_ERROR(
          staging_->Upload(buffers_[i].get(), inputs[i].data(), kBytes, stream_.get()));
    }
    for (size_t i = inputs.size(); i < buffers_.size(); ++i) {
      PLAIT_CUDA_RETURN_IF_ERROR(runtime_.Fill(buffers_[i].get(), 0, kBytes, stream_.get()));
    }
    PLAIT_CUDA_RETURN_IF_ERROR(graph_->Launch(stream_.get()));
    PLAIT_CUDA_RETURN_IF_ERROR(runtime_.Synchronize(stream_.get()));
    std::vector<Words> results(operations, Words(kWords));
    for (size_t i = 0; i < operations; ++i) {
      PLAIT_CUDA_RETURN_IF_ERROR(staging_->Download(results[i].data(), buffers_[kInputs + i].get(),
                                                    kBytes, stream_.get()));
    }
    return results;
  }

 private:
  Status Add(const Operation& operation, int number, FlatGraphBuilder& builder) {
    const Result<Kernel> kernel =
        runtime_.FindKernel(library_.get(), operation.early ? "early" : "mix");
    if (!kernel.ok()) return kernel.error();
    void* addresses[] = {buffers_[operation.x].get(), buffers_[operation.y].get(),
                         buffers_[kInputs + number].get()};
    void* arguments[] = {&addresses[0], &addresses[1], &addresses[2]};
    const LaunchShape shape = {.grid = {static_cast<unsigned>(number + 1), 1, 1},
                               .block = {32, 1, 1}};
    const Result<int> added = builder.AddOperation("mix", [&](Stream stream) {
      return runtime_.LaunchKernel(kernel.value(), shape, arguments, stream);
    });
    if (!added.ok()) return added.error();
    if (operation.early) builder.LetBeginEarly(added.value());
    for (const int read : {operation.x, operation.y}) {
      if (read < kInputs) continue;
      PLAIT_CUDA_RETURN_IF_ERROR(builder.AddEdge(read - kInputs, added.value(), EdgeReason::kData));
    }
    return Ok();
  }

  ObservingRuntime runtime_;
  DeviceFacts facts_;
  OwnedStream stream_;
  std::unique_ptr<Staging> staging_;
  std::vector<OwnedMemory> buffers_;
  OwnedLibrary library_;
  std::optional<ExecutableGraph> graph_;
};

bool HasEarly(const Shape& shape) {
  for (const Operation& operation : shape.operations) {
    if (operation.early) return true;
  }
  return false;
}

class GpuGraphsTest : public testing::TestWithParam<Shape> {};

TEST_P(GpuGraphsTest, HaveTheNodesEdgesAndOutputsOfTheSimulatedDevice) {
  const Shape& shape = GetParam();
  Device gpu(nullptr);
  const Status opened = gpu.Open();
  if (!opened.ok()) GTEST_SKIP() << "skipped: no device: " << opened.error().message;
  if (HasEarly(shape) && !gpu.BeginsEarly()) {
    GTEST_SKIP() << "the device has no programmatic edges";
  }
  const Status built = gpu.Build(shape);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const std::vector<Words> expected = Expected(shape);
  for (int replay = 0; replay < kReplays; ++replay) {
    const auto results = gpu.Replay(shape.operations.size());
    ASSERT_TRUE(results.ok()) << results.error().message;
    ASSERT_EQ(results.value(), expected) << "replay " << replay;
  }

  simulated_gpu::SimulatedDriver driver;
  Device simulated(&driver.library());
  ASSERT_TRUE(simulated.Open().ok());
  const Status simulated_built = simulated.Build(shape);
  ASSERT_TRUE(simulated_built.ok()) << simulated_built.error().message;
  EXPECT_EQ(gpu.observed().nodes, simulated.observed().nodes);
  EXPECT_EQ(gpu.observed().edges, simulated.observed().edges);
  EXPECT_GE(gpu.observed().nodes.size(), shape.operations.size());
  const std::string edges = absl::StrJoin(gpu.observed().edges, "\n");
  EXPECT_THAT(edges, testing::HasSubstr(" -> "));
  EXPECT_EQ(absl::StrContains(edges, ", early"), HasEarly(shape)) << edges;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    driver.SetSeed(seed);
    const auto results = simulated.Replay(shape.operations.size());
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ(results.value(), expected) << "seed " << seed;
  }
  std::printf("%s: %zu nodes, %zu edges\n", shape.name.c_str(), gpu.observed().nodes.size(),
              gpu.observed().edges.size());
  RecordProperty("edges", static_cast<int>(gpu.observed().edges.size()));
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuGraphsTest, testing::ValuesIn(Shapes()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace plait::cuda
