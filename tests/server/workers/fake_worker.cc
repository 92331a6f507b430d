#include <unistd.h>

// A worker that never calls.
int main() { return pause(); }
