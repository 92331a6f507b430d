#pragma once

namespace plait {

// Map of this folder, in the order of a search: search_child (this: import, search, export);
// apply_limits; input_sets (inputs of the user's own); connection (the socket to the daemon);
// device (profiler and verifier that ask a worker through it); measurement_source (a device, or the
// log of an earlier search); write_weights (where workers find the weights); input_plans (that the
// model came with); output_file; report
// (what the client is told); protocol/ (all that daemon and child share).
//
// What is trusted: the daemon. What is not: the model, which a stranger wrote, and so this process
// itself. It has limits of memory, processor time, file size and descriptors, no new privileges and
// no core dump; it is a process of the daemon's user and no sandbox. A crash here is one attempt of
// one job.
//
// The whole life of a search child: takes the limits that it was started with, reads Start from
// kChildSocket, imports the model from kChildModel, writes the table of its weights to
// kChildWeights, searches, writes the optimized model to kChildOutput and sends the result.
// Everything that it knows of the world comes through these descriptors. `limits` is the text that
// SearchChildProcess passes. Returns the exit code.
int SearchChildMain(const char* limits);

}  // namespace plait
