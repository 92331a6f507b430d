#pragma once

#include <cstdint>

// Every limit of the system, each with its reason. Hitting one is an error with the limit in its
// text.
namespace plait {

// 2 GiB - 1: protobuf cannot parse a larger message. A file with external data counts as the
// message that it is sent as. No other blob is larger.
constexpr int64_t kModelBytesMax = (int64_t{2} << 30) - 1;
// 1 MiB: large enough to hide a round trip, small enough for gRPC's default message limit of 4 MiB.
constexpr int64_t kBlobChunkBytesMax = int64_t{1} << 20;
// Ten times the largest published model graph that we know of (about 100,000 nodes).
constexpr int64_t kModelNodesMax = 1'000'000;
// 16 M: a field costs up to 200 bytes in memory once parsed, so that 2-byte fields cannot take more
// than 3 GiB before a parser's own limits apply.
constexpr int64_t kModelFieldsMax = 16'000'000;
// ONNX places no limit; real models stay below 8, and shape loops are bounded by it.
constexpr int kTensorRankMax = 16;
// 2^40 elements: products of dimensions below this never overflow 64 bits when multiplied by 16
// bytes.
constexpr int64_t kTensorElementsMax = int64_t{1} << 40;
// 1 KiB: constants up to this size are kept inline, because rules read them (axes, epsilons,
// shapes).
constexpr int64_t kInlineConstantBytesMax = 1024;
// 1,000 operators nested in one constant expression: weights go through tens; recursion over an
// expression must not overflow a thread's stack.
constexpr int kConstantDepthMax = 1000;
// 1 M: importing never computes more for one node; real shape arithmetic takes a dozen operations.
constexpr int64_t kFoldedAtImportFlopsMax = 1'000'000;
// 1 GiB: constant folding never creates a tensor larger than this.
constexpr int64_t kFoldedBytesMax = int64_t{1} << 30;
// 2^30 elements (8 GiB as doubles): reference evaluation refuses larger results instead of dying of
// them.
constexpr int64_t kEvaluatedElementsMax = int64_t{1} << 30;
// Nesting of If/Loop/Scan bodies; deeper models are refused before recursion can overflow the
// stack.
constexpr int kSubgraphDepthMax = 16;
// 64: functions of exported models call each other 4 deep; the inliner recurses once per level.
constexpr int kFunctionDepthMax = 64;
// Attempts at a task or a job before it counts as poisonous (Buildbarn's bounded retry).
constexpr int kAttemptsMax = 3;
// 20 runs that the server itself could not bring to an end: with pauses of up to a minute in
// between, an operator has a quarter of an hour to free some space before jobs fail.
constexpr int kPostponementsMax = 20;
// 60 s: the longest of those pauses; who has mended the storage does not wait longer than that.
constexpr int kPauseSecondsMax = 60;
// 100,000 profiles of one device, at 1 KiB each what a search is given at its start; and those of
// ten devices. The oldest beyond go: most are of kernels that no build has any more.
constexpr int64_t kProfilesPerDeviceMax = 100'000;
constexpr int64_t kProfilesMax = 1'000'000;
// 256 bytes: names of tenants, requests and devices; longer ones are mistakes or attacks.
constexpr int64_t kNameBytesMax = 256;
// 64 MiB: a graph with its plan as text; NasNet-large takes 0.5 MiB.
constexpr int64_t kGraphTextBytesMax = int64_t{64} << 20;
// 64 plans in a file: three numbers of threads for four sizes of a batch and five of a sequence.
constexpr int kPlansPerModelMax = 64;
// 1024: each island is loaded by a plan of its own, and each host segment is a model of its own.
constexpr int kSegmentsMax = 1024;
// 256 MiB: the texts of all plans of a file, unpacked; those of one have kGraphTextBytesMax each.
constexpr int64_t kPlanTextsBytesMax = int64_t{256} << 20;
// 64 MiB: a measurement log is read as a whole; the search of the demonstration model, with 165
// nodes, writes 0.4 MB.
constexpr int64_t kMeasurementLogBytesMax = int64_t{64} << 20;
// 10,000 queued jobs: beyond it a submit is refused with RESOURCE_EXHAUSTED, not silently delayed.
constexpr int64_t kQueuedJobsMax = 10'000;
// 1,000: the largest page of a listing, as AIP-158 recommends.
constexpr int kPageSizeMax = 1000;
// 2 MiB: what a page of a listing takes, but for one with a single row; with that row, too, it
// stays below gRPC's 4 MiB a message.
constexpr int64_t kPageBytesMax = int64_t{2} << 20;
// 2 MiB: a job is told whole, its report beside its options, in one such message.
constexpr int64_t kReportBytesMax = int64_t{2} << 20;

// 4,096 threads or streams in a plan: several times the largest machine; bounds what hostile plans
// ask.
constexpr int kPlanThreadsMax = 4096;
constexpr int kPlanStreamsMax = 4096;
// 2^42 bytes (4 TiB): an arena larger than any device's memory, yet offset plus size never
// overflows.
constexpr int64_t kArenaBytesMax = int64_t{1} << 42;
// 100: a page of a listing when the client does not choose; about one screen of a dashboard.
constexpr int kPageSizeDefault = 100;
// 1,000: digests in one question; with 70 bytes each they stay far below gRPC's 4 MiB a message.
constexpr int kDigestsPerCallMax = 1000;
// 256: more graph inputs than any published model has.
constexpr int kShapesMax = 256;
// 8: the original runs twice on each set of inputs that a caller gives, and each candidate once.
constexpr int kInputSetsMax = 8;
// 256 values in all sets: they are part of the job, which is read with every look at it.
constexpr int kInputValuesMax = 256;
// 64 MiB in all sets: a batch of 100 images of 224x224. A worker keeps them beside the model.
constexpr int64_t kInputSetsBytesMax = int64_t{64} << 20;
// 256: more graph outputs than any published model has. What is told of all outputs counts the
// others too.
constexpr int kOutputErrorsMax = 256;
// 12 days, in microseconds: more than any kernel or model takes, and so little that sums of
// millions of them are numbers.
constexpr double kLatencyUsMax = 1e12;
// 64: what a report tells of plans and kernels that were refused. A search verifies six plans.
constexpr int kRefusalsMax = 64;
// 1,024: more hardware threads than any machine that we know of gives one model.
constexpr int kThreadsMax = 1024;
// One day: a job that needs longer is stuck or should be several jobs.
constexpr double kBudgetSecondsMax = 86'400;
// The oldest opset that import accepts, and the newest, whose semantics the IR speaks.
constexpr int kOpsetMin = 7;
constexpr int kOpsetMax = 28;
// 64 KiB: a profile's key holds the text of one kernel's graph, a few nodes.
constexpr int64_t kProfileKeyBytesMax = int64_t{64} << 10;
// 10,000: profiles of one import, so that it stays one short transaction.
constexpr int kProfilesPerImportMax = 10'000;
// 1 KiB: trailing metadata of an RPC is limited to 8 KiB, and percent-encoding may triple the text.
constexpr int64_t kStatusMessageBytesMax = 1024;
// 512 bytes: the same words once more for programs, in details that share these 8 KiB.
constexpr int64_t kViolationTextBytesMax = 512;
// 10,000 events of one job are kept; a child that sends more is chattering, and is not heard.
constexpr int64_t kEventsPerJobMax = 10'000;
// 64 KiB: the end of a dead child's standard error, kept as evidence.
constexpr int64_t kEvidenceBytesMax = int64_t{64} << 10;
// 1,000: progress writes that may wait for the disk before their senders are made to wait.
constexpr int kDelayedWritesMax = 1000;
// 20,000 nodes: partial orders and memory plans compare pairs, which takes a second and 50 MB
// there; the largest model that we know of in practice has 5,000.
constexpr int kSearchNodesMax = 20'000;

}  // namespace plait
