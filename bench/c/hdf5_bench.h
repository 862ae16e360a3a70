/* What the functions of the HDF5 bench share. */

#define H5_USE_110_API
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OBJECTS 100000
#define NEED(condition) do { if (!(condition)) return -1; } while (0)

static inline double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec * 1e-9;
}
