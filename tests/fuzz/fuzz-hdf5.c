/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: what an HDF5 file says of a stream. The bytes are steps that make a valid file:
 * attributes, datasets and scales with the names that the source reads and any values. So its own
 * parsing is tried, and not the library's. */
#define _GNU_SOURCE
#include "../../plugins/hdf5/hdf5-image.h"
#include "../../plugins/hdf5/hdf5-source.c" /* the plugin exports only its description */
#include "fuzz-array-source.h"
#include "fuzz-folder.h"

enum { MOST_STEPS = 64, MOST_VALUES = 8, MOST_TEXT = 32 };

typedef struct {
    const guint8 *at, *end;
    hid_t file, data;
    hid_t object; /* that attributes are added to */
} Maker;

/* The next byte of the input; 0 at its end. */
static guint
take(Maker *self)
{
    return self->at < self->end ? *self->at++ : 0;
}

/* ---- values ---- */

static const char *
take_name(Maker *self)
{
    static const char *const names[] = {
        "CLASS",
        "DIMENSION_LABELS",
        "NAME",
        "channel",
        "channel_coordinate",
        "complex",
        "epoch",
        "fch1",
        "feeds",
        "first",
        "foff",
        "frequency",
        "layout",
        "nchans",
        "nifs",
        "observer",
        "pairs",
        "parent",
        "phase_centre",
        "pol",
        "position",
        "polarisations",
        "project",
        "source",
        "source_name",
        "src_dej",
        "src_raj",
        "start",
        "station",
        "step",
        "subband",
        "telescope",
        "telescope_id",
        "time",
        "ticks_per_sample",
        "tsamp",
        "ticks_per_second",
        "tstart",
        "units",
        "stokes",
    };
    return names[take(self) % G_N_ELEMENTS(names)];
}

/* Up to MOST_VALUES values of a type of the library. */
typedef struct {
    hid_t type;
    gsize n; /* 0: a single one */
    guint8 bytes[MOST_VALUES * MOST_TEXT];
    char *texts[MOST_VALUES];
} Values;

static void
take_integers(Maker *self, Values *values)
{
    gint64 *to = (gint64 *)(gpointer)values->bytes;
    values->type = H5Tcopy(H5T_NATIVE_INT64);
    for (gsize i = 0; i < MAX(values->n, 1); i++)
        to[i] = (gint8)take(self);
}

static void
take_raw(Maker *self, Values *values, hid_t type)
{
    values->type = H5Tcopy(type);
    for (gsize i = 0; i < MAX(values->n, 1) * H5Tget_size(type); i++)
        values->bytes[i] = (guint8)take(self);
}

static void
take_raw_integers(Maker *self, Values *values)
{
    take_raw(self, values, H5T_STD_I64BE);
}

static void
take_doubles(Maker *self, Values *values)
{
    take_raw(self, values, H5T_IEEE_F64BE);
}

static void
take_fixed_texts(Maker *self, Values *values)
{
    const gsize bytes = 1 + take(self) % MOST_TEXT;
    values->type = H5Tcopy(H5T_C_S1);
    H5Tset_size(values->type, bytes);
    H5Tset_strpad(values->type, H5T_STR_NULLPAD);
    for (gsize i = 0; i < MAX(values->n, 1) * bytes; i++)
        values->bytes[i] = (guint8)take(self);
}

static void
take_texts(Maker *self, Values *values)
{
    char **to = (char **)(gpointer)values->bytes;
    values->type = hdf5_text_type();
    for (gsize i = 0; i < MAX(values->n, 1); i++) {
        const gsize n = take(self) % MOST_TEXT;
        to[i] = values->texts[i] = g_malloc0(n + 1);
        for (gsize k = 0; k < n; k++)
            to[i][k] = (char)take(self);
    }
}

static void
take_values(Maker *self, Values *values)
{
    static void (*const kinds[])(Maker *, Values *) = {take_integers, take_raw_integers,
                                                       take_doubles, take_fixed_texts, take_texts};
    const guint kind = take(self);
    *values = (Values){.n = take(self) % (MOST_VALUES + 1)};
    kinds[kind % G_N_ELEMENTS(kinds)](self, values);
}

static void
clear_values(Values *values)
{
    hdf5_close(values->type);
    for (guint i = 0; i < MOST_VALUES; i++)
        g_free(values->texts[i]);
}

/* ---- steps ---- */

static void
turn_to(Maker *self, hid_t object)
{
    hdf5_close(self->object);
    self->object = object;
}

static void
add_attribute(Maker *self)
{
    Values values;
    const char *name = take_name(self);
    take_values(self, &values);
    hdf5_set(self->object, name, values.type, values.bytes, values.n);
    clear_values(&values);
}

/* Adds a dataset to the file, or to its group `observation`, and turns to it. */
static void
add_dataset(Maker *self)
{
    Values values;
    const gboolean in_group = take(self) & 1;
    g_auto(Hdf5Id) group =
        in_group ? hdf5_open(self->file, "observation") : H5Oopen(self->file, "/", H5P_DEFAULT);
    const char *name = take_name(self);
    take_values(self, &values);
    const hsize_t dims[] = {values.n};
    Hdf5Id made = hdf5_add(group, name, values.type, values.n > 0, dims, values.bytes, NULL);
    if (made >= 0)
        turn_to(self, made);
    clear_values(&values);
}

/* Makes the dataset a scale of an axis of the samples. */
static void
attach(Maker *self)
{
    const guint dim = take(self) % 4;
    if (H5Iget_type(self->object) != H5I_DATASET)
        return;
    if (H5DSis_scale(self->object) == 0)
        H5DSset_scale(self->object, NULL);
    H5DSattach_scale(self->data, self->object, dim);
}

static void
turn(Maker *self)
{
    static const char *const names[] = {"/", HDF5_DATA, "observation"};
    const char *name = names[take(self) % G_N_ELEMENTS(names)];
    if (strcmp(name, "observation") == 0 && H5Lexists(self->file, name, H5P_DEFAULT) <= 0)
        hdf5_close(H5Gcreate2(self->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    turn_to(self, H5Oopen(self->file, name, H5P_DEFAULT));
}

/* ---- the file ---- */

static hid_t
take_type(Maker *self)
{
    const guint kind = take(self) % (CT_N_TYPES + 3);
    if (kind == CT_N_TYPES)
        return H5Tcopy(H5T_STD_U16BE);
    if (kind == CT_N_TYPES + 1)
        return H5Tcopy(H5T_IEEE_F32BE);
    return kind == CT_TYPE_NONE || kind > CT_N_TYPES ? H5Tcopy(H5T_STD_U64LE) : hdf5_type(kind);
}

/* Closes what the library leaves open where it refuses to attach a scale. */
static void
close_left(hid_t file)
{
    enum { KINDS = H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_DATATYPE | H5F_OBJ_ATTR, MOST = 1024 };
    hid_t left[MOST];
    const gssize n = H5Fget_obj_ids(file, KINDS, MOST, left);
    for (gssize i = 0; i < n; i++)
        hdf5_close(left[i]);
}

static GBytes *
make(const guint8 *bytes, gsize size)
{
    static void (*const steps[])(Maker *) = {add_attribute, add_dataset, attach, turn};
    hsize_t dims[CT_MAX_AXES + 1];
    Maker self = {.at = bytes, .end = bytes + size, .object = H5I_INVALID_HID};
    g_auto(Hdf5Id) file = hdf5_image_begin("fuzz");
    const guint n_dims = take(&self) % G_N_ELEMENTS(dims);
    g_auto(Hdf5Id) type = take_type(&self);
    for (guint dim = 0; dim < n_dims; dim++)
        dims[dim] = take(&self) % 6;
    self.file = file;
    self.data = hdf5_add(file, HDF5_DATA, type, n_dims, dims, NULL, NULL);
    turn_to(&self, H5Oopen(file, HDF5_DATA, H5P_DEFAULT));
    for (guint i = 0; i < MOST_STEPS && self.at < self.end; i++)
        steps[take(&self) % G_N_ELEMENTS(steps)](&self);
    close_left(file);
    return hdf5_image_take(file);
}

/* Functions of the leak sanitizer, if there is one. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* Leaks of the library while it makes the file are not looked for. */
static GBytes *
make_apart(const guint8 *bytes, gsize size)
{
    if (__lsan_disable)
        __lsan_disable();
    hdf5_begin();
    GBytes *image = make(bytes, size);
    hdf5_end();
    if (__lsan_enable)
        __lsan_enable();
    return image;
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    make_folder();
    g_autoptr(GBytes) image = make_apart(data, size);
    g_assert_nonnull(image);
    /* The library wants a file with a name. */
    store_file("a.h5", g_bytes_get_data(image, NULL), g_bytes_get_size(image));
    g_autofree char *given = g_strdup_printf("{ path: %s/a.h5 }", fuzz_folder);
    fuzz_array_files(&hdf5_source_files, &hdf5_source, given);
    return 0;
}
