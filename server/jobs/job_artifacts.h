#pragma once

#include "absl/status/statusor.h"
#include "plait/internal/search_child.pb.h"
#include "storage/stores.h"

namespace plait {

// An empty file without a name in the data directory, for a child's output: it is gone when nobody
// has it open any more, whoever dies. In memory where the file system has no such files.
// Errors: those of the file system.
absl::StatusOr<FileDescriptor> OpenOutputFile(const std::string& directory);

// Stores what a child has written to a file, and tells its digest. Granted to nobody.
// Errors: those of the storage; InvalidArgument when the file is empty, or changes meanwhile.
absl::StatusOr<Digest> StoreFile(BlobStore& blobs, int file);

// Stores everything that a search has made: the optimized model in the file `output`, plan, report
// and measurement log; grants it to the job's tenant, and fills in what the child could not
// know or might lie about.
// Errors: those of the storage; InvalidArgument when there is no output, or it changes meanwhile.
// What the child says of ids, digests, device and version is replaced by what the daemon knows;
// times, counts and names in its report stay as it said them.
//
// Blobs are durable before this returns, and so before Finish makes the job final: a job that has
// ended has bytes to show. After a crash in between, the job is still RUNNING and is run again; its
// blobs belong to no job then, and garbage collection takes them.
absl::StatusOr<v1::JobResult> StoreArtifacts(Stores& stores, const v1::Job& job,
                                             const internal::Start& start,
                                             const internal::Result& result, int output);

// Stores the report of a result as JSON, and grants it to the tenant. A result that is taken from
// another job has a report of its own.
// Errors: those of the storage.
absl::Status StoreReport(Stores& stores, const std::string& tenant, v1::JobResult& result);

}  // namespace plait
