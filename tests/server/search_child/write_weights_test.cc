#include "server/search_child/write_weights.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/strip.h"
#include "proto/wire/weight_table.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using wire::WeightPlace;

// What is written for the model in this file.
std::string Written(const std::string& file) {
  const FileDescriptor output(memfd_create("table", MFD_CLOEXEC));
  const absl::StatusOr<Model> model = ImportOnnx(file);
  EXPECT_TRUE(model.ok()) << model.status();
  const absl::Status status = WriteWeights(*model, file, output.number());
  EXPECT_TRUE(status.ok()) << status;
  std::string table(1 << 20, '\0');
  const ssize_t count = pread(output.number(), table.data(), table.size(), 0);
  table.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
  return table;
}

// Two weights, one as raw data and one as numbers, and a small constant.
std::string ModelFile() {
  return GraphBytes(13,
                    "g (float[300] x) => (float[300] y) { i = Cast<to = 1>(integers) "
                    "a = Add(x, w) b = Add(a, i) y = Add(b, small) }",
                    [](::onnx::ModelProto* model) {
                      *model->mutable_graph()->add_initializer() = FloatTensor("w", {300});
                      *model->mutable_graph()->add_initializer() = FloatTensor("small", {1});
                      ::onnx::TensorProto& integers = *model->mutable_graph()->add_initializer();
                      integers.set_name("integers");
                      integers.set_data_type(::onnx::TensorProto::INT64);
                      integers.add_dims(300);
                      for (int i = 0; i < 300; ++i) integers.add_int64_data(i);
                    });
}

TEST(WriteWeightsTest, NamesEveryWeightAndStoresThoseThatTheFileHasInAnotherForm) {
  const std::string file = ModelFile();
  const std::string blob = Written(file);
  const absl::StatusOr<wire::WeightTable> table =
      wire::ParseWeightTable(blob, static_cast<int64_t>(file.size()));
  ASSERT_TRUE(table.ok()) << table.status();
  std::map<WeightPlace, int> places;
  for (const auto& [digest, entry] : table->entries) {
    ++places[entry.place];
    const absl::string_view bytes =
        entry.place == WeightPlace::kModel ? absl::string_view(file) : table->stored;
    EXPECT_EQ(DigestOf(bytes.substr(static_cast<size_t>(entry.offset_bytes),
                                    static_cast<size_t>(digest.size_bytes))),
              digest);
  }
  EXPECT_EQ(places,
            (std::map<WeightPlace, int>{{WeightPlace::kModel, 1}, {WeightPlace::kTable, 1}}));
  EXPECT_EQ(table->stored.size(), 300 * sizeof(int64_t));
}

// Otherwise every run of a job would leave another blob.
TEST(WriteWeightsTest, WritesTheSameForTheSameModel) {
  EXPECT_EQ(Written(ModelFile()), Written(ModelFile()));
}

TEST(WriteWeightsTest, SaysOfStrippedWeightsThatTheyAreNowhere) {
  const std::string file = ModelFile();
  const absl::StatusOr<Stripped> stripped = StripWeights(file);
  ASSERT_TRUE(stripped.ok()) << stripped.status();
  const std::string blob = Written(stripped->skeleton);
  const absl::StatusOr<wire::WeightTable> table =
      wire::ParseWeightTable(blob, static_cast<int64_t>(stripped->skeleton.size()));
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(stripped->weights.size(), 1u);
  EXPECT_EQ(table->entries.at(stripped->weights.begin()->first).place, WeightPlace::kNowhere);
}

TEST(WriteWeightsTest, WritesATableForAModelWithoutWeights) {
  EXPECT_EQ(Written(GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }")),
            wire::WeightTableLines({}));
}

}  // namespace
}  // namespace plait
