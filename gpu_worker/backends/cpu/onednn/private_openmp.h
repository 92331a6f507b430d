#pragma once

// What plait_omp.so and the code that opens it say to each other; C, as the former is.

// Functions with the meaning of those of GCC's OpenMP library that oneDNN calls.
struct PlaitOpenMp {
  void (*parallel)(void (*run)(void*), void* data, unsigned threads, unsigned flags);
  void (*barrier)(void);
  int (*max_threads)(void);
  int (*num_threads)(void);
  int (*thread_num)(void);
  int (*in_parallel)(void);
};

// The type of plait_omp_pass_to(functions): from now on calls go there. The functions are copied.
typedef void PlaitOpenMpPassTo(const struct PlaitOpenMp* functions);
