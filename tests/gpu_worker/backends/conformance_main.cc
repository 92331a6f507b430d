#include <cstdio>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/open_executor.h"

// Runs the tests with what the processor has, or, with the name of an instruction set as the only
// argument, held to that: the limit is one for a process, and its first executor sets it. A set
// that the processor lacks is skipped, and said so (exit code 77), as is all that it has.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    if (argv[1] == plait::InstructionSetName(plait::DetectedInstructionSet())) {
      std::printf("%s is what the tests run with unless they are held to less\n", argv[1]);
      return 77;
    }
    const absl::Status status =
        plait::OpenExecutor("cpu", {.threads = 1, .instruction_set = argv[1]}).status();
    if (!status.ok()) {
      std::printf("%s\n", status.ToString().c_str());
      return absl::IsFailedPrecondition(status) ? 77 : 1;
    }
  }
  return RUN_ALL_TESTS();
}
