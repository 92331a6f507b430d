// Which kernels have what they pack in common, and that they compute the same from it.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/run/cpu_executable.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

// A kernel over the whole of a graph with one input and one output, both in its format.
struct PackingCase {
  std::string family;
  std::string variant;
  Format format;
  int width;
  std::string graph;
};

// By a constant of 64 x 96 numbers, or square, of 96 x 96.
constexpr int64_t kMatrixBytes = 64 * 96 * 4;
constexpr int64_t kSquareBytes = 96 * 96 * 4;
constexpr int64_t kFilterBytes = 32 * 32 * 9 * 4;

std::string ProductOf(int rows, const std::string& behind) {
  return "graph {\n  input %x: float32[" + std::to_string(rows) +
         ",64]\n  const %w: float32[64,96] = synthetic 1\n"
         "  const %b: float32[96] = synthetic 2\n  %y = MatMul(%x, %w)\n" +
         behind + "}\n";
}

std::string SquareProduct(const std::string& node) {
  return "graph {\n  input %x: float32[7,96]\n  const %w: float32[96,96] = synthetic 1\n  %y = " +
         node + "\n  output %y\n}\n";
}

std::string ConvolutionOf(int images, const std::string& behind) {
  return "graph {\n  input %x: float32[" + std::to_string(images) +
         ",32,9,9]\n  const %w: float32[32,32,3,3] = synthetic 1\n"
         "  %y = Conv(%x, %w) {pads=[1,1,1,1]}\n" +
         behind + "}\n";
}

const char* const kNothing = "  output %y\n";
const char* const kAddAndRelu = "  %a = Add(%y, %b)\n  %r = Relu(%a)\n  output %r\n";
const char* const kRelu = "  %r = Relu(%y)\n  output %r\n";

class SharedPackingTest : public testing::Test {
 protected:
  static std::unique_ptr<Executor> Open(bool shares_weights, bool shares_formats = false) {
    absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor(
        "cpu", {.threads = 2, .shares_weights = shares_weights, .shares_formats = shares_formats});
    EXPECT_TRUE(executor.ok()) << executor.status();
    return executor.ok() ? *std::move(executor) : nullptr;
  }

  static std::unique_ptr<Executable> Load(Executor& executor, const PackingCase& packing,
                                          const Graph& graph) {
    Kernel kernel{.family = packing.family, .variant = packing.variant, .width = packing.width};
    for (NodeId node = 0; node < graph.node_count(); ++node) kernel.nodes.push_back(node);
    kernel.input_formats = {packing.format};
    kernel.output_formats = {packing.format};
    absl::StatusOr<std::unique_ptr<Executable>> loaded =
        executor.LoadKernel(graph, kernel, NoWeights());
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }

  // A new one, which shares formats, too.
  Executor& OpenSharingFormats() { return *others_.emplace_back(Open(true, true)); }

  // Loads it beside the others, and compares with one that shares nothing. Returns what it was the
  // first to pack.
  int64_t PackedBytesOf(const PackingCase& packing) { return PackedBytesOf(*sharing_, packing); }

  int64_t PackedBytesOf(Executor& executor, const PackingCase& packing) {
    SCOPED_TRACE(packing.family + " " + packing.variant + "\n" + packing.graph);
    const absl::StatusOr<Graph> graph = ParseTypedGraph(packing.graph);
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (!graph.ok()) return -1;
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(*graph, 1, 0);
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    std::unique_ptr<Executable> sharing = Load(executor, packing, *graph);
    const std::unique_ptr<Executable> apart = Load(*apart_, packing, *graph);
    if (!inputs.ok() || sharing == nullptr || apart == nullptr) return -1;
    const absl::StatusOr<std::vector<Tensor>> actual = sharing->Run(*inputs);
    const absl::StatusOr<std::vector<Tensor>> expected = apart->Run(*inputs);
    EXPECT_TRUE(actual.ok() && expected.ok());
    if (!actual.ok() || !expected.ok()) return -1;
    EXPECT_EQ((*actual)[0].bytes(), (*expected)[0].bytes());
    const int64_t bytes = dynamic_cast<const CpuExecutable&>(*sharing).newly_packed_bytes();
    loaded_.push_back(std::move(sharing));
    return bytes;
  }

 private:
  const std::unique_ptr<Executor> sharing_ = Open(true);
  const std::unique_ptr<Executor> apart_ = Open(false);
  std::vector<std::unique_ptr<Executor>> others_;
  std::vector<std::unique_ptr<Executable>> loaded_;
};

// Plans for other sizes differ in widths, and in what is fused to a product.
TEST_F(SharedPackingTest, ProductsOfOneConstantShareItAtAllWidthsAndWhateverFollows) {
  EXPECT_GE(PackedBytesOf({"matmul_fma", "", Format::kPlain, 1, ProductOf(8, kNothing)}),
            kMatrixBytes);
  EXPECT_EQ(PackedBytesOf({"matmul_fma", "", Format::kPlain, 2, ProductOf(8, kNothing)}), 0);
  EXPECT_LT(PackedBytesOf({"matmul_fma", "", Format::kPlain, 2, ProductOf(300, kAddAndRelu)}),
            kMatrixBytes);
  EXPECT_GE(PackedBytesOf({"matmul", "", Format::kPlain, 1, ProductOf(8, kNothing)}), kMatrixBytes);
  EXPECT_LT(PackedBytesOf({"matmul", "", Format::kPlain, 1, ProductOf(8, kAddAndRelu)}),
            kMatrixBytes);
}

// oneDNN's product by AVX-512 reads blocks of columns of several widths, ours among them.
TEST_F(SharedPackingTest, FamiliesOfProductsShareAFormatWhereThatIsWanted) {
  if (CurrentInstructionSet() < InstructionSet::kAvx512) GTEST_SKIP() << "needs AVX-512";
  const PackingCase fma = {"matmul_fma", "", Format::kPlain, 2, ProductOf(40, kNothing)};
  const PackingCase onednn = {"matmul", "", Format::kPlain, 2, ProductOf(8, kNothing)};
  Executor& first = OpenSharingFormats();
  EXPECT_EQ(PackedBytesOf(first, fma), kMatrixBytes);
  EXPECT_EQ(PackedBytesOf(first, onednn), 0);
  Executor& second = OpenSharingFormats();
  EXPECT_EQ(PackedBytesOf(second, onednn), kMatrixBytes);
  EXPECT_EQ(PackedBytesOf(second, fma), 0);
}

// In 48 columns are three vectors.
TEST_F(SharedPackingTest, ASharedFormatIsReadAsThatOfTheFamilyIs) {
  Executor& executor = OpenSharingFormats();
  const auto product_of = [](int depth, int columns, const std::string& node) {
    const bool is_transposed = node.find("transB") != std::string::npos;
    const std::string rows = std::to_string(is_transposed ? columns : depth);
    return "graph {\n  input %x: float32[9," + std::to_string(depth) + "]\n  const %w: float32[" +
           rows + "," + std::to_string(is_transposed ? depth : columns) +
           "] = synthetic 1\n  %y = " + node + "\n  output %y\n}\n";
  };
  for (const int depth : {16, 40, 64}) {
    for (const int columns : {10, 64, 65, 80, 100, 144}) {
      for (const char* const node : {"MatMul(%x, %w)", "Gemm(%x, %w) {transB=1, alpha=0.5}"}) {
        SCOPED_TRACE(columns);
        EXPECT_GE(PackedBytesOf(executor, {"matmul", "", Format::kPlain, 1,
                                           product_of(depth, columns, node)}),
                  0);
      }
    }
  }
}

TEST_F(SharedPackingTest, AMatrixAndItsTransposeAreTwo) {
  const std::string as_it_is = SquareProduct("MatMul(%x, %w)");
  const std::string transposed = SquareProduct("Gemm(%x, %w) {transB=1}");
  for (const char* const family : {"matmul_fma", "matmul"}) {
    SCOPED_TRACE(family);
    EXPECT_GE(PackedBytesOf({family, "", Format::kPlain, 1, as_it_is}), kSquareBytes);
    EXPECT_GE(PackedBytesOf({family, "", Format::kPlain, 1, transposed}), kSquareBytes);
    EXPECT_EQ(PackedBytesOf({family, "", Format::kPlain, 2, as_it_is}), 0);
  }
}

TEST_F(SharedPackingTest, ConvolutionsByOneConstantShareIt) {
  const auto bytes_of = [&](const char* family, const char* variant, int width,
                            const std::string& graph) {
    return PackedBytesOf({family, variant, Format::kChannelsLast, width, graph});
  };
  EXPECT_GE(bytes_of("conv_fma", "", 1, ConvolutionOf(1, kNothing)), kFilterBytes);
  EXPECT_EQ(bytes_of("conv_fma", "", 2, ConvolutionOf(3, kRelu)), 0);
  EXPECT_GE(bytes_of("conv_winograd", "f2", 1, ConvolutionOf(1, kNothing)),
            kFilterBytes + kFilterBytes * 16 / 9);
  EXPECT_EQ(bytes_of("conv_winograd", "f2", 2, ConvolutionOf(3, kRelu)), 0);
  // Larger tiles have the numbers beside them in common, and no more.
  EXPECT_EQ(bytes_of("conv_winograd", "f4", 2, ConvolutionOf(3, kRelu)), kFilterBytes * 36 / 9);
  EXPECT_GE(bytes_of("conv", "channels_last", 1, ConvolutionOf(1, kNothing)), kFilterBytes);
  EXPECT_EQ(bytes_of("conv", "channels_last", 1, ConvolutionOf(1, kRelu)), 0);
}

}  // namespace
}  // namespace plait
