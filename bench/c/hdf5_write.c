/* The C library's side of the HDF5 bench, writing. Each function writes a file in `folder` and returns the seconds of the
 * part that counts, or -1. */

#include "hdf5_bench.h"
#include <fcntl.h>
#include <unistd.h>

#define ROWS 1024
#define COLUMNS 16384
#define STRINGS 1000000

static void target(const char *folder, const char *name, char path[4096]) {
    snprintf(path, 4096, "%s/write-libhdf5-%s.h5", folder, name);
    unlink(path);
}

/* The rows that all implementations write. */
static const float *rows(const char *folder) {
    static float *all;
    char path[4096];
    if (all) return all;
    snprintf(path, sizeof path, "%s/rows.raw", folder);
    FILE *in = fopen(path, "rb");
    float *read = malloc(sizeof(float) * ROWS * COLUMNS);
    if (in && read && fread(read, sizeof(float) * COLUMNS, ROWS, in) == ROWS) all = read;
    if (in) fclose(in);
    return all;
}

static hid_t create(const char *path, H5F_libver_t low) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, low, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return file;
}

static hid_t creation(void) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(list, 0);
    return list;
}

/* Writes `count` rows at row `at`. */
static herr_t put(hid_t data, hsize_t at, hsize_t count, const float *values) {
    hsize_t start[2] = {at, 0}, counts[2] = {count, COLUMNS};
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(2, counts, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, counts, NULL);
    herr_t done = H5Dwrite(data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values);
    H5Sclose(memory), H5Sclose(space);
    return done;
}

double write_contiguous(const char *folder) {
    char path[4096];
    const float *values = rows(folder);
    NEED(values);
    target(folder, "contiguous", path);
    hsize_t shape[2] = {16 * ROWS, COLUMNS};
    double begin = now();
    hid_t file = create(path, H5F_LIBVER_LATEST), list = creation(), space = H5Screate_simple(2, shape, NULL);
    hid_t data = H5Dcreate2(file, "d", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    for (hsize_t piece = 0; piece < 16; piece++) NEED(put(data, piece * ROWS, ROWS, values) >= 0);
    H5Dclose(data), H5Sclose(space), H5Pclose(list);
    NEED(H5Fclose(file) >= 0);
    return now() - begin;
}

double write_gzip(const char *folder) {
    char path[4096];
    const float *values = rows(folder);
    NEED(values);
    target(folder, "gzip", path);
    hsize_t shape[2] = {2 * ROWS, COLUMNS}, chunk[2] = {256, 256};
    double begin = now();
    hid_t file = create(path, H5F_LIBVER_LATEST), list = creation(), space = H5Screate_simple(2, shape, NULL);
    H5Pset_chunk(list, 2, chunk), H5Pset_shuffle(list), H5Pset_deflate(list, 4);
    hid_t data = H5Dcreate2(file, "d", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    for (hsize_t piece = 0; piece < 8; piece++)
        NEED(put(data, piece * 256, 256, values + piece % 4 * 256 * COLUMNS) >= 0);
    H5Dclose(data), H5Sclose(space), H5Pclose(list);
    NEED(H5Fclose(file) >= 0);
    return now() - begin;
}

double write_objects(const char *folder, const char *age) {
    char path[4096];
    target(folder, "objects", path);
    double begin = now();
    hid_t file = create(path, strcmp(age, "old") ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST);
    hid_t list = creation(), space = H5Screate(H5S_SCALAR);
    for (int i = 0; i < OBJECTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%06d", i);
        hid_t data = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
        NEED(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &i) >= 0);
        hid_t attribute = H5Acreate2(data, "n", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
        NEED(H5Awrite(attribute, H5T_NATIVE_INT, &i) >= 0);
        H5Aclose(attribute), H5Dclose(data);
    }
    H5Sclose(space), H5Pclose(list);
    NEED(H5Fclose(file) >= 0);
    return now() - begin;
}

double append_slabs(const char *folder) {
    char path[4096];
    target(folder, "append", path);
    hsize_t shape[2] = {0, 16}, most[2] = {H5S_UNLIMITED, 16}, chunk[2] = {1024, 16}, row[2] = {1, 16};
    int32_t values[16];
    double begin = now();
    hid_t file = create(path, H5F_LIBVER_LATEST), list = creation(), space = H5Screate_simple(2, shape, most);
    H5Pset_chunk(list, 2, chunk);
    hid_t data = H5Dcreate2(file, "d", H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    hid_t memory = H5Screate_simple(2, row, NULL);
    for (int i = 0; i < OBJECTS; i++) {
        hsize_t start[2] = {shape[0]++, 0};
        for (int k = 0; k < 16; k++) values[k] = i;
        NEED(H5Dset_extent(data, shape) >= 0);
        hid_t part = H5Dget_space(data);
        H5Sselect_hyperslab(part, H5S_SELECT_SET, start, NULL, row, NULL);
        NEED(H5Dwrite(data, H5T_NATIVE_INT32, memory, part, H5P_DEFAULT, values) >= 0);
        H5Sclose(part);
    }
    H5Sclose(memory), H5Dclose(data), H5Sclose(space), H5Pclose(list);
    NEED(H5Fclose(file) >= 0);
    return now() - begin;
}

double write_strings(const char *folder) {
    static char **texts;
    char path[4096];
    if (!texts) {
        texts = malloc(sizeof(char *) * STRINGS);
        for (int i = 0; i < STRINGS; i++) {
            char text[40];
            snprintf(text, sizeof text, "string number %d", i);
            texts[i] = strdup(text);
        }
    }
    target(folder, "strings", path);
    hsize_t shape[1] = {STRINGS};
    double begin = now();
    hid_t file = create(path, H5F_LIBVER_LATEST), list = creation(), space = H5Screate_simple(1, shape, NULL);
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE), H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t data = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    NEED(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
    H5Tclose(type), H5Dclose(data), H5Sclose(space), H5Pclose(list);
    NEED(H5Fclose(file) >= 0);
    return now() - begin;
}

/* 4 MiB, which are on the device at the end. */
double write_durably(const char *folder) {
    char path[4096];
    const float *values = rows(folder);
    NEED(values);
    target(folder, "durable", path);
    hsize_t shape[1] = {1 << 20};
    double begin = now();
    hid_t file = create(path, H5F_LIBVER_LATEST), list = creation(), space = H5Screate_simple(1, shape, NULL);
    hid_t data = H5Dcreate2(file, "d", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    NEED(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(data), H5Sclose(space), H5Pclose(list);
    NEED(H5Fclose(file) >= 0);
    int descriptor = open(path, O_RDWR);
    NEED(descriptor >= 0 && !fsync(descriptor));
    close(descriptor);
    return now() - begin;
}
