"""A worker that measures whole ONNX models in a runtime that users deploy.

Map of the package, from the outside in:
  __main__       the command line: a worker of one runtime, or --probe (which runtimes are there)
  synchronize    what the server wants: the loop of plait.worker.v1.WorkerService
  blobs          the models and inputs of a task, fetched from the server
  measure        one task: loads, rounds, who takes which turn
  pairs          the program of `plait gate`: two models, loaded and run in turn
  compare        how far outputs are from the original's
  session        a model in a process of its own, seen from the worker
  session_child  that process: limits first, then the runtime and a stranger's model
  frames         what these two say to each other
  limits         what a process that reads a stranger's model may use
  runtimes       one file and one line a runtime
  device         the processor and the fingerprint that times hold for
  protocol       messages and calls, from the descriptors that the build wrote beside this file
"""
