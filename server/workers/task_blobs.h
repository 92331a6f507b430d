#pragma once

#include "base/digest.h"
#include "plait/worker/v1/worker.pb.h"

namespace plait {

// Whether the task names the blob, as a model, its table of weights or the value of an input:
// what the worker that has the task needs to read. Pure and thread-safe.
bool NamesBlob(const worker::v1::Task& task, const Digest& blob);

}  // namespace plait
