/* classify MODEL [INPUT]: runs a model of one input and prints the five largest numbers of its first
 * output. INPUT holds the input's bytes, row-major; without it they are zero. */
#include <stdio.h>
#include <stdlib.h>

#include <plait/runtime.h>

/* Prints the error, if it is one, and ends the program. */
static void check(plait_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "classify: %s\n", plait_error_message(error));
  plait_error_destroy(error);
  exit(1);
}

static void read_input(const char* path, const plait_tensor* input) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(input->data, 1, input->byte_size, file) != input->byte_size) {
    fprintf(stderr, "classify: %s: has no %zu bytes\n", path, input->byte_size);
    exit(1);
  }
  fclose(file);
}

static void print_largest(const float* scores, size_t count) {
  char* taken = calloc(count, 1);
  for (int rank = 0; rank < 5 && (size_t)rank < count; ++rank) {
    size_t best = count;
    for (size_t i = 0; i < count; ++i) {
      if (!taken[i] && (best == count || scores[i] > scores[best])) best = i;
    }
    taken[best] = 1;
    printf("%zu %.6g\n", best, scores[best]);
  }
  free(taken);
}

int main(int argc, char** argv) {
  plait_session* session = NULL;
  plait_plan_info plan = PLAIT_PLAN_INFO_INIT;
  plait_tensor input = PLAIT_TENSOR_INIT;
  plait_tensor output = PLAIT_TENSOR_INIT;
  if (argc < 2) {
    fprintf(stderr, "usage: classify MODEL [INPUT]\n");
    return 2;
  }
  check(plait_session_create_from_file(argv[1], NULL, &session));
  check(plait_session_get_plan(session, &plan));
  fprintf(stderr, "%s; %d threads\n", plan.explanation, (int)plan.threads);

  /* The session's own buffers: nothing is copied. */
  check(plait_session_bound_input(session, 0, &input));
  check(plait_session_bound_output(session, 0, &output));
  if (argc > 2) read_input(argv[2], &input);
  check(plait_session_run_bound(session));
  if (output.element_type == PLAIT_ELEMENT_FLOAT32) {
    print_largest(output.data, output.byte_size / sizeof(float));
  }
  plait_session_destroy(session);
  return 0;
}
