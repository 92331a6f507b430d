#include "gpu_worker/process/run_task.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "optimizer/ir/text.h"
#include "proto/wire/digest.h"
#include "proto/wire/weight_table.h"
#include "tests/gpu_worker/executor/executor_fixture.h"
#include "tests/gpu_worker/process/map_bytes.h"

namespace plait {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class TaskRunnerTest : public ExecutorFixture {
 protected:
  // A task of one kernel that every backend can run.
  worker::v1::Task ReluTask() const {
    worker::v1::Task task;
    task.mutable_profile()->set_samples_min(3);
    task.mutable_profile()->set_device_fingerprint(executor_->device().fingerprint);
    worker::v1::KernelRequest& kernel = *task.mutable_profile()->add_kernels();
    kernel.set_key("anything at all");
    kernel.set_family("reference");
    kernel.set_version("7");
    kernel.set_width(1);
    kernel.add_formats("plain");
    kernel.add_formats("plain");
    kernel.set_graph_text(R"(graph {
  input %i0: float32[4,8]
  %t0: float32[4,8] = Relu(%i0)
  output %t0
})");
    return task;
  }

  worker::v1::TaskResult Run(const worker::v1::Task& task, FamilyVersion version = nullptr) {
    return Runner(std::move(version)).Run(task);
  }

  TaskRunner Runner(FamilyVersion version = nullptr) {
    const auto fetch = [this](const v1::Digest& digest) { return blobs_.Fetch(digest); };
    return TaskRunner(*executor_, fetch, std::move(version));
  }

  v1::Digest Store(const std::string& bytes) {
    const v1::Digest digest = wire::DigestToProto(DigestOf(bytes));
    blobs_.bytes[digest.sha256_hex()] = bytes;
    return digest;
  }

  // Two candidates that add the weight of this digest, 300 floats, to their input.
  worker::v1::Task AddTask(const Digest& weight) const {
    const Graph graph =
        ParseTyped("graph {\n input %x: float32[300]\n const %w: float32[300] = weight " +
                   weight.ToString() + "\n %y = Add(%x, %w)\n output %y\n}");
    worker::v1::Task task;
    task.mutable_measure()->set_rounds(3);
    task.mutable_measure()->set_tolerance(1e-4);
    for (const char* id : {"baseline", "candidate"}) {
      worker::v1::Candidate& candidate = *task.mutable_measure()->add_candidates();
      candidate.set_id(id);
      candidate.set_graph_text(PrintGraph(graph));
      candidate.set_plan_text(PrintPlan(PlanOf(graph)));
    }
    return task;
  }

  // Equal candidates, of whose second step, a product with a weight, the errors are wanted.
  worker::v1::Task ErrorsTask(int candidates) {
    const std::string weight = FloatBytes(300);
    const Graph graph = ParseTyped(
        "graph {\n input %x: float32[8,20]\n const %w: float32[20,15] = weight " +
        DigestOf(weight).ToString() + "\n %a = Neg(%x)\n %y = MatMul(%a, %w)\n output %y\n}");
    worker::v1::Task task;
    *task.mutable_model() = Store(weight);
    *task.mutable_weights() =
        Store(wire::WeightTableLines({{DigestOf(weight), {wire::WeightPlace::kModel, 0}}}));
    task.mutable_measure()->set_errors_only(true);
    for (int i = 0; i < candidates; ++i) {
      worker::v1::Candidate& candidate = *task.mutable_measure()->add_candidates();
      candidate.set_id(std::to_string(i));
      candidate.set_graph_text(PrintGraph(graph));
      candidate.set_plan_text(PrintPlan(PlanOf(graph)));
      candidate.add_error_steps(1);
    }
    return task;
  }

  FakeBlobs blobs_;
};

TEST_F(TaskRunnerTest, MeasuresWhatTheFieldsSayAndGivesTheKeyBack) {
  const worker::v1::TaskResult result = Run(ReluTask());
  ASSERT_THAT(result.profile().profiles(), SizeIs(1)) << result.ShortDebugString();
  EXPECT_EQ(result.profile().profiles(0).key(), "anything at all");
  EXPECT_EQ(result.profile().profiles(0).error(), "");
  EXPECT_GE(result.profile().profiles(0).profile().samples(), 3);
}

TEST_F(TaskRunnerTest, SaysHowMuchMemoryATaskTook) {
  EXPECT_GT(Run(ReluTask()).peak_memory_bytes(), 1 << 20);
  EXPECT_GT(Run(worker::v1::Task()).peak_memory_bytes(), 1 << 20) << "whatever came of it";
}

TEST_F(TaskRunnerTest, SendsTheYardsticksOfWhatItMeasures) {
  const worker::v1::TaskResult result = Run(ReluTask());
  ASSERT_THAT(result.profile().profiles(), SizeIs(1)) << result.ShortDebugString();
  const v1::Yardsticks& yardsticks = result.profile().profiles(0).profile().yardsticks();
  EXPECT_GT(yardsticks.multiply_add_flops_per_us(), 0);
  EXPECT_GT(yardsticks.read_bytes_per_us(), 0);
  EXPECT_FALSE(result.profile().has_yardsticks());
}

TEST_F(TaskRunnerTest, ReadsTheYardsticksAloneForATaskWithoutKernels) {
  worker::v1::Task task = ReluTask();
  task.mutable_profile()->clear_kernels();
  const worker::v1::TaskResult result = Run(task);
  ASSERT_TRUE(result.has_profile()) << result.ShortDebugString();
  EXPECT_THAT(result.profile().profiles(), SizeIs(0));
  EXPECT_GT(result.profile().yardsticks().multiply_add_flops_per_us(), 0);
  EXPECT_GT(result.profile().yardsticks().read_bytes_per_us(), 0);
}

TEST_F(TaskRunnerTest, RefusesATaskForAnotherDevice) {
  worker::v1::Task task = ReluTask();
  task.mutable_profile()->set_device_fingerprint("another");
  const worker::v1::TaskResult result = Run(task);
  EXPECT_EQ(result.error().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(result.error().message(), HasSubstr("another"));
}

// Without its kernels a search would end with a poorer plan, and nobody would know why.
TEST_F(TaskRunnerTest, RefusesATaskForKernelsOfAnotherVersion) {
  worker::v1::Task task = ReluTask();
  *task.mutable_profile()->add_kernels() = task.profile().kernels(0);
  task.mutable_profile()->mutable_kernels(0)->set_version("6");
  const worker::v1::TaskResult result =
      Run(task, [](absl::string_view family) { return family == "reference" ? "7" : ""; });
  EXPECT_EQ(result.error().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(result.error().message(), HasSubstr("version \"6\" is asked for"));
}

TEST_F(TaskRunnerTest, SaysWhatIsWrongWithAKernel) {
  worker::v1::Task task = ReluTask();
  worker::v1::KernelRequest& kernel = *task.mutable_profile()->mutable_kernels(0);
  kernel.set_graph_text("graph {");
  EXPECT_NE(Run(task).profile().profiles(0).error(), "");
  kernel = ReluTask().profile().kernels(0);
  kernel.set_family("no_such_family");
  EXPECT_THAT(Run(task).profile().profiles(0).error(), HasSubstr("no_such_family"));
  kernel = ReluTask().profile().kernels(0);
  kernel.set_formats(0, "sideways");
  EXPECT_THAT(Run(task).profile().profiles(0).error(), HasSubstr("sideways"));
}

TEST_F(TaskRunnerTest, RefusesAnEmptyTaskAndOneWithoutItsBlobs) {
  worker::v1::Task task;
  EXPECT_EQ(Run(task).error().code(), static_cast<int>(absl::StatusCode::kUnimplemented));
  task.mutable_measure();
  EXPECT_EQ(Run(task).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  task.mutable_measure()->add_candidates();
  task.mutable_weights();
  EXPECT_EQ(Run(task).error().code(), static_cast<int>(absl::StatusCode::kNotFound));
}

// The model is a stranger's, and a parser of it would run in the process that owns the device.
TEST_F(TaskRunnerTest, MeasuresWithTheWeightsOfAModelThatNobodyCanParse) {
  const std::string weight = FloatBytes(300);
  worker::v1::Task task = AddTask(DigestOf(weight));
  *task.mutable_model() = Store("\xff no model" + weight + "\xff");
  *task.mutable_weights() =
      Store(wire::WeightTableLines({{DigestOf(weight), {wire::WeightPlace::kModel, 10}}}));
  TaskRunner runner = Runner();
  for (int run = 0; run < 2; ++run) {
    const worker::v1::TaskResult result = runner.Run(task);
    ASSERT_THAT(result.measure().candidates(), SizeIs(2)) << result.ShortDebugString();
    for (const worker::v1::CandidateMeasurement& measured : result.measure().candidates()) {
      EXPECT_EQ(measured.error(), "");
      EXPECT_THAT(measured.latency_us(), SizeIs(3));
    }
  }
  EXPECT_THAT(blobs_.fetched, SizeIs(2));  // each blob once
}

TEST_F(TaskRunnerTest, EndsATaskWhoseTableOfWeightsIsWrongAsItsOwnFault) {
  const std::string weight = FloatBytes(300);
  worker::v1::Task task = AddTask(DigestOf(weight));
  *task.mutable_model() = Store("\xff no model" + weight + "\xff");
  const auto table_at = [&](int64_t offset) {
    return wire::WeightTableLines({{DigestOf(weight), {wire::WeightPlace::kModel, offset}}});
  };
  TaskRunner runner = Runner();
  for (const std::string& table : {table_at(0), table_at(9), table_at(11), table_at(12),
                                   table_at(1'000'000), std::string("no table"), std::string()}) {
    *task.mutable_weights() = Store(table);
    EXPECT_EQ(runner.Run(task).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument))
        << table;
  }
  // It costs that task only.
  *task.mutable_weights() = Store(table_at(10));
  EXPECT_THAT(runner.Run(task).measure().candidates(), SizeIs(2));
}

TEST_F(TaskRunnerTest, SaysWhichWeightIsMissing) {
  const Digest missing = DigestOf(FloatBytes(300));
  EXPECT_THAT(Run(AddTask(missing)).error().message(), HasSubstr(missing.ToString()));
}

TEST_F(TaskRunnerTest, MeasuresEachCandidateOrSaysWhyNot) {
  const Graph graph = ParseTyped("graph {\n input %x: float32[4]\n %y = Relu(%x)\n output %y\n}");
  worker::v1::Task task;
  task.mutable_measure()->set_rounds(3);
  task.mutable_measure()->set_tolerance(1e-4);
  Plan for_another = PlanOf(graph);
  for_another.device_fingerprint = "another";
  for (const std::string& plan : {PrintPlan(PlanOf(graph)), PrintPlan(PlanOf(graph)),
                                  std::string("no plan"), PrintPlan(for_another)}) {
    worker::v1::Candidate& candidate = *task.mutable_measure()->add_candidates();
    candidate.set_id("id of " + std::to_string(task.measure().candidates_size()));
    candidate.set_graph_text(PrintGraph(graph));
    candidate.set_plan_text(plan);
  }
  const worker::v1::TaskResult result = Run(task);
  ASSERT_THAT(result.measure().candidates(), SizeIs(4)) << result.ShortDebugString();
  for (int i = 0; i < 4; ++i) {
    const worker::v1::CandidateMeasurement& measured = result.measure().candidates(i);
    EXPECT_EQ(measured.id(), "id of " + std::to_string(i + 1));
    EXPECT_EQ(measured.error().empty(), i < 2) << measured.error();
    EXPECT_THAT(measured.latency_us(), SizeIs(i < 2 ? 3 : 0));
  }
}

TEST_F(TaskRunnerTest, MeasuresTheErrorsOfStepsOrSaysWhyNot) {
  worker::v1::Task task = ErrorsTask(4);
  worker::v1::MeasureTask& work = *task.mutable_measure();
  work.mutable_candidates(0)->set_error_steps(0, 2);
  work.mutable_candidates(1)->set_plan_text("no plan");
  work.mutable_candidates(3)->add_error_steps(0);
  const worker::v1::TaskResult result = Run(task);
  ASSERT_THAT(result.measure().candidates(), SizeIs(4)) << result.ShortDebugString();
  for (int i = 0; i < 4; ++i) {
    const worker::v1::CandidateMeasurement& measured = result.measure().candidates(i);
    EXPECT_EQ(measured.id(), std::to_string(i));
    EXPECT_EQ(measured.error().empty(), i == 2) << measured.error();
    EXPECT_THAT(measured.step_errors(), SizeIs(i == 2 ? 1 : 0));
    EXPECT_THAT(measured.latency_us(), SizeIs(0));
  }
  const worker::v1::StepError& error = result.measure().candidates(2).step_errors(0);
  EXPECT_GT(error.error(), 0);
  EXPECT_LT(error.error(), 1e-5);
  EXPECT_GT(error.serial_hard_error(), 0);
  EXPECT_THAT(result.measure().candidates(3).error(), HasSubstr("step 0: steps must be ascending"));
}

TEST_F(TaskRunnerTest, TimesStepsOrSaysWhyNot) {
  worker::v1::Task task = ErrorsTask(2);
  worker::v1::MeasureTask& work = *task.mutable_measure();
  work.set_errors_only(false);
  work.set_step_times_only(true);
  work.set_rounds(2);
  work.mutable_candidates(0)->set_plan_text("no plan");
  const worker::v1::TaskResult result = Run(task);
  ASSERT_THAT(result.measure().candidates(), SizeIs(2)) << result.ShortDebugString();
  EXPECT_THAT(result.measure().candidates(0).error(), HasSubstr("line 1"));
  const worker::v1::CandidateMeasurement& timed = result.measure().candidates(1);
  EXPECT_EQ(timed.id(), "1");
  EXPECT_EQ(timed.error(), "");
  EXPECT_THAT(timed.step_us(), SizeIs(2));
  for (const double step_us : timed.step_us()) EXPECT_GT(step_us, 0);
  EXPECT_THAT(timed.latency_us(), SizeIs(0));
}

TEST_F(TaskRunnerTest, MeasuresErrorsOnTheInputsOfTheTask) {
  worker::v1::Task task = ErrorsTask(1);
  v1::InputValue& value = *task.mutable_measure()->add_input_sets()->add_values();
  value.set_name("x");
  *value.mutable_blob() = Store(FloatBytes(160));
  EXPECT_THAT(Run(task).measure().candidates(0).step_errors(), SizeIs(1));
  value.set_name("z");
  EXPECT_THAT(Run(task).measure().candidates(0).error(), HasSubstr("input z"));
}

TEST_F(TaskRunnerTest, EndsMeasuringErrorsWhenItIsAskedTo) {
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(Runner().Run(ErrorsTask(1), source.get_token()).error().code(),
            static_cast<int>(absl::StatusCode::kCancelled));
}

TEST_F(TaskRunnerTest, ComparesOutputsOnTheInputsOfTheTask) {
  const Graph graph = ParseTyped("graph {\n input %x: float32[4]\n %y = Relu(%x)\n output %y\n}");
  worker::v1::Task task;
  task.mutable_measure()->set_rounds(3);
  task.mutable_measure()->set_inputs_count(2);
  task.mutable_measure()->set_tolerance(1e-4);
  worker::v1::Candidate& candidate = *task.mutable_measure()->add_candidates();
  candidate.set_graph_text(PrintGraph(graph));
  candidate.set_plan_text(PrintPlan(PlanOf(graph)));
  const std::string bytes(16, '\0');
  v1::InputValue& value = *task.mutable_measure()->add_input_sets()->add_values();
  value.set_name("x");
  *value.mutable_blob() = Store(bytes);
  const worker::v1::TaskResult result = Run(task);
  ASSERT_THAT(result.measure().candidates(), SizeIs(1)) << result.ShortDebugString();
  EXPECT_EQ(result.measure().candidates(0).inputs_tried(), 3);
  value.set_name("z");
  EXPECT_EQ(Run(task).error().code(), static_cast<int>(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Run(task).error().message(), HasSubstr("input z: the model has no such input"));
}

}  // namespace
}  // namespace plait
