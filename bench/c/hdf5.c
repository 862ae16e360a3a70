/* The C library's side of the HDF5 bench. Each function does one case on the files in `folder` and returns the seconds of
 * the part that counts, or -1. */

#include "hdf5_bench.h"

static hid_t open_file(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
}

double whole(const char *folder, const char *name, const char *memory) {
    hid_t file = open_file(folder, name), data = H5Dopen2(file, "d", H5P_DEFAULT);
    NEED(data >= 0);
    hid_t space = H5Dget_space(data), type = H5Dget_type(data), native = H5Tget_native_type(type, H5T_DIR_ASCEND);
    size_t size = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(native);
    char *out = malloc(size);
    NEED(out);
    if (!strcmp(memory, "used")) memset(out, 1, size);
    double begin = now();
    herr_t done = H5Dread(data, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    double seconds = now() - begin;
    free(out);
    H5Tclose(native), H5Tclose(type), H5Sclose(space), H5Dclose(data), H5Fclose(file);
    return done < 0 ? -1 : seconds;
}

struct names { char **all; size_t count; };

static herr_t keep(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    (void)group, (void)info;
    struct names *names = data;
    names->all[names->count++] = strdup(name);
    return 0;
}

double list(const char *folder, const char *name) {
    struct names names = {malloc(sizeof(char *) * 2 * OBJECTS), 0};
    double begin = now();
    hid_t file = open_file(folder, name);
    herr_t done = H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, keep, &names);
    double seconds = now() - begin;
    size_t count = names.count;
    while (names.count) free(names.all[--names.count]);
    free(names.all);
    H5Fclose(file);
    return done < 0 || count != OBJECTS ? -1 : seconds;
}

double one(const char *folder, const char *name) {
    double begin = now();
    for (int i = 0; i < OBJECTS; i += OBJECTS / 20) {
        char object[16];
        int value = -1;
        snprintf(object, sizeof object, "%06d", i);
        hid_t file = open_file(folder, name), data = H5Dopen2(file, object, H5P_DEFAULT);
        NEED(H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0 && value == i);
        H5Dclose(data), H5Fclose(file);
    }
    return now() - begin;
}

static herr_t add(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    (void)info;
    int value = 0;
    hid_t attribute = H5Aopen_by_name(group, name, "n", H5P_DEFAULT, H5P_DEFAULT);
    if (H5Aread(attribute, H5T_NATIVE_INT, &value) < 0) return -1;
    H5Aclose(attribute);
    *(int64_t *)data += value;
    return 0;
}

double attributes(const char *folder, const char *name) {
    int64_t sum = 0;
    hid_t file = open_file(folder, name);
    double begin = now();
    herr_t done = H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, add, &sum);
    double seconds = now() - begin;
    H5Fclose(file);
    return done < 0 || sum != (int64_t)OBJECTS * (OBJECTS - 1) / 2 ? -1 : seconds;
}

double strings(const char *folder) {
    hid_t file = open_file(folder, "strings.h5"), data = H5Dopen2(file, "d", H5P_DEFAULT);
    NEED(data >= 0);
    hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    char **all = malloc(sizeof(char *) * H5Sget_simple_extent_npoints(space));
    double begin = now();
    herr_t done = H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
    double seconds = now() - begin;
    int right = done >= 0 && !strcmp(all[7], "string number 7");
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, all);
    free(all);
    H5Tclose(type), H5Sclose(space), H5Dclose(data), H5Fclose(file);
    return right ? seconds : -1;
}

double compound(const char *folder, const char *member) {
    hid_t file = open_file(folder, "compound.h5"), data = H5Dopen2(file, "d", H5P_DEFAULT);
    NEED(data >= 0);
    hid_t stored = H5Dget_type(data), space = H5Dget_space(data), type;
    if (!strcmp(member, "all")) {
        type = H5Tget_native_type(stored, H5T_DIR_ASCEND);
    } else {
        type = H5Tcreate(H5T_COMPOUND, sizeof(double));
        H5Tinsert(type, member, 0, H5T_NATIVE_DOUBLE);
    }
    char *out = malloc(H5Tget_size(type) * (size_t)H5Sget_simple_extent_npoints(space));
    double begin = now();
    herr_t done = H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    double seconds = now() - begin;
    free(out);
    H5Tclose(type), H5Tclose(stored), H5Sclose(space), H5Dclose(data), H5Fclose(file);
    return done < 0 ? -1 : seconds;
}

static herr_t read_window(hid_t data, hsize_t row, hsize_t column, float *out) {
    hsize_t start[2] = {row, column}, count[2] = {64, 64};
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(2, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    herr_t done = H5Dread(data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, out);
    H5Sclose(memory), H5Sclose(space);
    return done;
}

double windows(const char *folder) {
    static float out[64 * 64];
    uint64_t state = 1;
    hid_t file = open_file(folder, "gzip.h5"), data = H5Dopen2(file, "d", H5P_DEFAULT);
    NEED(data >= 0);
    double begin = now();
    for (int i = 0; i < 1000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        NEED(read_window(data, (state >> 33) % (8192 - 64), (state >> 13) % (16384 - 64), out) >= 0);
    }
    double seconds = now() - begin;
    H5Dclose(data), H5Fclose(file);
    return seconds;
}

double window(const char *folder) {
    static float out[64 * 64];
    double begin = now();
    hid_t file = open_file(folder, "contiguous.h5"), data = H5Dopen2(file, "d", H5P_DEFAULT);
    NEED(data >= 0 && read_window(data, 5000, 700, out) >= 0);
    double seconds = now() - begin;
    H5Dclose(data), H5Fclose(file);
    return seconds;
}
