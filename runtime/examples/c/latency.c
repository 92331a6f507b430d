/* latency [-p] MODEL [RUNS]: times a model as this program would run it, and prints microseconds of
 * a run: the median, and what one in ten is below and one in twenty above. -p: threads stay on a
 * processor each. Inputs of floats are drawn from [-1, 1), others are zeros. */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <plait/runtime.h>

/* They wake threads and caches up, and are not counted. */
#define UNTIMED_RUNS 3

static void check(plait_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "latency: %s\n", plait_error_message(error));
  plait_error_destroy(error);
  exit(1);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double first = *(const double*)a, second = *(const double*)b;
  return (first > second) - (first < second);
}

static void draw(const plait_tensor* input) {
  unsigned state = 1;
  float* const values = input->data;
  if (input->element_type != PLAIT_ELEMENT_FLOAT32) return;
  for (size_t i = 0; i < input->byte_size / sizeof(float); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
  }
}

int main(int argc, char** argv) {
  const int is_pinned = argc > 1 && strcmp(argv[1], "-p") == 0;
  const char* model = argc > 1 + is_pinned ? argv[1 + is_pinned] : NULL;
  const int runs = argc > 2 + is_pinned ? atoi(argv[2 + is_pinned]) : 50;
  if (model == NULL || runs < 1) {
    fprintf(stderr, "usage: latency [-p] MODEL [RUNS]\n");
    return 2;
  }
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.pin_threads = is_pinned;
  plait_session* session = NULL;
  check(plait_session_create_from_file(model, &options, &session));
  for (size_t i = 0; i < plait_session_input_count(session); ++i) {
    plait_tensor input = PLAIT_TENSOR_INIT;
    check(plait_session_bound_input(session, i, &input));
    draw(&input);
  }
  double* taken_us = malloc(sizeof(double) * (size_t)runs);
  for (int run = -UNTIMED_RUNS; run < runs; ++run) {
    const double began_us = now_us();
    check(plait_session_run_bound(session));
    if (run >= 0) taken_us[run] = now_us() - began_us;
  }
  qsort(taken_us, (size_t)runs, sizeof(double), compare);
  printf("%.1f %.1f %.1f\n", taken_us[runs / 2], taken_us[runs / 10], taken_us[runs * 19 / 20]);
  free(taken_us);
  plait_session_destroy(session);
  return 0;
}
