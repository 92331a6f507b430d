#pragma once

#include <stddef.h>
#include <stdint.h>

/* libplait_runtime: runs ONNX models by the plans that `plait optimize` has put into them.
 *
 *   plait_session* session = NULL;
 *   plait_error* error = plait_session_create_from_file("model.onnx", NULL, &session);
 *   if (error != NULL) { fprintf(stderr, "%s\n", plait_error_message(error)); ... }
 *
 * Errors. What can fail returns NULL for success, or an error that the caller destroys. After an
 * error nothing was written to any other result. A model is a stranger's text: whatever it holds
 * gives an error and never a crash. A NULL where it is not allowed is PLAIT_ERROR_INVALID_ARGUMENT.
 *
 * Ownership. Every *_destroy takes NULL. Texts and dimensions that a session gives belong to it and
 * stay as they are as long as it lives, but for dimensions of other shapes than those that it was
 * created for, of which the functions that give them say more; an error's message lives as long as
 * the error.
 *
 * Threads. All functions may be called from any thread, and a session from several at the same
 * time; it must not be destroyed while one is in a call. Runs of one session take turns. All
 * sessions of a process share one team of as many threads as the process has processors; a run
 * takes `threads` of them, the caller's own included, and waits until so many are free, first come,
 * first served. So sessions never compute on more threads than there are processors. For runs that
 * do not wait for each other, create several sessions of few threads.
 *
 * Processes. In a child that fork() made of a process with a session nothing but *_destroy may be
 * called: to create a session, to run one or to ask for what a run gave is PLAIT_ERROR_FORKED,
 * because the threads of the parent do not exist there.
 *
 * Growth. Each struct begins with its size, which the caller sets (PLAIT_*_INIT does). Later
 * versions add fields at the end, and functions, and change none: what was compiled with an older
 * header runs with a newer library of the same PLAIT_RUNTIME_ABI_VERSION. The elements of an array
 * have equal sizes.
 */

#ifdef __cplusplus
extern "C" {
#endif

#define PLAIT_RUNTIME_ABI_VERSION 0
#define PLAIT_API __attribute__((visibility("default")))

/* The library's version, such as "0.2.0". It runs plans in the form that it writes itself, and in
 * the one before. */
PLAIT_API const char* plait_version(void);
/* The PLAIT_RUNTIME_ABI_VERSION that the library was built with. */
PLAIT_API int32_t plait_abi_version(void);

/* ---- Errors ---- */

typedef struct plait_error plait_error;

typedef enum plait_error_code {
  PLAIT_ERROR_INVALID_ARGUMENT = 1,    /* a malformed model; an argument that makes no sense */
  PLAIT_ERROR_NOT_FOUND = 2,           /* a file, a device */
  PLAIT_ERROR_PERMISSION_DENIED = 3,   /* a file */
  PLAIT_ERROR_UNSUPPORTED = 4,         /* an operator or device that this version does not know */
  PLAIT_ERROR_RESOURCE_EXHAUSTED = 5,  /* memory, or a limit that the message names */
  PLAIT_ERROR_FAILED_PRECONDITION = 6, /* the message says what has to be different */
  PLAIT_ERROR_FORKED = 7,              /* see Processes above */
  PLAIT_ERROR_INTERNAL = 8             /* a fault of this library */
} plait_error_code;

/* A plait_error_code; 0 for NULL. Later versions may have further codes. */
PLAIT_API int32_t plait_error_get_code(const plait_error* error);
/* One line of UTF-8 that names the thing, the reason and, where there is one, the fix; "" for NULL.
 */
PLAIT_API const char* plait_error_message(const plait_error* error);
PLAIT_API void plait_error_destroy(plait_error* error);

/* ---- Tensors ---- */

/* The numbers are those of ONNX's TensorProto.DataType; a bool takes a byte. */
typedef enum plait_element_type {
  PLAIT_ELEMENT_FLOAT32 = 1,
  PLAIT_ELEMENT_UINT8 = 2,
  PLAIT_ELEMENT_INT8 = 3,
  PLAIT_ELEMENT_UINT16 = 4,
  PLAIT_ELEMENT_INT16 = 5,
  PLAIT_ELEMENT_INT32 = 6,
  PLAIT_ELEMENT_INT64 = 7,
  PLAIT_ELEMENT_BOOL = 9,
  PLAIT_ELEMENT_FLOAT16 = 10,
  PLAIT_ELEMENT_FLOAT64 = 11,
  PLAIT_ELEMENT_UINT32 = 12,
  PLAIT_ELEMENT_UINT64 = 13,
  PLAIT_ELEMENT_BFLOAT16 = 16
} plait_element_type;

/* Where a tensor's bytes are. Others than the processor's memory are refused so far. */
typedef enum plait_memory_kind { PLAIT_MEMORY_CPU = 0 } plait_memory_kind;

/* A tensor: row-major, little-endian elements without gaps, at any address. */
typedef struct plait_tensor {
  size_t struct_size;
  int32_t element_type; /* a plait_element_type */
  int32_t memory_kind;  /* a plait_memory_kind */
  size_t rank;          /* 0: a scalar */
  const int64_t* dims;  /* `rank` of them, outermost first */
  void* data;           /* `byte_size` bytes; not written where the tensor is an input */
  size_t byte_size;
} plait_tensor;
#define PLAIT_TENSOR_INIT \
  { sizeof(plait_tensor), 0, PLAIT_MEMORY_CPU, 0, NULL, NULL, 0 }

/* ---- Sessions ---- */

/* A model that is loaded on a device, for the shapes that are given when its session is created, or
 * those that the plan inside was made for. Where the model leaves dimensions open that the options
 * do not give, a run takes inputs of other sizes too: further plans inside, up to 32, are loaded
 * with the session and stay, and the first run of another shape loads the model for it, by the plan
 * inside that can be bound to it, else by a default plan, while shapes that are loaded run; the
 * last 16 stay loaded. Such a session keeps the model; one whose options give every open dimension
 * does not, and loads one plan. */
typedef struct plait_session plait_session;

/* The shape of an input whose model leaves dimensions open: needed where there is no plan inside
 * the model, and for other shapes than the plan's. A dimension with a name holds for all inputs
 * that have one of that name. */
typedef struct plait_input_shape {
  size_t struct_size;
  const char* name;
  const int64_t* dims;
  size_t rank;
} plait_input_shape;
#define PLAIT_INPUT_SHAPE_INIT \
  { sizeof(plait_input_shape), NULL, NULL, 0 }

/* Another runtime, which the program brings for the nodes of a model that plait does not plan: of a
 * domain of somebody's own, with subgraphs, or with outputs whose shape depends on what is in their
 * inputs, and what is light behind them. plait runs all else by its plans, and hands over the
 * values between. Without one, and for what it cannot load, plait computes nodes of the latter two
 * kinds itself. The functions get `context`. They are called while a session is created, is used
 * for other shapes, runs or is destroyed, by the thread that does so; for one session never by two
 * at the same time. They must not use that session. They return NULL for success, or a line of text
 * that says what is wrong and is good until the next call. */
typedef struct plait_host_runner {
  size_t struct_size;
  void* context;
  /* Loads a serialized ModelProto of `size` bytes, which are gone after the call, to run on
   * `threads` threads at most. Writes the element type of each of its outputs into `outputs`, 0 for
   * what is no tensor of numbers, and whatever it likes into `segment`, which the others get. */
  const char* (*load)(void* context, const void* model, size_t size, int32_t threads,
                      plait_tensor* outputs, size_t output_count, void** segment);
  /* Runs it once: reads all inputs, in the order of that model, and writes all fields of all
   * outputs but struct_size. Their dimensions and bytes stay where they are until the segment's
   * next run. */
  const char* (*run)(void* context, void* segment, const plait_tensor* inputs, size_t input_count,
                     plait_tensor* outputs, size_t output_count);
  void (*unload)(void* context, void* segment);
} plait_host_runner;
#define PLAIT_HOST_RUNNER_INIT \
  { sizeof(plait_host_runner), NULL, NULL, NULL, NULL }

typedef struct plait_session_options {
  size_t struct_size;
  const char* device; /* "cpu"; NULL: that */
  const plait_input_shape* input_shapes;
  size_t input_shape_count;
  /* Of a run, at most: of more than the process may keep busy it takes those, as a program may move
   * to a smaller machine, and the plan's explanation says so. 0: as many as the best plan inside
   * the model is for, and all where there is none. */
  int32_t threads;
  /* Not 0: threads stay on a processor each while they compute, for a program that has the machine
   * to itself. All sessions of a process have to agree. */
  int32_t pin_threads;
  int32_t ignore_plan;  /* not 0: no plan inside the model is used */
  int32_t require_plan; /* not 0: where no plan inside the model fits there is an error */
  /* What runs nodes that plait does not plan; NULL: a model with some that it cannot compute itself
   * either is refused. It is copied, and what its functions need has to outlive the session. */
  const plait_host_runner* host_runner;
} plait_session_options;
#define PLAIT_SESSION_OPTIONS_INIT \
  { sizeof(plait_session_options), NULL, NULL, 0, 0, 0, 0, 0, NULL }

/* Loads a model, with the external data that lies beside it. `options` may be NULL. Takes the time
 * that it takes to pack the weights, some tenths of a second for a hundred MB; nothing is measured.
 * Errors: NOT_FOUND and PERMISSION_DENIED for the file or device; INVALID_ARGUMENT for a malformed
 * model and for a dimension that nothing gives, naming it; UNSUPPORTED for an operator that plait
 * does not know, naming the node, where there is no host runner, for what that cannot load, and for
 * a device of a later version; RESOURCE_EXHAUSTED; FAILED_PRECONDITION for options that contradict
 * the process's or the model. */
PLAIT_API plait_error* plait_session_create_from_file(const char* path,
                                                      const plait_session_options* options,
                                                      plait_session** session);
/* The same from a serialized ModelProto of `size` bytes, which need not outlive the call. */
PLAIT_API plait_error* plait_session_create_from_memory(const void* model, size_t size,
                                                        const plait_session_options* options,
                                                        plait_session** session);
PLAIT_API void plait_session_destroy(plait_session* session);

/* Inputs and outputs are numbered from 0, in the model's order. */
PLAIT_API size_t plait_session_input_count(const plait_session* session);
PLAIT_API size_t plait_session_output_count(const plait_session* session);
/* NULL for a number that there is not. */
PLAIT_API const char* plait_session_input_name(const plait_session* session, size_t index);
PLAIT_API const char* plait_session_output_name(const plait_session* session, size_t index);
/* Writes element type, memory kind, rank, dimensions and size; `data` becomes NULL. So the result
 * needs nothing but data to be passed to plait_session_run. An output that a host runner makes may
 * have a shape that only a run tells: it has dimensions of -1, or is of rank 0 where not even that
 * is known, and byte_size is 0; see plait_session_last_output. Errors: INVALID_ARGUMENT. */
PLAIT_API plait_error* plait_session_describe_input(const plait_session* session, size_t index,
                                                    plait_tensor* tensor);
PLAIT_API plait_error* plait_session_describe_output(const plait_session* session, size_t index,
                                                     plait_tensor* tensor);

/* Describes output `index` of a run with inputs of these shapes, as above; other fields of `inputs`
 * are not read. Loads the model for them if it has to. The dimensions stay where they are until
 * outputs of 1024 other shapes have been described, or the session is destroyed. Errors:
 * INVALID_ARGUMENT naming the input; those of creating a session; FORKED. */
PLAIT_API plait_error* plait_session_describe_output_for(plait_session* session,
                                                         const plait_tensor* inputs,
                                                         size_t input_count, size_t index,
                                                         plait_tensor* tensor);

/* Runs the model once on the caller's buffers: all inputs and all outputs, each as described. Bytes
 * are copied in before and out after, but for those that lie in the session's own buffers, see
 * below, and outputs whose shape only a run tells, which are left where they are. Errors:
 * INVALID_ARGUMENT naming the tensor; FORKED; for a shape that is not loaded those of creating a
 * session; FAILED_PRECONDITION for what a host runner says, and for what it gives that the model
 * does not declare. */
PLAIT_API plait_error* plait_session_run(plait_session* session, const plait_tensor* inputs,
                                         size_t input_count, const plait_tensor* outputs,
                                         size_t output_count);

/* Output `index` of the session's last run, where that left it: its dimensions and bytes are good
 * until the next run of the session, or the next call of this function for the same output. The
 * only way to an output whose shape only a run tells. Threads that use it have to agree among
 * themselves. Errors: INVALID_ARGUMENT; FORKED; FAILED_PRECONDITION before a run has succeeded. */
PLAIT_API plait_error* plait_session_last_output(plait_session* session, size_t index,
                                                 plait_tensor* tensor);

/* The session's own buffers, for a run without copies: described as above, and `data` is where the
 * model reads or writes them, aligned to 64 bytes. Inputs stay as they were written,
 * plait_session_run writes them too. Outputs are good until the session's next run. There is one
 * set of them per session: threads that use it have to agree among themselves. An output whose
 * shape only a run tells has none: `data` is NULL. Errors: INVALID_ARGUMENT. */
PLAIT_API plait_error* plait_session_bound_input(plait_session* session, size_t index,
                                                 plait_tensor* tensor);
PLAIT_API plait_error* plait_session_bound_output(plait_session* session, size_t index,
                                                  plait_tensor* tensor);
/* Runs the model once, from the bound inputs to the bound outputs. Errors: INVALID_ARGUMENT;
 * FORKED; FAILED_PRECONDITION as plait_session_run. */
PLAIT_API plait_error* plait_session_run_bound(plait_session* session);

/* ---- The plan in use ---- */

typedef enum plait_plan_source {
  PLAIT_PLAN_EMBEDDED = 1, /* one inside the model: measured on such a device, and compared */
  PLAIT_PLAN_DEFAULT = 2   /* made when the session was created, by predicted times */
} plait_plan_source;

typedef enum plait_plan_reason {
  PLAIT_PLAN_FITS = 1,
  PLAIT_PLAN_NOT_IN_MODEL = 2,
  PLAIT_PLAN_NOT_WANTED = 3,   /* ignore_plan */
  PLAIT_PLAN_OTHER_ENGINE = 4, /* in a form that this version does not read */
  PLAIT_PLAN_OTHER_DEVICE = 5, /* for other instructions, or another number of threads */
  PLAIT_PLAN_OTHER_MODEL = 6,  /* the model was changed afterwards, or has other shapes */
  PLAIT_PLAN_INVALID = 7,      /* malformed, or more than this device can load */
  /* Used: measured on another processor, of these instructions and with so many threads. */
  PLAIT_PLAN_SAME_INSTRUCTION_SET = 8,
  /* Used: measured for other shapes, whose kernels and formats are kept for these. */
  PLAIT_PLAN_OTHER_SHAPES = 9
} plait_plan_reason;

typedef struct plait_plan_info {
  size_t struct_size;
  int32_t source;          /* a plait_plan_source */
  int32_t reason;          /* a plait_plan_reason: why that one */
  const char* explanation; /* both as a sentence */
  int32_t threads;         /* that a run takes at most */
  int32_t kernels;
  int32_t streams;
  int32_t reference_nodes; /* of the model's, that run as slow reference code */
  int32_t host_nodes;      /* that no plan is for: in the host runner, or computed one by one */
  int32_t islands;         /* the parts of the model around those, a plan for each; 0: it is one */
} plait_plan_info;
#define PLAIT_PLAN_INFO_INIT \
  { sizeof(plait_plan_info), 0, 0, NULL, 0, 0, 0, 0, 0, 0 }

/* Errors: INVALID_ARGUMENT. */
PLAIT_API plait_error* plait_session_get_plan(const plait_session* session, plait_plan_info* plan);

#ifdef __cplusplus
} /* extern "C" */
#endif
