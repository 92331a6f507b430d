/* The layout that programs were compiled with, as numbers, and a header that is plain C99. What
 * changes here breaks them: fields are added at the end, which this file then records. */
#include "plait/runtime.h"

#define RECORDED(name, condition) typedef char name[(condition) ? 1 : -1]
#define FIELD(type, field, offset) \
  RECORDED(type##_##field, offsetof(struct type, field) == (offset))

RECORDED(plait_tensor_size, sizeof(plait_tensor) == 48);
FIELD(plait_tensor, struct_size, 0);
FIELD(plait_tensor, element_type, 8);
FIELD(plait_tensor, memory_kind, 12);
FIELD(plait_tensor, rank, 16);
FIELD(plait_tensor, dims, 24);
FIELD(plait_tensor, data, 32);
FIELD(plait_tensor, byte_size, 40);

RECORDED(plait_input_shape_size, sizeof(plait_input_shape) == 32);
FIELD(plait_input_shape, struct_size, 0);
FIELD(plait_input_shape, name, 8);
FIELD(plait_input_shape, dims, 16);
FIELD(plait_input_shape, rank, 24);

RECORDED(plait_session_options_size, sizeof(plait_session_options) == 56);
FIELD(plait_session_options, struct_size, 0);
FIELD(plait_session_options, device, 8);
FIELD(plait_session_options, input_shapes, 16);
FIELD(plait_session_options, input_shape_count, 24);
FIELD(plait_session_options, threads, 32);
FIELD(plait_session_options, pin_threads, 36);
FIELD(plait_session_options, ignore_plan, 40);
FIELD(plait_session_options, require_plan, 44);
FIELD(plait_session_options, host_runner, 48);

RECORDED(plait_host_runner_size, sizeof(plait_host_runner) == 40);
FIELD(plait_host_runner, struct_size, 0);
FIELD(plait_host_runner, context, 8);
FIELD(plait_host_runner, load, 16);
FIELD(plait_host_runner, run, 24);
FIELD(plait_host_runner, unload, 32);

RECORDED(plait_plan_info_size, sizeof(plait_plan_info) == 48);
FIELD(plait_plan_info, struct_size, 0);
FIELD(plait_plan_info, source, 8);
FIELD(plait_plan_info, reason, 12);
FIELD(plait_plan_info, explanation, 16);
FIELD(plait_plan_info, threads, 24);
FIELD(plait_plan_info, kernels, 28);
FIELD(plait_plan_info, streams, 32);
FIELD(plait_plan_info, reference_nodes, 36);
FIELD(plait_plan_info, host_nodes, 40);
FIELD(plait_plan_info, islands, 44);

RECORDED(the_abi_version, PLAIT_RUNTIME_ABI_VERSION == 0);

#define VALUE(name, value) RECORDED(name##_value, name == value)

VALUE(PLAIT_ERROR_INVALID_ARGUMENT, 1);
VALUE(PLAIT_ERROR_NOT_FOUND, 2);
VALUE(PLAIT_ERROR_PERMISSION_DENIED, 3);
VALUE(PLAIT_ERROR_UNSUPPORTED, 4);
VALUE(PLAIT_ERROR_RESOURCE_EXHAUSTED, 5);
VALUE(PLAIT_ERROR_FAILED_PRECONDITION, 6);
VALUE(PLAIT_ERROR_FORKED, 7);
VALUE(PLAIT_ERROR_INTERNAL, 8);

VALUE(PLAIT_ELEMENT_FLOAT32, 1);
VALUE(PLAIT_ELEMENT_UINT8, 2);
VALUE(PLAIT_ELEMENT_INT8, 3);
VALUE(PLAIT_ELEMENT_UINT16, 4);
VALUE(PLAIT_ELEMENT_INT16, 5);
VALUE(PLAIT_ELEMENT_INT32, 6);
VALUE(PLAIT_ELEMENT_INT64, 7);
VALUE(PLAIT_ELEMENT_BOOL, 9);
VALUE(PLAIT_ELEMENT_FLOAT16, 10);
VALUE(PLAIT_ELEMENT_FLOAT64, 11);
VALUE(PLAIT_ELEMENT_UINT32, 12);
VALUE(PLAIT_ELEMENT_UINT64, 13);
VALUE(PLAIT_ELEMENT_BFLOAT16, 16);

VALUE(PLAIT_MEMORY_CPU, 0);

VALUE(PLAIT_PLAN_EMBEDDED, 1);
VALUE(PLAIT_PLAN_DEFAULT, 2);

VALUE(PLAIT_PLAN_FITS, 1);
VALUE(PLAIT_PLAN_NOT_IN_MODEL, 2);
VALUE(PLAIT_PLAN_NOT_WANTED, 3);
VALUE(PLAIT_PLAN_OTHER_ENGINE, 4);
VALUE(PLAIT_PLAN_OTHER_DEVICE, 5);
VALUE(PLAIT_PLAN_OTHER_MODEL, 6);
VALUE(PLAIT_PLAN_INVALID, 7);
VALUE(PLAIT_PLAN_SAME_INSTRUCTION_SET, 8);
VALUE(PLAIT_PLAN_OTHER_SHAPES, 9);
