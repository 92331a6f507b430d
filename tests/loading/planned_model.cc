#include "tests/loading/planned_model.h"

#include <cstring>

#include <gtest/gtest.h>

#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "optimizer/onnx/attach_plan.h"
#include "optimizer/onnx/import.h"
#include "optimizer/plan/embed_plan.h"
#include "optimizer/search/predicted_plan.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {

std::unique_ptr<Executor> OpenCpu(int threads) {
  absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("cpu", {.threads = threads});
  EXPECT_TRUE(executor.ok()) << executor.status();
  return *std::move(executor);
}

std::string OpenModel() {
  return GraphBytes(17, "g (float[N, 8] x) => (float[N, 8] y) { p = MatMul(x, w) y = Relu(p) }",
                    [](::onnx::ModelProto* model) {
                      auto* weight = model->mutable_graph()->add_initializer();
                      weight->set_name("w");
                      weight->set_data_type(1);
                      weight->add_dims(8);
                      weight->add_dims(8);
                      for (int i = 0; i < 64; ++i) weight->add_float_data(static_cast<float>(i));
                    });
}

std::string OpenImages() {
  return GraphBytes(
      17, R"(g (float[N, 3, H, W] x) => (float[N, 4, H, W] y, float[N, 4, P, Q] z) {
                             a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w)
                             b = Relu(a)
                             c = Conv<kernel_shape=[5,5], pads=[2,2,2,2]>(b, v)
                             y = Add(b, c)
                             d = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(c)
                             z = Sigmoid(d)
                           })",
      [](::onnx::ModelProto* model) {
        *model->mutable_graph()->add_initializer() = FloatTensor("w", {4, 3, 3, 3}, -0.2f, 0.004f);
        *model->mutable_graph()->add_initializer() = FloatTensor("v", {4, 4, 5, 5}, -0.1f, 0.0005f);
      });
}

EmbeddedPlan PlanOfGraph(const Graph& graph, const Graph& original, const DeviceDescription& device,
                         const std::function<void(Plan*)>& change) {
  const auto catalog = CatalogFor(device);
  absl::StatusOr<PlannedGraph> planned =
      PredictedPlan(graph, device, **catalog, std::string(PlanEngineVersion()));
  EXPECT_TRUE(planned.ok()) << planned.status();
  planned->plan.predicted = false;
  change(&planned->plan);
  absl::StatusOr<EmbeddedPlan> embedded =
      EmbedPlanInOriginal(graph, planned->plan, std::string(PlanEngineVersion()));
  EXPECT_TRUE(embedded.ok()) << embedded.status();
  embedded->original = original.fingerprint().ToString();
  return *embedded;
}

EmbeddedPlan PlanOfShapes(const std::string& bytes, const Bindings& shapes,
                          const DeviceDescription& device,
                          const std::function<void(Plan*)>& change) {
  const Model model = *ImportOnnx(bytes);
  const Bound bound = *Bind(model, shapes);
  return PlanOfGraph(bound.graph, bound.graph, device, change);
}

EmbeddedPlan PlanOfRows(int64_t rows, const DeviceDescription& device,
                        const std::function<void(Plan*)>& change) {
  return PlanOfShapes(OpenModel(), {{"x", {rows, 8}}}, device, change);
}

EmbeddedPlan PlanOfRows(int64_t rows, const DeviceDescription& device) {
  return PlanOfRows(rows, device, [](Plan*) {});
}

Model ModelWith(absl::Span<const EmbeddedPlan> plans, const std::string& original) {
  const absl::StatusOr<ModelWithPlan> written = AttachPlans(original, plans);
  EXPECT_TRUE(written.ok()) << written.status();
  std::string bytes;
  for (const absl::string_view kept : written->kept) bytes.append(kept.data(), kept.size());
  absl::StatusOr<Model> model = ImportOnnx(bytes + written->appended);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::vector<float> RunOnOnes(const LoadedPlan& loaded) {
  const TensorType& type = loaded.graph.type(loaded.graph.inputs()[0]);
  const std::vector<float> ones(static_cast<size_t>(type.elements()), 1.0f);
  const Tensor input(type,
                     std::string(reinterpret_cast<const char*>(ones.data()), 4 * ones.size()));
  const absl::StatusOr<std::vector<Tensor>> outputs = loaded.executable->Run({&input, 1});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<float> values(static_cast<size_t>(outputs->front().type().elements()));
  std::memcpy(values.data(), outputs->front().bytes().data(), 4 * values.size());
  return values;
}

}  // namespace plait
